"""Whether passages support an answer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helpers.angles import ANGLES, BELOW, NEAR, QUESTION, Angles, Fixed, hit, reply

from rag_core.language.thesaurus import Concept, Thesaurus
from rag_core.offline.engine import OfflineLLM
from rag_core.offline.evidence import (
    HELPLESS_SUPPORT,
    MATERNITY_SUPPORT,
    MIN_SUPPORT,
    OTHERS_SUPPORT,
    AnswerSupport,
)
from rag_core.prompts.prompt import NO_EVIDENCE
from rag_core.values.types import Label, Relevance


class Counted:
    """An index in which each word stands in as many passages as it is told; others in none."""

    name = "counted"

    def __init__(self, **having: int) -> None:
        self.having = having

    def document_frequency(self, text: str) -> int:
        return self.having.get(text, 0)


class TestEvidence:
    HITS = (hit("a", "Itching of the palms"), hit("b", "Itching"), hit("c", "Palms"), hit("d", "Soles"))

    def test_support_is_the_relevance_of_the_best_passage(self):
        evidence = AnswerSupport(Fixed(a=0.3, b=0.1, c=0.9, d=0.6), None)
        asked = "Is itching of palms and soles dangerous for babies?"
        assert evidence.assess(asked, self.HITS) == ([0.3, 0.1, 0.9, 0.6], 0.9, True)
        assert evidence.assess(asked, ()) == ([], 0.0, False)

    @pytest.mark.parametrize(
        ("question", "least"),
        [
            ("Is itching dangerous?", MIN_SUPPORT["en"]),
            ("¿Es peligroso el picor?", MIN_SUPPORT["es"]),
            ("¿Es peligroso el picor en el embarazo?", MATERNITY_SUPPORT),
        ],
    )
    def test_one_passage_is_enough_and_several_poor_ones_are_not(self, question: str, least: float):
        for best in (least, least - 0.01):
            evidence = AnswerSupport(Fixed(a=least - 0.01, b=best, c=least - 0.01, d=0.0), None)
            assert evidence.assess(question, self.HITS).enough is (best == least)

    def test_a_question_about_somebody_else_needs_more_if_the_passages_are_about_maternity(self):
        evidence = AnswerSupport(Fixed(a=OTHERS_SUPPORT - 0.01), None)
        asked = "Is itching dangerous for a man of 60?"
        assert not evidence.assess(asked, [hit("a", "Itching of the palms in pregnancy")]).enough
        assert evidence.assess(asked, [hit("a", "Itching of the palms")]).enough

    def test_an_emergency_needs_more_than_other_questions_when_no_passage_calls_for_help(self):
        evidence = AnswerSupport(Fixed(a=HELPLESS_SUPPORT - 0.01), None)
        gums = hit("a", "Bleeding gums are common in pregnancy.")
        assert evidence.assess("Why do gums bleed in pregnancy?", [gums]).enough
        assert not evidence.assess("I am pregnant and bleeding badly", [gums]).enough

    def test_an_emergency_needs_little_when_a_passage_calls_for_help(self):
        evidence = AnswerSupport(Fixed(a=0.3), None)
        help_now = hit("a", "Heavy bleeding is an emergency: call the emergency number at once.")
        bleeding = "I am soaking a pad with blood and bleeding badly"
        assert evidence.assess(bleeding, [help_now]).enough
        assert not evidence.assess("Is itching dangerous?", [help_now]).enough
        assert not evidence.assess(bleeding, [hit("a", "Bleeding gums are common.")]).enough

    def test_terms_weigh_by_how_few_passages_have_them(self):
        evidence = AnswerSupport(Fixed(), Counted(itching=7, palms=2000))
        # ln(1001 / 7.5) and, counted up to 1000, ln(1001 / 1000.5); a word of no passage ln(1001 / 0.5)
        expected = {"itch": 4.893852, "palm": 0.000500, "insur": 7.601902}
        assert evidence.terms("Is itching of the palms insurance?") == pytest.approx(expected, abs=1e-6)

    @pytest.mark.parametrize(("relevance", "abstains"), [(0.9, False), (0.1, True)])
    def test_the_scorer_decides_whether_there_is_an_answer(self, relevance, abstains):
        words = Concept("words", {"en": ("words",), "es": ("palabras",)}, {"en": (), "es": ()})
        engine = OfflineLLM(Angles(ANGLES), Fixed(a=relevance), Thesaurus([words]))
        answer = reply(engine, QUESTION, [hit("a", BELOW)])
        assert answer.startswith(NO_EVIDENCE) is abstains
        assert abstains or answer == f"{BELOW} [1]"

    def test_a_passage_labelled_low_is_quoted_only_where_nothing_better_is_there(self):
        words = Concept("words", {"en": ("words",), "es": ("palabras",)}, {"en": (), "es": ()})
        engine = OfflineLLM(Angles(ANGLES), Fixed(a=0.9, b=0.9), Thesaurus([words]))

        def answer(first: Label, second: Label) -> str:
            labelled = [
                replace(hit(name, text), relevance=Relevance(label, "offline_scorer", 0.5, ""))
                for name, text, label in (("a", NEAR, first), ("b", BELOW, second))
            ]
            return reply(engine, QUESTION, labelled)

        assert answer("Low", "Medium") == f"{BELOW} [2]"
        assert answer("Low", "Low").startswith(f"{NEAR} [1]")
