"""A reload in the middle of what runs, or before it runs, loses nothing."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.behaviours import Reply
from helpers.browser import (
    ANSWER_MS,
    CHROMIUM,
    ENGLISH,
    SPANISH,
    Visit,
    choose_passage,
    serving,
    switch_on,
    wait_for_models,
)
from helpers.openai_server import OpenAIServer, serve
from helpers.source_files import write
from playwright.sync_api import Browser, Page, expect

from rag_core import MAX_QUESTION
from rag_core.lab.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]
DRAFT = "¿Y después? A & B"


@pytest.fixture(scope="module")
def provider() -> Iterator[OpenAIServer]:
    with serve() as server:
        server.choose = lambda body: Reply("Go in at once [1].", seconds=4)
        yield server


@pytest.fixture
def paid(lab: Lab, real_home: Path, provider: OpenAIServer, tmp_path: Path) -> Iterator[str]:
    """The app with a slow model, and a state folder of its own."""
    provider.requests.clear()
    home = shutil.copytree(real_home, tmp_path / "home")
    settings = {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "test", "RAG_ABSTAIN": "off"}
    with serving(RAG_HOME=str(home), **settings) as address:
        yield address


def asked(page: Page, question: str) -> None:
    expect(page.get_by_label("Question", exact=True)).to_have_value(question)


def kept(page: Page) -> None:
    page.wait_for_function("new URL(location.href).searchParams.has('typed')")


def test_a_question_that_was_not_run_survives_a_reload(visit: Visit) -> None:
    page = visit.page
    visit.type(DRAFT)
    kept(page)
    page.reload()
    asked(page, DRAFT)
    wait_for_models(page)
    visit.pick(ENGLISH)
    page.wait_for_url(re.compile("typed=When"))
    page.reload()
    asked(page, ENGLISH)
    visit.run()
    visit.wait_until_done()
    page.wait_for_function("!new URL(location.href).searchParams.has('typed')")
    visit.type(DRAFT)
    kept(page)
    page.reload()
    expect(visit.results_for(ENGLISH)).to_be_visible()
    asked(page, DRAFT)
    visit.run()  # and what was read from the address can be run
    expect(visit.results_for(DRAFT)).to_be_visible()


def test_a_typed_question_that_is_too_long_is_cut_and_the_page_says_so(browser: Browser, app: str) -> None:
    visit = Visit(browser, f"{app}/?typed={'a' * (MAX_QUESTION + 1)}")
    asked(visit.page, "a" * MAX_QUESTION)
    expect(visit.page.get_by_text("The typed question has 2,001 characters")).to_be_visible()
    visit.context.close()


def test_a_typed_question_survives_moves_of_tune(browser: Browser, app: str) -> None:
    visit = Visit(browser, f"{app}/tune")
    page = visit.page
    visit.type(ENGLISH)
    visit.run()
    expect(page.locator(".rl-counter")).to_be_visible(timeout=ANSWER_MS)
    visit.type(DRAFT)
    kept(page)
    page.get_by_role("slider", name="mmr_lambda").press("ArrowLeft")
    page.wait_for_url(re.compile("mmr_lambda"))
    kept(page)
    page.reload()
    asked(page, DRAFT)
    expect(page.get_by_role("slider", name="mmr_lambda")).to_have_value("0.65")
    visit.context.close()


def test_a_question_that_tune_is_running_goes_on_through_a_reload(
    browser: Browser, paid: str, provider: OpenAIServer
) -> None:
    visit = Visit(browser, f"{paid}/tune")
    page = visit.page
    visit.type(ENGLISH)
    visit.run()
    expect(page.get_by_text("Writing the answer…")).to_be_visible(timeout=ANSWER_MS)
    page.wait_for_url(re.compile("run="))
    page.reload()
    asked(page, ENGLISH)
    expect(page.locator(".rl-counter")).to_be_visible(timeout=ANSWER_MS)
    expect(page.locator(".rl-answer")).to_contain_text("Go in at once")
    assert len(provider.requests) == 1  # nothing was asked again
    visit.context.close()


def test_contexts_are_written_through_reloads(
    browser: Browser, paid: str, provider: OpenAIServer, tmp_path: Path
) -> None:
    files = write(
        tmp_path / "files", {f"{name}.md": f"# {name}\n\nAbout {name}." for name in ("meals", "visits")}
    )
    visit = Visit(browser, paid)
    page = visit.page
    page.goto(f"{paid}/documents?view=add")
    wait_for_models(page)
    named = page.get_by_role("combobox", name="Name of the collection")
    named.fill("ward")
    named.press("Enter")
    page.locator("input[type=file]").set_input_files(sorted(files.iterdir()))
    expect(page.get_by_role("button", name=re.compile(r"Remove .+\.md"))).to_have_count(2)
    page.get_by_text("More choices").click()
    switch_on(page, "Add a context to each passage")
    page.get_by_role("button", name="Add documents").click()
    agree = page.get_by_role("button", name="Go on")
    expect(agree).to_be_visible(timeout=ANSWER_MS)
    page.reload()  # while it waits for consent
    expect(page.get_by_text("Nothing is sent before you agree.")).to_be_visible()
    assert provider.requests == []
    agree.click()
    expect(page.get_by_text("It continues when this page is closed")).to_be_visible()
    page.reload()  # while a model writes
    expect(page.get_by_text("2 added.")).to_be_visible(timeout=ANSWER_MS)
    assert len(provider.requests) == 2  # one context a passage: nothing was asked again
    visit.context.close()


def test_why_not_this_one_is_open_again_after_a_reload(visit: Visit) -> None:
    page = visit.page
    visit.pick(SPANISH)
    visit.run()
    visit.wait_until_done()
    page.get_by_text("Why not this one?").click()
    choose_passage(page, "Testing for gestational diabetes")
    why = page.get_by_test_id("stExpander").filter(has_text="Why not this one?").locator(".rl-tips dd")
    expect(why).to_have_count(3)
    found = why.all_inner_texts()
    page.reload()
    expect(why).to_have_text(found, timeout=ANSWER_MS)
