"""Every passage that any stage returned has exactly one fate, with the numbers that the stage itself used."""

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from helpers.controls import every_recipe, retrieve
from helpers.fakes import QUESTION, score, talker
from helpers.questions import random_questions, random_values
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.explain import Fate, answer_without, fates, lanes
from rag_core.pipeline.strategy import Strategy
from rag_core.runtime.context import Context
from rag_core.runtime.services import Services
from rag_core.stages import Bm25, Dense, Mmr, ReciprocalRankFusion, Retrieve, SelectStage, Top
from rag_core.testing import sample_services
from rag_core.values.errors import ConfigError
from rag_core.values.trace import Trace
from rag_core.values.types import Hit, Passage, Ranking

QUESTIONS = random_questions(40)


def with_text(trace: Trace, text: str) -> Fate:
    (found,) = [fate for fate in fates(trace) if fate.text == text]
    return found


@every_recipe
def test_every_candidate_has_exactly_one_fate(full, recipe):
    chosen = random.Random(recipe.name)
    for question in QUESTIONS:
        trace = recipe.build(**random_values(recipe, chosen)).without_answer().run(question, full)
        found = fates(trace)
        candidates = {hit.id for step in trace.steps for ranking in step.after.rankings for hit in ranking}
        assert sorted(fate.passage.id for fate in found) == sorted(candidates)
        used = [fate for fate in found if fate.used]
        assert [fate.passage.id for fate in used] == [hit.id for hit in trace.ranking]
        assert [fate.text for fate in used] == [f"used at {rank}" for rank in range(1, len(used) + 1)]
        for fate in found:
            check(fate, trace, full)


def check(fate: Fate, trace: Trace, full: Services) -> None:
    """The numbers of a fate against the states before and after its step."""
    if fate.used:
        return
    before, after = trace.steps[fate.position - 1].after, trace.steps[fate.position].after
    ranks = [
        rank for ranking in before.rankings for rank, hit in enumerate(ranking, start=1) if hit.id == fate.passage.id
    ]
    assert fate.rank == min(ranks)
    assert fate.rank <= fate.of
    assert fate.passage.id not in {hit.id for ranking in after.rankings for hit in ranking}
    match fate.kind:
        case "cut":
            assert fate.limit is not None
            assert fate.rank > fate.limit == trace.steps[fate.position].params["k"]
            assert trace.controls[fate.control] == fate.limit
        case "below":
            assert fate.score is not None
            assert fate.limit is not None
            assert fate.score < fate.limit == trace.controls["theta"]
        case "similar" | "less_relevant" | "tied":
            check_mmr(fate, trace, full)
        case "weightless":
            assert 0.0 in trace.controls.values()
        case kind:
            pytest.fail(f"{kind}: our own stages say more than that")


def check_mmr(fate: Fate, trace: Trace, full: Services) -> None:
    """The reason against MMR's formula, reckoned here from the vectors: λ · cos(question, d) − (1 − λ) · max cos(d, picked)."""
    picked = [hit.id for hit in trace.steps[fate.position].after.ranking]
    lam = trace.steps[fate.position].params["lambda_"]
    (question,) = Context(full).embed((trace.question,)).astype(float)

    def parts(identity: str) -> tuple[float, float]:
        """Relevance, and likeness to the picks before the last."""
        mine, *others = full.index.vectors([identity, *picked[:-1]]).astype(float)
        return float(mine @ question), max((float(mine @ other) for other in others), default=0.0)

    (relevance, likeness), (wanted, liked) = parts(fate.passage.id), parts(picked[-1])
    share = lam if picked[1:] else 1.0  # the first pick is the most relevant at every λ
    behind, alike = share * (wanted - relevance), (1 - lam) * (likeness - liked)
    assert behind + alike >= -2e-8, "it would have been picked"
    assert (fate.score, fate.limit) == pytest.approx(
        (lam * relevance - (1 - lam) * likeness, lam * wanted - (1 - lam) * liked), abs=1e-8
    )
    told = tuple(float(number) for number in re.findall(r"-?\d\.\d+", fate.text))
    match fate.kind:
        case "less_relevant":
            assert behind > 0
            assert behind >= alike - 1e-8
            assert told == pytest.approx((relevance, wanted), abs=0.006)
            assert told[0] < told[1]
        case "similar":
            assert alike > 0
            assert alike >= behind - 1e-8
            assert told == pytest.approx((likeness, liked), abs=0.006)
            assert told[0] > told[1]
        case _:
            assert (behind, alike) == pytest.approx((0, 0), abs=1e-8)
            assert told == ()
    if fate.near:
        one, other = full.index.vectors([fate.passage.id, fate.near]).astype(float)
        assert fate.near in picked
        assert fate.similarity == pytest.approx(float(one @ other), abs=1e-8)
        assert fate.similarity == pytest.approx(likeness, abs=1e-8)


WORDS = st.lists(st.sampled_from(["cats", "dogs", "sleep", "milk", "door"]), min_size=1, max_size=4)


@given(
    st.lists(WORDS, min_size=2, max_size=7),
    WORDS,
    st.sampled_from([0.0, 1.0]) | st.floats(0, 1),
    st.integers(1, 4),
)
@settings(derandomize=True, max_examples=300, deadline=None)
def test_the_reason_of_mmr_is_true_of_its_formula(texts, question, lam, k):
    passages = [Passage(f"p{row}", f"d{row}", f"{row}", " ".join(words)) for row, words in enumerate(texts)]
    services = sample_services(passages)
    stages = (Retrieve((Dense(k=7),)), Mmr(k=k, lambda_=lam, control="k"))
    trace = Strategy("spread", stages).run(" ".join(question), services)
    for fate in fates(trace):
        if fate.kind != "merged" and not fate.used:
            check_mmr(fate, trace, services)


def test_the_words_of_each_cut(full):
    texts = [fate.text for fate in fates(retrieve(full, "hybrid_rrf", mmr=False, k_rrf_pool=7, k_final=5))]
    assert texts[4:9] == [
        "used at 5", "cut by the 5-passage limit (rank 6)", "cut by the 5-passage limit (rank 7)",
        "cut by the pool of 7 (rank 8)", "cut by the pool of 7 (rank 9)",
    ]  # fmt: skip
    texts = [fate.text for fate in fates(retrieve(full, "contextual", rerank=True, k_candidates=6))]
    assert "not reranked: cut by the 6-candidate limit (rank 7)" in texts


def test_a_cut_in_one_of_several_lists_names_the_list(full):
    texts = [fate.text for fate in fates(retrieve(full, "rag_msr", m_per_query=2, theta=0))]
    assert "cut by the limit of 2 per reformulation (rank 3 for aspect-specific)" in texts


def test_below_theta_with_both_numbers(full):
    trace = retrieve(full, "rag_msr", theta=0.6, k_final=9)
    scored = {hit.id: hit.score for step in trace.steps if step.stage == "Blend" for hit in step.after.ranking}
    low = [fate for fate in fates(trace) if fate.kind == "below"]
    assert low
    assert {fate.passage.id for fate in low} == {name for name, value in scored.items() if value < 0.6}
    assert low[0].text == f"below θ: {scored[low[0].passage.id]:.2f} < 0.60"


def test_when_theta_drops_everything_the_fates_say_so(full):
    found = fates(retrieve(full, "rag_msr", theta=1.0))
    assert {fate.kind for fate in found} <= {"below", "cut"}
    assert [fate.kind for fate in found if fate.kind == "below"]


def test_a_passage_the_judge_did_not_rate(full):
    llm = talker(judge_passage=("no score", "no score", *[score(80)] * 20))
    silent = replace(full, llms=dict.fromkeys(full.llms, llm), workers=1)
    trace = retrieve(silent, "rag_msr", theta=0)
    fate = with_text(trace, "left out by LlmRerank: it got no score (rank 1)")
    assert (fate.kind, fate.stage) == ("unscored", "LlmRerank")


def test_a_passage_that_only_a_search_of_weight_0_found(full):
    trace = retrieve(full, "contextual", bm25_weight=0.0, k_candidates=5)
    lexical, dense = trace.steps[0].after.rankings
    alone = {hit.id for hit in lexical} - {hit.id for hit in dense}
    found = [fate for fate in fates(trace) if fate.kind == "weightless"]
    assert {fate.passage.id for fate in found} == alone
    assert {fate.text for fate in found} == {"ignored by fusion: only searches of weight 0 found it"}


def test_mmr_says_what_a_passage_was_too_similar_to(full):
    trace = retrieve(full, "hybrid_rrf", mmr_lambda=0.3)
    lost = [fate for fate in fates(trace) if fate.kind == "similar"]
    ranks = {hit.id: rank for rank, hit in enumerate(trace.ranking, start=1)}
    assert lost
    for fate in lost:
        start = f"cut by MMR: too similar to passage {ranks[fate.near]} ({fate.similarity:.2f} > "
        assert fate.text.startswith(start)


def test_mmr_on_several_lists_tells_each_passage_of_its_own(full):
    stages = (
        Retrieve((Bm25(k=8), Dense(k=8))), Mmr(k=2, lambda_=0.5, control="k"), ReciprocalRankFusion(), Top(4),
    )  # fmt: skip
    trace = Strategy("apart", stages).run(QUESTION, full)
    picked = [{hit.id for hit in ranking} for ranking in trace.steps[1].after.rankings]
    for fate in fates(trace):
        if fate.near:
            before = trace.steps[0].after.rankings
            best = min(
                range(2),
                key=lambda row: next((at for at, hit in enumerate(before[row]) if hit.id == fate.passage.id), 99),
            )
            assert fate.near in picked[best]


@dataclass(frozen=True)
class EveryOther(SelectStage):
    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return ranking.hits[::2]


def test_a_stage_of_another_package_gets_a_plain_fate(full):
    trace = Strategy("theirs", (Retrieve((Dense(k=4),)), EveryOther())).run(QUESTION, full)
    assert [(fate.kind, fate.text) for fate in fates(trace)] == [
        ("used", "used at 1"),
        ("used", "used at 2"),
        ("dropped", "dropped by EveryOther (rank 2 of 4)"),
        ("dropped", "dropped by EveryOther (rank 4 of 4)"),
    ]


def test_places_are_the_ranks_in_every_list(full):
    trace = retrieve(full, "rag_msr")
    listed = lanes(trace)
    assert [(lane.stage, lane.origin, lane.size) for lane in listed[:3]] == [
        ("Dense", "paraphrasing", 5), ("Dense", "aspect_specific", 5), ("Dense", "entity_aware", 5),
    ]  # fmt: skip
    seen: list[list[int]] = [[] for _ in listed]
    for fate in fates(trace):
        for place in fate.places:
            seen[place.lane].append(place.rank)
    assert [sorted(ranks) for ranks in seen] == [list(range(1, lane.size + 1)) for lane in listed]


def test_a_fate_as_json_is_json(full):
    shown = [fate.as_json() for fate in fates(retrieve(full, "hybrid_rrf"))]
    assert json.loads(json.dumps(shown)) == shown
    assert {"id", "title", "kind", "rank", "text", "near", "similarity", "places"} <= set(shown[0])


@every_recipe
def test_only_the_answer_runs_again_from_the_other_passages(full, recipe):
    trace = recipe.build().run(QUESTION, full)
    first, *others = trace.ranking.hits
    changed = answer_without(trace, [first.id], full)
    assert [hit.id for hit in changed.ranking] == [hit.id for hit in others]
    assert [step.stage for step in changed.steps] == [
        *(step.stage for step in trace.steps[:-1]), "LeaveOut", trace.steps[-1].stage,
    ]  # fmt: skip
    assert [step.reused for step in changed.steps] == [*(True for _ in trace.steps[:-1]), False, False]
    assert first.id not in {one.context_id for one in changed.answer.citations}


def test_an_answer_that_did_not_quote_it_stays_and_without_any_passage_there_is_none(lab):
    trace = lab.run("When is anti-D given?", "bm25")
    cited = {one.context_id for one in trace.answer.citations}
    quoted = [hit.id for hit in trace.ranking if hit.id in cited]
    unquoted = [hit.id for hit in trace.ranking if hit.id not in cited]
    assert lab.without(trace, "nothing of this name").answer.text == trace.answer.text
    assert lab.without(trace, *quoted).answer.text != trace.answer.text
    assert lab.without(trace, *quoted, *unquoted).answer.abstained


def test_a_trace_of_other_models_is_refused(full, lab):
    trace = lab.run("When is anti-D given?", "bm25")
    with pytest.raises(ConfigError, match="have changed since"):
        answer_without(trace, [], replace(full, index=full.index))
