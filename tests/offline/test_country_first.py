"""The offline engine: the chosen country's guidance comes first where sources differ, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pytest
from helpers.angles import Angles
from helpers.guidance import ACOG, AMERICAN, BOTH, BRITISH, NICE, PLAIN, RCOG, WHO, hit, without_difference
from helpers.small import ROOT
from hypothesis import given
from hypothesis import strategies as st

from rag_core.data.benchmark import read_builtin
from rag_core.lab.lab import Lab
from rag_core.offline.engine import OfflineEngine
from rag_core.offline.guidance import with_sides
from rag_core.offline.quotable import read_sources
from rag_core.prompts.prompt import Sources
from rag_core.urgency.helplines import countries
from rag_core.values.types import Hit

QUESTION = "Who is offered a swab?"
COUNTRIES = ["", *countries(), "XX"]


def sides(one: Hit, country: str, question: str = QUESTION) -> list[float]:
    sources = Sources([one], country)
    return [candidate.side for candidate in with_sides(read_sources(sources), question, sources)]


class TestSides:
    def test_by_name_or_by_the_section(self):
        three = hit(PLAIN, AMERICAN, BRITISH)
        assert sides(three, "GB") == [-0.5, -1, 1]
        assert sides(three, "US") == [0, 1, -1]

    def test_a_sentence_that_names_both_takes_no_side(self):
        assert sides(hit(BOTH), "GB") == sides(hit(BOTH), "US") == [0]

    def test_a_country_is_named_too(self):
        assert sides(hit("In the United Kingdom no swab is offered to everyone."), "GB") == [1]
        assert sides(hit("La guía británica no recomienda la muestra a todas."), "GB") == [1]
        assert sides(hit("Tell us about the swab at the next visit please."), "GB") == [-0.5], (
            "us is not the US"
        )

    def test_a_question_about_the_other_side_is_answered_with_it(self):
        assert sides(hit(), "GB", "What does ACOG say about the swab?") == [0, 0, 0]
        assert sides(hit(), "GB", "Who is offered a swab in the United States?") == [0, 0, 0]

    def test_no_side_where_the_country_is_on_neither_or_on_both(self):
        assert sides(hit(), "ES") == sides(hit(), "") == [0, 0, 0]
        assert sides(hit(sources=(ACOG, NICE), differs_from=(RCOG,)), "GB") == [0, 0, 0]

    @given(
        st.sampled_from(COUNTRIES),
        st.lists(st.sampled_from([PLAIN, AMERICAN, BRITISH, BOTH]), min_size=1),
        st.sampled_from([ACOG, NICE, WHO]),
    )
    def test_nothing_changes_where_no_source_differs(
        self, country: str, sentences: list[str], source: object
    ):
        same = Sources([without_difference(hit(*sentences, sources=(source,)))], country)
        assert with_sides(read_sources(same), QUESTION, same) == read_sources(Sources(same.hits))


def answer(hits: Sequence[Hit], cosines: dict[str, float], country: str) -> str:
    """The answer when sentences have these cosines to the question."""
    vectors: dict[str, list[float]] = {QUESTION: [1, 0, 0, 0]}
    for place, (text, cosine) in enumerate(cosines.items()):
        rest = (1 - cosine**2) ** 0.5
        vectors[text] = [cosine, *(rest if axis == place % 3 else 0 for axis in range(3))]
    engine = OfflineEngine(Angles(vectors))
    fields = {"question": QUESTION, "sources": Sources(hits, country)}
    return "".join(engine.reply("answer", fields))


class TestOrder:
    COSINES: ClassVar = {PLAIN: 0.95, AMERICAN: 0.82, BRITISH: 0.8}

    def test_a_quoted_sentence_of_the_country_moves_before_the_other_side(self):
        assert answer([hit()], self.COSINES, "") == f"{PLAIN} [1] {AMERICAN} [1] {BRITISH} [1]"
        assert answer([hit()], self.COSINES, "GB") == f"{BRITISH} [1] {PLAIN} [1] {AMERICAN} [1]"
        assert answer([hit()], self.COSINES, "US") == answer([hit()], self.COSINES, "")

    def test_one_that_was_not_good_enough_to_be_quoted_comes_before_a_sentence_that_names_the_other_side(
        self,
    ):
        low = {AMERICAN: 0.95, BRITISH: 0.35}
        one = hit(BRITISH, AMERICAN)
        assert answer([one], low, "") == f"{AMERICAN} [1]"
        assert answer([one], low, "GB") == f"{BRITISH} [1] {AMERICAN} [1]"

    def test_it_is_not_added_before_a_sentence_that_names_nobody(self):
        low = {PLAIN: 0.95, BRITISH: 0.1}
        assert answer([hit(BRITISH, PLAIN)], low, "GB") == f"{PLAIN} [1]"

    def test_a_passage_in_conflict_with_the_quoted_one_comes_first_and_an_unrelated_one_does_not(self):
        theirs = hit(AMERICAN)
        ours = hit(BRITISH, sources=(RCOG,), differs_from=(ACOG,), name="uk")
        unrelated = hit(BRITISH, sources=(RCOG,), differs_from=(WHO,), name="uk")
        near = {AMERICAN: 0.86, BRITISH: 0.9}
        as_found = f"{AMERICAN} [1] {BRITISH} [2]"
        assert answer([theirs, ours], near, "") == answer([theirs, unrelated], near, "GB") == as_found
        assert answer([theirs, ours], near, "GB") == f"{BRITISH} [2] {AMERICAN} [1]"

    def test_a_sentence_that_looks_back_is_not_torn_from_the_one_before(self):
        back = "However, RCOG does not recommend it for everyone at all."
        one = hit(AMERICAN, back)
        cosines = {AMERICAN: 0.9, back: 0.88}
        assert answer([one], cosines, "GB") == answer([one], cosines, "") == f"{AMERICAN} [1] {back} [1]"

    def test_a_call_for_help_stays_first(self):
        call = "Call your local emergency number at once for heavy bleeding."
        one = hit(call, BRITISH)
        assert answer([one], {call: 0.9, BRITISH: 0.88}, "GB").startswith(call)


def test_answers_differ_only_where_a_retrieved_passage_does(lab: Lab):
    """On built-in dev questions: without a difference the answer is the same, byte for byte, whatever the country."""
    asked = [one.text for one in read_builtin(ROOT / "data", "dev").questions]
    differing = 0
    for question in [*asked[::25], "When is the cord clamped after birth?"]:
        texts = {
            country: lab.compare(question, ["simple_semantic"], country=country)[0]
            for country in ("", "GB", "US")
        }
        differs = any(hit.passage.differs_from for hit in texts[""].ranking)
        said = {trace.answer.text for trace in texts.values() if trace.answer}
        assert differs or len(said) == 1, question
        differing += len(said) > 1
    assert differing, "the cord is clamped at another time in the US"


@pytest.mark.parametrize(
    ("question", "country", "first"),
    [
        ("When is the cord clamped after birth?", "US", "ACOG advises a delay of at least 30 to 60 seconds"),
        ("¿Puede amamantar una madre con VIH?", "ES", "El consenso español (2018) recomienda fórmula."),
    ],
)
def test_the_country_s_sentence_comes_before_the_others(lab: Lab, question: str, country: str, first: str):
    (trace,) = lab.compare(question, ["multi_query"], country=country)
    assert trace.answer is not None
    other = "La OMS (2021)" if country == "ES" else "WHO advises"
    assert -1 < trace.answer.text.find(first) < trace.answer.text.find(other)
    assert trace.country == country
    assert trace.as_json()["country"] == country
