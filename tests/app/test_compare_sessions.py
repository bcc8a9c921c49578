"""Comparisons over time in a real browser: a second question, the way back, another session."""

import pytest
from helpers.browser import ENGLISH, SPANISH, Visit
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
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


def test_nothing_of_the_first_run_is_seen_under_the_second_question_until_the_browser_goes_back(visit):
    page = visit.page
    visit.pick(ENGLISH)
    visit.run()
    visit.wait_until_done()
    expect(page.locator(".rl-paid td", has_text="$0")).not_to_have_count(0)
    first = set(page.locator(".rl-answer, .rl-title").all_inner_texts())
    page.evaluate(WATCH)
    visit.type(SPANISH)
    visit.run()
    expect(visit.results_for(SPANISH)).to_have_count(1)
    visit.wait_until_done()
    expect(page.locator(".rl-paid td", has_text="$0")).not_to_have_count(0)
    first -= set(page.locator(".rl-answer, .rl-title").all_inner_texts())
    looks = page.evaluate("window.looks")
    assert any(first & set(look["shown"]) for look in looks)  # before Run was pressed
    assert any(SPANISH in look["question"] for look in looks)
    for look in looks:
        assert not (SPANISH in look["question"] and first & set(look["shown"])), look
        assert look["twice"] == []

    page.go_back()
    expect(visit.results_for(ENGLISH)).to_have_count(1)
    expect(page.get_by_label("Question", exact=True)).to_have_value(ENGLISH)
    expect(visit.results_for(SPANISH)).to_have_count(0)


def test_sessions_never_see_each_other_but_by_an_address(browser, app):
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
    expect(first.results_for(ENGLISH)).to_have_count(1)
    expect(second.results_for(SPANISH)).to_have_count(1)

    third = Visit(browser, app)
    expect(third.page.locator(".rl-question")).to_have_count(0)
    expect(third.page.get_by_label("Question", exact=True)).to_have_value("")
    third.page.goto(second.page.url)
    expect(third.results_for(SPANISH)).to_have_count(1, timeout=60_000)
    expect(third.page.locator(".rl-passage")).to_have_count(5 + 5 + 8)
    third.assert_clean()
    third.context.close()
    first.context.close()
    second.context.close()
