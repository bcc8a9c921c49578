from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from helpers.looping import for_each
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.language.facts import lost_in_rewrite
from rag_core.language.thesaurus import Concept, Thesaurus, WrittenOut
from rag_core.offline.rewriting import RULES, Feedback, Rewriter, first_pass
from rag_core.values.types import Hit, Passage, Vectors

DATA = Path(__file__).resolve().parents[2] / "data"


def passage(name: str, title: str, text: str, language: str = "en") -> Passage:
    return Passage(name, name, title, text, language=language)


# Terms of CATS among CATS and DOGS, title and text: share of its 9 × share of the 2 + 1 that lack it.
# cats, whiskers 2/9 × 2/3; loudly, purr, twitch 1/9 × 2/3; care, grooming 1/9 × 1/3; ties by stem.
CATS = passage("cats", "Cats › Care", "Cats purr loudly while grooming their whiskers and whiskers twitch.")
DOGS = passage("dogs", "Dogs › Care", "Dogs bark while grooming.")
GATOS = passage("gatos", "Gatos", "Los gatos ronronean.", "es")


class Shelf:
    """An index that finds the same passages whatever it is asked."""

    name = "shelf"

    def __init__(self, dense: Sequence[Passage], lexical: Sequence[Passage]) -> None:
        self.found = {"cosine": dense, "bm25": lexical}

    def dense(self, vector: Vectors, k: int) -> list[Hit]:
        return [Hit(held, 1.0, "cosine") for held in self.found["cosine"][:k]]

    def lexical(self, text: str, k: int, k1: float, b: float) -> list[Hit]:
        return [Hit(held, 1.0, "bm25") for held in self.found["bm25"][:k]]

    def vectors(self, ids: Sequence[str]) -> Vectors:
        return np.zeros((len(ids), 64), np.float32)


class Flat:
    """Embeds everything alike."""

    name = weights = key = "flat"

    def read(self, text: str, language: str = "") -> str:
        return text

    def embed(self, texts: Sequence[str], kind: str = "query", languages: Sequence[str] = ()) -> tuple[Vectors, None]:
        return np.ones((len(texts), 4), np.float32), None


CONCEPTS = Thesaurus(
    [
        Concept(
            "membranes",
            {"en": ("rupture of membranes", "membrane rupture"), "es": ("rotura de membranas",)},
            {"en": ("waters broke",), "es": ("rompí aguas",)},
            ("ROM",),
        )
    ]
)
ASKED = "My waters broke at 34 weeks and I have no fever"


@pytest.fixture
def rewriter(embedder) -> Rewriter:
    return Rewriter(embedder, CONCEPTS, Shelf([CATS, DOGS, GATOS], [CATS, GATOS]))


EXPECTED = {
    "standalone": "My waters broke (rupture of membranes) at 34 weeks and I have no fever "
    "(cats, whiskers, loudly, purr)",
    "synonyms": "rupture membranes 34 weeks no fever rupture of membranes membrane rupture",
    "expanded": "My waters broke (rupture of membranes) at 34 weeks and I have no fever (Cats › Care)",
    "complications": "My rupture of membranes at 34 weeks and I have no fever "
    "(complications, risks, signs to watch for)",
    "paraphrasing": "What is advised about this: My rupture of membranes at 34 weeks and I have no fever",
    "aspect_specific": "Timing: My rupture of membranes at 34 weeks and I have no fever",
    "entity_aware": "My waters broke at 34 weeks and I have no fever "
    "(cats, whiskers, loudly, purr, twitch, care, grooming)",
    "clarification": "My waters broke (rupture of membranes) at 34 weeks and I have no fever (Cats › Care)",
    "entity_expansion": "My waters broke (rupture of membranes, membrane rupture) at 34 weeks and I have no fever",
    "retrieval_condense": "waters broke 34 weeks no fever",
    "transform": "My rupture of membranes at 34 weeks and I have no fever",
}


@for_each("template", RULES)
def test_each_template_has_an_intent_of_its_own(rewriter, template):
    assert rewriter.rewrite(template, ASKED) == EXPECTED[template]


@pytest.mark.parametrize("form", ["sentence", "keywords"])
def test_a_template_of_the_users_own_is_read_as_synonyms(rewriter, form):
    own = rewriter.rewrite("my own", ASKED, form)
    assert own == rewriter.rewrite("synonyms", ASKED, form) != ASKED


@pytest.mark.parametrize(
    ("keywords", "question"),
    [("PPROM erythromycin", "What should be known about PPROM erythromycin?"),
     ("RPM antibiótico pauta", "¿Qué hay que saber sobre RPM antibiótico pauta?")],
)  # fmt: skip
def test_keywords_are_made_a_question_first(embedder, keywords, question):
    bare = Rewriter(embedder, None, None)
    assert bare.rewrite("transform", keywords, "keywords") == question
    assert bare.rewrite("transform", keywords) == keywords


def test_a_question_in_another_language_stays_as_it_is(rewriter):
    asked = "Что делать, если отошли воды?"
    assert {rewriter.rewrite(template, asked, "keywords") for template in RULES} == {asked}


def test_feedback_is_what_both_searches_agree_on_in_the_questions_language(embedder):
    shelf = Shelf([DOGS, CATS, GATOS], [GATOS, CATS])
    assert first_pass("cats?", "en", embedder, shelf).best == (CATS,)
    assert first_pass("gatos?", "es", embedder, shelf).best == (GATOS,)
    assert first_pass("chats?", "fr", embedder, shelf).best == (GATOS, CATS)
    assert first_pass("cats?", "en", embedder, Shelf([CATS], [])).best == ()
    assert Feedback((), ()).terms("en", "", 3) == []


def test_a_first_pass_is_fused_by_reciprocal_rank(embedder):
    a, b, c = (passage(name, "", "") for name in "abc")
    # b: 1/62 + 1/62 = 0.0323; a and c: 1/61 = 0.0164, by id
    assert first_pass("cats?", "en", embedder, Shelf([a, b], [c, b])).background == (b, a, c)


WORDS = {
    "en": ["no fever", "not bleeding", "without pain", "never", "34 weeks", "36+2", "10.6 g/dL", "thirty-four",
           "ibuprofen", "paracetamol", "waters broke", "GBS", "is the baby well", "when", "high blood pressure",
           "pain", "fever", "my", "and", "?", "don't take"],
    "es": ["sin fiebre", "no sangro", "nunca", "34 semanas", "36+2", "10,6 g/dl", "treinta y cuatro", "ibuprofeno",
           "paracetamol", "rompí aguas", "EGB", "está bien el bebé", "cuándo", "presión alta", "dolor", "fiebre",
           "mi", "y", "?", "ni dolor"],
}  # fmt: skip


@pytest.fixture(scope="module")
def whole() -> Thesaurus:
    return Thesaurus.read(DATA / "thesaurus.toml")


@pytest.mark.parametrize("form", ["sentence", "keywords"])
@pytest.mark.parametrize("language", WORDS)
def test_numbers_weeks_negations_and_medicines_survive_every_rewrite(whole, language, form):
    shelf = Shelf([CATS, GATOS], [CATS, GATOS])
    rewriter = Rewriter(Flat(), whole, shelf)

    @settings(max_examples=50, deadline=None)
    @given(st.lists(st.sampled_from(WORDS[language]), min_size=1, max_size=10).map(" ".join))
    def survive(question):
        for template in RULES:
            rewrite = rewriter.rewrite(template, question, form)
            assert lost_in_rewrite(question, rewrite) == (), (template, rewrite)

    survive()


def test_a_rewrite_is_the_same_each_time(rewriter):
    for template in RULES:
        assert rewriter.rewrite(template, ASKED) == rewriter.rewrite(template, ASKED)


@pytest.mark.parametrize("language", ["en", "es"])
def test_a_rewrite_never_names_another_medicine(whole, language):
    """By the thesaurus alone: each medicine, by its brand where it has one, in the templates that use names."""
    asked_for = {"en": "What is the dose of {}?", "es": "¿Cuál es la dosis de {}?"}[language]
    rewriter = Rewriter(Flat(), whole, None)
    drugs = [concept for concept in whole.concepts.values() if concept.kind == "drug"]
    for drug in drugs:
        question = asked_for.format(drug.lay[language][0] if drug.lay[language] else drug.preferred(language))
        words = " ".join((*drug.terms[language], *drug.lay[language])).split()
        parts = {mention.concept.id for word in words for mention in whole.find(word, language)}
        own = {drug.id, *parts}  # "low-dose aspirin" without "low-dose" is aspirin
        for template in ("synonyms", "transform", "entity_expansion"):
            rewrite = rewriter.rewrite(template, question)
            named = [mention.concept for mention in whole.find(rewrite, language)]
            assert {concept.id for concept in named if concept.kind == "drug"} <= own, rewrite


@pytest.mark.parametrize(
    ("language", "asked"),
    [("en", "I have {}, what should I do?"), ("es", "Me preocupa {}, ¿qué debo hacer?")],
)
def test_a_name_that_the_reading_wrote_out_is_not_written_out_again(whole, language, asked):
    """Every abbreviation, read as the offline engine reads a question before it rewrites it."""
    reader, rewriter = WrittenOut(whole, str), Rewriter(Flat(), whole, None)
    twice = []
    for concept in whole.concepts.values():
        clinical = concept.preferred(language)
        for name in concept.abbreviations:
            read = reader.read(asked.format(name))
            if f"({clinical})" not in read:
                continue
            for template in ("transform", "standalone"):
                rewrite = rewriter.rewrite(template, read)
                if rewrite != read:
                    twice.append((read, rewrite))
    assert twice == []


def test_an_abbreviation_of_two_readings_is_not_replaced_without_a_cue(whole):
    rewriter = Rewriter(Flat(), whole, None)
    assert rewriter.rewrite("transform", "How is PE managed?") == "How is PE managed?"
    assert "pulmonary embolism" in rewriter.rewrite("transform", "How is PE with a clot on CT managed?")
    assert "pre-eclampsia" in rewriter.rewrite("transform", "How is PE with proteinuria managed?")
