"""axe-core on every page, in English and dark, in Spanish and light: no serious or critical violation.

Contrast of both themes is computed in test_palette.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from helpers.browser import ANSWER_MS, CHROMIUM, ENGLISH
from playwright.sync_api import Browser, Page, expect

from pages.shared.addresses import PATHS

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]
GRAVE = ("serious", "critical")


def violations(page: Page) -> list[str]:
    """Rule and place of each grave violation of what this app draws."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{one['id']}: {node['target']} {node['html'][:160]}"
        for one in found
        if one["impact"] in GRAVE
        for node in one["nodes"]
    ]


@pytest.fixture(params=[("en-GB", "dark"), ("es-ES", "light")], ids="-".join)
def page(request: pytest.FixtureRequest, browser: Browser, app: str) -> Iterator[Page]:
    locale, theme = request.param
    context = browser.new_context(
        locale=locale, color_scheme=theme, viewport={"width": 1440, "height": 900}, reduced_motion="reduce"
    )
    opened = context.new_page()
    opened.goto(app)
    expect(opened.locator(".rl-dot")).to_be_attached(timeout=ANSWER_MS)
    yield opened
    context.close()


def test_no_page_has_a_grave_violation(page: Page, app: str) -> None:
    found = {}
    for path in PATHS:
        page.goto(f"{app}/{path}")
        expect(page.locator(".rl-dot")).to_be_attached(timeout=ANSWER_MS)
        expect(page.locator("[data-testid=stHeading]").first).to_be_attached()
        expect(page.locator("[data-testid=stStatusWidget]")).to_have_count(0)
        if broken := violations(page):
            found[path or "compare"] = broken
    assert found == {}


def test_a_comparison_has_no_grave_violation(page: Page) -> None:
    page.locator(".st-key-question textarea").fill(ENGLISH)
    page.locator(".st-key-run-buttons button").first.click()
    expect(page.locator(".rl-support")).to_have_count(3, timeout=ANSWER_MS)
    page.locator(".rl-passage summary").first.click()
    assert violations(page) == []
    page.get_by_test_id("stExpander").locator("summary").first.click()  # how it got here
    expect(page.locator(".rl-stages").first).to_be_visible()
    assert violations(page) == []
    page.locator(".st-key-question textarea").blur()
    page.keyboard.press("F2")
    expect(page.locator(".rl-presented")).to_be_visible()
    assert violations(page) == []


def test_a_tuned_setting_has_no_grave_violation(page: Page, app: str) -> None:
    page.goto(f"{app}/tune")
    expect(page.locator(".rl-dot")).to_be_attached(timeout=ANSWER_MS)
    page.locator(".st-key-question textarea").fill(ENGLISH)
    page.locator(".st-key-run-buttons button").first.click()
    expect(page.locator(".rl-changes")).to_be_visible(timeout=ANSWER_MS)
    expect(page.locator(".rl-knob-note span").first).to_be_visible(timeout=ANSWER_MS)
    assert violations(page) == []
