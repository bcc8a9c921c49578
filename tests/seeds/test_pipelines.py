"""Each seed's pipeline as it is described there: its stages, its calls and its numbers of candidates."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from helpers.fakes import KEYWORDS, QUESTION, Told, WordReranker, refused, talker
from helpers.small import WordEmbedder

from rag_core.catalog import RECIPES, build
from rag_core.prompts.templates import ORIGINAL, with_temperature
from rag_core.runtime.context import Context
from rag_core.runtime.services import Services
from rag_core.values.trace import Step, Trace


def run(services: Services, strategy: str, question: str = QUESTION, **values: object) -> Trace:
    """One strategy on a question nobody has asked before."""
    return build((strategy, values)).run(question, services)


def left(trace: Trace) -> list[tuple[str, list[int]]]:
    """Each stage with the passages it left, one number per ranking."""
    return [(step.stage, [len(ranking) for ranking in step.after.rankings]) for step in trace.steps]


def calls(trace: Trace) -> Mapping[str, int]:
    return Counter(call.purpose for call in trace.calls if call.of_language_model)


def step(trace: Trace, stage: str) -> Step:
    (found,) = [step for step in trace.steps if step.stage == stage]
    return found


def with_llm(services: Services, llm: Told) -> Services:
    return replace(services, llms=dict.fromkeys(services.llms, llm))


class TestMultiQuery:
    """Seeds 000 and 001."""

    def test_three_rewrites_bring_five_each_and_eight_of_the_fifteen_are_kept(self, full: Services):
        assert left(run(full, "multi_query")) == [
            ("Rewrite", []),
            ("Dense", [5, 5, 5]),
            ("WeightedFusion", [15]),
            ("Top", [8]),
            ("Generate", [8]),
        ]

    def test_it_makes_three_rewriting_calls_and_one_answer_call(self, full: Services):
        trace = run(full, "multi_query")
        assert calls(trace) == {"rewrite": 3, "answer": 1}
        assert [query.origin for query in trace.final.queries] == ["standalone", "synonyms", "expanded"]

    def test_each_rewrite_is_embedded_and_searched(self, full: Services, embedder: WordEmbedder):
        trace = run(full, "multi_query")
        asked = [text for texts in embedder.asked for text in texts]
        assert sorted(asked) == sorted([*(query.text for query in trace.final.queries), QUESTION])
        # the question itself is embedded for the labels, never searched with
        assert {ranking.query.text for ranking in step(trace, "Dense").after.rankings} == set(asked) - {
            QUESTION
        }

    def test_a_passage_found_by_several_rewrites_is_one_candidate_that_names_them(self, full: Services):
        llm = talker(standalone="cats sleep at night", synonyms="dogs sleep at night", expanded="hens sleep")
        trace = run(with_llm(full, llm), "multi_query")
        found = [found.id for ranking in step(trace, "Dense").after.rankings for found in ranking]
        merged = step(trace, "WeightedFusion").after.ranking
        assert len(found) == 15 > len(merged) == len(set(found))
        for each in merged:
            assert len([vote for vote in each.votes if vote.stage == "Dense"]) == found.count(each.id)

    def test_the_order_is_by_weighted_cosine(self, full: Services):
        trace = run(full, "multi_query")
        weights = {"standalone": 1.0, "synonyms": 0.95, "expanded": 0.90}
        assert {query.origin: query.weight for query in trace.final.queries} == weights
        by_text = {query.text: query.weight for query in trace.final.queries}
        for each in trace.ranking:
            best = max(by_text[vote.query] * vote.score for vote in each.votes if vote.stage == "Dense")
            assert each.score == pytest.approx(best, abs=1e-12)
        scores = [each.score for each in trace.ranking]
        assert scores == sorted(scores, reverse=True)

    def test_the_answer_is_written_from_the_labelled_passages(self, full: Services):
        llm = talker()
        trace = run(with_llm(full, llm), "multi_query")
        (prompt,) = [prompt for prompt in llm.prompts if prompt.purpose == "answer"]
        sent = prompt.render()
        assert sent.count("<source ") == 8
        for each in trace.ranking:
            assert each.relevance
            assert each.relevance.label in {"High", "Medium", "Low"}
            assert f'relevance="{each.relevance.label}" title="{each.passage.title}"' in sent

    @pytest.mark.parametrize(("preset", "kept"), [("concise", 5), ("balanced", 8), ("comprehensive", 12)])
    def test_presets_keep_five_eight_or_twelve(self, full: Services, preset: str, kept: int):
        (values,) = [each.values for each in RECIPES["multi_query"].presets if each.name == preset]
        assert len(run(full, "multi_query", **values).ranking) == kept

    def test_a_fourth_template_makes_a_fourth_search(self, full: Services):
        names = ["standalone", "synonyms", "expanded", "complications"]
        trace = run(full, "multi_query", templates=names)
        assert left(trace)[1] == ("Dense", [5, 5, 5, 5])
        assert calls(trace) == {"rewrite": 4, "answer": 1}
        assert [query.weight for query in trace.final.queries] == [1.0, 0.95, 0.9, 0.85]

    def test_two_identical_rewrites_are_searched_once(self, full: Services):
        trace = run(with_llm(full, talker(synonyms="the same", expanded="The same")), "multi_query")
        assert left(trace)[1] == ("Dense", [5, 5])
        assert [query.weight for query in trace.final.queries] == [1.0, 0.95]

    def test_a_failed_rewrite_leaves_the_others_their_work_and_their_weights(self, full: Services):
        trace = run(with_llm(full, talker(standalone=refused())), "multi_query")
        assert left(trace)[1] == ("Dense", [5, 5])
        assert [(query.origin, query.weight) for query in trace.final.queries] == [
            ("synonyms", 0.95),
            ("expanded", 0.9),
        ]
        assert len(trace.warnings) == 1

    def test_a_rewrite_that_finds_nothing_is_skipped(self, full: Services):
        """Dense search finds the nearest of what there is; nothing is found where nothing is indexed."""

        class Nothing:
            name = "nothing"

            def dense(self, vector: object, k: int) -> list[object]:
                return []

        trace = run(replace(full, index=Nothing()), "multi_query")  # type: ignore[arg-type]
        assert trace.answer
        assert trace.answer.abstained
        assert calls(trace) == {"rewrite": 3}


class TestHybridRrf:
    """Seed 002."""

    def test_fifteen_and_fifteen_become_ten_become_five(self, full: Services):
        trace = run(full, "hybrid_rrf")
        assert [(stage, counts) for stage, counts in left(trace) if stage != "ReciprocalRankFusion"] == [
            ("Bm25 ∥ Dense", [15, 15]),
            ("Top", [10]),
            ("Mmr", [5]),
            ("Generate", [5]),
        ]

    def test_the_pool_is_the_union_without_duplicates(self, full: Services):
        trace = run(full, "hybrid_rrf")
        lexical, dense = step(trace, "Bm25 ∥ Dense").after.rankings
        union = {found.id for found in lexical} | {found.id for found in dense}
        fused = [found.id for found in step(trace, "ReciprocalRankFusion").after.ranking]
        assert set(fused) == union
        assert 15 < len(fused) == len(union) < 30

    def test_scores_are_the_sum_of_one_over_sixty_plus_rank(self, full: Services):
        trace = run(full, "hybrid_rrf")
        for found in step(trace, "ReciprocalRankFusion").after.ranking:
            votes = [vote for vote in found.votes if vote.stage in ("Bm25", "Dense")]
            assert found.score == pytest.approx(sum(1 / (60 + vote.rank) for vote in votes), abs=1e-15)

    def test_it_asks_one_model_once(self, full: Services):
        assert calls(run(full, "hybrid_rrf")) == {"answer": 1}


class TestContextual:
    """Seed 003."""

    def test_both_searches_of_the_enriched_passages_are_fused_by_weight(self, full: Services):
        trace = run(full, "contextual")
        assert [stage for stage, _ in left(trace)] == [
            "Bm25 ∥ Dense",
            "ReciprocalRankFusion",
            "Top",
            "Generate",
        ]
        assert all(found.passage.context for found in trace.ranking)
        weights = {"Dense": 0.6, "Bm25": 0.4}
        for found in trace.ranking:
            votes = [vote for vote in found.votes if vote.stage in weights]
            # the seed's own formula, with ranks from 0
            expected = sum(weights[vote.stage] * 1 / (60 + (vote.rank - 1) + 1) for vote in votes)
            assert found.score == pytest.approx(expected, abs=1e-15)

    @pytest.mark.parametrize(
        ("search_type", "searched"), [("bm25", "Bm25"), ("vector", "Dense"), ("hybrid", "Bm25 ∥ Dense")]
    )
    def test_the_three_search_types(self, full: Services, search_type: str, searched: str):
        assert left(run(full, "contextual", search_type=search_type))[0][0] == searched

    def test_the_transformed_question_is_searched_in_place_of_the_question(self, full: Services):
        trace = run(full, "contextual", transform=True)
        assert [query.origin for query in trace.final.queries] == ["transform"]
        assert {ranking.query.origin for ranking in step(trace, "Bm25 ∥ Dense").after.rankings} == {
            "transform"
        }
        assert calls(trace) == {"rewrite": 1, "answer": 1}
        assert calls(run(full, "contextual")) == {"answer": 1}

    def test_reranking_is_the_last_step_before_the_cut(self, full: Services):
        reranker = WordReranker()
        trace = run(replace(full, reranker=reranker), "contextual", rerank=True, k_candidates=20)
        assert [stage for stage, _ in left(trace)] == [
            "Bm25 ∥ Dense",
            "ReciprocalRankFusion",
            "Top",
            "Rerank",
            "Top",
            "Generate",
        ]
        ((query, ids),) = reranker.asked
        assert (query, len(ids)) == (QUESTION, 20)
        assert {found.scale for found in trace.ranking} == {"cross_encoder"}

    def test_plain_and_enriched_passages_are_the_same_side_by_side(self, full: Services):
        assert full.enriched
        (vector,) = Context(full).embed(("cats",))
        plain = {found.id: found.passage for found in full.index.dense(vector, 100)}
        enriched = {found.id: found.passage for found in full.enriched.dense(vector, 100)}
        assert plain.keys() == enriched.keys()
        for name, passage in enriched.items():
            assert passage.context
            assert replace(passage, context="") == plain[name]
            assert passage.indexed_text == f"{passage.title}\n{passage.context}\n{passage.text}"
        ids = list(plain)
        assert not np.allclose(full.index.vectors(ids), full.enriched.vectors(ids))


class TestRagMsr:
    """Seed 004."""

    def test_three_reformulations_of_five_are_reranked_judged_and_cut_at_theta(self, full: Services):
        trace = run(full, "rag_msr")
        counted = left(trace)
        assert counted[:8] == [
            ("AnalyseQuery", []),
            ("Rewrite", []),
            ("Dense", [5, 5, 5]),
            ("Rerank", [5, 5, 5]),
            ("Top", [3, 3, 3]),
            ("MaxFusion", [9]),
            ("LlmRerank", [9]),
            ("Blend", [9]),
        ]
        assert [stage for stage, _ in counted[8:]] == ["Threshold", "Top", "Generate"]
        blended = step(trace, "Blend").after.ranking
        above = [found.id for found in blended if found.score >= 0.5]
        assert [found.id for found in step(trace, "Threshold").after.ranking] == above
        assert 0 < len(above) < 9

    def test_it_makes_three_reformulations_nine_judgements_and_one_answer(self, full: Services):
        assert calls(run(full, "rag_msr")) == {"rewrite": 3, "judge": 9, "answer": 1}

    @pytest.mark.parametrize(
        ("prompt_set", "origins"),
        [
            ("original", ["paraphrasing", "aspect_specific", "entity_aware"]),
            ("improved", ["clarification", "entity_expansion", "retrieval_condense"]),
        ],
    )
    def test_the_two_sets_of_reformulations(self, full: Services, prompt_set: str, origins: list[str]):
        trace = run(full, "rag_msr", prompt_set=prompt_set)
        assert [query.origin for query in trace.final.queries] == origins

    def test_each_set_is_reranked_against_its_own_reformulation(self, full: Services):
        reranker = WordReranker()
        trace = run(replace(full, reranker=reranker), "rag_msr")
        searched = {
            ranking.query.text: {found.id for found in ranking}
            for ranking in step(trace, "Dense").after.rankings
        }
        assert {query: set(ids) for query, ids in reranker.asked} == searched

    def test_every_passage_is_judged_by_the_question_itself(self, full: Services):
        llm = talker()
        run(with_llm(full, llm), "rag_msr")
        asked = [prompt.fields["question"] for prompt in llm.prompts if prompt.purpose == "judge"]
        assert asked == [QUESTION] * 9

    def test_s_final_is_between_the_question_and_each_passage(self, full: Services):
        trace = run(full, "rag_msr")
        (question,) = Context(full).embed((QUESTION,))
        for found in step(trace, "Blend").after.ranking:
            cosine = float(full.index.vectors([found.id])[0] @ question)
            judge = found.vote("LlmRerank")
            assert judge
            assert found.score == pytest.approx(0.4 * cosine + 0.6 * judge.score, abs=1e-6)

    @pytest.mark.parametrize(("question", "form"), [(QUESTION, "sentence"), (KEYWORDS, "keywords")])
    def test_the_analysis_decides_how_a_rule_is_applied_and_says_why(
        self, full: Services, question: str, form: str
    ):
        llm = talker()
        trace = run(with_llm(full, llm), "rag_msr", question)
        (analysed,) = step(trace, "AnalyseQuery").after.queries
        assert analysed.form == form
        assert analysed.note
        rewriting = [prompt for prompt in llm.prompts if prompt.purpose == "rewrite"]
        assert all(f"Form of the question: {form}." in prompt.render() for prompt in rewriting)

    def test_the_analysis_by_a_model_is_one_call_more_and_its_question_is_what_is_reformulated(
        self, full: Services
    ):
        made = "Where do cats and dogs sleep in one house?"
        llm = talker(analysis=json.dumps({"form": "keywords", "question": made}))
        trace = run(with_llm(full, llm), "rag_msr", KEYWORDS, dynamic_analysis="model", theta=0)
        assert calls(trace) == {"rewrite": 3 + 1, "judge": 9, "answer": 1}
        (query,) = step(trace, "AnalyseQueryByLlm").after.queries
        assert (query.text, query.origin) == (made, "analysis")
        rewriting = [prompt for prompt in llm.prompts if prompt.template in with_temperature(ORIGINAL, 0.3)]
        assert [prompt.fields["question"] for prompt in rewriting] == [made] * 3
        judging = [prompt.fields["question"] for prompt in llm.prompts if prompt.purpose == "judge"]
        assert set(judging) == {KEYWORDS}  # passages are judged by what was asked

    def test_without_a_passage_above_theta_there_is_no_answer_call(self, full: Services):
        trace = run(full, "rag_msr", theta=1)
        assert calls(trace) == {"rewrite": 3, "judge": 9}
        assert trace.answer
        assert trace.answer.abstained
        assert "θ = 1" in trace.answer.reason


@pytest.mark.parametrize(
    ("strategy", "model_calls", "searches", "kept"),
    [("simple_semantic", 1, 1, 5), ("hyde", 2, 1, 5), ("multi_query", 4, 3, 8)],
)
def test_the_comparison_of_seed_001(
    full: Services, strategy: str, model_calls: int, searches: int, kept: int
):
    """Its table: language model calls 1, 2, 4; retrieval passes 1, 1, 3; final documents 5, 5, 8."""
    trace = run(full, strategy)
    assert sum(calls(trace).values()) == model_calls
    assert len(step(trace, "Dense").after.rankings) == searches
    assert len(trace.ranking) == kept
