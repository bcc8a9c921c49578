"""Whether passages are enough for an answer: the score, its thresholds, and the rules for emergencies."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from helpers.angles import Fixed, hit
from helpers.small import ROOT

from rag_core.offline.evidence import PassageEvidence, Thresholds, read_thresholds, spread
from rag_core.offline.naming import Named
from rag_core.offline.scorer import Calibration
from rag_core.safety.urgency.triage import triage
from rag_core.values.errors import DataError
from rag_core.values.evidence import EvidenceScore
from rag_core.values.types import Hit, Passage, Relevance

# log-odds of relevance − others + 2 · best + any + 10 · felt − unnamed / 10 − spread
FITTED = Thresholds(
    Calibration(0.0, (1.0, -1.0, 2.0, 1.0, 10.0, -0.1, -1.0)), {"en": 0.6, "es": 0.5}, {"en": 0.2, "es": 0.1}
)
CALM = "Is itching dangerous?"
NOTHING = Named(0.0, 0.0, 0.0, 0)


class Given:
    """Finds what it is given named."""

    def __init__(self, named: Named) -> None:
        self.named = named

    def of(self, question: str, hits: Sequence[Hit], best: int) -> Named:
        return self.named


def placed(identity: str) -> Hit:
    """A passage of the document that its id begins with."""
    return Hit(Passage(identity, identity[0], "", "Itching"), 1.0, "rrf")


def evidence(scorer: object, model: str = "m+gloss@12ab", **named: float) -> PassageEvidence:
    given = Given(NOTHING._replace(**named))
    return PassageEvidence(scorer, given, model, {"m+gloss": FITTED})  # type: ignore[arg-type]


def scored(relevance: float, question: str = CALM, text: str = "Itching", **named: float) -> EvidenceScore:
    return evidence(Fixed(a=relevance), **named).score(
        question, [hit("a", text)], triage(question), offline=True
    )


class TestScore:
    def test_it_is_logistic_in_the_best_passage_and_the_words_named(self):
        # odds 0.5 / 0.5 = 1, then e^(2 · 0.5 + 0.75 + 10 · 0.01 − 0.5 · 4 / 10) = e^1.65 = 5.2070; 5.2070 / 6.2070
        named = {"best": 0.5, "any": 0.75, "felt": 0.01, "words": 4}
        assert scored(0.5, **named).score == pytest.approx(0.83889, abs=1e-5)
        # odds 0.8 / 0.2 = 4; 4 / 5
        assert scored(0.8).score == pytest.approx(0.8)

    def test_no_more_than_ten_words_count(self):
        assert scored(0.5, words=10).score == scored(0.5, words=40).score < scored(0.5, words=9).score

    def test_the_best_of_several_passages_counts(self):
        hits = [hit("a", "Soles"), hit("b", "Itching"), hit("c", "Palms")]
        found = evidence(Fixed(a=0.1, b=0.8, c=0.3)).score(CALM, hits, triage(CALM), offline=True)
        assert found.score == pytest.approx(0.8)

    def test_passages_of_many_documents_are_weaker_evidence(self):
        ids = ("a:1:x", "b:0:x", "a:2:x", "c:1:x")
        hits = [placed(one) for one in ids]
        found = evidence(Fixed(**dict.fromkeys(ids, 0.8))).score(CALM, hits, triage(CALM), offline=True)
        # 3 documents, 4 passages: spread 2 / 3; odds 4 / e^(2/3) = 2.0537; 2.0537 / 3.0537
        assert found.score == pytest.approx(0.67253, abs=1e-5)

    def test_a_question_about_somebody_else_scores_less_if_the_passages_are_about_maternity(self):
        asked = "Is itching dangerous for a man of 60?"
        assert scored(0.8, asked, "Itching of the palms").score == pytest.approx(0.8)
        # odds 4 / e = 1.4715; 1.4715 / 2.4715
        assert scored(0.8, asked, "Itching in pregnancy").score == pytest.approx(0.59539, abs=1e-5)

    @pytest.mark.parametrize(
        ("question", "offline", "needed"),
        [
            (CALM, True, 0.6),
            (CALM, False, 0.2),
            ("¿Es peligroso el picor?", True, 0.5),
            ("¿Es peligroso el picor?", False, 0.1),
        ],
    )
    def test_what_is_needed_depends_on_the_language_and_on_who_answers(self, question, offline, needed):
        found = evidence(Fixed(a=0.9)).score(
            question, [hit("a", "Itching")], triage(question), offline=offline
        )
        assert found.needed == needed

    def test_a_score_equal_to_what_is_needed_is_enough(self):
        assert EvidenceScore(0.6, 0.6).enough
        assert not EvidenceScore(0.5999, 0.6).enough

    @pytest.mark.parametrize("scorer", ["judge", "offline_scorer"])
    def test_labels_do_not_count(self, scorer):
        rated = replace(hit("a", "Itching"), relevance=Relevance("High", scorer, 0.9, ""))
        found = evidence(Fixed(a=0.2)).score(CALM, [rated], triage(CALM), offline=True)
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


@pytest.mark.parametrize(
    ("question", "text", "scope"),
    [
        ("What helps when men itch?", "Itching is common in pregnancy.", "another_patient"),
        (CALM, "Itching is common in pregnancy.", ""),
    ],
)
def test_a_question_beyond_the_passages_is_told_why(question, text, scope):
    assert scored(0.5, question, text).scope == scope


def test_the_continuation_of_another_question_is_not_answered_from_passages_that_have_nothing_in_common():
    apart, together = [placed("a:1"), placed("b:2")], [placed("a:1"), placed("a:2")]
    for question, hits, scope in (
        ("And in the second trimester?", apart, "continuation"),
        ("And in the second trimester?", together, ""),  # of one document: they agree on what it is about
        ("In the second trimester?", apart, ""),
    ):
        found = evidence(Fixed(**{one.id: 0.9 for one in hits})).score(
            question, hits, triage(question), offline=True
        )
        assert (found.scope, found.enough) == (scope, scope == "")


class TestEmergencies:
    HELP = "Heavy bleeding is an emergency: call the emergency number at once."
    BLEEDING = "I am soaking a pad with blood and bleeding badly"

    def test_little_is_needed_when_a_passage_calls_for_help(self):
        assert scored(0.2, self.BLEEDING, self.HELP) == EvidenceScore(0.2, 0.0)
        assert scored(0.2, CALM, self.HELP).needed == 0.6

    def test_a_language_model_is_always_asked_when_a_passage_calls_for_help(self):
        found = evidence(Fixed(a=0.01)).score(
            self.BLEEDING, [hit("a", self.HELP)], triage(self.BLEEDING), offline=False
        )
        assert found.enough


class TestThresholds:
    def test_they_are_found_by_the_models_key_without_its_gloss(self):
        assert evidence(None).fitted
        assert evidence(None).model == "m+gloss"

    def test_a_model_without_any_cannot_score(self):
        other = evidence(Fixed(a=0.9), model="m@12ab")
        assert (other.fitted, other.key) == (False, "unfitted")
        with pytest.raises(ValueError, match="no thresholds for m"):
            other.score(CALM, [hit("a", "Itching")], triage(CALM), offline=True)

    def test_other_thresholds_have_another_key(self):
        stricter = replace(FITTED, offline={"en": 0.7, "es": 0.5})
        other = PassageEvidence(Fixed(), Given(NOTHING), "m+gloss", {"m+gloss": stricter})  # type: ignore[arg-type]
        assert other.key != evidence(None).key

    def test_the_shipped_ones_are_for_the_bundled_model_and_lower_for_a_language_model(self):
        (fitted,) = read_thresholds(ROOT / "data" / "abstention.toml").values()
        assert all(fitted.model[code] < fitted.offline[code] for code in ("en", "es"))

    @pytest.mark.parametrize("text", ["", "[m", '["m".weights]\nintercept = 1', "m = 1"])
    def test_a_broken_file_is_a_data_error(self, tmp_path, text):
        path = tmp_path / "abstention.toml"
        if text:
            path.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match="abstention"):
            read_thresholds(path)
