"""The bill of a trace: a line for each stage, and when each part of it took place."""

import itertools
import math
from dataclasses import replace

import pytest
from helpers.controls import every_recipe
from helpers.fakes import QUESTION
from hypothesis import given
from hypothesis import strategies as st

from rag_core.catalog import build
from rag_core.explain.bill import Span, bill_of, spans
from rag_core.pipeline.stream import calls_of, collect, stream
from rag_core.runtime.services import Services
from rag_core.values.packed import pack, unpack
from rag_core.values.trace import Step, Trace
from rag_core.values.types import Cost, ModelCall, State


def call(cost: float | None = 0.25, by: str = "provider", sent: int = 100, received: int = 10) -> ModelCall:
    return ModelCall("answer", "m", sent, received, cost, by)  # type: ignore[arg-type]


def step(*calls: ModelCall, seconds: float = 0.5, **more: object) -> Step:
    return Step("S", "answer", {}, State.start("q"), seconds, calls, **more)  # type: ignore[arg-type]


def trace(*steps: Step) -> Trace:
    return Trace("q", "mine", {}, "0" * 12, steps)


def traces_of(services: Services, *names: str) -> list[Trace]:
    outcomes = collect(stream(QUESTION, [build(name) for name in names], services))
    return [one for one in outcomes if isinstance(one, Trace)]


def test_a_stage_taken_over_costs_nothing_and_takes_no_time():
    first, second = call(), call()
    bill = bill_of(trace(step(first, seconds=2.0, reused=True), step(second, seconds=0.5)))
    over, own = bill.lines
    assert (over.reused, over.seconds, over.tokens, over.cost.usd, over.shared) == (True, 0.0, (0, 0), 0.0, 1)
    assert (own.reused, own.seconds, own.tokens, own.cost.usd, own.shared) == (False, 0.5, (100, 10), 0.25, 0)
    assert (bill.total.seconds, bill.total.cost.usd, bill.alone.usd) == (0.5, 0.25, 0.25 + 0.25)


def test_a_call_counts_in_the_stage_that_made_it():
    once = call()
    bill = bill_of(trace(step(once), step(once), step(elsewhere := call(), shared=(elsewhere,))))
    assert [(len(line.calls), line.shared) for line in bill.lines] == [(1, 0), (0, 1), (0, 1)]
    assert (len(bill.total.calls), bill.total.shared) == (1, 1)


@pytest.mark.parametrize(
    ("by", "counting"),
    [
        ((), ""),
        (("provider",), "measured"),
        (("tokenizer", "tokenizer"), "estimated"),
        (("provider", "tokenizer"), "partly estimated"),
    ],
)
def test_who_counted_the_tokens(by, counting):
    (line,) = bill_of(trace(step(*(call(by=one) for one in by)))).lines
    assert line.counting == counting


COSTS = st.lists(st.none() | st.floats(0, 10), max_size=4)


@given(groups=st.lists(COSTS, min_size=1, max_size=5), data=st.data())
def test_the_lines_add_up_to_the_total(groups, data):
    steps = [step(*map(call, costs), reused=data.draw(st.booleans())) for costs in groups]
    again = steps[data.draw(st.integers(0, len(steps) - 1))]
    bill = bill_of(trace(*steps, replace(again, stage="Again")))
    assert bill.total.cost == Cost.of(one for line in bill.lines for one in line.calls)
    assert bill.total.tokens == tuple(map(sum, zip(*(line.tokens for line in bill.lines), strict=True)))
    assert bill.total.seconds == math.fsum(line.seconds for line in bill.lines)
    assert bill.total.cost.known <= bill.alone.known
    assert bill.total.cost.unpriced <= bill.alone.unpriced


@every_recipe
def test_a_strategy_on_its_own_pays_for_all_of_it(full, recipe):
    bill = bill_of(recipe.build().run(QUESTION, full))
    assert bill.total.cost == bill.alone
    assert bill.total.shared == 0


@every_recipe
def test_the_parts_are_the_lines_added_up_and_their_shares_are_one(full, recipe):
    bill = bill_of(recipe.build().run(QUESTION, full))
    parts = bill.parts.values()
    assert sum((part.cost for part in parts), Cost()) == bill.total.cost
    assert sum(len(part.calls) for part in parts) == len(bill.total.calls)
    assert math.isclose(sum(part.seconds for part in parts), bill.total.seconds)
    assert math.isclose(sum(bill.shares.values()), 1)


def test_the_judge_is_a_part_of_its_own_and_free_results_share_the_time():
    free = call(cost=0.0)
    stages = (("Rewrite", "transform", 1.0), ("Dense", "retrieve", 0.25), ("Rerank", "rerank", 0.25), ("LlmRerank", "rerank", 1.0),
              ("Blend", "rerank", 0.5), ("Threshold", "select", 0.5), ("Generate", "answer", 0.5))  # fmt: skip
    steps = [replace(step(free, seconds=seconds), stage=stage, kind=kind) for stage, kind, seconds in stages]
    # of 4 s: 1, 0.25 + 0.5 (selecting is retrieval), 0.25, 1 + 0.5, 0.5
    assert bill_of(trace(*steps)).shares == {
        "rewrite": 0.25, "retrieval": 0.1875, "rerank": 0.0625, "judge": 0.375, "answer": 0.125,
    }  # fmt: skip
    billed = [replace(steps[0], calls=(call(1.0),)), *steps[1:-1], replace(steps[-1], calls=(call(3.0),))]
    shares = bill_of(trace(*billed)).shares
    assert (shares["rewrite"], shares["judge"], shares["answer"]) == (0.25, 0.0, 0.75)
    assert bill_of(trace(step(free, reused=True))).shares == {}  # nothing was spent


def test_strategies_that_ran_together_add_up_to_what_was_paid(full):
    traces = traces_of(full, "multi_query", "ensemble", "hybrid_rrf", "hybrid_rrf", "rag_msr")
    bills = [bill_of(one) for one in traces]
    assert sum((bill.total.cost for bill in bills), Cost()) == Cost.of(calls_of(traces))
    assert sum(len(bill.total.calls) for bill in bills) == len(calls_of(traces))
    assert {bills[2].alone, bills[3].alone} == {bills[2].total.cost + bills[3].total.cost}, "one paid, for both"


def test_what_an_earlier_run_did_is_not_measured_again(full):
    (first,) = traces_of(full, "hybrid_rrf")
    (again,) = collect(stream(QUESTION, [build(("hybrid_rrf", {"mmr_lambda": 0.1}))], full, reuse=[first]))
    assert isinstance(again, Trace)
    bill = bill_of(again)
    assert [line.reused for line in bill.lines] == [True, True, True, False, False]
    assert [line.seconds for line in bill.lines[:3]] == [0.0, 0.0, 0.0]
    assert bill.total.cost == Cost.of(calls_of([again], [first]))


def inside(inner: Span, outer: Span) -> bool:
    return outer.started <= inner.started and inner.ended <= outer.ended + 1e-9  # sums of floats


@every_recipe
def test_stages_follow_each_other_and_have_their_searches_and_calls_inside(full, recipe):
    trace = recipe.build().run(QUESTION, full)
    found = spans(trace)
    stages = [span for span in found if span.level == "stage"]
    assert [span.name for span in stages] == [step.stage for step in trace.steps]
    assert all(after.started >= before.ended - 1e-9 for before, after in itertools.pairwise(stages))
    assert all(inside(span, stages[span.position]) for span in found)
    for position, step in enumerate(trace.steps):
        searches = [span for span in found if span.level == "search" and span.position == position]
        assert len(searches) == (len(step.after.rankings) if step.kind == "retrieve" else 0)
        calls = [span for span in found if span.level == "call" and span.position == position]
        assert len(calls) == len({one for one in step.calls if one not in step.shared})


def test_each_search_is_named_by_its_retriever_and_its_query(full):
    found = spans(build("multi_query").run(QUESTION, full))
    assert sorted((span.name, span.detail) for span in found if span.level == "search") == [
        ("dense", "expanded"), ("dense", "standalone"), ("dense", "synonyms"),
    ]  # fmt: skip


def test_strategies_of_a_comparison_share_a_clock_and_what_one_did_for_the_other(full):
    outcomes = collect(stream(QUESTION, [build("hybrid_rrf"), build("hybrid_rrf")], full))
    one, other = (spans(trace) for trace in outcomes if isinstance(trace, Trace))
    for mine, others in zip(one, other, strict=True):
        assert (mine.started, mine.seconds) == (others.started, others.seconds)
        assert mine.reused != others.reused, "one of the two ran it"


def test_what_an_earlier_run_did_takes_no_time(full):
    trace = build("hybrid_rrf").run(QUESTION, full)
    changed = build(("hybrid_rrf", {"mmr_lambda": 0.1}))
    (again,) = collect(stream(QUESTION, [changed], full, reuse=[trace]))
    assert isinstance(again, Trace)
    taken = [span for span in spans(again) if span.reused]
    assert [(span.level, span.name, span.started, span.seconds) for span in taken] == [
        ("stage", name, 0.0, 0.0) for name in ("Bm25 ∥ Dense", "ReciprocalRankFusion", "Top")
    ]
    assert all(span.started >= 0 for span in spans(again))


def test_a_trace_without_starts_has_its_stages_in_a_row(full):
    trace = build("hybrid_rrf").run(QUESTION, full)
    old = replace(trace, steps=tuple(replace(step, started=None, seconds=0.25) for step in trace.steps))
    assert [(span.level, span.started, span.seconds) for span in spans(old)] == [
        ("stage", 0.25 * position, 0.25) for position in range(5)
    ]


def test_the_times_are_kept_with_the_trace(full):
    trace = build("rag_msr").run(QUESTION, full)
    assert spans(unpack(pack(trace))) == spans(trace)
