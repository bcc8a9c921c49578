"""Two language models, and two corpora, beside each other on Compare."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.behaviours import Reply
from helpers.browser import ANSWER_MS, CHROMIUM, Visit, serving
from helpers.openai_server import OpenAIServer, serve
from playwright.sync_api import Browser, Page, expect

from rag_core.lab.lab import Lab
from rag_core.lab.opening import index_path
from rag_core.values.settings import Settings

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]

QUESTION = "When is anti-D given?"
RULES = "# Ward rules\n\nAnti-D is given in room 4 by the ward midwife, after the blood group is checked."


@pytest.fixture(scope="module")
def provider() -> Iterator[OpenAIServer]:
    with serve() as server:
        server.choose = lambda body: Reply(f"Written by {body['model']} [1].")
        yield server


@pytest.fixture(scope="module")
def home(lab: Lab, real_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder of its own, with the built-in index and a second corpus."""
    own = tmp_path_factory.mktemp("two") / "home"
    shutil.copytree(real_home, own)
    rules = tmp_path_factory.mktemp("ward") / "rules.md"
    rules.write_text(RULES, encoding="utf-8")
    index_path(rules, "ward", settings=Settings(home=own, llm="offline"))
    return own


@pytest.fixture(scope="module")
def both(home: Path, provider: OpenAIServer) -> Iterator[str]:
    """The app with a provider's models and two corpora."""
    settings = {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "test", "RAG_MODELS": "gpt-4o-mini"}
    with serving(RAG_HOME=str(home), **settings) as address:
        yield address


@pytest.fixture
def visit(browser: Browser, both: str) -> Iterator[Visit]:
    """Two columns with one strategy, ready to be set up."""
    visit = Visit(browser, f"{both}/?s=simple_semantic&s=simple_semantic&q=When+is+anti-D+given%3F")
    expect(visit.page.get_by_label("Question", exact=True)).to_have_value(QUESTION)
    yield visit
    visit.context.close()


def choose(page: Page, box: str, option: str) -> None:
    """Choose an option of the open panel."""
    page.locator(".st-key-panel").get_by_role("combobox", name=box).fill(option)
    page.get_by_role("option", name=option, exact=True).click()


def test_two_models_beside_each_other(visit: Visit, provider: OpenAIServer) -> None:
    page = visit.page
    visit.settings("A")
    choose(page, "Language model", "gpt-4o-mini")
    chip = page.locator(".st-key-card0 .rl-chip")
    expect(chip).to_have_text("model: gpt-4o-mini")
    page.keyboard.press("Escape")
    visit.settings("B")
    typed = page.locator(".st-key-panel").get_by_role("combobox", name="Language model")
    typed.fill("my-local-model")
    typed.press("Enter")
    expect(page.locator(".st-key-card1 .rl-chip")).to_have_text("model: my-local-model")
    page.keyboard.press("Escape")
    provider.requests.clear()
    visit.run()

    def as_it_was() -> None:
        for place, model in enumerate(("gpt-4o-mini", "my-local-model")):
            card = page.locator(f".st-key-card{place}")
            expect(card.locator(".rl-answer")).to_contain_text(f"Written by {model}", timeout=ANSWER_MS)
            expect(card.locator(".rl-chip")).to_have_text(f"model: {model}")
        expect(page.locator(".rl-changed")).to_have_count(0)

    as_it_was()
    visit.wait_until_done(2)
    assert Counter(one.body["model"] for one in provider.requests) == {"gpt-4o-mini": 1, "my-local-model": 1}
    expect(page.get_by_text("no price in data/prices.toml")).to_be_visible()
    assert "1.model=gpt-4o-mini" in page.url
    assert "2.model=my-local-model" in page.url
    page.reload()
    as_it_was()
    fresh = page.context.browser.new_context().new_page()  # another visitor, by the address without the run
    fresh.goto(page.url.partition("&run=")[0])
    expect(fresh.locator(".rl-chip")).to_have_text(["model: gpt-4o-mini", "model: my-local-model"])
    fresh.context.close()
    assert len(provider.requests) == 2  # nothing was asked again


def test_two_corpora_beside_each_other(visit: Visit, provider: OpenAIServer) -> None:
    page = visit.page
    visit.settings("B")
    choose(page, "Documents this column searches", "ward")
    expect(page.locator(".st-key-card1 .rl-chip")).to_have_text("documents: ward")
    page.keyboard.press("Escape")
    visit.run()
    visit.wait_until_done(2)
    second = page.locator(".st-key-card1")
    expect(second.locator(".rl-passage")).to_have_count(1)
    expect(page.locator(".st-key-card0 .rl-passage")).to_have_count(5)
    expect(page.locator(".rl-pairs")).to_have_text(
        "A and B searched different documents: A Built-in documents, B ward. "
        "Neither missed what the other found. No passage stands in both."
    )
    second.locator(".rl-passage summary").click()
    link = second.get_by_role("link", name="Read it in the whole document")
    assert "corpus=ward" in (link.get_attribute("href") or "")
    expect(page.get_by_role("combobox", name="Demo questions")).to_be_visible()
