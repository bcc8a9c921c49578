"""Tune in a real browser: a control is moved, and what it changes stands there without a model call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from helpers.behaviours import Reply
from helpers.browser import ANSWER_MS, CHROMIUM, ENGLISH, Visit, serving
from helpers.openai_server import OpenAIServer, serve
from helpers.provider_lab import obliging
from playwright.sync_api import Browser, Locator, Page, expect

from rag_core.lab.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]
FREE = re.compile(r"^0 model calls, [\d.]+ ms")
# the sum of all layout shifts from now on, also of those soon after an input
SHIFTS = """() => {
  window.shift = 0;
  new PerformanceObserver(list => list.getEntries().forEach(one => { window.shift += one.value; }))
    .observe({type: 'layout-shift', buffered: false});
}"""


def counter(page: Page) -> Locator:
    return page.locator(".rl-counter")


def slider(page: Page, control: str) -> Locator:
    return page.get_by_role("slider", name=control)


def used(page: Page) -> list[str]:
    return page.locator(".rl-changes ol .rl-cut-title").all_inner_texts()


def set_in_address(page: Page, control: str) -> list[str]:
    return parse_qs(urlsplit(page.url).query).get(f"1.{control}", [])


def settle(page: Page) -> None:
    """Wait for the tipping points: then nothing more is drawn on its own."""
    expect(page.locator(".rl-knob-note span").first).to_be_visible(timeout=ANSWER_MS)


def ask(visit: Visit) -> None:
    visit.type(ENGLISH)
    visit.run()
    expect(counter(visit.page)).to_have_text(FREE, timeout=ANSWER_MS)


def move(page: Page, control: str, key: str, times: int, value: str) -> None:
    """Move a slider by the keyboard; the page has taken it when its address has the value."""
    for _ in range(times):
        slider(page, control).press(key)
    expect(slider(page, control)).to_have_value(value)
    page.wait_for_url(re.compile(rf"1\.{control}={re.escape(value)}(\.0)?(&|$)"))


@pytest.fixture
def tune(browser: Browser, app: str) -> Iterator[Visit]:
    visit = Visit(browser, f"{app}/tune", width=1440, height=900)
    yield visit
    visit.context.close()


def test_a_moved_control_redraws_the_ranks_and_calls_no_model(tune: Visit) -> None:
    page = tune.page
    ask(tune)
    settle(page)
    first = used(page)
    assert len(first) == 5
    expect(counter(page)).to_contain_text("same passages, same order")
    page.evaluate(SHIFTS)
    move(page, "mmr_lambda", "ArrowLeft", 14, "0")
    expect(counter(page)).to_have_text(FREE)
    expect(counter(page)).not_to_contain_text("same passages, same order")
    settle(page)
    then = used(page)
    assert then != first
    gone = page.locator(".rl-changes .rl-left")
    assert gone.locator(".rl-cut-title").all_inner_texts() == [one for one in first if one not in then]
    for text in gone.locator("small").all_inner_texts():
        assert text.startswith("cut by MMR")
    assert page.evaluate("window.shift") < 0.1

    page.get_by_role("button", name="Pin as baseline").click()
    expect(counter(page)).to_contain_text("against the baseline (λ 0): same passages, same order")
    move(page, "mmr_lambda", "ArrowRight", 10, "0.5")
    expect(counter(page)).to_contain_text("against the baseline (λ 0)")

    page.reload()
    expect(counter(page)).to_contain_text("against the baseline (λ 0)", timeout=ANSWER_MS)
    expect(slider(page, "mmr_lambda")).to_have_value("0.5")
    assert set_in_address(page, "mmr_lambda") == ["0.5"]


def test_a_kept_setting_is_a_column_of_compare_with_the_question(tune: Visit) -> None:
    page = tune.page
    ask(tune)
    move(page, "mmr_lambda", "ArrowLeft", 2, "0.6")
    keep = page.get_by_role("button", name="Keep as a column")
    keep.click()
    expect(keep).to_be_disabled()  # one column a setting
    move(page, "k_final", "ArrowLeft", 2, "3")
    keep.click()
    page.get_by_role("link", name="Open Compare (2 columns kept)").click()
    expect(page.get_by_label("Question", exact=True)).to_have_value(ENGLISH)
    chips = page.locator(".rl-chip")
    expect(chips).to_have_count(2)
    expect(chips.nth(0)).to_have_text("changed: λ 0.6")
    expect(chips.nth(1)).to_have_text("changed: λ 0.6, passages used 3")
    tune.run()
    tune.wait_until_done(2)


def test_a_control_that_cannot_act_is_disabled_and_says_why(tune: Visit) -> None:
    page = tune.page
    ask(tune)
    page.get_by_text("Variety step (MMR)").click()
    expect(slider(page, "mmr_lambda")).to_be_disabled()
    expect(page.locator(".rl-knob-note", has_text="Acts only while MMR is on.")).to_be_visible()
    expect(counter(page)).to_have_text(FREE)


def test_links_to_sweeps_at_the_old_address_lead_to_search_settings(browser: Browser, app: str) -> None:
    page = browser.new_page()
    page.goto(f"{app}/tune?sweep=gone")
    expect(page.get_by_role("heading", name="Search settings", exact=True)).to_be_visible(timeout=ANSWER_MS)
    page.close()


def test_on_a_phone_the_counter_stays_in_view_and_nothing_scrolls_sideways(
    browser: Browser, app: str
) -> None:
    visit = Visit(browser, f"{app}/tune", width=390, height=844)
    page = visit.page
    ask(visit)
    slider(page, "mmr_lambda").scroll_into_view_if_needed()
    move(page, "mmr_lambda", "ArrowLeft", 1, "0.65")
    expect(counter(page)).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    visit.context.close()


@pytest.fixture(scope="module")
def provider() -> Iterator[OpenAIServer]:
    with serve() as server:
        server.choose = obliging
        yield server


@pytest.fixture(scope="module")
def paid(lab: Lab, real_home: Path, provider: OpenAIServer) -> Iterator[str]:
    """The app with a language model for every role."""
    settings = {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "test", "RAG_HISTORY": "off"}
    with serving(RAG_HOME=str(real_home), **settings) as address:
        yield address


def test_with_a_language_model_nothing_is_sent_before_run(
    browser: Browser, paid: str, provider: OpenAIServer
) -> None:
    visit = Visit(browser, f"{paid}/tune")
    page = visit.page
    page.get_by_role("combobox", name="Strategy").click()
    page.get_by_role("option", name="Multi-query").click()
    ask(visit)
    sent = len(provider.requests)
    assert sent == 3 + 1  # the rewrites and the answer
    expect(page.get_by_text("was written for an earlier ranking")).to_have_count(0)

    move(page, "k_final", "ArrowLeft", 3, "5")
    expect(counter(page)).to_have_text(FREE)
    expect(page.get_by_text("This answer was written for an earlier ranking (the defaults).")).to_be_visible()
    assert len(provider.requests) == sent

    note = page.locator(".rl-knob-note", has_text="May need Run: 3 rewriting calls")
    expect(note).to_have_count(2)  # the temperature and the templates
    move(page, "rewriter_temperature", "ArrowRight", 1, "0.35")
    expect(counter(page)).to_contain_text("This setting needs a run: 3 rewriting calls")
    assert len(provider.requests) == sent

    provider.choose = lambda body: Reply("Call your midwife now [1].")
    page.get_by_role("button", name="Run this setting").click()
    expect(page.get_by_text("Call your midwife now").first).to_be_visible(timeout=ANSWER_MS)
    expect(counter(page)).to_have_text(FREE)
    assert len(provider.requests) == sent + 3 + 1
    visit.context.close()
