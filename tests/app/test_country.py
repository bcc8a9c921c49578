"""The country selector, sides and ages on the passages, and our notice, which stays on screen."""

from __future__ import annotations

import re

import pytest
from helpers.browser import ANSWER_MS, CHROMIUM, Visit
from playwright.sync_api import Page, expect

from rag_core import NOTICE

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]
CORD = "When is the cord clamped after birth?"
SIZES = [(1440, 1000), (390, 844)]
PAGES = ["", "strategies", "documents", "measure", "results", "tune", "search-settings", "history"]


def choose(page: Page, country: str) -> None:
    box = page.get_by_role(
        "combobox", name=re.compile("Country: its guidance leads and its numbers are shown")
    )
    box.click()
    box.fill(country)
    box.press("Enter")


def test_a_passage_shows_whose_it_is_and_the_chosen_country_leads(visit: Visit) -> None:
    page = visit.page
    visit.type("Who is offered a swab for group B streptococcus?")
    visit.run()
    visit.wait_until_done()
    differing = page.locator(".rl-passage").filter(has_text="guidance differs").first
    origin = differing.locator(".rl-origin")
    for width, height in reversed(SIZES):
        page.set_viewport_size({"width": width, "height": height})
        expect(origin).to_be_visible()  # before it is opened
        expect(origin).to_contain_text("ACOG 2020 (US) · RCOG 2017 (UK)")
        expect(origin).to_contain_text(re.compile(r"\d+ years old"))
        assert differing.evaluate("card => card.scrollWidth <= card.clientWidth + 1")
    differing.locator("summary").click()
    expect(differing).to_contain_text(
        "Guidance differs: ACOG 2020 (US) says one thing, RCOG 2017 (UK) another."
    )
    expect(differing).to_contain_text("Newest source from 2020")

    visit.type(CORD)
    visit.run()
    visit.wait_until_done()
    first = page.locator(".rl-said").first
    expect(first).to_contain_text("NICE 2023 (UK) say one thing, ACOG 2020 (US) another.")
    expect(first).not_to_contain_text("For the country you chose")
    choose(page, "United States")
    expect(page.locator(".rl-changed")).to_have_count(3)
    expect(page.locator(".rl-framing")).to_contain_text("911 (United States)")
    visit.run()
    expect(first).to_contain_text("For the country you chose (US), ACOG 2020 applies.", timeout=ANSWER_MS)
    visit.wait_until_done()
    expect(page.locator(".rl-changed")).to_have_count(0)
    expect(first.locator(".rl-answer")).to_contain_text(re.compile("^ACOG advises a delay"))
    page.reload()
    expect(page.get_by_role("combobox", name=re.compile("Country:"))).to_have_value("United States")
    visit.assert_clean()


def test_our_notice_is_on_screen_on_every_page_however_far_it_is_scrolled(visit: Visit, app: str) -> None:
    page = visit.page
    for path in PAGES:
        page.goto(f"{app}/{path}")
        notice = page.locator(".rl-framing")
        expect(notice).to_contain_text(NOTICE, timeout=ANSWER_MS)
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            for to in ("0", "document.querySelector('[data-testid=stMain]').scrollHeight"):
                page.evaluate(f"document.querySelector('[data-testid=stMain]').scrollTo(0, {to})")
                expect(notice).to_be_in_viewport(ratio=1)
                box = notice.bounding_box()
                x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
                seen = page.evaluate(f"document.elementFromPoint({x}, {y}).closest('.rl-framing') !== null")
                assert seen, f"{path or 'compare'}: something covers it, {width} wide"
