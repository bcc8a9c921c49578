"""Each seed's pipeline as it is described there: its stages, its calls and its numbers of candidates."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from helpers.fakes import KEYWORDS, QUESTION, Told, WordReranker, talker

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

    def test_three_rewrites_bring_five_each_and_eight_of_the_fifteen_are_kept(self, full):
        assert left(run(full, "multi_query")) == [
            ("Rewrite", []),
            ("Dense", [5, 5, 5]),
            ("WeightedFusion", [15]),
            ("Top", [8]),
            ("Generate", [8]),
        ]

    @pytest.mark.parametrize(("preset", "kept"), [("concise", 5), ("balanced", 8), ("comprehensive", 12)])
    def test_presets_keep_five_eight_or_twelve(self, full, preset, kept):
        (values,) = [each.values for each in RECIPES["multi_query"].presets if each.name == preset]
        assert len(run(full, "multi_query", **values).ranking) == kept

    def test_a_fourth_template_makes_a_fourth_search(self, full):
        names = ["standalone", "synonyms", "expanded", "complications"]
        trace = run(full, "multi_query", templates=names)
        assert left(trace)[1] == ("Dense", [5, 5, 5, 5])
        assert calls(trace) == {"rewrite": 4, "answer": 1}
        assert [query.weight for query in trace.final.queries] == [1.0, 0.95, 0.9, 0.85]

    def test_a_rewrite_that_finds_nothing_is_skipped(self, full):
        """Dense search finds the nearest of what there is; nothing is found where nothing is indexed."""

        class Nothing:
            name = "nothing"

            def dense(self, vector: object, k: int) -> list[object]:
                return []

        trace = run(replace(full, index=Nothing(), asked=None), "multi_query")  # type: ignore[arg-type]
        assert trace.answer.abstained
        assert calls(trace) == {"rewrite": 3}


class TestHybridRrf:
    """Seed 002."""

    def test_fifteen_and_fifteen_become_ten_become_five(self, full):
        trace = run(full, "hybrid_rrf")
        assert [(stage, counts) for stage, counts in left(trace) if stage != "ReciprocalRankFusion"] == [
            ("Bm25 ∥ Dense", [15, 15]),
            ("Top", [10]),
            ("Mmr", [5]),
            ("Generate", [5]),
        ]


class TestContextual:
    """Seed 003."""

    def test_both_searches_of_the_enriched_passages_are_fused_by_weight(self, full):
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
    def test_the_three_search_types(self, full, search_type, searched):
        assert left(run(full, "contextual", search_type=search_type))[0][0] == searched

    def test_the_transformed_question_is_searched_in_place_of_the_question(self, full):
        trace = run(full, "contextual", transform=True)
        assert [query.origin for query in trace.final.queries] == ["transform"]
        assert {ranking.query.origin for ranking in step(trace, "Bm25 ∥ Dense").after.rankings} == {"transform"}
        assert calls(trace) == {"rewrite": 1, "answer": 1}
        assert calls(run(full, "contextual")) == {"answer": 1}

    def test_reranking_is_the_last_step_before_the_cut(self, full):
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

    def test_plain_and_enriched_passages_are_the_same_side_by_side(self, full):
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

    def test_three_reformulations_of_five_are_reranked_judged_and_cut_at_theta(self, full):
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

    @pytest.mark.parametrize(
        ("prompt_set", "origins"),
        [
            ("original", ["paraphrasing", "aspect_specific", "entity_aware"]),
            ("improved", ["clarification", "entity_expansion", "retrieval_condense"]),
        ],
    )
    def test_the_two_sets_of_reformulations(self, full, prompt_set, origins):
        trace = run(full, "rag_msr", prompt_set=prompt_set)
        assert [query.origin for query in trace.final.queries] == origins

    def test_the_analysis_by_a_model_is_one_call_more_and_its_question_is_what_is_reformulated(self, full):
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

    def test_without_a_passage_above_theta_there_is_no_answer_call(self, full):
        trace = run(full, "rag_msr", theta=1)
        assert calls(trace) == {"rewrite": 3, "judge": 9}
        assert trace.answer.abstained
        assert "θ = 1" in trace.answer.reason


@pytest.mark.parametrize(
    ("strategy", "model_calls", "searches", "kept"),
    [("simple_semantic", 1, 1, 5), ("hyde", 2, 1, 5), ("multi_query", 4, 3, 8)],
)
def test_the_comparison_of_seed_001(full, strategy, model_calls, searches, kept):
    """Its table: language model calls 1, 2, 4; retrieval passes 1, 1, 3; final documents 5, 5, 8."""
    trace = run(full, strategy)
    assert sum(calls(trace).values()) == model_calls
    assert len(step(trace, "Dense").after.rankings) == searches
    assert len(trace.ranking) == kept
