"""Every question asked in the app is kept: opened again without a call, found, deleted, or not kept at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from helpers.behaviours import Hang
from helpers.browser import ANSWER_MS, CHROMIUM, ENGLISH, SPANISH, Visit, serving
from helpers.openai_server import OpenAIServer, role_of
from helpers.provider_lab import obliging
from playwright.sync_api import Browser, Page, expect
from pydantic import SecretStr

from rag_core.history import History, open_history
from rag_core.lab.lab import Lab
from rag_core.prompts.prompt import ANSWER
from rag_core.values.settings import Settings

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]
PRIVATE = "Ewa Nowak, b. 1986-04-30: when is anti-D given?"
REDACTED = "[name and date of birth]: when is anti-D given?"


@pytest.fixture
def database(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'history.db'}"


@pytest.fixture
def kept(database: str) -> History:
    history = open_history(Settings(database_url=SecretStr(database)))
    assert history
    return history


Start = Callable[..., Visit]


@pytest.fixture
def start(browser: Browser, lab: Lab, real_home: Path, database: str) -> Iterator[Start]:
    """Starts the app, on this test's own history, and visits it."""
    with ExitStack() as apps:

        def run(**environment: str) -> Visit:
            set_ = {
                "RAG_HOME": str(real_home),
                "RAG_LLM": "offline",
                "RAG_DATABASE_URL": database,
                **environment,
            }
            visit = Visit(browser, apps.enter_context(serving(**set_)))
            apps.callback(visit.context.close)
            return visit

        yield run


def ask(visit: Visit, question: str) -> str:
    """Ask and wait; the address of the comparison, without the server."""
    visit.type(question)
    visit.run()
    expect(visit.results_for(question)).to_be_visible(timeout=ANSWER_MS)
    visit.wait_until_done()
    visit.page.wait_for_url("**/?*run=*")
    return visit.page.url.partition("?")[2]


def questions(visit: Visit) -> Page:
    visit.page.goto(f"{visit.page.url.partition('?')[0].rstrip('/')}/questions")
    expect(visit.page.get_by_role("heading", name="Questions asked")).to_be_visible(timeout=60_000)
    return visit.page


def shown(page: Page) -> list[str]:
    return page.locator(".rl-answer, .rl-passages, .rl-rewrites, .rl-stages, .rl-table").all_text_contents()


def test_a_question_is_opened_again_by_another_server_without_a_call(
    start: Start, server: OpenAIServer
) -> None:
    server.choose = obliging
    model = {"RAG_LLM": "openai", "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "test"}
    before = start(**model)
    address = ask(before, ENGLISH)
    expect(before.page.locator(".js-plotly-plot")).to_have_count(2)
    drawn, calls = shown(before.page), len(server.requests)
    assert calls > 0
    after = start(**model)
    after.page.goto(f"{after.page.url}?{address}")
    expect(after.page.get_by_text("Nothing was run again.")).to_be_visible(timeout=60_000)
    expect(after.page.locator(".js-plotly-plot")).to_have_count(2)
    assert shown(after.page) == drawn
    assert len(server.requests) == calls
    expect(after.page.get_by_label("Question", exact=True)).to_have_value(ENGLISH)
    after.assert_clean()


def test_a_comparison_that_the_app_did_not_live_to_finish_is_kept_as_far_as_it_came(
    start: Start, server: OpenAIServer
) -> None:
    server.choose = lambda body: Hang(after=3) if role_of(body) == ANSWER.purpose else obliging(body)
    model = {
        "RAG_LLM": "openai",
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "test",
        "RAG_TIMEOUT": "300",
    }
    before = start(**model)
    before.type(ENGLISH)
    before.run()
    expect(before.page.locator(".rl-live")).to_have_count(3, timeout=ANSWER_MS)
    before.page.wait_for_url("**/?*run=*")
    address, calls = before.page.url.partition("?")[2], len(server.requests)
    after = start(**model)
    after.page.goto(f"{after.page.url}?{address}")
    expect(after.results_for(ENGLISH)).to_be_visible(timeout=60_000)
    expect(after.page.get_by_text("this strategy was still running, or the app ended first")).to_have_count(3)
    expect(after.run_button).to_be_enabled()
    assert len(server.requests) == calls


def test_questions_are_found_opened_and_deleted(start: Start, kept: History) -> None:
    visit = start()
    first = ask(visit, SPANISH)
    ask(visit, ENGLISH)
    page = questions(visit)
    rows = page.get_by_role("button", name="Open again")
    expect(rows).to_have_count(2)
    page.get_by_label("Words in the question").fill("riesgos CESAREA")
    page.get_by_label("Words in the question").press("Enter")
    expect(rows).to_have_count(1)
    rows.click()
    expect(visit.results_for(SPANISH)).to_be_visible()
    assert first in page.url
    page = questions(visit)
    page.get_by_role("button", name="Delete", exact=True).last.click()
    expect(rows).to_have_count(1)
    assert [one.question for one in kept.search()] == [ENGLISH]
    page.goto(f"{page.url.removesuffix('questions')}?{first}")  # nor does the server's memory have it
    expect(page.get_by_text("no longer stored")).to_be_visible()
    page = questions(visit)
    page.get_by_role("button", name="Delete all").click()
    page.get_by_role("button", name="Delete 1 question").click()
    expect(page.get_by_text("No question has been asked yet.")).to_be_visible()
    assert kept.count() == 0


def test_switched_off_it_keeps_nothing(start: Start, kept: History) -> None:
    visit = start(RAG_HISTORY="off")
    ask(visit, ENGLISH)
    expect(questions(visit).get_by_text("RAG_HISTORY is off")).to_be_visible()
    assert kept.count() == 0


def test_a_history_that_cannot_be_written_costs_a_warning_and_no_answer(start: Start, tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("not a folder")
    visit = start(RAG_DATABASE_URL=f"sqlite:///{tmp_path}/blocked/history.db")
    ask(visit, ENGLISH)
    warning = visit.page.get_by_text("This question is not in the history.")
    expect(warning).to_have_count(1)
    expect(warning).to_contain_text("RAG_HISTORY=off")
    expect(visit.page.locator(".rl-answer")).to_have_count(3)


def test_a_private_question_is_kept_only_as_it_was_sent(
    start: Start, kept: History, server: OpenAIServer
) -> None:
    server.choose = obliging
    outside = server.url.replace("127.0.0.1", "0.0.0.0")
    visit = start(RAG_LLM="openai", OPENAI_BASE_URL=outside, OPENAI_API_KEY="test")
    visit.type(PRIVATE)
    visit.run()
    expect(visit.page.locator(".rl-held")).to_be_visible(timeout=ANSWER_MS)
    assert kept.count() == 0
    visit.page.get_by_role("button", name="Redact and run").click()
    visit.wait_until_done()
    (entry,) = kept.search()
    assert entry.question == REDACTED
    record = kept.find(entry.id)
    assert record
    assert "Nowak" not in repr(record)
