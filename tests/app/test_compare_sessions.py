"""Comparisons over time in a real browser: a second question, another page, a reload, another session."""

from __future__ import annotations

import re

import pytest
from helpers.browser import ANSWER_MS, CHROMIUM, ENGLISH, SPANISH, Visit, strategy_boxes, tab
from playwright.sync_api import Browser, expect

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]
# every 20 ms: the question the results name, the words shown as results, ids that stand twice
WATCH = """() => {
  window.looks = [];
  setInterval(() => {
    const ids = [...document.querySelectorAll('[id]')].map(one => one.id);
    const shown = [...document.querySelectorAll('.rl-answer, .rl-box, .rl-title')];
    window.looks.push({
      question: [...document.querySelectorAll('.rl-question')].map(one => one.innerText).join(' '),
      shown: shown.filter(one => one.checkVisibility()).map(one => one.innerText),
      twice: ids.filter((id, place) => ids.indexOf(id) !== place),
    });
  }, 20);
}"""


def test_nothing_of_the_first_run_is_seen_under_the_second_question(visit: Visit) -> None:
    page = visit.page
    visit.pick(ENGLISH)
    visit.run()
    visit.wait_until_done()
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    first = set(page.locator(".rl-answer, .rl-title").all_inner_texts())
    page.evaluate(WATCH)
    visit.type(SPANISH)
    visit.run()
    expect(visit.results_for(SPANISH)).to_be_visible()
    visit.wait_until_done()
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    first -= set(page.locator(".rl-answer, .rl-title").all_inner_texts())
    looks = page.evaluate("window.looks")
    assert any(first & set(look["shown"]) for look in looks)  # before Run was pressed
    assert any(SPANISH in look["question"] for look in looks)
    for look in looks:
        assert not (SPANISH in look["question"] and first & set(look["shown"])), look
        assert look["twice"] == []


def test_the_question_and_the_settings_survive_another_page_without_a_run(visit: Visit) -> None:
    page = visit.page
    visit.pick(SPANISH)
    visit.settings("A").get_by_role("slider", name="k_final").press("ArrowLeft")
    page.keyboard.press("Escape")
    tab(page, "Documents").click()
    expect(page.get_by_role("heading", name="The documents behind the answers")).to_be_visible()
    tab(page, "Compare").click()
    expect(page.get_by_label("Question", exact=True)).to_have_value(SPANISH)
    tab(page, "Documents").click()
    expect(page.get_by_role("heading", name="The documents behind the answers")).to_be_visible()
    page.go_back()
    expect(page.get_by_label("Question", exact=True)).to_have_value(SPANISH)
    expect(visit.settings("A").get_by_role("slider", name="k_final")).to_have_value("4")


def test_the_browser_goes_back_to_the_comparison_before(visit: Visit) -> None:
    for question in (ENGLISH, SPANISH):
        visit.type(question)
        visit.run()
        expect(visit.results_for(question)).to_be_visible(timeout=ANSWER_MS)
        visit.wait_until_done()
    visit.page.go_back()
    expect(visit.results_for(ENGLISH)).to_be_visible()
    expect(visit.page.get_by_label("Question", exact=True)).to_have_value(ENGLISH)
    expect(visit.results_for(SPANISH)).to_have_count(0)


def test_another_session_sees_a_comparison_by_its_address_alone(browser: Browser, visit: Visit) -> None:
    visit.pick(SPANISH)
    visit.run()
    visit.wait_until_done()
    root = visit.page.url.partition("?")[0]
    other = Visit(browser, root)
    expect(other.page.locator(".rl-question")).to_have_count(0)
    expect(other.page.get_by_label("Question", exact=True)).to_have_value("")
    other.page.goto(f"{root}?run=nothing-like-this")
    expect(other.page.get_by_text("no longer stored on this server")).to_be_visible(timeout=60_000)
    expect(other.run_button).to_be_enabled()
    expect(other.page).to_have_url(root)
    other.page.goto(visit.page.url)
    expect(other.results_for(SPANISH)).to_be_visible(timeout=60_000)
    expect(other.page.locator(".rl-passage")).to_have_count(15)
    other.assert_clean()
    other.context.close()


def test_an_address_sets_the_question_the_strategies_and_their_controls(browser: Browser, app: str) -> None:
    visit = Visit(browser, f"{app}/?q=When+is+anti-D+given%3F&s=bm25&s=hybrid_rrf&2.k_final=4&country=GB")
    page = visit.page
    expect(page.get_by_label("Question", exact=True)).to_have_value("When is anti-D given?")
    expect(strategy_boxes(page)).to_have_count(2)
    expect(page.get_by_text("In the address of this page")).to_have_count(0)
    visit.run()
    visit.wait_until_done(columns=2)
    expect(page.locator(".rl-passages").last.locator(".rl-passage")).to_have_count(4)
    address = page.url
    assert "2.k_final=4" in address
    assert "country=GB" in address
    assert "run=" in address
    again = Visit(browser, re.sub(r"run=[^&]+", "run=gone", address))  # as after the history was deleted
    expect(again.page.get_by_text("no longer stored on this server")).to_be_visible()
    expect(again.page.get_by_label("Question", exact=True)).to_have_value("When is anti-D given?")
    again.run()
    again.wait_until_done(columns=2)
    expect(again.page.locator(".rl-passages").last.locator(".rl-passage")).to_have_count(4)
    for one in (visit, again):
        one.assert_clean()
        one.context.close()


def test_what_an_address_gets_wrong_is_named_and_replaced(browser: Browser, app: str) -> None:
    wrong = f"q={'x' * 5000}&s=magic&s=bm25&2.k1=99&2.colour=red&country=XX"
    visit = Visit(browser, f"{app}/?{wrong}")
    named = visit.page.get_by_text("In the address of this page")
    expect(named).to_have_count(5)
    text = " ".join(named.all_inner_texts())
    for part in ("5,000 characters", "'magic'", "k1 must be", "'colour'", "'XX'"):
        assert part in text
    expect(strategy_boxes(visit.page)).to_have_count(2)
    visit.type(ENGLISH)
    visit.run()
    visit.wait_until_done(columns=2)
    expect(named).to_have_count(0)
    visit.assert_clean()
    visit.context.close()


def test_two_sessions_at_the_same_moment_never_see_each_other(browser: Browser, app: str) -> None:
    first, second = Visit(browser, app), Visit(browser, app)
    first.pick(ENGLISH)
    second.pick(SPANISH)
    first.run()
    second.run()
    first.wait_until_done()
    second.wait_until_done()
    ours, theirs = (visit.page.locator(".rl-passages").first.inner_text() for visit in (first, second))
    assert "contractions" in ours
    assert "cesárea" in theirs
    assert "cesárea" not in ours
    assert "contractions" not in theirs
    expect(first.results_for(ENGLISH)).to_be_visible()
    expect(second.results_for(SPANISH)).to_be_visible()
    first.context.close()
    second.context.close()


def test_a_fourth_column_is_another_strategy_and_waits_for_run(visit: Visit) -> None:
    page = visit.page
    visit.pick(ENGLISH)
    visit.run()
    visit.wait_until_done()
    page.get_by_role("button", name="4", exact=True).or_(
        page.get_by_role("radio", name="4", exact=True)
    ).click()
    boxes = page.get_by_test_id("stSelectbox").filter(has=strategy_boxes(page))
    expect(boxes).to_have_count(4)
    chosen = [box.input_value() for box in strategy_boxes(page).all()]
    assert len(set(chosen)) == 4
    hint = page.get_by_text("Press Run to see its answer.")
    expect(hint).to_be_visible()

    results = page.locator(".rl-said")
    cards = page.locator("[class*=st-key-card]")
    expect(results).to_have_count(3)
    assert [card.locator(".rl-said, .rl-hint").count() for card in cards.all()] == [1, 1, 1, 1]
    assert [card.get_by_test_id("stSelectbox").count() for card in cards.all()] == [1, 1, 1, 1]
    expect(cards.last.get_by_text("Press Run to see its answer.")).to_be_visible()
    page.get_by_role("button", name="2", exact=True).or_(
        page.get_by_role("radio", name="2", exact=True)
    ).click()
    expect(boxes).to_have_count(2)
    expect(page.get_by_text("Not in the next run.")).to_be_visible()
    expect(cards.nth(2)).to_contain_text("Not in the next run.")
    expect(cards.nth(2).locator(".rl-said")).to_be_visible()
