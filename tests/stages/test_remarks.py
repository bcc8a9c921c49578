"""What an answer says about its evidence: thin, in another language, and what is near when there is none."""

from dataclasses import replace

import pytest

from rag_core.stages.remarks import perhaps_you_meant, remarks_on, suggestions
from rag_core.values.answers import Suggestion
from rag_core.values.labels import LABELS
from rag_core.values.types import Hit, Label, Passage, Relevance, Scorer

ENGLISH = "When is anti-D given in pregnancy?"
SPANISH = "¿Cuándo se pone la inmunoglobulina anti-D en el embarazo?"


def hit(name: str, label: Label | None, language: str = "en", score: float = 0.5, scorer: Scorer = "cosine") -> Hit:
    passage = Passage(f"{name}:0", name, f"The {name} guide", "Text.", heading="Dose", language=language)
    return Hit(passage, 1.0, "rrf", relevance=Relevance(label, scorer, score, "") if label else None)


class TestThinEvidence:
    def test_a_sentence_that_rests_only_on_a_low_passage_is_named_with_its_citation(self):
        text = "It is given at 28 weeks [1]. It is a blood product [2]."
        (remark,) = remarks_on(ENGLISH, text, [hit("a", "High"), hit("b", "Low")])
        assert (remark.kind, remark.citations, remark.sentences) == (
            "thin", (2,), ("It is a blood product",),
        )  # fmt: skip
        assert remark.text == "Thin evidence: [2] rests on a passage labelled Low."

    @pytest.mark.parametrize(
        ("text", "hits"),
        [
            ("It is given at 28 weeks [1][2].", [hit("a", "Medium"), hit("b", "Low")]),
            ("It is given at 28 weeks. [2][1]", [hit("a", "Medium"), hit("b", "Low")]),
            ("Give it [1].", [hit("a", None)]),
            ("It is safe. [1]", [hit("a", "High"), hit("b", "High", "es")]),
        ],
        ids=["also a better passage", "in the other order", "no label", "another language is not cited"],
    )
    def test_what_rests_on_a_passage_that_is_not_low_needs_no_remark(self, text, hits):
        assert remarks_on(ENGLISH, text, hits) == ()

    def test_several_are_listed_in_order(self):
        hits = [hit("a", "High"), hit("b", "Low"), hit("c", "Low"), hit("d", "Low")]
        text = "One dose is given. [1] Give it early. [4] It is safe. [3] Ask your midwife. [2]"
        (remark,) = remarks_on(ENGLISH, text, hits)
        assert remark.text == "Thin evidence: [2], [3] and [4] rest on passages labelled Low."
        assert remark.sentences == ("Give it early.", "It is safe.", "Ask your midwife.")

    def test_when_every_sentence_is_thin_the_remark_says_so(self):
        (remark,) = remarks_on(ENGLISH, "Give it. [1] Give it again. [2]", [hit("a", "Low"), hit("b", "Low")])
        assert (remark.kind, remark.text) == (
            "all_thin",
            "Thin evidence: every passage cited is labelled Low.",
        )

    def test_sentences_without_a_citation_do_not_count(self):
        (remark,) = remarks_on(ENGLISH, "Hello there. Give it [1].", [hit("a", "Low")])
        assert (remark.kind, remark.sentences) == ("all_thin", ("Give it",))

    def test_in_spanish_for_a_spanish_question(self):
        hits = [hit("a", "High", "es"), hit("b", "Low", "es"), hit("c", "Low", "es")]
        text = "Se pone en la semana 28. [1] Es segura. [2] Consulte a su matrona. [3]"
        assert [one.text for one in remarks_on(SPANISH, text, hits)] == [
            "Evidencia débil: [2] y [3] se apoyan en pasajes de relevancia baja (Low)."
        ]
        assert [one.text for one in remarks_on(SPANISH, "Es segura. [2]", hits)] == [
            "Evidencia débil: todos los pasajes citados son de relevancia baja (Low)."
        ]


class TestAnotherLanguage:
    def test_a_quoted_passage_in_another_language_is_said_once(self):
        hits = [hit("a", "High", "es"), hit("b", "Medium", "en")]
        (remark,) = remarks_on(ENGLISH, "Se pone en la semana 28. [1] Es segura. [1]", hits)
        assert (remark.kind, remark.citations) == ("language", (1,))
        assert remark.text == "[1] is in Spanish; there is no better passage in English."

    def test_in_spanish_for_a_spanish_question(self):
        hits = [hit("a", "High", "en"), hit("b", "High", "en"), hit("c", "Medium", "es")]
        (remark,) = remarks_on(SPANISH, "It is given at 28 weeks. [1] It is safe. [2]", hits)
        assert remark.text == "[1] y [2] están en inglés; no hay un pasaje mejor en español."

    @pytest.mark.parametrize(
        ("text", "native"),
        [("Es segura. [1]", "High"), ("Es segura. [1] It is safe. [2]", "Low")],
        ids=["a better one was not cited", "one is cited"],
    )
    def test_no_better_passage_is_claimed_only_where_it_is_true(self, text, native):
        hits = [hit("a", "Medium", "es"), hit("b", native)]
        found = [one.text for one in remarks_on(ENGLISH, text, hits) if one.kind == "language"]
        assert found == ["[1] is in Spanish."]


class TestSuggestions:
    def test_the_nearest_distinct_documents_with_the_heading_of_their_nearest_passage(self):
        best = hit("anti-d", "High", score=0.9)
        other = replace(best.passage, id="anti-d:1", heading="Risks")
        weaker = replace(best, passage=other, relevance=replace(best.relevance, score=0.7))  # type: ignore[type-var]
        found = suggestions(ENGLISH, [hit("iron", "Medium", score=0.6), weaker, best])
        assert found == (
            Suggestion("The anti-d guide › Dose", "anti-d", "anti-d:0"),
            Suggestion("The iron guide › Dose", "iron", "iron:0"),
        )

    def test_at_most_three(self):
        hits = [hit(name, "Medium", score=score) for name, score in zip("abcd", (0.5, 0.8, 0.7, 0.6), strict=True)]
        assert [near.doc_id for near in suggestions(ENGLISH, hits)] == ["b", "c", "d"]

    def test_nothing_far_is_suggested(self):
        assert suggestions(ENGLISH, [hit("a", "Low"), hit("b", None)]) == ()
        assert suggestions(ENGLISH, [hit(name, name, scorer="rank") for name in LABELS]) == ()

    def test_the_introduction_is_in_the_questions_language(self):
        assert (perhaps_you_meant(ENGLISH), perhaps_you_meant(SPANISH)) == (
            "Perhaps you meant", "Quizá quiso decir",
        )  # fmt: skip
