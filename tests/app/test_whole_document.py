"""A source opens at the sentence that was quoted: over Compare, and on the page of its document."""

import pytest
from helpers.browser import ANSWER_MS, Visit
from playwright.sync_api import Locator, expect

pytestmark = pytest.mark.browser
QUESTION = "When is anti-D given?"


def heading_of(mark: Locator) -> Locator:
    """The heading of the section that a sentence stands in."""
    return mark.locator("xpath=ancestor::div[contains(@class, 'rl-text')]/preceding-sibling::h4[1]")


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_a_source_opens_at_the_quoted_sentence_below_its_heading(browser, app, width, height):
    visit = Visit(browser, f"{app}/?s=bm25&s=hybrid_rrf", width, height)
    page = visit.page
    visit.type(QUESTION)
    visit.run()
    visit.wait_until_done(2)
    page.locator(".rl-cite").first.click()
    page.locator(".rl-card:popover-open").get_by_role("button", name="Read it in the whole document").click()
    drawer = page.locator(".rl-drawer:popover-open")
    quoted = drawer.locator("mark").first
    expect(quoted).to_be_focused()
    expect(quoted).to_be_in_viewport(ratio=1)
    expect(heading_of(quoted)).to_be_in_viewport(ratio=1)
    sentence = quoted.text_content() or ""
    assert sentence in (page.locator(".st-key-card0 .rl-answer").text_content() or "")
    link = drawer.get_by_role("link", name="Open it on the page Documents").get_attribute("href")
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    visit.assert_clean()

    page.goto(f"{app}/{link}")
    quoted = page.locator("#quoted")
    expect(quoted).to_be_in_viewport(ratio=1, timeout=ANSWER_MS)
    expect(quoted).to_have_text(sentence)
    expect(heading_of(quoted)).to_be_in_viewport(ratio=1)
    visit.context.close()
