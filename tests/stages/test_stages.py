"""Each formula against arithmetic written out by hand, on vectors in the plane."""

import itertools
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from helpers.fakes import stopped
from helpers.looping import for_each
from helpers.plane import QUESTION, Plane, context, cos, hit, ranking, unit
from hypothesis import given
from hypothesis import strategies as st

from rag_core.prompts.prompt import ANSWER, JUDGE_PASSAGE, Template
from rag_core.prompts.templates import ANALYSIS, HYPOTHETICAL, STANDALONE, SYNONYMS, TRANSFORM
from rag_core.runtime.context import Context
from rag_core.stages import (
    AnalyseQueryByLlm,
    Blend,
    Bm25,
    Dense,
    Generate,
    Hyde,
    LlmRerank,
    MaxFusion,
    Mmr,
    ReciprocalRankFusion,
    Rephrase,
    RerankByQuestions,
    Retrieve,
    Retriever,
    Rewrite,
    SelectStage,
    Spread,
    Stage,
    Top,
    select,
)
from rag_core.stages.select import mmr_split
from rag_core.testing import sample_context, sample_services
from rag_core.values.errors import ConfigError, Stopped
from rag_core.values.types import Hit, Passage, Query, Ranking, Scale, State, Vote


def fused(*rankings: Ranking, k: int = 60) -> Ranking:
    state = replace(State.start("question"), rankings=rankings)
    return ReciprocalRankFusion(k)(state, context(Plane())).ranking


def kept(stage: SelectStage, plane: Plane, *ids: str) -> Ranking:
    state = replace(State.start("question"), rankings=(ranking(ids),))
    return stage(state, context(plane)).ranking


def test_rrf_sums_one_over_sixty_plus_rank():
    scores = ReciprocalRankFusion().fuse([ranking("ab"), ranking("bca")])
    assert scores == {"a": 1 / 61 + 1 / 63, "b": 1 / 62 + 1 / 61, "c": 1 / 62}
    assert ReciprocalRankFusion().fuse([ranking("ab"), ranking("ba")]) == {
        "a": 1 / 61 + 1 / 62,
        "b": 1 / 61 + 1 / 62,
    }


@pytest.mark.parametrize(("k", "expected"), [(0, 1 / 1 + 1 / 2), (1, 1 / 2 + 1 / 3), (200, 1 / 201 + 1 / 202)])
def test_the_rrf_constant_is_added_to_the_rank(k, expected):
    assert ReciprocalRankFusion(k).fuse([ranking("a"), ranking("ba")])["a"] == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("rankings", [(), (ranking(""),), (ranking(""), ranking(""))])
def test_fusing_nothing_leaves_an_empty_ranking(rankings):
    assert fused(*rankings).hits == ()


def test_one_empty_list_changes_nothing():
    assert [(found.id, found.score) for found in fused(ranking("ba"), ranking(""))] == [
        ("b", 1 / 61),
        ("a", 1 / 62),
    ]


def test_a_fused_hit_has_the_votes_of_every_list_and_its_own():
    first = Ranking.sort(Query("one"), [hit("a", 0.9), hit("b", 0.2)], "Dense")
    second = Ranking.sort(Query("two"), [hit("b", 7.0)], "Bm25")
    best, other = fused(first, second)
    assert best.votes == (
        Vote("Dense", "one", 2, 0.2, "cosine"),
        Vote("Bm25", "two", 1, 7.0, "cosine"),
        Vote("ReciprocalRankFusion", "question", 1, 1 / 62 + 1 / 61, "rrf"),
    )
    assert (best.id, best.scale, other.id) == ("b", "rrf", "a")


lists = st.lists(
    st.tuples(st.lists(st.sampled_from("abcdefgh"), unique=True), st.sampled_from([0.9, 0.95, 1.0, 2.0])),
    min_size=1,
    max_size=2,
)


@given(lists)
def test_the_order_of_two_fused_lists_never_matters(drawn):
    rankings = [ranking(ids, Query("q", weight=weight)) for ids, weight in drawn]
    forward, backward = fused(*rankings), fused(*reversed(rankings))
    assert [(h.id, h.score) for h in forward] == [(h.id, h.score) for h in backward]


TIED = ("abdefgc", "cahijkb", "bclmnoa")  # a, b and c: each once first, once second and once seventh


@pytest.mark.parametrize("order", list(itertools.permutations(TIED)), ids=",".join)
def test_defect_passages_with_the_same_ranks_in_three_lists_tie_and_are_ordered_by_id(order):
    best = fused(*(ranking(ids) for ids in order)).hits[:3]
    assert [found.id for found in best] == ["a", "b", "c"]
    assert len({found.score for found in best}) == 1


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.integers(1, 10), st.integers(1, 10))
def test_top_keeps_a_prefix_of_the_ranking(ids, fewer, more):
    shorter, longer = (kept(Top(k), Plane(), *ids).hits for k in sorted((fewer, more)))
    assert longer == ranking(ids).hits[: max(fewer, more)]
    assert shorter == longer[: len(shorter)]


def test_mmr_equals_the_arithmetic_against_the_most_similar_pick_not_the_last():
    plane = Plane(question=0, a=-80, b=-60, c=30, d=80)
    picked = kept(Mmr(k=4, lambda_=0.5), plane, *"abcd")
    # After c and a, passage b is 20° from a and d is 50° from c: against the last pick alone
    # d (160° from a) would come third.
    values = {
        "c": 0.5 * cos(30),
        "a": 0.5 * cos(80) - 0.5 * cos(110),
        "b": 0.5 * cos(60) - 0.5 * max(cos(90), cos(20)),
        "d": 0.5 * cos(80) - 0.5 * max(cos(50), cos(160), cos(140)),
    }
    against_last = 0.5 * cos(80) - 0.5 * cos(160)
    assert against_last > values["b"] > 0.5 * cos(80) - 0.5 * max(cos(50), cos(160))
    assert [found.id for found in picked] == list(values)
    assert [found.votes[-1].score for found in picked] == pytest.approx(list(values.values()), abs=1e-6)
    assert [(found.votes[-1].stage, found.votes[-1].rank) for found in picked] == [
        ("Mmr", 1), ("Mmr", 2), ("Mmr", 3), ("Mmr", 4),
    ]  # fmt: skip


def test_what_mmr_orders_by_is_the_score_and_what_it_is_made_of_is_on_the_vote():
    """After a, 20° from the question, c at −50° is worth more than b, which is 10° from a."""
    plane = Plane(question=0, a=20, b=30, c=-50)
    picked = kept(Mmr(k=3, lambda_=0.6), plane, *"cba").hits
    assert [(found.id, found.scale, found.score) for found in picked] == [
        ("a", "mmr", pytest.approx(0.6 * cos(20), abs=1e-6)),
        ("c", "mmr", pytest.approx(0.6 * cos(50) - 0.4 * cos(70), abs=1e-6)),
        ("b", "mmr", pytest.approx(0.6 * cos(30) - 0.4 * cos(10), abs=1e-6)),
    ]
    first, second, third = (found.votes[-1] for found in picked)
    assert [(term.name, term.passage) for term in first.terms] == [("cosine", "")]
    assert [(term.name, term.weight, term.passage) for term in second.terms] == [
        ("cosine", 0.6, ""), ("similarity", -0.4, "a"),
    ]  # fmt: skip
    assert [term.value for term in third.terms] == pytest.approx([cos(30), cos(10)], abs=1e-6)
    assert third.terms[1].passage == "a", "c is 80° from b"
    for vote in (first, second, third):
        assert vote.score == pytest.approx(sum(term.weight * term.value for term in vote.terms), abs=1e-12)


def test_a_score_of_a_later_stage_is_not_explained_by_an_earlier_one():
    plane = Plane(question=0, a=20, b=30)
    picked = kept(Mmr(k=2), plane, *"ab")
    (one, two) = MaxFusion()(replace(State.start("question"), rankings=(picked,)), context(plane)).ranking
    assert [one.votes[-1].terms, two.votes[-1].terms] == [(), ()]


def test_mmr_with_lambda_zero_takes_the_most_relevant_and_then_the_most_different():
    plane = Plane(question=50, a=0, b=10, c=170, d=80)
    picked = kept(Mmr(4, 0.0), plane, *"dcba")
    assert [found.id for found in picked] == ["d", "c", "a", "b"], "d is 30° from the question, b 40°"
    assert [found.votes[-1].score for found in picked] == pytest.approx(
        [0.0, -cos(90), -max(cos(80), cos(170)), -max(cos(70), cos(160), cos(10))], abs=1e-6
    )


@given(st.lists(st.integers(0, 359), min_size=1, max_size=7), st.sampled_from([0.0, 0.25, 0.5, 0.7, 1.0]))
def test_every_mmr_pick_has_the_highest_value_of_those_left(degrees, lam):
    vectors = np.array([unit(angle) for angle in degrees], np.float32)
    picks, _ = mmr_split(np.array([1, 0], np.float32), vectors, len(degrees), lam)
    assert sorted(row for row, *_ in picks) == list(range(len(degrees)))
    for done, (_, value, *_) in enumerate(picks):
        chosen = [degrees[row] for row, *_ in picks[:done]]
        left = [degrees[row] for row, *_ in picks[done:]]
        values = [
            lam * cos(angle) - (1 - lam) * max((cos(angle - other) for other in chosen), default=0) for angle in left
        ]
        assert value == pytest.approx(values[0], abs=1e-5)
        assert value == pytest.approx(max(values), abs=1e-5)


@for_each("lam", [0.0, 0.7, 1.0])
@for_each("order", ["abcd", "dcba", "cadb"])
def test_mmr_breaks_ties_by_id_whatever_the_order_of_the_ranking(lam, order):
    plane = Plane(question=0, a=40, b=40, c=40, d=40)
    assert [found.id for found in kept(Mmr(4, lam), plane, *order)] == list("abcd")


@for_each("count", range(2, 12))
def test_defect_passages_with_one_and_the_same_vector_tie_in_mmr(count):
    draws = np.random.default_rng(0).normal(size=(2, 384)).astype(np.float32)
    vector, question = draws / np.linalg.norm(draws, axis=1, keepdims=True)
    picks, _ = mmr_split(question, np.tile(vector, (count, 1)), count, 1.0)
    assert [row for row, *_ in picks] == list(range(count))


@pytest.mark.parametrize("kept", [2, 100])  # of the question and nine picks
def test_mmr_of_rows_compared_before_is_that_of_rows_just_met_to_the_last_bit(monkeypatch, kept):
    monkeypatch.setattr(select, "KEPT_COSINES", kept)
    random = np.random.default_rng(3)
    question, others = random.standard_normal(8, np.float32), random.standard_normal((40, 8), np.float32)
    vectors = random.standard_normal((40, 8), np.float32)
    moves = [(k, lambda_) for lambda_ in (0.2, 0.7, 0.9) for k in (3, 9)]
    mmr_split(question, others, 1, 0.5)
    again = [mmr_split(question, vectors, *move) for move in moves]
    for move, found in zip(moves, again, strict=True):
        mmr_split(question, others, 1, 0.5)  # so that the next are just met
        assert mmr_split(question, vectors.copy(), *move) == found


def test_mmr_asked_for_more_than_there_is_gives_all():
    assert len(kept(Mmr(k=9), Plane(question=0, a=10, b=20), *"ab")) == 2


def test_mmr_of_nothing_is_nothing_and_asks_no_model():
    plane = Plane(question=0)
    assert kept(Mmr(), plane).hits == ()
    assert plane.kinds == []


def test_dense_embeds_the_query_and_asks_for_k():
    plane = Plane(question=0, near=10, far=60)
    found = Dense(k=2).search(QUESTION, context(plane))
    assert plane.kinds == [("query", ("question",))]
    assert plane.searched == [([1.0, 0.0], 2)]
    assert [(h.id, h.scale) for h in found] == [("question", "cosine"), ("near", "cosine")]


@pytest.mark.parametrize(
    ("passages", "degrees"),
    [
        (("east",), 0.0),
        (("east", "north"), 45.0),
        (("east", "east", "north"), math.degrees(math.atan2(1, 2))),
    ],
    ids=["one", "two", "one counts twice"],
)
def test_dense_searches_with_the_normalised_mean_of_a_querys_passages(passages, degrees):
    plane = Plane(question=180, east=0, north=90)
    Dense().search(Query("question", passages=passages), context(plane))
    assert plane.kinds == [("passage", passages)]
    ((searched, _),) = plane.searched
    assert searched == pytest.approx(unit(degrees), abs=1e-6)


def test_passages_that_cancel_out_give_no_invalid_vector():
    plane = Plane(east=0, west=180)
    Dense().search(Query("question", passages=("east", "west")), context(plane))
    ((searched, _),) = plane.searched
    assert all(math.isfinite(x) for x in searched)


@dataclass(frozen=True)
class Meeting(Retriever):
    """Finds its passage once every search of the stage has begun."""

    name: ClassVar[str] = "meeting"
    scale: ClassVar[Scale] = "cosine"
    barrier: threading.Barrier
    finds: str

    @property
    def variant(self) -> str:
        return self.finds

    def search(self, query: Query, ctx: Context) -> Sequence[Hit]:
        self.barrier.wait(timeout=20)
        return [hit(f"{self.finds} for {query.text}")]


def test_every_query_is_searched_by_every_retriever_at_the_same_time_in_order():
    barrier = threading.Barrier(4)
    stage = Retrieve((Meeting(barrier, "left"), Meeting(barrier, "right")))
    queries = (Query("one", weight=0.5), Query("two"))
    state = replace(State.start("question"), queries=queries)
    rankings = stage(state, context(Plane())).rankings
    assert [(found.query, found.retriever, [h.id for h in found]) for found in rankings] == [
        (queries[0], "meeting left", ["left for one"]),
        (queries[0], "meeting right", ["right for one"]),
        (queries[1], "meeting left", ["left for two"]),
        (queries[1], "meeting right", ["right for two"]),
    ]
    assert rankings[3].hits[0].votes == (Vote("Meeting", "two", 1, 0.0, "cosine"),)


def test_two_retrievers_of_one_kind_are_told_apart_and_others_have_short_names():
    assert Retrieve((Bm25(), Dense(enriched=True))).names == ("bm25", "dense")
    assert Retrieve((Dense(), Dense(enriched=True), Bm25())).names == (
        "dense plain",
        "dense enriched",
        "bm25",
    )


@pytest.mark.parametrize("stage", [Top(1), Mmr(1), Blend(alpha=1)], ids=lambda stage: stage.name)
def test_a_ranking_keeps_its_retriever_until_rankings_are_fused(stage):
    rankings = (ranking("ab", Query("one"), "bm25"), ranking("ab", Query("two"), "dense"))
    state = replace(State.start("question"), rankings=rankings)
    ctx = context(Plane(question=0, one=0, two=0, a=0, b=10))
    after = stage(state, ctx)
    assert [found.retriever for found in after.rankings] == ["bm25", "dense"]
    assert [found.retriever for found in MaxFusion()(after, ctx).rankings] == [""]


def test_the_scale_of_a_ranking_is_that_of_its_hits():
    assert ranking("ab").scale == "cosine"
    assert replace(ranking("ab"), hits=(replace(hit("a"), scale="rrf"),)).scale == "rrf"
    assert ranking("").scale is None


@pytest.mark.parametrize("retriever", [Dense(), Bm25()], ids=["dense", "lexical"])
def test_retrieval_does_not_begin_once_the_run_was_stopped(retriever):
    plane = Plane(question=0)
    ctx = Context(context(plane).services, stopped())
    with pytest.raises(Stopped):
        Retrieve((retriever,))(State.start("question"), ctx)
    assert plane.searched == []


@for_each(("k1", "b"), [(0.0, 0.75), (3.0, 0.75), (1.5, 0.0), (1.5, 1.0)])
def test_bm25_searches_by_its_k1_and_b(k1, b):
    """What they do to a score is compared with rank_bm25 in tests/language/test_analysis.py."""
    context = sample_context()
    found = Bm25(5, k1, b).search(Query("stable horses"), context)
    expected = context.services.index.lexical("stable horses", 5, k1, b)
    assert [(hit.id, hit.score) for hit in found] == [(hit.id, hit.score) for hit in expected]


@for_each(("copies", "warned"), [(2, True), (5, False)])
def test_bm25_says_where_the_words_of_a_question_weigh_nothing(copies, warned):
    """Of 4 passages 2 have the word: idf = ln(2.5 / 2.5) = 0; of 7 passages 2: ln(5.5 / 2.5) > 0."""
    texts = ["the car seat", "a car park", *["lunch is at noon"] * copies]
    passages = [Passage(f"p{n}", f"d{n}", "", text) for n, text in enumerate(texts)]
    context = sample_context(sample_services(passages))
    Bm25(k=2).search(Query("car"), context)
    assert any("BM25 cannot rank" in one for one in context.meter.warnings) == warned


TEMPLATED: list[tuple[Callable[[Template], Stage], Template]] = [
    (Generate, ANSWER),
    (LlmRerank, JUDGE_PASSAGE),
    (lambda template: Hyde(template=template), HYPOTHETICAL),
    (AnalyseQueryByLlm, ANALYSIS),
    (lambda template: Rewrite((STANDALONE, template)), SYNONYMS),
    (lambda template: Rephrase((template,)), TRANSFORM),
]
every_template = pytest.mark.parametrize(("make", "ready"), TEMPLATED, ids=[ready.name for _, ready in TEMPLATED])


@every_template
def test_a_template_without_a_field_its_stage_fills_is_refused_when_the_stage_is_built(make, ready):
    name = make(ready).name
    with pytest.raises(ConfigError) as refused:
        make(replace(ready, name="mine", text=ready.text.replace("{question}", "it")))
    assert refused.value.message == f"{name}: template 'mine' is missing {{question}}."
    assert refused.value.next_step.startswith("The text needs {question}")


@every_template
def test_a_template_with_a_field_nothing_fills_is_refused_too(make, ready):
    name = make(ready).name
    with pytest.raises(ConfigError) as refused:
        make(replace(ready, name="mine", text=f"{ready.text} {{context}}"))
    assert refused.value.message == f"{name}: template 'mine' has {{context}}, which {name} does not fill."


@for_each(
    ("stage", "options", "says"),
    [
        (ReciprocalRankFusion, {"k": -1}, "k must be at least 0, not -1"),
        (ReciprocalRankFusion, {"weights": (("bm25", -0.1), ("dense", 1.0))}, "must not be negative"),
        (ReciprocalRankFusion, {"weights": (("dense", -0.1),)}, "must not be negative"),
        (ReciprocalRankFusion, {"rewrites": -0.1}, "must not be negative"),
        (RerankByQuestions, {"weight": -1}, "weight must be at least 0"),
        (Hyde, {"samples": 0}, "samples must be 1 or more"),
        *((Mmr, {"lambda_": value}, "lambda_ must be from 0 to 1") for value in (-0.01, 1.01, math.nan)),
        *((Blend, {"alpha": value}, "alpha must be from 0 to 1") for value in (-0.01, 1.01, math.nan)),
        *((Spread, {"weight": value}, "weight must be from 0 to 1") for value in (-0.1, 1.1)),
    ],
)  # fmt: skip
def test_a_parameter_out_of_range_is_refused(stage, options, says):
    with pytest.raises(ConfigError, match=says):
        stage(**options)


def test_optional_fields_and_doubled_braces_are_accepted():
    LlmRerank(replace(JUDGE_PASSAGE, text="{question} {sources}"))
    Rewrite((replace(SYNONYMS, text='{question}{form} as {{"json"}} or {{json}}'),))
