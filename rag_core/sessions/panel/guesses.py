"""Wrong codes of rooms: who typed too many must wait, so that none is found by trying."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...values.errors import PanelError
from ...values.message import Message

WINDOW_S = 60.0
MOST = 30  # in a window, from an address
MOST_OF_ALL = 100  # and from all: of 23**5 codes, 1.1 % in the 12 h of a room


class Guesses:
    """Counts in memory, of one process; shared by threads. `now` gives seconds and never goes back."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._wrong: deque[tuple[float, str]] = deque()

    @contextmanager
    def guess(self, address: str) -> Iterator[None]:
        """Try a code in the block, which counts as wrong unless the block ends without PanelError.

        Many at once count too; after too many, PanelError is raised before the block.
        """
        attempt = (self._now(), address)
        with self._lock:
            while self._wrong and self._wrong[0][0] <= attempt[0] - WINDOW_S:
                self._wrong.popleft()
            theirs = sum(one == address for _, one in self._wrong)
            if theirs >= MOST or len(self._wrong) >= MOST_OF_ALL:
                said = Message("Too many wrong codes were typed.")
                raise PanelError(said, Message("Wait a minute, then type the code again."))
            self._wrong.append(attempt)
        wrong = False
        try:
            yield
        except PanelError:
            wrong = True
            raise
        finally:
            if not wrong:
                with self._lock:
                    if attempt in self._wrong:
                        self._wrong.remove(attempt)
