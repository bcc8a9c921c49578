import math
import re
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.angles import Fixed, hit
from helpers.small import ROOT
from numpy.typing import NDArray

from rag_core.documents.asked import Asked
from rag_core.offline.evidence import Facts, PassageEvidence, Thresholds, Weighing, read_thresholds, spread
from rag_core.offline.scorer import Calibration
from rag_core.safety.urgency.triage import triage
from rag_core.values.errors import DataError
from rag_core.values.labels import EvidenceScore
from rag_core.values.types import Hit, Passage, Relevance

# log-odds of relevance + 2 · least + 10 · (length - ln 11) + urgent − spread; for known questions + 3 · words + 4 · contrast
WEIGHTS, ELEVEN = (1.0, 2.0, 10.0, 1.0, -1.0), -10 * math.log(11)
FITTED = Thresholds(
    Weighing(Calibration(ELEVEN, WEIGHTS), 0.6, 0.2),
    Weighing(Calibration(ELEVEN, (*WEIGHTS, 3.0, 4.0)), 0.5, 0.1),
)
CALM = "Is itching dangerous?"


class Scorer(Fixed):
    """Finds the words of a question as near to a text as the text says: "0.1 0.5"."""

    embedder = SimpleNamespace(key="m+gloss@12ab")

    def word_cosines(self, question: str, texts: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        assert texts
        return np.max([[float(one) for one in re.findall(r"0\.\d+", text)] or [0.0] * 3 for text, _ in texts], axis=0)


class OneSection:
    """Knows two questions of a section, and how much more a question is like them than like those outside."""

    asked = (Asked("s", "en", "0.2 0.2 0.9"), Asked("s", "es", "0.1 0.6 0.1"))

    def __init__(self, contrast: float | None = 0.0, without: str = "") -> None:
        self._contrast, self._without = contrast, without

    def contrast(self, question: str) -> float | None:
        return self._contrast

    def search(self, question: str, k: int) -> list[Hit]:
        return [Hit(Passage("s", "s", "", "0.0 0.0 0.3"), 0.6, "likeness")]

    def of(self, passage: str) -> Sequence[Asked]:
        return () if passage == self._without else self.asked


def placed(identity: str, text: str = "Itching") -> Hit:
    """A passage of the document that its id begins with."""
    return Hit(Passage(identity, identity[0], "", text), 1.0, "rrf")


def evidence(key: str = "m+gloss@12ab", fitted: Thresholds = FITTED, **relevance: float) -> PassageEvidence:
    scorer = Scorer(**relevance)
    scorer.embedder = SimpleNamespace(key=key)
    return PassageEvidence(scorer, {"m+gloss": fitted})  # type: ignore[arg-type]


def scored(relevance: float, question: str = CALM, text: str = "Itching", **more: object) -> EvidenceScore:
    asked, offline = more.get("asked"), bool(more.get("offline", True))
    return evidence(a=relevance).score(question, [hit("a", text)], triage(question), asked, offline=offline)  # type: ignore[arg-type]


class TestScore:
    def test_it_is_logistic_in_the_best_passage_and_the_words_far_from_it(self):
        # odds 0.8 / 0.2 = 4; 4 / 5
        assert scored(0.8).score == pytest.approx(0.8)
        # the two farthest are 0.1 and 0.3: odds 4 · e^(2 · 0.2) = 5.9673; 5.9673 / 6.9673
        assert scored(0.8, text="0.9 0.1 0.3").score == pytest.approx(0.85647, abs=1e-5)

    def test_more_than_ten_words_count(self):
        many = " ".join(["word"] * 21)
        # odds (1 / 9) · (22 / 11)^10 = 113.78; 113.78 / 114.78
        assert scored(0.1, many).score == pytest.approx(0.99129, abs=1e-5)
        assert scored(0.1, "word").score == scored(0.1, " ".join(["word"] * 10)).score

    def test_the_best_of_several_passages_counts(self):
        hits = [hit("a", "Soles"), hit("b", "Itching"), hit("c", "Palms")]
        found = evidence(a=0.1, b=0.8, c=0.3).score(CALM, hits, triage(CALM), None, offline=True)
        assert found.score == pytest.approx(0.8)

    def test_passages_of_many_documents_are_weaker_evidence(self):
        ids = ("a:1:x", "b:0:x", "a:2:x", "c:1:x")
        hits = [placed(one) for one in ids]
        found = evidence(**dict.fromkeys(ids, 0.8)).score(CALM, hits, triage(CALM), None, offline=True)
        # 3 documents, 4 passages: spread 2 / 3; odds 4 / e^(2/3) = 2.0537; 2.0537 / 3.0537
        assert found.score == pytest.approx(0.67253, abs=1e-5)

    def test_an_urgent_question_is_more_likely_within(self):
        # odds 4 · e = 10.873; 10.873 / 11.873
        assert scored(0.8, "I am bleeding heavily").score == pytest.approx(0.91578, abs=1e-5)

    def test_the_section_with_the_nearest_known_question_counts(self):
        # nearest of the section and its questions: 0.2, 0.6, 0.9; odds 4 · e^(3 · 1.7 / 3) = 21.896; 21.896 / 22.896
        assert scored(0.8, asked=OneSection()).score == pytest.approx(0.95632, abs=1e-5)

    def test_being_liker_to_questions_outside_counts_against_it(self):
        # as above, and contrast: odds 21.896 · e^(4 · -0.25) = 8.0550; 8.0550 / 9.0550
        assert scored(0.8, asked=OneSection(contrast=-0.25)).score == pytest.approx(0.88957, abs=1e-5)

    @pytest.mark.parametrize("asked", [OneSection(without="a"), OneSection(contrast=None)])
    def test_a_passage_without_known_questions_or_any_outside_is_judged_as_other_documents_are(self, asked):
        found = scored(0.8, asked=asked)
        assert (found.score, found.needed) == (pytest.approx(0.8), 0.6)

    def test_other_documents_are_judged_without_their_known_questions(self):
        elsewhere = evidence(fitted=replace(FITTED, known=None), a=0.8)
        found = elsewhere.score(CALM, [hit("a", "Itching")], triage(CALM), OneSection(), offline=True)
        assert (found.score, found.needed) == (pytest.approx(0.8), 0.6)

    @pytest.mark.parametrize(
        ("asked", "offline", "needed"),
        [(None, True, 0.6), (None, False, 0.2), (OneSection(), True, 0.5), (OneSection(), False, 0.1)],
    )
    def test_what_is_needed_depends_on_who_answers_and_on_known_questions(self, asked, offline, needed):
        assert scored(0.9, asked=asked, offline=offline).needed == needed

    def test_a_score_equal_to_what_is_needed_is_enough(self):
        assert EvidenceScore(0.6, 0.6).enough
        assert not EvidenceScore(0.5999, 0.6).enough

    @pytest.mark.parametrize("scorer", ["judge", "offline_scorer"])
    def test_labels_do_not_count(self, scorer):
        rated = replace(hit("a", "Itching"), relevance=Relevance("High", scorer, 0.9, ""))
        found = evidence(a=0.2).score(CALM, [rated], triage(CALM), None, offline=True)
        assert found.score == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ((), 0.0),
        (("a:3:x",), 0.0),
        (("a:0:x", "a:1:x", "a:2:x"), 0.0),
        (("a:0:x", "b:0:x", "c:0:x"), 0.0),  # each may be a document of one passage
        (("a:1:x", "b:0:x", "c:0:x"), 1.0),  # (3 - 1) / (3 - 1)
        (
            ("a:0:x", "a:1:x", "b:0:x", "b:1:x", "c:0:x", "d:0:x"),
            0.5,
        ),  # (3 - 1) / (5 - 1): the first five count
    ],
)
def test_the_spread_of_passages_over_documents(ids, expected):
    assert spread([placed(one) for one in ids]) == expected


class TestEmergencies:
    HELP = "Heavy bleeding is an emergency: call the emergency number at once."
    BLEEDING = "I am soaking a pad with blood and bleeding badly"

    def test_little_is_needed_when_a_passage_calls_for_help(self):
        assert scored(0.2, self.BLEEDING, self.HELP) == EvidenceScore(0.2, 0.0)
        assert scored(0.2, CALM, self.HELP).needed == 0.6

    def test_a_language_model_is_always_asked_when_a_passage_calls_for_help(self):
        assert scored(0.01, self.BLEEDING, self.HELP, offline=False).enough


class TestThresholds:
    def test_they_are_found_by_the_models_key_without_its_gloss(self):
        assert evidence().fitted
        assert evidence().model == "m+gloss"

    def test_a_model_without_any_cannot_score(self):
        other = evidence("m@12ab", a=0.9)
        assert (other.fitted, other.key) == (False, "unfitted")
        with pytest.raises(ValueError, match="no thresholds for m"):
            other.score(CALM, [hit("a", "Itching")], triage(CALM), None, offline=True)

    def test_other_thresholds_have_another_key(self):
        stricter = replace(FITTED, plain=replace(FITTED.plain, offline=0.7))
        assert evidence(fitted=stricter).key != evidence().key

    def test_the_shipped_ones_are_for_the_bundled_model_and_lower_for_a_language_model(self):
        (fitted,) = read_thresholds(ROOT / "data" / "abstention.toml").values()
        assert fitted.known
        assert fitted.known.model < fitted.known.offline
        assert len(fitted.known.calibration.weights) == len(Facts._fields)

    @pytest.mark.parametrize("text", ["", "[m", '["m".weights]\nintercept = 1', "m = 1"])
    def test_a_broken_file_is_a_data_error(self, tmp_path, text):
        path = tmp_path / "abstention.toml"
        if text:
            path.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match="abstention"):
            read_thresholds(path)
