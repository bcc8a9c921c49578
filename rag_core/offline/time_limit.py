"""An assessor that answers in time or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ..runtime.services import Assessor
from ..values.types import Hit

BUDGET_S = 4.0  # eight passages take about half a second on one free core, four strategies at once two


@dataclass(frozen=True, slots=True)
class TimeLimitedAssessor:
    """An assessor within a budget of time, for where something else waits for it: a provider's answer.

    Past the budget it gives no values; the assessor goes on and remembers the passages it has read, so that
    the same passages are assessed in time when they are asked for again.

    Args:
        seconds: the budget for the passages of one strategy.
    """

    assessor: Assessor
    seconds: float = BUDGET_S

    @property
    def name(self) -> str:
        """The assessor's name: its values are labelled by its thresholds."""
        return self.assessor.name

    def relevance(self, question: str, hits: Sequence[Hit]) -> Sequence[float] | None:
        """One value per hit, 0 to 1; None when the budget did not suffice."""
        pool = ThreadPoolExecutor(1)
        assessed = pool.submit(self.assessor.relevance, question, hits)
        pool.shutdown(wait=False)
        try:
            return assessed.result(self.seconds)
        except TimeoutError:
            return None
