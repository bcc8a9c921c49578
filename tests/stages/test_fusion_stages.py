import math
from dataclasses import replace

import pytest
from helpers.looping import for_each
from helpers.plane import Plane, context, hit, ranking
from hypothesis import given
from hypothesis import strategies as st

from rag_core.stages import FusionStage, MaxFusion, ReciprocalRankFusion, WeightedFusion
from rag_core.values.types import Query, Ranking, Scale, State, Vote


def scored(scores: dict[str, float], query: Query | str = "q", scale: Scale = "cosine") -> Ranking:
    query = Query(query) if isinstance(query, str) else query
    hits = [replace(hit(name, score), scale=scale) for name, score in scores.items()]
    return Ranking.sort(query, hits, "Dense")


def found_by(*places: int, scores: tuple[float, ...]) -> list[Ranking]:
    """Passage "a" as the rewrites at these places found it."""
    return [
        scored({"a": score}, Query(f"q{place}", template_index=place))
        for place, score in zip(places, scores, strict=True)
    ]


def after(stage: FusionStage, *rankings: Ranking) -> State:
    state = replace(State.start("question"), rankings=rankings, queries=tuple(ranking.query for ranking in rankings))
    return stage(state, context(Plane()))


def merged(stage: FusionStage, *rankings: Ranking) -> dict[str, float]:
    return {found.id: found.score for found in after(stage, *rankings).ranking}


BM25, DENSE = "bm25", "dense"


class TestRrfWeights:
    def test_each_search_counts_with_its_weight(self):
        weighted = ReciprocalRankFusion(60, ((BM25, 0.4), (DENSE, 0.6)))
        by_words, by_meaning = ranking("ab", retriever=BM25), ranking("bc", retriever=DENSE)
        expected = {"a": 0.4 / 61, "b": 0.4 / 62 + 0.6 / 61, "c": 0.6 / 62}
        assert weighted.fuse([by_words, by_meaning]) == pytest.approx(expected, abs=1e-15)
        assert weighted.fuse([by_meaning, by_words]) == pytest.approx(expected, abs=1e-15)

    @for_each("k", [0, 1, 60, 200])
    @for_each("weight", [0.4, 0.6, 1.0])
    def test_ranks_from_one_here_are_the_seeds_ranks_from_zero(self, k, weight):
        ids = "abcdefgh"
        ours = ReciprocalRankFusion(k, ((BM25, weight),)).fuse([ranking(ids, retriever=BM25)])
        seeds = {name: weight * 1 / (k + rank + 1) for rank, name in enumerate(ids)}  # seed 003, rank from 0
        assert ours == pytest.approx(seeds, abs=1e-15)

    def test_a_retriever_has_one_weight_however_many_queries_use_it(self):
        """Three queries to one retriever: none of them is another retriever's."""
        rankings = [ranking(name, Query(name), DENSE) for name in "abc"]
        assert ReciprocalRankFusion(9, ((DENSE, 0.5),)).fuse(rankings) == {"a": 0.05, "b": 0.05, "c": 0.05}
        one, two = Query("one"), Query("two")
        both = [ranking("a", one, BM25), ranking("b", one, DENSE), ranking("c", two, DENSE)]
        assert ReciprocalRankFusion(9, ((BM25, 1.0), (DENSE, 0.5))).fuse(both) == {
            "a": 0.1,
            "b": 0.05,
            "c": 0.05,
        }

    def test_a_retriever_that_is_not_named_has_weight_one(self):
        rankings = [ranking("a", retriever=BM25), ranking("b", retriever=DENSE)]
        assert ReciprocalRankFusion(9, ((BM25, 0.2),)).fuse(rankings) == {"a": pytest.approx(0.02), "b": 0.1}

    def test_the_weight_of_a_query_and_of_a_search_are_multiplied(self):
        light = Query("light", weight=0.5)
        fused = ReciprocalRankFusion(9, ((BM25, 0.4),)).fuse([ranking("a", light, BM25)])
        assert fused == {"a": pytest.approx(0.4 * 0.5 / 10, abs=1e-15)}

    def test_rewrites_weigh_less_than_the_question(self):
        own = ranking("ab")
        other = replace(ranking("bc"), query=Query("reworded", "synonyms"))
        expected = {"a": 1 / 61, "b": 1 / 62 + 0.5 / 61, "c": 0.5 / 62}
        assert ReciprocalRankFusion(60, rewrites=0.5).fuse([own, other]) == pytest.approx(expected, abs=1e-15)
        assert set(ReciprocalRankFusion(60, rewrites=0).fuse([own, other])) == {"a", "b"}

    @given(st.permutations("abcdef"), st.permutations("defghi"), st.floats(0.05, 1))
    def test_a_search_of_weight_zero_is_as_if_it_had_not_been_made(self, one, two, weight):
        by_words, by_meaning = ranking(one, retriever=BM25), ranking(two, retriever=DENSE)
        weighted = ReciprocalRankFusion(60, ((BM25, weight), (DENSE, 0.0)))
        assert weighted.fuse([by_words, by_meaning]) == weighted.fuse([by_words])
        assert weighted.fuse([by_meaning, by_words]) == weighted.fuse([by_words])


class TestMergeWeights:
    @pytest.mark.parametrize(
        ("stage", "weights"),
        [
            (WeightedFusion(), [1.0, 0.95, 0.9, 0.85]),  # seed 001: 1 − 0.05 · i
            (WeightedFusion("linear", 0.3), [1.0, 0.7, 0.4, 0.1, 0.0, 0.0]),  # never below 0
            (WeightedFusion("linear", 0.0), [1.0, 1.0, 1.0]),
            (WeightedFusion("exponential"), [1.0, 0.9, 0.81, 0.729]),  # seed 001: 0.9^i
            (WeightedFusion("equal"), [1.0, 1.0, 1.0]),
            (WeightedFusion("custom", weights=(0.2, 2.0)), [0.2, 2.0, 1.0, 1.0]),  # missing ones are 1
            (WeightedFusion("custom"), [1.0, 1.0]),
        ],
        ids=lambda value: value.weighting if isinstance(value, WeightedFusion) else "",
    )
    def test_the_weight_goes_by_the_place(self, stage, weights):
        assert [stage.weight(place) for place in range(len(weights))] == weights

    def test_a_rewrite_keeps_its_weight_when_the_one_before_it_failed(self):
        second, third = found_by(1, 2, scores=(1.0, 0.5))
        assert merged(WeightedFusion(), second) == {"a": 0.95}
        assert merged(WeightedFusion(combine="sum"), second, third) == {"a": pytest.approx(0.95 + 0.9 * 0.5)}

    def test_the_queries_of_the_state_carry_the_weights_they_voted_with(self):
        state = after(WeightedFusion("exponential"), *found_by(0, 2, scores=(0.5, 0.5)))
        assert [(query.text, query.weight) for query in state.queries] == [("q0", 1.0), ("q2", 0.81)]


class TestMerge:
    RANKINGS = (
        scored({"a": 0.6, "b": 0.9}, Query("one", template_index=0)),
        scored({"a": 0.8, "c": 0.5}, Query("two", template_index=1)),
        scored({"a": 0.7, "d": -0.2}, Query("three", template_index=2)),
    )

    @pytest.mark.parametrize(
        ("combine", "a"),
        [
            ("max", 0.95 * 0.8),  # 0.76 > 0.9 · 0.7 = 0.63 > 0.6
            ("first", 1.0 * 0.6),  # seed 001: the first query that found it
            ("sum", 1.0 * 0.6 + 0.95 * 0.8 + 0.9 * 0.7),
        ],
    )
    def test_a_passage_that_several_rewrites_found(self, combine, a):
        scores = merged(WeightedFusion(combine=combine), *self.RANKINGS)
        assert scores == pytest.approx({"a": a, "b": 0.9, "c": 0.95 * 0.5, "d": 0.0}, abs=1e-12)

    def test_the_seeds_loop_gives_the_same(self):
        """Seed 001's merge, as it is written there: first seen wins, similarity not below 0."""
        seen: dict[str, float] = {}
        for i, found in enumerate(self.RANKINGS, 1):
            for each in found:
                if each.id not in seen:
                    seen[each.id] = max(0.0, each.score) * (1.0 - (i - 1) * 0.05)
        assert merged(WeightedFusion(combine="first"), *self.RANKINGS) == pytest.approx(seen, abs=1e-12)

    def test_every_hit_says_which_rewrites_found_it_and_its_scale(self):
        best = after(WeightedFusion(), *self.RANKINGS).ranking.hits
        (a,) = [found for found in best if found.id == "a"]
        assert [(vote.stage, vote.query) for vote in a.votes] == [
            ("Dense", "one"), ("Dense", "two"), ("Dense", "three"), ("WeightedFusion", "question"),
        ]  # fmt: skip
        assert {found.scale for found in best} == {"weighted_cosine"}

    def test_ties_are_ordered_by_id(self):
        tied = scored({"b": 0.5, "c": 0.5}, "q"), scored({"a": 0.5}, "r")
        assert list(merged(WeightedFusion("equal"), *tied)) == ["a", "b", "c"]


cosines = st.floats(-1, 1)
drawn = st.lists(st.dictionaries(st.sampled_from("abcde"), cosines, max_size=5), min_size=1, max_size=4).map(
    lambda lists: [scored(found, Query(f"q{i}", template_index=i)) for i, found in enumerate(lists)]
)
weightings = st.sampled_from(["linear", "exponential", "equal", "custom"])


@given(drawn, weightings, st.sampled_from(["max", "sum"]), st.randoms())
def test_the_order_of_the_rankings_matters_to_the_first_alone(rankings, weighting, combine, random):
    stage = WeightedFusion(weighting, weights=(0.5, 2.0), combine=combine)
    shuffled = list(rankings)
    random.shuffle(shuffled)
    assert merged(stage, *shuffled) == merged(stage, *rankings)


@given(drawn)
def test_one_rewrite_of_weight_one_changes_no_cosine_but_those_below_zero(rankings):
    alone = rankings[0]
    for combine in ("max", "first", "sum"):
        assert merged(WeightedFusion(combine=combine), alone) == {found.id: max(0.0, found.score) for found in alone}


class TestBest:
    def test_the_best_score_of_any_ranking_and_its_scale(self):
        one = scored({"a": 3.0, "b": -1.0}, "one", "cross_encoder")
        two = scored({"b": 2.0, "c": -4.0}, "two", "cross_encoder")
        state = after(MaxFusion(), one, two)
        assert [(found.id, found.score, found.scale) for found in state.ranking] == [
            ("a", 3.0, "cross_encoder"),
            ("b", 2.0, "cross_encoder"),
            ("c", -4.0, "cross_encoder"),
        ]
        (b,) = [found for found in state.ranking if found.id == "b"]
        assert b.votes == (
            Vote("Dense", "one", 2, -1.0, "cross_encoder"),
            Vote("Dense", "two", 1, 2.0, "cross_encoder"),
            Vote("MaxFusion", "question", 2, 2.0, "cross_encoder"),
        )

    @given(drawn)
    def test_nothing_is_lost_and_nothing_made_up(self, rankings):
        every = [found for each in rankings for found in each]
        scores = merged(MaxFusion(), *rankings)
        assert scores.keys() == {found.id for found in every}
        assert all(math.isclose(max(f.score for f in every if f.id == name), s) for name, s in scores.items())
