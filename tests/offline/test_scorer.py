import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.anti_d import ANTI_D, HITS, QUESTION, TEXTS, hit
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.documents.asked import Asked
from rag_core.language.analysis import language_of
from rag_core.offline.asked import AskedIndex
from rag_core.offline.loading import load_scorer
from rag_core.offline.memory import term_counts
from rag_core.offline.scorer import (
    NAME,
    WITH_QUESTIONS,
    Calibration,
    Calibrations,
    OfflineScorer,
    bm25_among,
    feedback,
    read_calibrations,
    smoothed,
    standardised,
)
from rag_core.values.errors import DataError
from rag_core.values.settings import Settings

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

    def test_is_its_three_parts_with_feedback_smoothed(self, scorer, minilm):
        (question,), _ = minilm.embed([QUESTION])
        vectors, _ = minilm.embed(TEXTS, "passage")  # each text is one sentence
        terms = ["anti", "d", "immunoglobulin", "given", "rhesus", "negat", "woman"]  # snowball stems
        held = [term_counts(text, "en") for text in TEXTS]
        cosine = standardised((vectors @ question).astype(float))
        words = standardised(np.array([scorer.pieces.similarity(QUESTION, text) for text in TEXTS]))
        own = standardised(standardised(bm25_among(dict.fromkeys(terms, 1.0), held)) + 2 * cosine + words)
        expected = smoothed(own + 0.5 * feedback(own, held, vectors), vectors)
        assert scorer.score(QUESTION, HITS)[0] == pytest.approx(list(expected), abs=1e-3)

    def test_only_what_was_not_embedded_before_is_counted(self, minilm, prices):
        fresh = load_scorer(Settings(), minilm, prices)
        first, again = (fresh.score(QUESTION, HITS)[1].input_tokens for _ in range(2))
        assert first == sum(minilm.count(text) for text in (QUESTION, *TEXTS))  # a passage and its only sentence
        assert again == 0

    def test_the_best_sentence_counts_wherever_it_stands(self, scorer):
        milk = TEXTS[1]
        alone, last = scorer.signals(QUESTION, [hit(TEXTS[0]), hit(f"{milk} {milk} {TEXTS[0]}")])
        assert last.sentence == pytest.approx(alone.sentence, abs=1e-4)
        assert last.cosine < alone.cosine - 0.1

    def test_spanish_is_read_in_english(self, scorer):
        question = "¿Cuándo se administra la inmunoglobulina anti-D?"
        right, wrong = scorer.signals(question, [hit(ANTI_D), hit(TEXTS[1])])
        assert right.cosine > wrong.cosine + 0.3
        (spanish,) = scorer.signals(
            QUESTION, [hit("La inmunoglobulina anti-D se administra a la mujer Rh negativa.", language="es")]
        )
        assert spanish.cosine > 0.5

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
        assert call.input_tokens >= 0

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

    def test_an_answer_is_likelier_and_more_relevant_than_what_has_nothing_to_do_with_the_question(self, scorer):
        for measure in (scorer.chances, scorer.relevance):
            answer, milk, _, parking = measure(QUESTION, HITS)
            assert answer > 0.5 > max(milk, parking)

    def test_a_passage_answers_the_likelier_the_less_the_others_do(self, scorer):
        again = replace(HITS[0], passage=replace(HITS[0].passage, id="again"))
        alone, beside = scorer.chances(QUESTION, HITS)[0], scorer.chances(QUESTION, [again, *HITS])[1]
        assert beside < alone

    def test_compared_with_given_passages_a_chance_does_not_depend_on_the_other_hits(self, scorer):
        together = scorer.chances(QUESTION, HITS, HITS[:3])
        assert together == pytest.approx([scorer.chances(QUESTION, [one], HITS[:3])[0] for one in HITS], abs=1e-6)

    def test_where_questions_are_known_the_nearest_tells_the_answer(self, scorer):
        rows = [Asked(HITS[0].id, "en", "Who needs anti-D?"), Asked(HITS[3].id, "en", QUESTION)]
        texts = [one.question for one in rows]
        passages = {one.id: one.passage for one in HITS}
        asked = AskedIndex(rows, lambda: [scorer.embedder.embed(texts)[0]], scorer.embedder, passages)
        knowing = scorer.knowing(asked)
        known = [one.known for one in knowing.standing(QUESTION, HITS)]
        without = [one.sentence for one in scorer.standing(QUESTION, HITS)]
        assert known[3] == pytest.approx(1.0, abs=1e-5)
        assert known[1:3] == pytest.approx(without[1:3])  # none known: their nearest sentences
        assert knowing.chances(QUESTION, HITS)[3] > scorer.chances(QUESTION, HITS)[3]
        assert (scorer.name, knowing.name) == (NAME, WITH_QUESTIONS)

    def test_how_a_passage_stands_is_read_from_its_signals_and_scores(self, scorer):
        signals, scores = scorer.signals(QUESTION, HITS), scorer.score(QUESTION, HITS)[0]
        standing = scorer.standing(QUESTION, HITS)
        assert [one.sentence for one in standing] == pytest.approx([one.sentence for one in signals])
        assert [one.ranked for one in standing] == pytest.approx(scores)
        best, second = sorted((one.cosine for one in signals), reverse=True)[:2]
        assert max(one.lead for one in standing) == pytest.approx(best - second)

    @pytest.mark.parametrize("count", [0, 1, 2])
    def test_few_hits_have_chances(self, scorer, count):
        chances = scorer.chances(QUESTION, HITS[:count])
        assert len(chances) == count
        assert all(0 < value < 1 for value in chances)

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
        assert same.sentence > other.sentence
        assert same.cosine > other.cosine
        assert same.words > other.words

    def test_a_few_words_are_taken_to_be_in_the_passage_s_language(self, scorer):
        assert language_of("carcinoma") == "es"
        (short,) = scorer.signals("carcinoma", [hit("A carcinoma is a tumour.")])
        assert (short.same_language, short.covered) == (1.0, 1.0)

    def test_a_language_without_a_calibration_is_judged_by_the_english_one(self, scorer):
        half, sure = Calibration(0.0, (0.0,) * 6), Calibration(40.0, (0.0,) * 6)
        fitted = Calibrations({"en": half, "es": sure}, half, half)
        only = OfflineScorer(scorer.embedder, scorer.pieces, fitted)
        assert only.relevance("Когда беременной нужна эта инъекция?", HITS[:1]) == [0.5]
        assert only.relevance("¿Cuándo se administra la inyección?", HITS[:1]) == pytest.approx([1.0])

    def test_terms_are_those_of_the_text_as_read(self, scorer):
        (found,) = scorer.signals("¿Qué alimentos evitar en el embarazo?", [hit("Foods to avoid in pregnancy.")])
        assert found.covered == 1.0


class TestWordPieces:
    def test_the_mean_of_the_nearest(self, scorer):
        pieces = scorer.pieces
        cat, dog = (pieces.similarity(word, "the cats purr") for word in ("cats", "dogs"))
        assert cat == pytest.approx(1.0, abs=1e-5)
        assert pieces.similarity("cats dogs", "the cats purr") == pytest.approx((cat + dog) / 2, abs=1e-5)

    def test_words_are_compared_with_all_texts_as_read(self, scorer):
        nearest = scorer.word_cosines("cats dogs", [("the cats purr", "en"), ("dogs", "en")])
        assert nearest == pytest.approx([1.0, 1.0], abs=1e-5)

    def test_order_and_repetition_do_not_matter(self, scorer):
        one, other = (scorer.pieces.similarity("cats", text) for text in ("dogs bark", "bark dogs dogs"))
        assert one == pytest.approx(other, abs=1e-6)

    def test_stop_words_of_the_language_are_left_out(self, scorer):
        similarity = scorer.pieces.similarity
        assert similarity("the cats", "cats", "en") == pytest.approx(1.0, abs=1e-5)
        assert similarity("the cats", "cats", "es") < 0.9
        assert similarity("What is it?", "what it is", "en") == pytest.approx(1.0, abs=0.2)  # nothing else is left

    def test_nothing_is_like_nothing(self, scorer):
        assert scorer.pieces.similarity("", "cats") == scorer.pieces.similarity("cats", "") == 0.0


SIGNALS = "intercept = 1\nsentence = 1\ncosine = 1\nwords = 1\ncovered = 1\nsame_language = 1\nlength = 1\n"
STANDING = "sentence = 1\nlead = 1\nranked = 1\n"
ROWS = f"[relevance.en]\n{SIGNALS}[answers]\nintercept = 1\n{STANDING}[known]\nintercept = 1\n{STANDING}known = 1\n"
NO_ENGLISH = ROWS.replace("relevance.en", "relevance.es")


class TestTheCalibrationFile:
    def test_one_that_is_whole_is_read(self, tmp_path):
        path = tmp_path / "relevance.toml"
        path.write_text(ROWS)
        one = Calibration(1.0, (1.0,) * 6)
        assert read_calibrations(path) == Calibrations(
            {"en": one}, Calibration(1.0, (1.0,) * 3), Calibration(1.0, (1.0,) * 4)
        )

    def test_the_one_in_the_repository_covers_both_languages(self):
        fitted = read_calibrations(DATA / "relevance.toml")
        assert set(fitted.relevance) == {"en", "es"}
        for calibration in (*fitted.relevance.values(), fitted.answers):
            assert calibration.weights[0] > 0  # a close sentence speaks for relevance

    @pytest.mark.parametrize(
        "text",
        [
            None,
            "[relevance",
            "",
            NO_ENGLISH,
            ROWS.replace("covered", "cover"),
            ROWS.replace("lead", "led"),
            "answers = 3",
        ],
        ids=["missing", "not TOML", "empty", "no English", "no weight", "no weight of chances", "no table"],
    )
    def test_a_missing_or_malformed_file_is_named(self, tmp_path, text):
        path = tmp_path / "relevance.toml"
        if text is not None:
            path.write_text(text)
        with pytest.raises(DataError, match=r"relevance\.toml") as refused:
            read_calibrations(path)
        assert refused.value.next_step == f"Restore {path}."
