"""Which passages did an answer need? The same question, answered from the others."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ..pipeline.stream import remember
from ..runtime.run import Run
from ..runtime.services import Services
from ..stages import LeaveOut
from ..values.trace import Trace
from .without_models import recipe_of_unchanged


def answer_without(trace: Trace, passages: Collection[str], services: Services) -> Trace:
    """The trace, answered without these passages; only its answer stage runs again, and may call a model.

    Args:
        passages: ids; those that it does not use change nothing.
        services: those the trace was made with.

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
