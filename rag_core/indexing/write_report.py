"""What writing a generation did, and what it cost."""

from collections.abc import Callable
from dataclasses import dataclass

from ..values.types import Cost, ModelCall


@dataclass(frozen=True, slots=True)
class WriteReport:
    """The outcome of writing a generation.

    Args:
        embedded: number of passages embedded; the rest were cached.
        enricher: key of the enricher; empty for a plain index.
        calls: the enricher's calls.
        without_context: number of passages whose context, or questions, failed; `reason` says why.
        damage: damage found in the previous index; empty when there was none.
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
