"""An assessor with a time limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ..runtime.services import Assessor
from ..values.types import Hit

TIME_LIMIT_S = 4.0  # eight passages take about half a second on a free core, four strategies in parallel two


@dataclass(frozen=True, slots=True)
class TimeLimitedAssessor:
    """An assessor with a time limit, for when a provider's answer is waiting for it.

    After a timeout the assessor continues in the background and caches the passages it has read, so that the
    same passages are assessed in time on the next request.

    Args:
        seconds: limit for the passages of one strategy.
    """

    assessor: Assessor
    seconds: float = TIME_LIMIT_S

    @property
    def name(self) -> str:
        """The assessor's name, which selects its label thresholds."""
        return self.assessor.name

    def relevance(self, question: str, hits: Sequence[Hit]) -> Sequence[float] | None:
        """One value per hit, 0 to 1; None on timeout."""
        return self._in_time(self.assessor.relevance, question, hits)

    def chances(
        self, question: str, hits: Sequence[Hit], among: Sequence[Hit] = ()
    ) -> Sequence[float] | None:
        """One value per hit, 0 to 1; None on timeout."""
        return self._in_time(self.assessor.chances, question, hits, among)

    def _in_time(
        self, measure: Callable[..., Sequence[float] | None], *given: object
    ) -> Sequence[float] | None:
        pool = ThreadPoolExecutor(1)
        assessed = pool.submit(measure, *given)
        pool.shutdown(wait=False)
        try:
            return assessed.result(self.seconds)
        except TimeoutError:
            return None
