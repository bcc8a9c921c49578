"""The jobs running in this process, measurements and uploads: started once, watched from any session, stopped or cleared.

A job's thread replaces an immutable `Status`, so that readers see a consistent one. Equal keys never run at the same time.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

from ..evaluation.cost_estimate import CostEstimate
from ..lab.adding import FileOutcome
from ..values.errors import RagError, Stopped, in_our_words
from ..values.message import Message
from ..values.types import ModelCall

Phase = Literal["running", "asking", "done", "stopped", "failed"]
JobKind = Literal["run", "sweep", "index", "reindex", "pool", "draft"]

PATIENCE = 1800.0  # seconds a paid job waits for consent before it is dropped
KEPT = 20  # finished jobs to keep


@dataclass(frozen=True, slots=True)
class RunningMean:
    """The mean of the scores so far."""

    count: int = 0
    total: float = 0.0

    def plus(self, score: float) -> Self:
        return replace(self, count=self.count + 1, total=self.total + score)

    @property
    def value(self) -> float | None:
        return self.total / self.count if self.count else None


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a job.

    Args:
        done: steps done, of `total` (0 while unknown).
        seconds_left: estimate; None while unknown.
        bill: its maximum cost, once known.
        billed: what the bill is for, to start a sentence with.
        embedded: the calls that embedded its documents, once they are open.
        calls: those made before it failed or was stopped.
        result: the folder of the run or of the uploaded files, or the file of the sweep, once done.
        files: what became of each uploaded file, once done.
    """

    phase: Phase = "running"
    doing: str = "starting"
    done: int = 0
    total: int = 0
    seconds_left: float | None = None
    bill: CostEstimate | None = None
    billed: str = Message("This")
    embedded: tuple[ModelCall, ...] = ()
    means: Mapping[str, RunningMean] = field(default_factory=dict)
    error: RagError | None = None
    calls: tuple[ModelCall, ...] = ()
    result: Path | None = None
    files: tuple[FileOutcome, ...] = ()

    @property
    def unread(self) -> str:
        """How many texts the embedding model did not read to their end; empty if it read all."""
        from ..models.embedding import shortened

        return shortened(self.embedded)

    @property
    def share(self) -> float:
        return min(1.0, self.done / self.total) if self.total else 0.0

    @property
    def paid(self) -> bool:
        return self.bill is not None and not self.bill.free


class Job:
    """One measurement, or one upload; equal keys are the same one. `started`: seconds since the epoch."""

    def __init__(self, key: str, kind: JobKind, title: str, patience: float = PATIENCE) -> None:
        self.key = key
        self.kind = kind
        self.title = title
        self.started = time.time()
        self.status = Status()
        self.stop_requested = threading.Event()
        self._patience = patience
        self._agreed = threading.Event()
        self._agreeing = threading.Lock()
        self._over = threading.Event()

    @property
    def over(self) -> bool:
        return self._over.is_set()

    @property
    def stopping(self) -> bool:
        """Whether it was asked to stop and is finishing the questions in progress."""
        return self.stop_requested.is_set() and not self.over

    def wait(self, timeout: float | None = None) -> bool:
        return self._over.wait(timeout)

    def stop(self) -> None:
        """Ask it to stop; a job waiting for consent is dropped."""
        self.stop_requested.set()

    def agree(self, bill: CostEstimate | None, reserve: Callable[[], None] = lambda: None) -> None:
        """Consent once to the bill that waits for it; `reserve` sets the money aside, or raises."""
        with self._agreeing:
            if self.status.phase == "asking" and bill is self.status.bill and not self._agreed.is_set():
                reserve()
                self._agreed.set()

    def report(self, **changes: Any) -> None:
        """Change fields of the status; for its own thread."""
        self.status = replace(self.status, **changes)

    def ask(self, bill: CostEstimate, what: str = Message("This")) -> None:
        """Wait for consent before anything is billed; for its own thread. Each bill has its own consent.

        `what` is billed, at the beginning of a sentence. Raises Stopped if the user declined, RagError if nobody answered.
        """
        doing = self.status.doing
        self.report(bill=bill, billed=what)
        if bill.free:
            return
        self._agreed.clear()
        self.report(phase="asking", doing="waiting for your consent")
        deadline = time.monotonic() + self._patience
        while not self._agreed.wait(0.1):
            if self.stop_requested.is_set():
                raise Stopped
            if time.monotonic() > deadline:
                raise RagError(
                    Message(
                        "Nobody agreed to {bill} within {minutes:g} minutes, so nothing was run.",
                        bill=bill,
                        minutes=self._patience / 60,
                    ),
                    Message("Start it again when you are ready to agree."),
                )
        self.report(phase="running", doing=doing)

    def run(self, task: Callable[[Self], Path | None], before: Self | None) -> None:
        """Do the task on this thread, after the previous job with its key has ended."""
        try:
            while before and not before.wait(0.1):
                self.report(doing="waiting for the earlier one to stop")
                if self.stop_requested.is_set():
                    raise Stopped
            result = task(self)
            self.report(phase="done", doing="done", result=result, seconds_left=None)
        except Stopped as stopped:
            self.report(phase="stopped", doing="stopped", seconds_left=None, calls=stopped.calls)
        except RagError as error:
            self.report(phase="failed", doing="failed", error=error, calls=error.calls)
        except Exception as error:
            known = in_our_words(error)  # an error that no part of the task has named
            named = Message("{title}: {problem}", title=self.title, problem=known.message)
            self.report(phase="failed", doing="failed", error=type(known)(named, known.next_step))
        finally:
            self._over.set()


class Jobs:
    """The jobs of this process. Safe to share between threads and browser sessions."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}

    def start(self, key: str, kind: JobKind, title: str, task: Callable[[Job], Path | None]) -> Job:
        """Start a job on a thread, or join the one with this key; `task` reports to it and returns its result."""
        with self._lock:
            before = self._jobs.get(key)
            if before and not before.over and not before.stopping:
                return before
            job = Job(key, kind, title, self._patience)
            self._jobs.pop(key, None)
            self._jobs[key] = job
            finished = [one for one in self._jobs.values() if one.over]
            for old in finished[: max(0, len(finished) - KEPT)]:
                del self._jobs[old.key]
        threading.Thread(target=job.run, args=(task, before), name=f"{kind} {key}", daemon=True).start()
        return job

    def all(self, kind: JobKind | None = None) -> list[Job]:
        with self._lock:
            jobs = list(self._jobs.values())
        return [job for job in reversed(jobs) if kind in (None, job.kind)]

    def clear(self, job: Job) -> None:
        """Forget a finished job; its result stays on disk."""
        with self._lock:
            if job.over and self._jobs.get(job.key) is job:
                del self._jobs[job.key]
