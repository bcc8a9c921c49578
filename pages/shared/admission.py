"""How many questions run at the same time; the others wait in the order in which they came."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Admission:
    """A line of questions, of which the first `most` run. Thread-safe.

    Args:
        most: questions at the same time, 1 or more.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._line: list[object] = []
        self._changed = threading.Condition()

    @contextmanager
    def turn(self, question: object, given_up: Callable[[], bool]) -> Iterator[None]:
        """Wait until fewer than `most` are before it, and have a place until the end of the block.

        Args:
            question: whatever stands for it in the line.
            given_up: whether not to wait any longer; asked whenever the line changes, see `look_again`.
        """
        try:
            with self._changed:
                self._line.append(question)
                self._changed.notify_all()
                self._changed.wait_for(lambda: given_up() or not self.ahead(question))
            yield
        finally:
            with self._changed:
                self._line.remove(question)
                self._changed.notify_all()

    def look_again(self) -> None:
        """Ask every waiting question whether it has been given up."""
        with self._changed:
            self._changed.notify_all()

    def ahead(self, question: object) -> int:
        """How many questions must end before this one runs; 0 for one that runs, or is not in the line."""
        line = list(self._line)
        return max(0, line.index(question) + 1 - self._most) if question in line else 0

    @property
    def counts(self) -> tuple[int, int]:
        """How many questions run, and how many wait."""
        known = len(self._line)
        return min(known, self._most), max(0, known - self._most)
