"""Saved sessions run again, and what differs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..catalog.setup import Setup, set_up
from ..pipeline.stream import collect
from ..values.errors import ConfigError, DataError, RagError
from ..values.trace import Trace
from .saved import Saved, SavedAnswer, SavedContext, SavedQuery

if TYPE_CHECKING:
    from ..lab.lab import Lab

SAME_SCORE = 1e-4  # relative; larger than the rounding differences between machines


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that changed (engine, strategy, queries, passages, scores, labels, answer, cost or run), in a sentence."""

    what: str
    says: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """A saved trace, and how its new run differs."""

    saved: Saved
    differences: tuple[Difference, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "label": self.saved.name,
            "strategy": self.saved.strategy,
            "differences": [{"what": one.what, "says": one.says} for one in self.differences],
        }


def replay(saved: Sequence[Saved], lab: Lab, *, own_corpora: bool = True) -> list[Replayed]:
    """Run saved traces again, all at the same time; a run that fails counts as a difference.

    The first runs on the lab's corpus, as do those that searched the same one; with `own_corpora` the others run on
    theirs. Raises DataError if a strategy or control no longer exists, RagError if this lab cannot take the question.
    """
    try:
        columns = [
            _column(one, "" if one.corpus == saved[0].corpus or not own_corpora else one.corpus) for one in saved
        ]
    except ConfigError as error:
        raise DataError(f"The session cannot be run again: {error.message}", error.next_step) from error
    runs = collect(lab.stream(saved[0].question, columns, country=saved[0].country or ""))
    return [Replayed(one, tuple(_differences(one, run))) for one, run in zip(saved, runs, strict=True)]


def _column(saved: Saved, corpus: str) -> Setup:
    where = saved.engine.get("where") or ""
    return set_up((saved.strategy, {**saved.controls, **saved.models, "corpus": corpus, "where": where}))


def _differences(then: Saved, run: Trace | RagError) -> Iterator[Difference]:
    if isinstance(run, RagError):
        yield Difference("run", f"It now fails: {run}")
        return
    now = Saved.model_validate(run.as_json())
    for part in sorted(then.engine.keys() | now.engine.keys()):
        before, after = then.engine.get(part), now.engine.get(part)
        if before != after:
            yield Difference("engine", f"{part} was {_shown(before)}, is {_shown(after)}.")
    if then.fingerprint != now.fingerprint:
        yield Difference("strategy", "Its stages or their parameters have changed.")
    yield from _queries(then.queries, now.queries)
    yield from _passages(then.contexts, now.contexts)
    if _said(then.answer) != _said(now.answer):
        yield Difference("answer", f"It was: {_words(then.answer)} It is: {_words(now.answer)}")
    before, after = then.metrics.total_cost, now.metrics.total_cost
    if before is None or after is None:
        same = before is after
    else:
        same = math.isclose(before, after, rel_tol=1e-9, abs_tol=1e-12)
    if not same:
        yield Difference("cost", f"It was {_dollars(before)}, is {_dollars(after)}.")


def _queries(then: Sequence[SavedQuery], now: Sequence[SavedQuery]) -> Iterator[Difference]:
    before, after = ({query.origin: query for query in queries} for queries in (then, now))
    for origin in dict.fromkeys([*before, *after]):
        was, now_is = before.get(origin), after.get(origin)
        if was is None:
            yield Difference("queries", f"{origin} is new: {after[origin].text!r}.")
        elif now_is is None:
            yield Difference("queries", f"{origin} is gone: {was.text!r}.")
        elif was.text != now_is.text:
            yield Difference("queries", f"{origin} was {was.text!r}, is {now_is.text!r}.")
        elif was.weight != now_is.weight:
            yield Difference("queries", f"{origin} weighed {was.weight:g}, weighs {now_is.weight:g}.")


def _passages(then: Sequence[SavedContext], now: Sequence[SavedContext]) -> Iterator[Difference]:
    before, after = (
        {context.id: (rank, context) for rank, context in enumerate(contexts, start=1)} for contexts in (then, now)
    )
    for identity in dict.fromkeys([*before, *after]):
        was, now_is = before.get(identity), after.get(identity)
        if was is None:
            rank, context = after[identity]
            yield Difference("passages", f"New at rank {rank}: {context.title} ({identity}).")
        elif now_is is None:
            yield Difference("passages", f"Gone from rank {was[0]}: {was[1].title} ({identity}).")
        else:
            yield from _moved(*was, *now_is)


def _moved(then: int, was: SavedContext, now: int, now_is: SavedContext) -> Iterator[Difference]:
    if then != now:
        yield Difference("passages", f"From rank {then} to {now}: {now_is.title} ({now_is.id}).")
    if was.score_scale != now_is.score_scale or not math.isclose(
        was.score, now_is.score, rel_tol=SAME_SCORE, abs_tol=SAME_SCORE / 100
    ):
        scores = f"{was.score_scale} {was.score:.4f}, is {now_is.score_scale} {now_is.score:.4f}"
        yield Difference("scores", f"{now_is.id} was {scores}.")
    if was.label != now_is.label:
        yield Difference("labels", f"{now_is.id} was {_shown(was.label)}, is {_shown(now_is.label)}.")


def _shown(value: object) -> str:
    return "nothing" if value is None else str(value)


def _said(answer: SavedAnswer | None) -> tuple[str, bool] | None:
    return None if answer is None else (answer.text, answer.abstained)


def _words(answer: SavedAnswer | None) -> str:
    return "no answer." if answer is None else answer.text


def _dollars(cost: float | None) -> str:
    return "n/a (a price is unknown)" if cost is None else f"${cost:.6f}"
