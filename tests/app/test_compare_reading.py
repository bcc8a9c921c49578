import re
from collections.abc import Iterator

import pytest
from helpers.browser import ENGLISH, SHIFTS, Visit, assert_still, moved_by_run, wait_until_drawn
from playwright.sync_api import Browser, expect

pytestmark = pytest.mark.browser
# what was put into the live region since the page was loaded
SPOKEN = """window.spoken = [];
new MutationObserver(changes => changes.forEach(({target, addedNodes}) => {
  if (target.id === 'rl-heard') addedNodes.forEach(line => window.spoken.push(line.textContent));
})).observe(document, {childList: true, subtree: true});"""

# a timer as long as the one after which the page's script reads, and begun later: it ends later
READ = "new Promise(read => setTimeout(read, 300))"


@pytest.fixture
def desk(browser: Browser, app: str) -> Iterator[Visit]:
    visit = Visit(browser, app, width=1440, height=900)
    yield visit
    visit.context.close()


def test_answers_stand_high_and_still_and_are_read_aloud_once_and_passages_find_each_other(desk):
    page = desk.page
    page.add_init_script(SPOKEN)
    page.add_init_script(SHIFTS)
    page.reload()
    expect(page.locator(".rl-dot")).to_be_attached()
    expect(page.locator(".st-key-card2")).to_be_attached()
    wait_until_drawn(page)
    desk.pick(ENGLISH)
    desk.run()
    since = moved_by_run(page)
    desk.wait_until_done()
    for answer in page.locator(".rl-answer").all():
        assert answer.bounding_box()["y"] < 430  # below what differs and the rewrites, in the upper half
    expect(page.locator(".rl-found")).to_be_attached()  # what stands below the columns comes last
    assert_still(page, since)

    page.wait_for_function("window.spoken.length >= 3")
    answers = page.locator(".rl-answer").all_inner_texts()
    for answer in answers:  # columns may give the same one
        said = sum(answer in text for text in page.evaluate("window.spoken"))
        assert said == sum(answer in other for other in answers)
    expect(page.locator("#rl-heard p")).to_have_count(0)  # once spoken, they are no longer met on the page
    assert len(page.evaluate("window.spoken")) == 3
    page.reload()
    desk.wait_until_done()
    page.evaluate(READ)
    assert page.evaluate("window.spoken") == []

    # a passage is one tab stop, and lights up in every column that found it
    one = page.locator(".rl-passage", has_text=re.compile("also in [ABCD]")).first
    same = re.search(r"rl-same-\d+", one.get_attribute("class"))[0]
    places = page.locator(f".rl-passage.{same}")
    assert places.count() > 1
    page.mouse.move(0, 0)

    def outlined() -> list[str]:
        return places.evaluate_all("found => found.map(one => getComputedStyle(one).outlineStyle)")

    assert set(outlined()) == {"none"}
    one.hover()
    assert set(outlined()) == {"solid"}
    page.mouse.move(0, 0)
    assert set(outlined()) == {"none"}
    places.last.locator("summary").focus()
    assert set(outlined()) == {"solid"}

    found = page.locator(".rl-found tbody tr")
    expect(found.first).to_contain_text("–")  # what a column did not find comes first
    found.first.locator(".rl-rank:not(.rl-absent) button").first.click()
    expect(page.locator(".rl-card:popover-open .rl-text")).to_be_visible()
    page.keyboard.press("Escape")

    summaries = page.locator(".rl-passages").first.locator("summary")
    summaries.first.focus()
    page.keyboard.press("Tab")
    expect(summaries.nth(1)).to_be_focused()
