"""Nothing jumps: how far Compare moves what a reader looks at while it opens and while a comparison runs.

Cumulative layout shift as Chromium reports it (Layout Instability API): every shift's share of the screen times its
share of the way, without those within 0.5 s of an input. Below 0.1 is "good" (web.dev, Core Web Vitals).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers.browser import ANSWER_MS, CHROMIUM, ENGLISH
from playwright.sync_api import Browser, Page, expect

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]
GOOD = 0.1
OBSERVE = """
window.shifts = [];
new PerformanceObserver(list => {
  for (const one of list.getEntries()) if (!one.hadRecentInput) window.shifts.push({
    value: one.value,
    what: one.sources.map(source => source.node && (source.node.className || source.node.nodeName)).join(' | '),
  });
}).observe({type: 'layout-shift', buffered: true});
"""


@pytest.fixture(params=[(1440, 900), (390, 844)], ids=["wide", "narrow"])
def page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    width, height = request.param
    context = browser.new_context(viewport={"width": width, "height": height})
    context.add_init_script(OBSERVE)
    yield context.new_page()
    context.close()


def shifts(page: Page) -> tuple[float, list[dict[str, object]]]:
    """The sum so far, and what moved."""
    found: list[dict[str, object]] = page.evaluate("window.shifts")
    return sum(float(str(one["value"])) for one in found), found


def test_compare_opens_and_answers_without_a_jump(page: Page, app: str) -> None:
    page.goto(app)
    expect(page.locator(".rl-dot")).to_be_attached(timeout=ANSWER_MS)
    expect(page.locator(".st-key-card2")).to_be_attached()
    opened, moved = shifts(page)
    assert opened < GOOD, moved

    page.locator(".st-key-question textarea").fill(ENGLISH)
    page.locator(".st-key-run-buttons button").first.click()
    expect(page.locator(".rl-support")).to_have_count(3, timeout=ANSWER_MS)
    expect(page.locator(".st-key-run-buttons button").last).to_be_disabled()
    expect(page.locator(".rl-pairs")).to_be_attached()  # what stands below the columns comes last
    total, moved = shifts(page)
    assert total < GOOD, moved
