"""Measurements of the server: joined, watched, stopped, declined and cleared away from any session."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.beir import beir_folder
from helpers.small import DOCUMENTS

from rag_core import evaluation as ev
from rag_core.jobs import Job, Jobs, RunningMean, Status, start_run, start_sweep
from rag_core.jobs.job import KEPT
from rag_core.lab.lab import Lab
from rag_core.models import load_embedder
from rag_core.values.errors import ConfigError, LimitReached, RagError, Stopped, StorageError
from rag_core.values.settings import Settings, read_settings
from rag_core.values.types import Cost

SOON = 20.0  # seconds; the machine may be busy
PRICE = ev.CostEstimate({"rewrite": 3}, Cost(0.5))
DONE = Path("result")


@pytest.fixture
def jobs() -> Jobs:
    return Jobs()


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON
    while not true():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


class Gate:
    """A job that goes on when it is let; counts how many of its kind run at the same time."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.begun = 0
        self.now = 0
        self.most = 0
        self._lock = threading.Lock()

    def __call__(self, job: Job) -> Path:
        with self._lock:
            self.begun += 1
            self.now += 1
            self.most = max(self.most, self.now)
        try:
            while not self.open.wait(0.01):
                if job.stop_requested.is_set():
                    raise Stopped
        finally:
            time.sleep(0.05)  # the questions under way
            with self._lock:
                self.now -= 1
        return DONE


def test_starting_what_is_under_way_joins_it(jobs):
    gate = Gate()
    with ThreadPoolExecutor(8) as pool:
        started = list(pool.map(lambda _: jobs.start("key", "run", "a run", gate), range(8)))
    assert len(set(map(id, started))) == 1
    assert jobs.all() == [started[0]]
    gate.open.set()
    assert started[0].wait(SOON)
    assert gate.begun == 1
    assert (started[0].status.phase, started[0].status.result) == ("done", DONE)


def test_a_stopped_work_can_be_started_again_at_once(jobs):
    gate = Gate()
    first = jobs.start("key", "run", "a run", gate)
    until(lambda: gate.begun == 1)
    first.stop()
    second = jobs.start("key", "run", "a run", gate)
    assert second is not first
    gate.open.set()
    assert second.wait(SOON)
    assert (gate.begun, gate.most) == (2, 1), "the second waits until the first has let go"
    assert second.status.phase == "done"
    assert jobs.all("run") == [second], "the measurement stands once"
    assert jobs.all("sweep") == []


def test_one_that_waits_for_its_turn_can_be_stopped(jobs):
    held = threading.Event()

    def deaf(job: Job) -> Path:
        held.wait(SOON)
        return DONE

    first = jobs.start("key", "run", "a run", deaf)
    first.stop()
    second = jobs.start("key", "run", "a run", deaf)
    second.stop()
    assert second.wait(SOON)
    assert second.status.phase == "stopped"
    assert not first.over
    held.set()


def asking(job: Job) -> Path:
    job.ask(PRICE)
    return DONE


def test_consent_is_given_or_refused_from_any_session(jobs):
    job = jobs.start("paid", "run", "a paid run", asking)
    until(lambda: job.status.phase == "asking")
    assert jobs.all()[0].status.bill == PRICE, "another session sees it"
    jobs.all()[0].agree(job.status.bill)
    assert job.wait(SOON)
    assert (job.status.phase, job.status.paid) == ("done", True)

    refused = jobs.start("paid", "run", "a paid run", asking)
    until(lambda: refused.status.phase == "asking")
    jobs.all()[0].stop()
    assert refused.wait(SOON)
    assert refused.status.phase == "stopped"


def test_one_that_waits_for_consent_too_long_is_dropped():
    job = Jobs(patience=0.2).start("paid", "run", "a paid run", asking)
    assert job.wait(SOON)
    assert job.status.phase == "failed"
    assert "Nobody agreed to at most about $0.5000 for at most 3 rewrite calls" in str(job.status.error)
    assert "nothing was run" in str(job.status.error)


@pytest.mark.parametrize(
    ("raised", "says"),
    [
        (RagError("The disk is full.", "Free some space."), "The disk is full. Free some space."),
        (KeyError("x"), "a run: KeyError: 'x' The fault is in test_jobs (test_jobs.py, line "),
        (OSError(errno.ENOSPC, "No space left on device"), "a run: the disk cannot be used: No space left"),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), "a run: /x cannot be used: Permission"),
    ],
)
def test_what_goes_wrong_is_kept_with_the_next_step_and_the_disk_is_no_bug(jobs, raised, says):
    def failing(job: Job) -> Path:
        raise raised

    job = jobs.start("a", "run", "a run", failing)
    assert job.wait(SOON)
    assert str(job.status.error).startswith(says)
    assert isinstance(job.status.error, StorageError) == isinstance(raised, OSError)
    assert ("Free disk space" in str(job.status.error.next_step)) == isinstance(raised, OSError)


def test_only_what_is_over_is_cleared_away_and_few_are_remembered(jobs):
    gate = Gate()
    running = jobs.start("running", "run", "a run", gate)
    jobs.clear(running)
    assert jobs.all() == [running]
    gate.open.set()
    assert running.wait(SOON)
    jobs.clear(running)
    assert jobs.all() == []
    for number in range(KEPT + 3):
        assert jobs.start(str(number), "run", "a run", lambda job: DONE).wait(SOON)
    assert len(jobs.all()) == KEPT + 1, "the newest, and those that were over before it"


def test_a_mean_before_and_after_scores():
    assert RunningMean().value is None
    assert RunningMean().plus(0.5).plus(1.0).value == (0.5 + 1.0) / 2
    assert Status(done=3, total=4).share == 3 / 4
    assert Status().share == 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A BEIR folder with one question per sentence of the test documents."""
    asked = [(f"q{place}", one.text.split(".")[0], {one.id: 1}) for place, one in enumerate(DOCUMENTS)]
    return beir_folder(tmp_path / "animals", asked)


@pytest.fixture
def opened(folder: Path, lab: Lab, tmp_path: Path) -> tuple[Lab, Settings]:
    settings = read_settings(home=tmp_path / "home", llm="offline")
    return ev.open_judged(str(folder), settings, engines=lab.engines), settings


def start(jobs: Jobs, opened: tuple[Lab, Settings], folder: Path, lab_of: Callable[..., Lab] | None = None) -> Job:
    lab, settings = opened
    chosen = {"bm25": "bm25", "dense": "simple_semantic"}
    return start_run(jobs, lab_of or (lambda ask: lab), settings, str(folder), "test", chosen, None, ["ndcg@10"])


class Slow:
    """A lab whose questions wait for a permit each."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self.permits = threading.Semaphore(0)
        self.asked = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._lab, name)

    def untaught(self) -> Slow:
        return self

    def services(self) -> object:
        self.permits.acquire(timeout=SOON)
        self.asked += 1
        return self._lab.services()


def test_measure_stop_measure_goes_on_where_it_was(jobs, opened, folder):
    slow = Slow(opened[0])
    first = start(jobs, opened, folder, lambda ask: slow)  # type: ignore[arg-type, return-value]
    slow.permits.release(2)
    until(lambda: first.status.done >= 4)  # two questions by two strategies
    first.stop()
    slow.permits.release(1)
    assert first.wait(SOON)
    assert first.status.phase == "stopped"
    asked = slow.asked
    assert asked < len(DOCUMENTS)

    again = start(jobs, opened, folder)
    assert again.wait(SOON)
    assert again.status.error is None
    assert (again.status.phase, again.status.done) == ("done", 2 * len(DOCUMENTS))
    (only,) = ev.past_runs(opened[1])
    assert again.status.result == only, "it is the same run"
    run = ev.RunFolder.open(only)
    assert all(len(records) == len(run.judged.measured) for records in run.records.values())
    means = {label: mean.value for label, mean in again.status.means.items()}
    results = ev.stored_results(run)
    names = ev.titles(run.manifest)
    assert means == {
        names[label]: pytest.approx(row.metrics["ndcg@10"].mean) for label, row in results.strategies.items()
    }


def test_two_sessions_that_start_the_same_run_share_it(jobs, opened, folder):
    slow = Slow(opened[0])
    one = start(jobs, opened, folder, lambda ask: slow)  # type: ignore[arg-type, return-value]
    other = start(jobs, opened, folder)
    assert other is one
    slow.permits.release(50)
    assert one.wait(SOON)
    assert one.status.phase == "done"


def test_a_run_that_fails_lets_go_of_its_folder(jobs, opened, folder):
    class Broken(Slow):
        def rehearsal(self) -> object:
            raise RagError("The prices cannot be read.", "Mend data/prices.toml.")

    failed = start(jobs, opened, folder, lambda ask: Broken(opened[0]))  # type: ignore[arg-type, return-value]
    assert failed.wait(SOON)
    assert "The prices cannot be read" in str(failed.status.error)
    again = start(jobs, opened, folder)
    assert again.wait(SOON)
    assert again.status.phase == "done", again.status.error


def test_a_wrong_choice_starts_nothing(jobs, opened, folder):
    lab, settings = opened
    with pytest.raises(ConfigError, match="There is no metric"):
        start_run(jobs, lambda ask: lab, settings, str(folder), "test", {"bm25": "bm25"}, None, ["ndgc@10"])
    assert jobs.all() == []


def test_a_bill_is_reserved_once_however_often_somebody_agrees_and_a_refusal_leaves_the_job_asking():
    job, reserved = Job("k", "measurement", "Paid"), []
    bill = ev.CostEstimate({"answer": 3}, Cost(0.5))

    def refuse() -> None:
        raise LimitReached("Your budget is used up.")

    job.report(phase="asking", bill=bill)
    with pytest.raises(LimitReached):
        job.agree(bill, refuse)
    for _ in range(2):
        job.agree(bill, lambda: reserved.append(bill))
    assert reserved == [bill]


def test_a_work_asks_before_its_documents_are_embedded_and_again_before_its_questions(
    jobs, folder, lab, tmp_path, server
):
    settings = read_settings(
        home=tmp_path / "paid", llm="offline", embedding="openai:text-embedding-3-small",
        openai_base_url=server.url,
    )  # fmt: skip
    engines = replace(lab.engines, embedder=load_embedder(settings, lab.engines.prices))

    def lab_of(consent: Callable[[ev.CostEstimate], None]) -> Lab:
        return ev.open_judged(str(folder), settings, engines=engines, consent=consent)

    choice = {"dense": "simple_semantic"}
    job = start_run(jobs, lab_of, settings, str(folder), "test", choice, None, ["ndcg@10"])
    until(lambda: job.status.phase == "asking" or job.over)
    first = job.status.bill
    assert job.status.billed == "Embedding the documents"
    assert not server.requests
    job.agree(first)
    until(lambda: job.status.bill is not first and (job.status.phase == "asking" or job.over))
    assert (job.status.phase, job.status.billed) == ("asking", "This"), job.status.error
    assert len(server.requests) == len(job.status.embedded) == 2  # the probe sentence and the documents
    job.agree(first)
    job.wait(0.3)  # three of its looks for a consent
    assert job.status.phase == "asking", "a second click on the first consent is none to the second bill"
    job.stop()
    assert job.wait(SOON)
    assert job.status.phase == "stopped"
    assert job.status.calls == job.status.embedded
    assert len(server.requests) == 2


def test_a_sweep_is_a_work_too(jobs, opened, folder):
    lab, settings = opened
    from rag_core.catalog import RECIPES

    job = start_sweep(
        jobs,
        lambda ask: lab,
        settings,
        str(folder),
        RECIPES["multi_query"],
        {"merge": ("max", "first")},
        10,
        "mrr",
    )
    assert job.wait(SOON)
    assert job.status.phase == "done", job.status.error
    assert job.status.result is not None
    assert ev.SweepResult.read(job.status.result).varied == ("merge",)
    assert job.kind == "sweep"
