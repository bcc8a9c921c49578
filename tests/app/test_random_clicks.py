"""Random clicking over all pages, bounded and seeded: nothing on screen or in the log is an exception."""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.browser import ANSWER_MS, CHROMIUM, serving
from playwright.sync_api import Browser, Error, expect

from pages.shared.addresses import PATHS

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
    pytest.mark.skipif(
        "RANDOM_CLICKS_SECONDS" not in os.environ, reason="set RANDOM_CLICKS_SECONDS to click at random"
    ),
]
CLICKABLE = "button:not([disabled]), summary, [role=option], [role=tab], [role=radio], input[type=checkbox] + div, a[href*='documents?'], .rl-cite"
SECONDS = float(os.environ.get("RANDOM_CLICKS_SECONDS", "40"))
SEED = int(os.environ.get("RANDOM_CLICKS_SEED", "16"))
WORDS = ("anti-D", "¿Cuáles son los riesgos de la cesárea?", "-1", "", "I am 30 weeks and bleeding heavily")


@pytest.mark.timeout(SECONDS + 300)  # beside the clicks: the start, and the act under way at the end
def test_random_clicks_meet_no_exception(browser: Browser, tmp_path: Path) -> None:
    """RANDOM_CLICKS_SECONDS=600 clicks for ten minutes; RANDOM_CLICKS_SEED takes another way."""
    chance, log, done = random.Random(SEED), tmp_path / "log", []
    with serving(log, RAG_HOME=str(tmp_path / "home"), RAG_LLM="offline") as address:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        page.goto(address)
        expect(page.locator(".rl-dot")).to_be_attached(timeout=ANSWER_MS)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if chance.random() < 0.12 or not page.locator(CLICKABLE).count():
                page.goto(f"{address}/{chance.choice(PATHS)}?lang={chance.choice(['en', 'es'])}")
                done.append(page.url)
            elif (
                chance.random() < 0.15
                and (boxes := page.locator("textarea:visible, input[type=text]:visible")).count()
            ):
                box, words = boxes.nth(chance.randrange(boxes.count())), chance.choice(WORDS)
                done.append(f"type {words!r}")
                _try(
                    lambda box=box, words=words: (
                        box.fill(words, timeout=500),
                        box.press("Enter", timeout=500),
                    )
                )
            else:
                found = page.locator(CLICKABLE)
                one = found.nth(chance.randrange(max(found.count(), 1)))
                done.append("click")
                _try(lambda one=one: one.click(timeout=500))
            trouble = page.get_by_test_id("stException")
            assert trouble.count() == 0, _story(done, log)
        context.close()
    assert "Traceback" not in log.read_text(encoding="utf-8", errors="replace"), _story(done, log)


def _story(done: list[str], log: Path) -> str:
    """How to go the same way again, the last things done, and the end of the server's log, where the error stands.

    The page itself says only that there was an error.
    """
    time.sleep(1)  # for the log's last lines
    plain = re.sub(r"\x1b\[[\d;]*m", "", log.read_text(encoding="utf-8", errors="replace"))
    return f"RANDOM_CLICKS_SEED={SEED} after {len(done)} acts, the last {done[-12:]}\n{plain[-6000:]}"


def _try(act: Callable[[], object]) -> None:
    """What was chosen may have gone or be covered by now; that is part of clicking at random."""
    try:
        act()
    except Error:
        return
