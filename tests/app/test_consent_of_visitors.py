import threading
from pathlib import Path

import pytest
from helpers.in_process import press, visitor

from pages.shared import account, measuring
from pages.shared.engine import engine
from rag_core import evaluation as ev
from rag_core.jobs import Job, Jobs
from rag_core.values.types import Cost

BILL = ev.CostEstimate({"judge": 1136}, Cost(0.5))


@pytest.fixture
def waiting(ready: Path, phase: threading.Event, monkeypatch: pytest.MonkeyPatch):
    """A job that waits for consent, started by the visitor called ana."""

    def task(job: Job) -> Path:
        job.ask(BILL)
        return ready

    jobs = Jobs()
    monkeypatch.setattr(measuring, "jobs", lambda: jobs)
    job = jobs.start("paid", "run", "a paid run", task)
    assert phase.wait(10)
    measuring._started_by[job] = "ana"
    yield job
    job.stop()
    assert job.wait(10)


def page(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(account, "visitor", lambda: name)
    at = visitor()
    at.switch_page("pages/evaluate/evaluate.py")
    return at.run()


def test_only_who_started_it_can_agree(waiting, monkeypatch):
    at = page("bea", monkeypatch)
    assert not [one for one in at.button if one.label == "Go on"]
    assert waiting.status.phase == "asking"
    at = page("ana", monkeypatch)
    press(at, "Go on")
    assert waiting.wait(10)
    assert waiting.status.phase == "done"


def test_a_bill_beyond_the_budget_is_refused(waiting, monkeypatch):
    monkeypatch.setattr(engine(), "settings", engine().settings.model_copy(update={"visitor_calls": 1135}))
    account.spending.clear()
    at = page("ana", monkeypatch)
    press(at, "Go on")
    assert waiting.status.phase == "asking"
    assert any("Your budget" in one.value for one in at.error)
    account.spending.clear()
