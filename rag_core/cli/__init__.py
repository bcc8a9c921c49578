"""The `rag` command."""

import gc
import os
import signal
import threading
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, see `app.main`; while it is imported, Ctrl-C ends the process at once."""
    gc.set_threshold(100_000)  # at Python's 700 objects, a twentieth of a question's time looks for garbage
    if threading.current_thread() is threading.main_thread():  # only the main thread can handle signals
        before = signal.signal(signal.SIGINT, lambda number, frame: os._exit(130))
        from .app import main as run

        signal.signal(signal.SIGINT, before)
    else:
        from .app import main as run
    run(arguments)
