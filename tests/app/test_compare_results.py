"""One comparison in a real browser: the question, the results, and what a changed setting reruns."""

import re
from itertools import pairwise

import pytest
from helpers.browser import (
    ANSWER_MS,
    ENGLISH,
    LABELS,
    PLAIN,
    SHIFTS,
    SPANISH,
    Visit,
    assert_still,
    moved_by_run,
    strategy_boxes,
    wait_until_drawn,
)
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_the_demo_questions_go_with_the_title_instead_of_moving_into_its_place(visit):
    """As a slow machine draws it: the title is gone already, and the server has not taken the rest away yet."""
    demos, title = visit.page.locator(".st-key-offered"), visit.page.locator(".st-key-purpose")
    expect(demos).to_be_visible()
    title.evaluate("title => title.classList.replace('st-key-purpose', 'st-key-unseen')")
    expect(demos).to_be_hidden()


def test_a_visitor_compares_strategies_opens_a_citation_and_changes_a_control_and_the_columns(browser, app):
    visit = Visit(browser, f"{app}/{PLAIN}")
    page = visit.page
    offered = page.locator(".st-key-offered")
    offered.get_by_role("button", name=f"{LABELS[ENGLISH]} {ENGLISH}", exact=True).click()
    expect(page.get_by_label("Question", exact=True)).to_have_value(ENGLISH)
    visit.run()
    visit.wait_until_done()
    expect(offered).to_have_count(0)
    for title in ("Simple semantic", "BM25 keywords", "Hybrid RRF + MMR"):
        expect(page.get_by_role("heading", name=title)).to_be_visible()
    expect(page.locator(".rl-passage")).to_have_count(15)

    citation = page.locator(".rl-answer button.rl-cite >> visible=true").last
    card = page.locator(f"#{citation.get_attribute('popovertarget')}")
    expect(card).to_be_hidden()
    citation.scroll_into_view_if_needed()
    before = citation.bounding_box()
    citation.click()
    expect(card.locator(".rl-origin")).to_be_visible()  # whose guidance it is stands on top
    expect(card.locator(".rl-text u").first).to_be_visible()  # the quoted sentence
    assert citation.bounding_box() == before  # the answer stays where it is
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    citation.press("Enter")
    card.get_by_role("button", name="Close").click()
    expect(card).to_be_hidden()
    expect(page.locator(".rl-text mark").first).to_be_attached()  # the question's words
    expect(page.locator(".rl-label [role=tooltip]").first).to_contain_text("passages with this label")
    expect(page.get_by_text("What did one find that another did not?")).to_be_visible()
    expect(page.locator(".rl-paid td", has_text="$0")).not_to_have_count(0)
    expect(visit.open_stages().locator(".rl-done")).to_have_count(2 + 2 + 5)

    answers = page.locator(".rl-answer").all_text_contents()
    slider = visit.settings("C").get_by_role("slider", name="Variety (0) ↔ relevance (1)")
    expect(page.locator(".rl-answer").first).to_be_in_viewport()  # the results stay in view
    expect(page.locator(".rl-chip")).to_have_count(0)
    slider.focus()
    for _ in range(10):
        slider.press("ArrowLeft")
    expect(page.locator(".rl-changed")).to_have_count(1)
    expect(page.locator(".rl-chip")).to_have_text("changed: λ 0.2")
    expect(page.locator(".rl-answer")).to_have_text(answers)  # nothing ran by itself

    page.keyboard.press("Escape")
    expect(page.locator(".st-key-panel")).to_have_count(0)
    visit.run()
    expect(page.locator(".rl-changed")).to_have_count(0)
    visit.wait_until_done()
    stages = visit.open_stages()
    expect(stages).to_have_count(3)
    reused = [text.count("reused") for text in stages.all_text_contents()]
    assert reused == [2, 2, 3]  # MMR and the answer ran again

    visit.show_columns(4)
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
    visit.show_columns(2)
    expect(boxes).to_have_count(2)
    expect(page.get_by_text("Not in the next run.")).to_be_visible()
    expect(cards.nth(2)).to_contain_text("Not in the next run.")
    expect(cards.nth(2).locator(".rl-said")).to_be_attached()  # folded where another column says the same
    visit.assert_clean()
    visit.context.close()


def test_a_question_has_several_lines_and_a_limit_that_is_shown(visit):
    page = visit.page
    box = page.locator("textarea").first
    expect(box).to_have_attribute("placeholder", re.compile("Enter runs, Shift"))
    box.click()
    page.keyboard.type("When should I go in?")
    expect(page.get_by_text("20/2000")).to_be_visible()
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("My waters broke.")
    expect(page.locator(".rl-question")).to_have_count(0)
    page.keyboard.press("Enter")
    expect(visit.results_for("When should I go in? My waters broke.")).to_have_count(1, timeout=ANSWER_MS)
    visit.wait_until_done()
    visit.type("x" * 2_001)  # more than a question may have: the box keeps what it holds
    expect(visit.page.get_by_label("Question", exact=True)).to_have_value(
        "When should I go in?\nMy waters broke."
    )
    hostile = "<img src=x onerror=alert(1)> **bold**"
    visit.type(hostile)
    page.keyboard.press("Control+Enter")
    expect(visit.results_for(hostile)).to_have_count(1)
    visit.wait_until_done()
    visit.assert_clean()


def test_a_phone_shows_everything_without_a_jump_or_scrolling_sideways(browser, app):
    visit = Visit(browser, app, width=390, height=844, script=SHIFTS)
    expect(visit.page.locator(".st-key-card2")).to_be_attached()
    wait_until_drawn(visit.page)
    visit.pick(SPANISH)
    visit.run()
    since = moved_by_run(visit.page)
    visit.wait_until_done()
    expect(visit.page.locator(".rl-found")).to_be_attached()
    assert_still(visit.page, since)
    wide = visit.page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
    assert wide <= 390
    citation = visit.page.locator("button.rl-cite").first
    citation.click()
    card = visit.page.locator(".rl-card:popover-open")
    expect(card).to_be_in_viewport(ratio=0.9)  # along the lower edge
    expect(citation).to_be_in_viewport()
    visit.page.keyboard.press("Escape")
    expect(card).to_have_count(0)
    cards = visit.page.locator("[class*=st-key-card]")
    expect(cards.first).to_be_visible()
    expect(cards.last).to_be_hidden()
    visit.page.locator(".rl-tabs label", has_text="BM25").click()
    expect(cards.first).to_be_hidden()
    expect(cards.last).to_be_visible()
    assert visit.page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight") < 4000
    visit.context.close()


def test_a_desktop_at_200_percent_has_tabs_and_paper_has_all_columns_and_no_buttons(browser, app):
    visit = Visit(browser, app, width=720, height=500)
    visit.pick(ENGLISH)
    visit.run()
    visit.wait_until_done()
    page, cards = visit.page, visit.page.locator("[class*=st-key-card]")
    expect(cards.first).to_be_visible()
    expect(cards.last).to_be_hidden()
    cut = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.outerHTML)"
    chosen = page.locator(".st-key-ask input")
    expect(chosen.filter(visible=True)).not_to_have_count(0)
    assert chosen.evaluate_all(cut) == []
    page.locator(".rl-tabs label").last.click()
    expect(cards.first).to_be_hidden()
    expect(cards.last).to_be_visible()
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 720

    page.emulate_media(media="print")
    boxes = [cards.nth(place).bounding_box() for place in range(3)]
    assert all(above["y"] + above["height"] <= below["y"] for above, below in pairwise(boxes))
    expect(page.locator(".stApp button:not(.rl-cite, .rl-open)").filter(visible=True)).to_have_count(0)
    expect(strategy_boxes(page).filter(visible=True)).to_have_count(3)
    assert page.locator(".rl-framing").bounding_box()["width"] > 500
    lines = page.locator(".rl-status, .rl-notices summary, .rl-rewrites span").filter(visible=True)
    assert lines.count() > 0
    assert lines.evaluate_all(cut) == []
    visit.context.close()
