import itertools
from dataclasses import replace

from helpers.controls import every_recipe
from helpers.fakes import QUESTION

from rag_core.catalog import build
from rag_core.explain.bill import Span, spans
from rag_core.pipeline.stream import collect, stream
from rag_core.values.packed import pack, unpack
from rag_core.values.trace import Trace


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
