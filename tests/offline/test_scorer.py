"""The offline scorer: rankings, relevance and its calibration file."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from helpers.anti_d import HITS, QUESTION, TEXTS, hit
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.language.analysis import language_of
from rag_core.offline.late_interaction import best_window, max_sim
from rag_core.offline.scorer import (
    Calibration,
    OfflineScorer,
    _language,
    bm25_among,
    feedback,
    read_calibrations,
    smoothed,
    standardised,
)
from rag_core.values.errors import DataError

DATA = Path(__file__).resolve().parents[2] / "data"


class TestTheOfflineScorer:
    def test_puts_the_passage_that_answers_first(self, scorer):
        scores, call = scorer.score(QUESTION, HITS)
        assert int(np.argmax(scores)) == 0
        assert int(np.argmin(scores)) in (1, 3)
        assert (call.purpose, call.model, call.output_tokens, call.cost_usd) == (
            "rerank",
            "offline-scorer",
            0,
            0.0,
        )

    def test_is_its_three_parts_with_feedback_smoothed(self, scorer, encoder):
        question, *passages = encoder.encode([(text, "en") for text in (QUESTION, *TEXTS)])
        terms = ["anti", "d", "immunoglobulin", "given", "rhesus", "negat", "woman"]  # snowball stems
        held = [passage.terms for passage in passages]
        vectors = np.array([passage.vector for passage in passages])
        parts = [
            bm25_among(dict.fromkeys(terms, 1.0), held),
            np.array([best_window(question, passage) for passage in passages]),
            np.array([max_sim(question, passage) for passage in passages]),
        ]
        own = standardised(sum(standardised(part) for part in parts))
        expected = smoothed(own + 0.5 * feedback(own, held, vectors), vectors)
        scores, call = scorer.score(QUESTION, HITS)
        assert scores == pytest.approx(list(expected), abs=1e-3)
        assert call.input_tokens == question.tokens + sum(passage.tokens for passage in passages)

    def test_a_query_in_another_language_trusts_the_english_model_half_as_much(self, scorer, encoder):
        query = "¿Cuándo se administra la inmunoglobulina anti-D?"
        texts = ("La anti-D se administra en la semana 28.", "La leche se conserva en la nevera.", TEXTS[2])
        languages = ("es", "es", "en")
        hits = [hit(text, language=code) for text, code in zip(texts, languages, strict=True)]
        question, *passages = encoder.encode([(query, "es"), *zip(texts, languages, strict=True)])
        held = [passage.terms for passage in passages]
        vectors = np.array([passage.vector for passage in passages])
        terms = dict.fromkeys(["administr", "inmunoglobulin", "anti", "d"], 1.0)
        window = standardised(np.array([best_window(question, passage) for passage in passages]))
        interaction = standardised(np.array([max_sim(question, passage) for passage in passages]))
        own = standardised(standardised(bm25_among(terms, held)) + 0.5 * window + 0.5 * interaction)
        expected = smoothed(own + 0.5 * feedback(own, held, vectors, 0.5), vectors)
        assert scorer.score(query, hits)[0] == pytest.approx(list(expected), abs=1e-3)

    def test_a_query_whose_language_no_passage_has_is_taken_for_theirs(self, scorer):
        # one Spanish-looking word over English passages: the model is trusted as for English
        alike = [hit(text) for text in TEXTS]
        spanish, english = ("carcinoma", "tumour")
        assert _language(spanish, alike) == _language(english, alike) == "en"

    def test_scores_go_with_their_hits(self, scorer):
        order = [2, 0, 3, 1]
        forward = scorer.score(QUESTION, HITS)[0]
        shuffled = scorer.score(QUESTION, [HITS[i] for i in order])[0]
        assert shuffled == pytest.approx([forward[i] for i in order], abs=1e-6)

    @pytest.mark.parametrize("count", [0, 1, 2])
    def test_few_hits_get_one_finite_score_each(self, scorer, count):
        scores, call = scorer.score(QUESTION, HITS[:count])
        assert len(scores) == count
        assert all(map(math.isfinite, scores))
        assert call.input_tokens > 0

    @settings(max_examples=25, deadline=None)
    @given(st.text(max_size=40), st.lists(st.text(max_size=60), max_size=4))
    def test_any_text_gets_finite_scores_and_probabilities(self, scorer, question, texts):
        hits = [hit(text) for text in texts]
        scores = scorer.score(question, hits)[0]
        assert len(scores) == len(hits)
        assert all(map(math.isfinite, scores))
        relevance = scorer.relevance(question, hits)
        assert len(relevance) == len(hits)
        assert all(0 <= value <= 1 for value in relevance)

    def test_relevance_does_not_depend_on_the_other_hits(self, scorer):
        together = scorer.relevance(QUESTION, HITS)
        assert together == pytest.approx([scorer.relevance(QUESTION, [one])[0] for one in HITS], abs=1e-3)

    def test_relevance_tells_an_answer_from_what_has_nothing_to_do_with_it(self, scorer):
        answer, milk, _, parking = scorer.relevance(QUESTION, HITS)
        assert answer > 0.5 > max(milk, parking)

    def test_relevance_in_spanish(self, scorer):
        question = "¿Cuándo se administra la inmunoglobulina anti-D a una mujer Rh negativa?"
        right, wrong = scorer.relevance(
            question,
            [
                hit(
                    "La inmunoglobulina anti-D se administra a la mujer Rh negativa en la semana 28.",
                    language="es",
                ),
                hit("La leche materna se conserva unos días en la nevera.", language="es"),
            ],
        )
        assert right > 0.5 > wrong

    def test_signals_are_read_from_the_texts(self, scorer):
        question = "When is anti-D given to a woman?"  # terms: anti, d, given, woman
        same, other = scorer.signals(question, [hit("Anti-D for a woman."), hit("Nada.", language="es")])
        assert (same.covered, same.same_language, same.length) == (0.75, 1.0, pytest.approx(math.log(5)))
        assert (other.covered, other.same_language) == (0.0, 0.0)
        assert same.window > other.window
        assert same.interaction > other.interaction

    def test_a_few_words_are_taken_to_be_in_the_passage_s_language(self, scorer):
        assert language_of("carcinoma") == "es"
        (short,) = scorer.signals("carcinoma", [hit("A carcinoma is a tumour.")])
        assert (short.same_language, short.covered) == (1.0, 1.0)

    def test_a_language_without_a_calibration_is_judged_by_the_english_one(self, encoder):
        half, sure = Calibration(0.0, (0.0,) * 5), Calibration(40.0, (0.0,) * 5)
        only = OfflineScorer(encoder, {"en": half, "es": sure})
        assert only.relevance("Когда беременной нужна эта инъекция?", HITS[:1]) == [0.5]
        assert only.relevance("¿Cuándo se administra la inyección?", HITS[:1]) == pytest.approx([1.0])


class TestTheCalibrationFile:
    def test_the_one_in_the_repository_covers_both_languages(self):
        fitted = read_calibrations(DATA / "relevance.toml")
        assert set(fitted) == {"en", "es"}
        for calibration in fitted.values():
            assert calibration.weights[1] > 0  # late interaction speaks for relevance

    @pytest.mark.parametrize(
        "text",
        [None, "[en", "", "[es]\nintercept = 1", "[en]\nintercept = 1", "en = 3"],
        ids=["missing", "not TOML", "empty", "no English", "no weights", "no table"],
    )
    def test_a_missing_or_malformed_file_is_named(self, tmp_path, text):
        path = tmp_path / "relevance.toml"
        if text is not None:
            path.write_text(text)
        with pytest.raises(DataError, match=r"relevance\.toml") as refused:
            read_calibrations(path)
        assert refused.value.next_step == "Restore data/relevance.toml."
