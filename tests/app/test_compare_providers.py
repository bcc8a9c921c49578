"""Comparisons answered by a provider, in a real browser: slow, endless, failing and hanging."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.behaviours import Drop, Endless, Hang, Reply, Status
from helpers.browser import ANSWER_MS, CHROMIUM, ENGLISH, Visit, serving, strategy_boxes, tab
from helpers.openai_server import OpenAIServer, role_of, serve
from helpers.relay import relayed
from playwright.sync_api import Browser, expect

from rag_core.lab.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]


@pytest.fixture(scope="module")
def provider() -> Iterator[OpenAIServer]:
    with serve() as server:
        yield server


@pytest.fixture(scope="module")
def paid(lab: Lab, real_home: Path, provider: OpenAIServer) -> Iterator[str]:
    """The app with answers from a provider."""
    settings = {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "test", "RAG_TIMEOUT": "300"}
    with serving(RAG_HOME=str(real_home), **settings) as address:
        yield address


@pytest.fixture
def paid_visit(browser: Browser, paid: str, provider: OpenAIServer) -> Iterator[Visit]:
    provider.requests.clear()
    provider.gone.clear()
    visit = Visit(browser, paid)
    yield visit
    visit.context.close()


def test_a_running_comparison_survives_other_pages_and_reloads(
    paid_visit: Visit, provider: OpenAIServer
) -> None:
    provider.choose = lambda body: Reply("Go in at once [1].", seconds=6)
    page = paid_visit.page
    page.get_by_role("button", name="2", exact=True).or_(
        page.get_by_role("radio", name="2", exact=True)
    ).click()
    paid_visit.settings("A").get_by_role("slider", name="k_final").press("ArrowLeft")
    page.keyboard.press("Escape")
    paid_visit.type(ENGLISH)
    paid_visit.run()
    expect(page.locator(".rl-passage")).to_have_count(4 + 5, timeout=ANSWER_MS)

    def as_it_was() -> None:
        expect(page.get_by_label("Question", exact=True)).to_have_value(ENGLISH, timeout=60_000)
        expect(paid_visit.results_for(ENGLISH)).to_be_visible()
        expect(strategy_boxes(page)).to_have_count(2)
        expect(page.locator(".rl-passage")).to_have_count(4 + 5)
        expect(page.locator(".rl-changed")).to_have_count(0)

    page.reload()
    as_it_was()
    tab(page, "Documents").click()
    expect(page.get_by_role("heading", name="The documents behind the answers")).to_be_visible()
    page.go_back()
    as_it_was()
    tab(page, "Documents").click()
    expect(page.get_by_role("heading", name="The documents behind the answers")).to_be_visible()
    tab(page, "Compare").click()
    as_it_was()
    paid_visit.wait_until_done(2)
    assert "run=" in page.url
    page.reload()
    as_it_was()
    expect(page.locator(".rl-answer", has_text="Go in at once")).to_have_count(2)
    expect(paid_visit.settings("A").get_by_role("slider", name="k_final")).to_have_value("4")
    assert len(provider.requests) == 2  # one answer a column: no reload asked again


def test_a_lost_connection_loses_nothing(browser: Browser, paid: str, provider: OpenAIServer) -> None:
    provider.requests.clear()
    provider.choose = lambda body: Reply("Go in at once [1].", seconds=6)
    with relayed(paid) as network:
        visit = Visit(browser, network.address)
        page = visit.page
        visit.type(ENGLISH)
        visit.run()
        expect(page.locator(".rl-passage")).to_have_count(15, timeout=ANSWER_MS)
        assert network.cut() > 0
        page.wait_for_timeout(8_000)  # the answers are complete on the server by then
        expect(page.locator(".rl-passage")).to_have_count(15)  # what was drawn stays while nothing comes
        network.mend()
        visit.wait_until_done()
        expect(page.locator(".rl-answer", has_text="Go in at once")).to_have_count(3)
        expect(page.get_by_label("Question", exact=True)).to_have_value(ENGLISH)
        assert len(provider.requests) == 3  # one answer a column: nothing was asked again
        visit.context.close()


def test_what_was_streamed_before_the_server_died_stays(paid_visit: Visit, provider: OpenAIServer) -> None:
    provider.choose = lambda body: Drop(after=3)
    page = paid_visit.page
    paid_visit.pick(ENGLISH)
    paid_visit.run()
    expect(page.locator(".rl-box", has_text="The answer was cut off here.")).to_have_count(
        3, timeout=ANSWER_MS
    )
    expect(page.locator(".rl-answer:not(.rl-live)", has_text="Cats purr when")).to_have_count(3)
    expect(page.locator(".rl-passage")).to_have_count(15)
    expect(page.get_by_text("Cost of this comparison: $0.00")).to_be_visible()
    page.reload()
    expect(page.locator(".rl-box", has_text="The answer was cut off here.")).to_have_count(3, timeout=60_000)


@pytest.mark.parametrize("after", [0, 3])
def test_a_hanging_server_is_waited_for_by_the_second(
    paid_visit: Visit, provider: OpenAIServer, after: int
) -> None:
    provider.choose = lambda body: Hang(after=after)
    page = paid_visit.page
    paid_visit.pick(ENGLISH)
    paid_visit.run()
    waiting, seconds = page.locator(".rl-wait").first, re.compile(r"Writing the answer… \d+ s")
    expect(waiting).to_have_text(seconds, timeout=ANSWER_MS)
    earlier = waiting.inner_text()
    expect(waiting).not_to_have_text(earlier)
    expect(waiting).to_have_text(seconds)
    expect(page.locator(".rl-live")).to_have_count(3 if after else 0)
    paid_visit.stop_button.click()
    kept = page.locator(".rl-box", has_text="Finished results are kept.")
    expect(kept).to_have_count(3)  # long before the call's timeout
    assert provider.gone.wait(timeout=30)
    expect(page.locator("div.rl-box")).to_have_count(3)
    expect(page.locator(".rl-answer")).to_have_count(3 if after else 0)
    expect(page.locator(".rl-box", has_text="The answer was cut off here.")).to_have_count(3 if after else 0)
    assert role_of(provider.requests[-1].body) == "answer"


def test_stop_ends_a_model_that_goes_on_and_on(browser: Browser, lab: Lab, real_home: Path) -> None:
    with (
        serve() as server,
        serving(RAG_HOME=str(real_home), OPENAI_BASE_URL=server.url, OPENAI_API_KEY="test") as address,
    ):
        server.choose = lambda body: Endless()
        visit = Visit(browser, address)
        visit.pick(ENGLISH)
        visit.run()
        expect(visit.page.locator(".rl-live")).to_have_count(3, timeout=ANSWER_MS)
        visit.stop_button.click()
        expect(visit.page.locator(".rl-box", has_text="Finished results are kept.")).to_have_count(3)
        expect(visit.page.locator(".rl-passage")).to_have_count(15)
        assert server.gone.wait(timeout=30)
        visit.context.close()


def test_a_failing_model_is_a_named_failure_and_never_an_answer(
    browser: Browser, lab: Lab, real_home: Path
) -> None:
    with (
        serve() as server,
        serving(RAG_HOME=str(real_home), OPENAI_BASE_URL=server.url, OPENAI_API_KEY="test") as address,
    ):
        server.choose = lambda body: Status(401)
        visit = Visit(browser, address)
        visit.pick(ENGLISH)
        visit.run()
        expect(visit.page.get_by_text("This strategy failed.")).to_have_count(3, timeout=ANSWER_MS)
        expect(visit.page.get_by_text("the key was refused").first).to_be_visible()
        expect(visit.page.locator(".rl-answer")).to_have_count(0)
        expect(visit.page.locator(".rl-passage")).to_have_count(15)
        visit.context.close()
