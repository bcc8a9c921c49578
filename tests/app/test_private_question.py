"""A question with private data on Compare, with an external model: nothing is sent before the person chooses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.behaviours import Reply
from helpers.browser import ANSWER_MS, CHROMIUM, Visit, serving
from helpers.openai_server import OpenAIServer, serve
from playwright.sync_api import Browser, expect

from rag_core.lab.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]

PRIVATE = "Ewa Nowak, b. 1986-04-30, tel. 07700 900854: severe headache and flashing lights at 39+6, is induction safe?"
REDACTED = (
    "[name and date of birth], tel. [phone]: severe headache and flashing lights at 39+6, is induction safe?"
)
ASKS = "This question has private data"


@pytest.fixture(scope="module")
def provider() -> Iterator[OpenAIServer]:
    with serve() as server:
        server.choose = lambda body: Reply("Go in at once [1].")
        yield server


@pytest.fixture
def external(browser: Browser, lab: Lab, real_home: Path, provider: OpenAIServer) -> Iterator[Visit]:
    """The app with a model at 0.0.0.0: this machine, but no loopback address, and so external."""
    provider.requests.clear()
    url = provider.url.replace("127.0.0.1", "0.0.0.0")
    # a question declined on weak evidence would send nothing
    keys = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "test", "RAG_ABSTAIN": "off"}
    with serving(RAG_HOME=str(real_home), **keys) as address:
        visit = Visit(browser, address)
        yield visit
        visit.context.close()


def sent(provider: OpenAIServer) -> list[str]:
    return [json.dumps(request.body, ensure_ascii=False) for request in provider.requests]


def test_the_person_chooses_before_anything_is_sent(external: Visit, provider: OpenAIServer) -> None:
    page = external.page
    expect(page.locator(".rl-engine")).to_contain_text("questions are sent to 0.0.0.0", timeout=ANSWER_MS)
    external.type(PRIVATE)
    external.run()
    held = page.locator(".rl-held")
    expect(held).to_contain_text(ASKS)
    expect(held.locator("p")).to_have_text(PRIVATE)
    expect(held.locator("mark")).to_have_text(["Ewa Nowak, b. 1986-04-30", "07700 900854"])
    expect(held).to_contain_text("a name with a date of birth and a phone number")
    expect(page.locator(".rl-urgent")).to_contain_text("This may be an emergency.")
    assert provider.requests == []
    page.get_by_role("button", name="Redact and run").click()
    expect(external.results_for(REDACTED)).to_be_visible()
    external.wait_until_done()
    expect(held).to_have_count(0)
    expect(page.locator(".rl-urgent")).to_have_count(1)
    expect(page.get_by_label("Question", exact=True)).to_have_value(REDACTED)
    assert len(sent(provider)) == 3
    assert all(REDACTED in body and "Nowak" not in body and "07700" not in body for body in sent(provider))

    provider.requests.clear()
    external.type(PRIVATE)
    external.run()
    expect(held).to_be_visible()
    assert provider.requests == []
    page.get_by_role("button", name="Send as typed").click()
    expect(external.results_for(PRIVATE)).to_be_visible()
    external.wait_until_done()
    assert len(sent(provider)) == 3
    assert all("Ewa Nowak" in body for body in sent(provider))
    external.run()  # the same question again: its choice is known
    expect(held).to_have_count(0)
    external.assert_clean()


def test_with_the_offline_engine_nothing_leaves_and_nobody_asks(visit: Visit) -> None:
    badge = visit.page.locator(".rl-engine")
    expect(badge).to_contain_text("nothing you ask leaves this machine", timeout=ANSWER_MS)
    visit.type(PRIVATE)
    visit.run()
    expect(visit.results_for(PRIVATE)).to_be_visible()
    expect(visit.page.locator(".rl-held")).to_have_count(0)
