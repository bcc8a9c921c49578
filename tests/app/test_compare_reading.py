"""Reading a comparison in a real browser: answers stand high and still, and passages find each other."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from helpers.browser import CHROMIUM, ENGLISH, Visit
from playwright.sync_api import Browser, expect

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]
# the sum of the browser's layout-shift entries from now on (web.dev/cls)
SHIFTS = """() => {
  window.shift = 0;
  new PerformanceObserver(list => list.getEntries().forEach(one => { if (!one.hadRecentInput) window.shift += one.value; }))
    .observe({type: 'layout-shift', buffered: false});
}"""
# what was put into the live region since the page was loaded
SPOKEN = """window.spoken = [];
new MutationObserver(changes => changes.forEach(({target, addedNodes}) => {
  if (target.id === 'rl-heard') addedNodes.forEach(line => window.spoken.push(line.textContent));
})).observe(document, {childList: true, subtree: true});"""


@pytest.fixture
def desk(browser: Browser, app: str) -> Iterator[Visit]:
    visit = Visit(browser, app, width=1440, height=900)
    yield visit
    visit.context.close()


def test_the_answer_begins_high_on_the_page_and_nothing_jumps_while_it_comes(desk: Visit) -> None:
    page = desk.page
    desk.pick(ENGLISH)
    page.evaluate(SHIFTS)
    desk.run()
    desk.wait_until_done()
    for answer in page.locator(".rl-answer").all():
        assert answer.bounding_box()["y"] < 300
    assert page.evaluate("window.shift") < 0.1


def test_a_shared_passage_lights_up_in_every_column_and_each_pair_has_its_line(desk: Visit) -> None:
    page = desk.page
    desk.pick(ENGLISH)
    desk.run()
    desk.wait_until_done()
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

    pairs = page.locator(".rl-pairs li")
    expect(pairs).to_have_count(3)
    expect(pairs.first).to_contain_text("A and B")
    pairs.first.locator("button").first.click()
    expect(page.locator(".rl-card:popover-open .rl-text")).to_be_visible()


def test_a_passage_is_one_tab_stop(desk: Visit) -> None:
    page = desk.page
    desk.pick(ENGLISH)
    desk.run()
    desk.wait_until_done()
    summaries = page.locator(".rl-passages").first.locator("summary")
    summaries.first.focus()
    page.keyboard.press("Tab")
    expect(summaries.nth(1)).to_be_focused()


def test_a_phone_opens_a_source_along_its_lower_edge(browser: Browser, app: str) -> None:
    visit = Visit(browser, app, width=390, height=844)
    visit.pick(ENGLISH)
    visit.run()
    visit.wait_until_done()
    page = visit.page
    citation = page.locator("button.rl-cite").first
    citation.click()
    card = page.locator(".rl-card:popover-open")
    expect(card).to_be_in_viewport(ratio=0.9)
    expect(citation).to_be_in_viewport()
    visit.context.close()


def test_what_was_read_in_place_of_the_question_stands_above_every_answer(desk: Visit) -> None:
    page = desk.page
    desk.type("gestasional diabetis wat can i eat")
    desk.run()
    desk.wait_until_done()
    read = page.get_by_text("Read as: gestational diabetes what can i eat", exact=True)
    expect(read).to_have_count(3)  # above BM25's abstention too
    assert read.first.bounding_box()["y"] < page.locator(".rl-answer").first.bounding_box()["y"] < 300


def test_finished_answers_are_read_aloud_once_and_not_again_after_a_reload(desk: Visit) -> None:
    page = desk.page
    page.add_init_script(SPOKEN)
    page.reload()
    desk.pick(ENGLISH)
    desk.run()
    desk.wait_until_done()
    page.wait_for_function("window.spoken.length >= 3")
    for answer in page.locator(".rl-answer").all_inner_texts():
        assert sum(answer in text for text in page.evaluate("window.spoken")) == 1
    expect(page.locator("#rl-heard p")).to_have_count(0)  # once spoken, they are no longer met on the page
    assert len(page.evaluate("window.spoken")) == 3
    page.reload()
    desk.wait_until_done()
    page.wait_for_timeout(1_000)  # longer than the script waits before it reads
    assert page.evaluate("window.spoken") == []
