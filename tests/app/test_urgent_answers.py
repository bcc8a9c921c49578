"""Answers to urgent questions in a browser: led by what to do now, or outlined in red."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.behaviours import Reply
from helpers.browser import ANSWER_MS, CHROMIUM, Visit, serving
from helpers.openai_server import serve
from playwright.sync_api import Browser, expect

from pages.shared.palette import PALETTE
from rag_core.lab.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]

DESPAIR = "Desde que nació mi bebé lloro todo el día y no quiero vivir"
BREATHING = "I am struggling to breathe at rest, 30 weeks"


@pytest.fixture
def burying(browser: Browser, lab: Lab, real_home: Path) -> Iterator[Visit]:
    """A visit to the app whose model buries what to do."""
    with serve() as server:
        server.choose = lambda body: Reply("Breathlessness is common [1]. Call the emergency number now [1].")
        with serving(RAG_HOME=str(real_home), OPENAI_BASE_URL=server.url, OPENAI_API_KEY="test") as address:
            visit = Visit(browser, address)
            yield visit
            visit.context.close()


def test_no_offline_answer_to_an_emergency_begins_with_anything_else(visit: Visit) -> None:
    visit.type(DESPAIR)
    visit.run()
    visit.wait_until_done()
    page = visit.page
    expect(page.locator(".rl-buried")).to_have_count(0)
    rows = page.locator(".rl-safety tbody tr")
    expect(rows).to_have_count(3)
    for row in rows.all():
        assert row.locator("td").last.text_content() in ("yes", "yes, by our notice")
    for notice in page.locator(".rl-notice").all():
        assert notice.text_content().startswith("Aviso de esta demostración")
    assert "lloran por" not in " ".join(page.locator(".rl-answer").all_text_contents())
    visit.assert_clean()


def test_a_model_that_buries_the_action_is_outlined_and_counted(burying: Visit) -> None:
    burying.type(BREATHING)
    burying.run()
    page = burying.page
    expect(page.locator(".rl-buried")).to_have_count(3, timeout=ANSWER_MS)
    for alarm in page.locator(".rl-alarm").all():
        assert alarm.text_content() == "This answer does not begin with what to do now."
    outline = page.locator(".rl-buried").first.evaluate("box => getComputedStyle(box).borderTopColor")
    danger, _ = PALETTE["danger"]
    assert outline == f"rgb({', '.join(str(part) for part in bytes.fromhex(danger[1:]))})"
    expect(page.locator(".rl-safety tbody td:last-child.rl-missed")).to_have_count(3)
    burying.assert_clean()
