"""Files that visitors have chosen and not added: Streamlit holds them in memory; here they end, and have limits."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, cast

from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

if TYPE_CHECKING:
    from streamlit.runtime.memory_session_storage import MemorySessionStorage
    from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

MOST_OF_VISITOR, MOST = (
    210_000_000,
    525_000_000,
)  # bytes, of a visitor and of all: 10 and 25 of the largest files
SWEEP_S = 30.0


class Held:
    """Counts the bytes of a visitor's sessions; only the event loop may call it."""

    def __init__(self) -> None:
        self._sessions: defaultdict[str, set[str]] = defaultdict(set)
        self._coming: Counter[str] = Counter()

    @contextmanager
    def upload(self, visitor: str, session: str, size: int) -> Iterator[bool]:
        """Whether a visitor's session may upload `size` bytes, which count while the block runs."""
        files = cast(MemoryUploadedFileManager, runtime.get_instance().uploaded_file_mgr).file_storage
        theirs = self._sessions[visitor]
        theirs.intersection_update(files)  # the others have ended
        theirs.add(session)
        held = {one: sum(len(file.data) for file in kept.values()) for one, kept in [*files.items()]}
        mine = sum(held.get(one, 0) for one in theirs) + self._coming[visitor] + size
        fits = mine <= MOST_OF_VISITOR and sum(held.values()) + self._coming.total() + size <= MOST
        self._coming[visitor] += size * fits
        try:
            yield fits
        finally:
            self._coming[visitor] -= size * fits


def sweep() -> None:
    """End the sessions whose visitors have gone.

    Streamlit leaves it to the next visitor who goes, and to Python's collector, which never sees those that were there
    when the engine froze what it had loaded.
    """
    sessions = cast("WebsocketSessionManager", runtime.get_instance()._session_mgr)
    left: Any = cast("MemorySessionStorage", sessions._session_storage)._cache  # a TTLCache
    for _, gone in left.expire():
        gone.session.shutdown()
        gone.session.session_state.clear()  # the form's widgets have the files too


@asynccontextmanager
async def sweeping(_: object) -> AsyncIterator[None]:
    """Sweep while the app is served."""

    async def again_and_again() -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            sweep()

    task = asyncio.create_task(again_and_again())
    yield
    task.cancel()
