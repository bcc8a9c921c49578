"""What writing a generation did, and what it cost."""

from collections.abc import Callable
from dataclasses import dataclass

from ..values.types import Cost, ModelCall


@dataclass(frozen=True, slots=True)
class WriteReport:
    """The outcome of writing a generation: its passages, how many of them were embedded now, and the calls.

    `without_context` passages have no context, or questions, for a `reason`; `damage` was found in the index before.
    """

    passages: int
    embedded: int
    enricher: str = ""
    calls: tuple[ModelCall, ...] = ()
    without_context: int = 0
    reason: str = ""
    damage: str = ""
    embeddings: tuple[ModelCall, ...] = ()

    @property
    def cost(self) -> Cost:
        return Cost.of((*self.calls, *self.embeddings))


Progress = Callable[[str, int, int], None]  # (what, done, total)


def no_progress(what: str, done: int, total: int) -> None:
    """A progress callback that does nothing."""
