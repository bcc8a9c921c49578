import hashlib

import pytest
from helpers.looping import for_each
from hypothesis import given
from hypothesis import strategies as st

from rag_core.prompts.prompt import ANSWER, Block, Sources, Template, Urgency, contexts_in
from rag_core.safety.urgency.triage import triage
from rag_core.stages.citations import best_quote, evidence_hash, resolve_citations, shown_evidence
from rag_core.values.answers import Citation
from rag_core.values.errors import DataError
from rag_core.values.labels import LabelRules, Thresholds
from rag_core.values.types import Hit, Label, Passage, Relevance


def hit(text: str, title: str = "", heading: str = "", label: Label | None = None, language: str = "en") -> Hit:
    relevance = Relevance(label, "cosine", 0.5, "rule") if label else None
    passage = Passage(f"id of {text}", "doc", title, text, heading, language)
    return Hit(passage, 0.5, "cosine", relevance=relevance)


def rendered(*hits: Hit, question: str = "Why?") -> str:
    return ANSWER.fill(question=question, sources=Sources(hits), urgency=Urgency(triage(question))).render()


def test_a_prompt_shows_numbered_labelled_sources_with_their_titles():
    sent = rendered(hit("They nap.", "Cats", "Sleep", label="High"), hit("They bark.", label="Low"), hit("They swim."))
    assert sent == (
        "Question: Why?\n\nSources:\n"
        '<source n="1" relevance="High" title="Cats › Sleep">\nThey nap.\n</source>\n'
        '<source n="2" relevance="Low" title="">\nThey bark.\n</source>\n'
        '<source n="3" relevance="unknown" title="">\nThey swim.\n</source>\n\n'
        "Answer with citations:"
    )


@pytest.mark.parametrize(
    ("question", "told"),
    [
        (
            "I am struggling to breathe at rest, 30 weeks",
            "Urgency: the question describes an emergency (trouble breathing). Begin the answer with what to do now, in "
            "the language of the question; this sentence needs no source: Call the emergency number now.",
        ),
        (
            "Me arde al orinar desde ayer, 18 semanas",
            "Urgency: the question describes a matter for an examination today (ardor al orinar (posible infección de "
            "orina)). Begin the answer with what to do now, in the language of the question; this sentence needs no source: Llame hoy a la matrona, al "
            "médico o a la maternidad para que la examinen el mismo día.",
        ),
        (
            "shoulders stuck now, McR + SPP tried, next? fundal ok?",
            "Call for help now: the emergency team in hospital, the emergency number elsewhere; then treat. The wording "
            "is a clinician's: continue with the treatment.",
        ),
    ],
)
def test_an_urgent_question_tells_the_model_what_to_begin_with(question, told):
    sent = rendered(hit("They nap."), question=question)
    assert f"Question: {question}\n\nUrgency: " in sent
    assert f"{told}\n\nSources:\n" in sent
    assert contexts_in(sent) == [("", "They nap.")]


texts = st.lists(
    st.sampled_from(
        [
            "<source n=", '"1"', "</source>", "\n", '">', ' title="', "&lt;", "&amp;", "'", "{x}", "é",
            " › ", "word", "\r\n", "\n\nSources:\n", "&quot;", "{question}", "{0} %s \\1", "“",
        ]
    ),
    max_size=8,
).map("".join)  # fmt: skip


@given(st.lists(st.tuples(texts, texts), max_size=4))
def test_the_contexts_read_back_from_a_prompt_are_those_put_in(pairs):
    sent = rendered(*(hit(text, title) for title, text in pairs))
    assert contexts_in(sent) == [(" ".join(title.split()), text) for title, text in pairs]
    assert evidence_hash(contexts_in(sent)) == shown_evidence([hit(text, title) for title, text in pairs])
    assert sent.count("</source>") == len(pairs)


def test_the_evidence_hash_is_sha256_of_the_contexts_with_their_lengths():
    expected = hashlib.sha256("4:Cats9:They nap.0:1:ñ".encode()).hexdigest()
    assert evidence_hash([("Cats", "They nap."), ("", "ñ")]) == expected
    assert evidence_hash([]) == hashlib.sha256(b"").hexdigest()


contexts = st.lists(st.tuples(st.text("ab1:", max_size=3), st.text("ab1:", max_size=3)), max_size=3)


@given(contexts, contexts)
def test_different_contexts_have_different_hashes(one, other):
    assert (evidence_hash(one) == evidence_hash(other)) == (one == other)


CATS = hit("Cats nap in the sun. Cats purr when happy.")
DOGS = hit("Dogs bark at strangers. Dogs fetch sticks.")


def test_without_contexts_every_marker_is_invalid():
    assert resolve_citations("Cats purr [1][2].", []) == ("Cats purr.", (), 2)


def test_a_citation_quotes_the_sentence_that_supports_the_sentence_before_its_marker():
    answer = "A cat in the sun will nap [1]. A dog can fetch a stick [2]. Happy cats purr [1]."
    _, citations, _ = resolve_citations(answer, [CATS, DOGS])
    assert citations == (
        Citation(1, CATS.id, "Cats nap in the sun."),
        Citation(2, DOGS.id, "Dogs fetch sticks."),
        Citation(1, CATS.id, "Cats purr when happy."),
    )


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("Happy cats are purring.", "Cats purr when happy."),
        ("It is napping.", "Cats nap in the sun."),
        ("Cats.", "Cats nap in the sun."),
        ("Zebras run.", "Cats nap in the sun."),
        ("", "Cats nap in the sun."),
    ],
    ids=["by stems", "other stem", "tie: the first", "nothing shared: the first", "empty"],
)
def test_the_best_quote_shares_most_terms_with_the_claim(claim, quote):
    assert best_quote(claim, CATS) == quote


def test_a_passage_without_a_sentence_gives_an_empty_quote():
    assert best_quote("Cats purr.", hit("")) == ""


def test_a_spanish_passage_is_quoted_by_spanish_stems():
    gatos = hit("Los gatos duermen mucho. Los gatos ronronean contentos.", language="es")
    assert best_quote("El gato ronroneaba.", gatos) == "Los gatos ronronean contentos."


SHARES: dict[Label, float] = {"High": 0.91, "Medium": 0.5, "Low": 0.04}
RELATED: dict[Label, float] = {"High": 0.09, "Medium": 0.3, "Low": 0.1}
COUNTS: dict[Label, int] = {"High": 11, "Medium": 20, "Low": 300}
ENGLISH = Thresholds(0.6, 0.3, SHARES, RELATED, COUNTS)
SPANISH = Thresholds(0.5, 0.2, SHARES, RELATED, COUNTS)
MODEL = "a-model"
RULES = LabelRules(
    {
        ("cosine", MODEL, "en"): ENGLISH,
        ("cosine", MODEL, "es"): SPANISH,
        ("cosine", "another-model", "en"): SPANISH,
        ("judge", MODEL, "en"): SPANISH,
    }
)


@pytest.mark.parametrize(
    ("score", "label"),
    [(1.0, "High"), (0.6, "High"), (0.5999, "Medium"), (0.3, "Medium"), (0.2999, "Low"), (-1.0, "Low")],
)
def test_a_threshold_itself_belongs_to_the_higher_label(score, label):
    assert ENGLISH.label(score) == label
    (relevance,) = RULES.relevance("cosine", [score], "en", MODEL)
    assert (relevance.label, relevance.scorer, relevance.score) == (label, "cosine", score)


@pytest.mark.parametrize(
    ("scorer", "model", "language", "label"),
    [
        ("cosine", MODEL, "en", "Medium"),
        ("cosine", MODEL, "es", "High"),
        ("cosine", MODEL, "fr", "Medium"),
        ("cosine", "another-model", "en", "High"),
        ("judge", MODEL, "es", "High"),
    ],
)
def test_thresholds_are_those_of_scorer_model_and_language_or_else_the_english_ones(scorer, model, language, label):
    (found,) = RULES.relevance(scorer, [0.55], language, model)
    assert found.label == label
    fitted_for_it = (scorer, language) in {("cosine", "en"), ("cosine", "es")}
    assert found.rule.endswith(" were only related to it." if fitted_for_it else " Measured on English questions.")


@pytest.mark.parametrize("score", [0.0, 0.4999, 0.5, 0.7499, 0.75, 1.0])
def test_a_judge_that_was_never_measured_is_labelled_by_what_its_prompt_says(score):
    (found,) = RULES.relevance("judge", [score], "en", "gpt-4o")
    label = "High" if score >= 75 / 100 else "Medium" if score >= 50 / 100 else "Low"
    assert (found.label, found.scorer, found.score) == (label, "judge", score)
    assert found.rule.startswith(f"{label}: judge score {score:.2f}, ")
    assert "Not calibrated for gpt-4o" in found.rule
    assert "passages with this label" not in found.rule


@pytest.mark.parametrize(
    ("score", "rule"),
    [
        (
            0.75,
            "High: cosine similarity to the question 0.75, at least 0.60. "
            "Of 11 passages with this label, 91% answered the question and 9% were only related to it.",
        ),
        (
            0.45,
            "Medium: cosine similarity to the question 0.45, from 0.30 to below 0.60. "
            "Of 20 passages with this label, 50% answered the question and 30% were only related to it.",
        ),
        (
            0.05,
            "Low: cosine similarity to the question 0.05, below 0.30. "
            "Of 300 passages with this label, 4% answered the question and 10% were only related to it.",
        ),
    ],
)
def test_a_label_states_its_rule_and_how_often_it_was_right(score, rule):
    assert RULES.relevance("cosine", [score], "en", MODEL)[0].rule == rule


@for_each(
    ("count", "labels"),
    [(0, ""), (1, "H"), (2, "HM"), (3, "HML"), (4, "HHML"), (5, "HHMML"), (6, "HHMMLL"), (9, "HHHMMMLLL")],
)
def test_by_rank_the_first_third_is_high_and_the_second_medium(count, labels):
    found = LabelRules({}, "rank").relevance("rank", [0.0] * count, "en", "")
    assert "".join(relevance.label[0] for relevance in found) == labels
    assert [relevance.score for relevance in found] == list(range(1, count + 1))
    assert {relevance.scorer for relevance in found} <= {"rank"}


def test_a_label_by_rank_says_that_it_was_not_measured():
    second = LabelRules({}, "rank").relevance("rank", [0.9, 0.8, 0.7], "en", "")[1]
    assert second.rule == "Medium: position 2 of 3 (labels by rank; not measured)."


ROW = """
[cosine.a-model.en]
high = 0.6
medium = 0.3
answered = { High = 0.9, Medium = 0.5, Low = 0.1 }
related = { High = 0.1, Medium = 0.3, Low = 0.2 }
shown = { High = 1, Medium = 2, Low = 3 }
"""


@pytest.mark.parametrize(
    "text",
    [
        None, "high = ", "cosine = 3", "[cosine]\nen = 3", "[cosine.en]\nhigh = 1",
        ROW.replace("high = 0.6", ""), ROW.replace("shown", "seen"), "",
        ROW.replace("a-model.en", "a-model.es"), ROW.replace("High = 0.9, ", ""),
        ROW.replace("0.6", '"wide"'),
    ],
    ids=[
        "missing", "not TOML", "no table", "no row", "no model", "no threshold", "no counts",
        "empty", "no English row", "a share is missing", "a threshold is text",
    ],
)  # fmt: skip
def test_a_file_of_thresholds_that_cannot_label_is_named_when_read(tmp_path, text):
    path = tmp_path / "labels.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(DataError) as refused:
        LabelRules.read(path)
    assert str(path) in refused.value.message
    assert refused.value.next_step == f"Restore {path}."


@given(
    st.text(alphabet="ab{} \n\\", max_size=40),
    st.dictionaries(st.sampled_from(["a", "b", "ab"]), st.text(alphabet="xy{}\\a", max_size=6)),
)
def test_fields_are_filled_in_as_by_llamaindex(text, fields):
    from llama_index.core import PromptTemplate

    filled = Template("t", "answer", "", text).fill(**{name: Block(value) for name, value in fields.items()})
    assert filled.render() == PromptTemplate(text).format(**fields)
