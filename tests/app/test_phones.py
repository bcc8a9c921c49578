"""A presenter and three phones at the same time: every vote counted once, over a reload and with a late joiner."""

import pytest
from helpers.browser import ANSWER_MS, HALVES, errors_of, wait_until_drawn
from playwright.sync_api import Browser, Page, expect

FIRST = {"en-GB": "The first is better", "es-ES": "La primera es mejor"}


def phone(browser: Browser, address: str, locale: str = "en-GB") -> Page:
    """A phone that has scanned the code."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, locale=locale, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(address)
    expect(page.locator(".rl-room-line")).to_be_visible()
    return page


def turn(page: Page) -> str:
    """What is to be judged on a phone."""
    expect(page.locator(".st-key-choices button")).to_have_count(5)
    wait_until_drawn(page)
    return page.locator(".rl-asked-room").get_attribute("data-turn") or ""


def vote(page: Page, words: str = FIRST["en-GB"]) -> None:
    judged = turn(page)
    page.get_by_role("button", name=words).click()
    expect(page.locator(f'[data-turn="{judged}"]')).to_have_count(0)


@pytest.mark.browser
def test_every_vote_of_three_phones_is_counted_once(browser, visit, app):
    presenter = visit.page
    visit.type(HALVES)  # three answers that differ: three pairs a person
    visit.run()
    visit.wait_until_done()
    presenter.locator(".st-key-question textarea").blur()
    presenter.keyboard.press("F2")
    presenter.get_by_role("button", name="Open a room").click()
    expect(presenter.locator(".rl-room-code img")).to_have_js_property("complete", True)
    code = presenter.locator(".rl-room-code b").inner_text()
    address = f"{app}/vote?room={code}"
    expect(presenter.locator(".rl-room-code")).to_contain_text(address)

    first, spanish = phone(browser, address), phone(browser, address, "es-ES")
    errors = errors_of(first)
    expect(first.locator(".rl-waiting")).to_contain_text("The first question will appear here by itself.")
    expect(presenter.locator(".rl-counts")).to_have_text("2 people")  # over the whole screen
    presenter.get_by_role("button", name="Begin").click()
    expect(presenter.get_by_role("dialog")).to_have_count(0)
    expect(first.get_by_test_id("stTopNavLink").filter(visible=True)).to_have_count(0)  # no way to the names
    presenter.get_by_role("button", name="Ask the room").click()
    judged = turn(first)  # it came by itself
    first.reload()
    assert turn(first) == judged
    sides = first.locator(".st-key-side0, .st-key-side1")
    boxes = [sides.nth(place).bounding_box() for place in range(2)]
    assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]  # one under the other
    assert not first.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    buttons = first.locator(".st-key-choices button")
    for place in range(5):
        expect(buttons.nth(place)).to_be_in_viewport(ratio=1)  # in reach before anything is scrolled
    vote(first)
    turn(first)
    first.wait_for_function("document.querySelector('[data-testid=stMain]').scrollTop === 0")  # read from its top
    for _ in range(3):
        vote(spanish, FIRST["es-ES"])
    late = phone(browser, address)
    for page in (late, first):
        for _ in range(2):
            vote(page)
    expect(presenter.locator(".rl-counts")).to_have_text("3 people · 3 voted on question 1 · 8 votes · open")
    vote(late)
    first.get_by_role("button", name="Changed my mind").first.click()
    first.get_by_role("button", name="Both are unsafe").click()
    expect(first.locator(".rl-counted").first).to_have_text("1. Both are unsafe")
    expect(presenter.locator(".rl-counts")).to_have_text("3 people · 3 voted on question 1 · 9 votes · open")
    presenter.get_by_role("button", name="Show the result").click()
    expect(presenter.locator(".rl-preferred")).to_be_visible(timeout=ANSWER_MS)
    presenter.locator("summary", has_text="Figures").click()
    expect(presenter.get_by_text("9 votes · 3 people · 1 question · both unsafe: 1")).to_be_visible()
    expect(late.locator(".rl-preferred li")).to_have_count(3)
    expect(late.locator(".st-key-vote")).to_contain_text("chose the same")
    assert errors == []
    visit.assert_clean()
