"""Two results of one question compared: what entered, left and moved among the passages, and in the answer."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..pipeline.stream import remember
from ..runtime.run import Run
from ..runtime.services import Services
from ..stages import LeaveOut
from ..values.answers import Answer
from ..values.trace import Trace
from ..values.types import Passage
from .fate import fates
from .without_models import recipe_of_unchanged


def answer_without(trace: Trace, passages: Collection[str], services: Services) -> Trace:
    """The trace answered without these passages (ids); only its answer stage runs again, with its model.

    Raises:
        ConfigError: the strategy is not in the catalogue, or the models or the index have changed.
        StageError: the answer failed.
    """
    strategy = recipe_of_unchanged(trace, services).build(**trace.controls)
    *before, answering = strategy.stages
    changed = replace(strategy, stages=(*before, LeaveOut(tuple(sorted(passages))), answering))
    run = Run()
    remember(run.shared, trace, [changed], services)
    return changed.run(trace.question, services, run)


NOT_FOUND = "no search found it"


@dataclass(frozen=True, slots=True)
class RankChange:
    """A passage that either result uses: its rank in each, from 1, or None, and its later fate in words."""

    passage: Passage
    before: int | None
    after: int | None
    fate: str

    @property
    def kind(self) -> Literal["entered", "left", "up", "down", "same"]:
        if self.before is None:
            return "entered"
        if self.after is None:
            return "left"
        if self.after == self.before:
            return "same"
        return "up" if self.after < self.before else "down"


@dataclass(frozen=True, slots=True)
class SentenceChange:
    """A sentence of either answer."""

    text: str
    kind: Literal["new", "gone", "same"]


def rank_changes(before: Trace, after: Trace) -> tuple[RankChange, ...]:
    """The passages used after, in order, then those that are no longer used, in their earlier order.

    Example:
        >>> from rag_core.catalog import build
        >>> from rag_core.testing import sample_services
        >>> def used(k): return build(("bm25", {"k_final": k})).without_answer().run("horses", sample_services())
        >>> [(one.before, one.after, one.kind, one.fate) for one in rank_changes(used(2), used(1))]
        [(1, 1, 'same', 'used at 1'), (2, None, 'left', 'no search found it')]
    """
    was, now = _ranks(before), _ranks(after)
    told = {fate.passage.id: fate.text for fate in fates(after)}
    passages = {hit.id: hit.passage for trace in (before, after) for hit in trace.ranking}
    order = [*now, *(one for one in was if one not in now)]
    return tuple(
        RankChange(passages[one], was.get(one), now.get(one), told.get(one, NOT_FOUND)) for one in order
    )


def answer_changes(before: Answer, after: Answer) -> tuple[SentenceChange, ...]:
    """The sentences of the later answer, in order, then those that only the earlier one has.

    Numbers of citations do not count: they follow the ranks.

    Example:
        >>> from rag_core.values.answers import Answer
        >>> changes = answer_changes(Answer("I cannot tell."), Answer("Rest."))
        >>> [(one.text, one.kind) for one in changes]
        [('Rest.', 'new'), ('I cannot tell.', 'gone')]
    """
    was, now = _sentences(before), _sentences(after)
    kept = [SentenceChange(one, "same" if one in was else "new") for one in now]
    return (*kept, *(SentenceChange(one, "gone") for one in was if one not in now))


def _ranks(trace: Trace) -> dict[str, int]:
    return {hit.id: rank for rank, hit in enumerate(trace.ranking, start=1)}


def _sentences(answer: Answer) -> Sequence[str]:
    """Its sentences without markers; an abstention is one."""
    return [one.text for one in answer.sentences] or [answer.text]
