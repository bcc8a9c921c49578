"""What stages share: a value computed once, and calls made side by side."""

from __future__ import annotations

import contextvars
import threading

import pytest

from rag_core.context import Context, Once

SECONDS = 20  # to wait for what must come; nothing waits this long when it does


@pytest.mark.parametrize("threads", [1, 8])
def test_a_value_is_computed_once_however_many_ask_and_a_failure_reaches_all(threads: int):
    once, ready, computed = Once(), threading.Barrier(threads), []
    got: list[tuple[str, object]] = []

    def work(fails: bool) -> object:
        computed.append(fails)
        if fails:
            raise ValueError("no")
        return "value"

    def ask(fails: bool) -> None:
        ready.wait(timeout=SECONDS)
        try:
            got.append(once.get(fails, lambda: work(fails)))
        except ValueError as error:
            got.append((str(error), None))

    for fails in (False, True):
        askers = [threading.Thread(target=ask, args=(fails,)) for _ in range(threads)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join(SECONDS)
    assert computed == [False, True]
    assert sorted(got, key=str) == sorted(
        [("value", True), *[("value", False)] * (threads - 1), *[("no", None)] * threads], key=str
    )


@pytest.mark.parametrize("items", [[], ["a"], ["a", "b", "c"]])
def test_items_are_mapped_in_their_order_with_the_callers_context_variables(ctx: Context, items: list[str]):
    tag = contextvars.ContextVar("tag", default="lost")
    tag.set("kept")
    assert ctx.map(lambda item: (item, tag.get()), items) == [(item, "kept") for item in items]


def test_the_calls_of_one_stage_run_at_the_same_time(ctx: Context):
    meeting = threading.Barrier(3)
    assert sorted(ctx.map(lambda item: meeting.wait(timeout=SECONDS), ["a", "b", "c"])) == [0, 1, 2]


def test_a_failing_item_fails_the_map_after_all_have_ended(ctx: Context):
    ended: list[str] = []

    def work(item: str) -> None:
        ended.append(item)
        if item == "a":
            raise ValueError("no a")

    with pytest.raises(ValueError, match="no a"):
        ctx.map(work, ["a", "b", "c"])
    assert sorted(ended) == ["a", "b", "c"]


def test_the_same_texts_are_embedded_once_and_other_texts_and_kinds_on_their_own(ctx: Context, embedder):
    embedder.asked.clear()
    first, again = ctx.embed(("cats",)), ctx.embed(["cats"])
    ctx.embed(("cats",), "passage")
    ctx.embed(("cats", "dogs"))
    assert first is again
    assert embedder.asked == [("cats",), ("cats",), ("cats", "dogs")]


def test_a_metered_copy_has_its_own_ledger_and_warnings(ctx: Context):
    one, other = ctx.metered(), ctx.metered()
    one.embed(("cats",))
    one.warn("careful")
    assert (len(one.ledger), one.warnings) == (1, ["careful"])
    assert (other.ledger, other.warnings, ctx.ledger, ctx.warnings) == ([], [], [], [])
