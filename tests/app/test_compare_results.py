"""One comparison in a real browser: the question, the results, and what a changed setting reruns."""

from __future__ import annotations

import pytest
from helpers.browser import ANSWER_MS, CHROMIUM, ENGLISH, LABELS, SPANISH, Visit
from playwright.sync_api import Browser, expect

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]


@pytest.mark.parametrize("question", [ENGLISH, SPANISH])
def test_a_visitor_compares_three_strategies_and_opens_a_citation(visit: Visit, question: str) -> None:
    visit.pick(question)
    visit.run()
    visit.wait_until_done()
    page = visit.page
    for title in ("Simple semantic", "BM25 keywords", "Hybrid RRF + MMR"):
        expect(page.get_by_role("heading", name=title)).to_be_visible()
    expect(page.locator(".rl-passage")).to_have_count(15)

    citation = page.locator(".rl-answer button.rl-cite").last
    card = page.locator(f"#{citation.get_attribute('popovertarget')}")
    expect(card).to_be_hidden()
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
    expect(page.locator(".rl-label [role=tooltip]").first).to_contain_text("judged passages")
    expect(page.get_by_text("What did one find that another did not?")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    expect(visit.open_stages().locator(".rl-done")).to_have_count(2 + 2 + 5)
    visit.assert_clean()


def test_results_survive_reruns_and_a_changed_control_runs_only_what_must(visit: Visit) -> None:
    visit.pick(ENGLISH)
    visit.run()
    visit.wait_until_done()
    page = visit.page
    answers = page.locator(".rl-answer").all_text_contents()
    slider = visit.settings("C").get_by_role("slider", name="Variety (MMR λ)")
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


def test_the_page_answers_bad_input_in_one_line_and_keeps_what_is_on_it(visit: Visit) -> None:
    visit.pick(ENGLISH)
    visit.run()
    visit.wait_until_done()
    for question, complaint in [
        ("   ", "The question is empty."),
        ("🤰🍼", "no letter or digit"),
    ]:
        visit.type(question)
        visit.run()
        expect(visit.page.get_by_role("alert").filter(has_text=complaint)).to_be_visible()
        expect(visit.page.locator(".rl-passage")).to_have_count(15)
        expect(visit.page.get_by_label("Question", exact=True)).to_have_value(question)
    visit.type("x" * 2_001)  # more than a question may have: the box keeps what it holds
    expect(visit.page.get_by_label("Question", exact=True)).to_have_value("🤰🍼")
    for question in (
        "'; DROP TABLE passages; --",
        "<img src=x onerror=alert(1)> **bold**",
        "متى أذهب إلى المستشفى",
    ):
        visit.type(question)
        visit.run()
        expect(visit.results_for(question)).to_be_visible()
        visit.wait_until_done()
    expect(visit.page.get_by_text("This question seems to be in Arabic.")).to_be_visible()
    visit.assert_clean()


def test_a_question_has_several_lines_and_a_limit_that_is_shown(visit: Visit) -> None:
    page = visit.page
    box = page.locator("textarea").first
    box.click()
    page.keyboard.type("When should I go in?")
    expect(page.get_by_text("20/2000")).to_be_visible()
    page.keyboard.press("Enter")
    page.keyboard.type("My waters broke.")
    expect(page.locator(".rl-question")).to_have_count(0)
    page.keyboard.press("Control+Enter")
    expect(visit.results_for("When should I go in? My waters broke.")).to_be_visible(timeout=ANSWER_MS)
    visit.wait_until_done()


def test_a_question_in_french_has_its_notice_at_once_and_no_spanish_refusal(visit: Visit) -> None:
    visit.type("Quels vaccins sont conseillés avant un voyage au Japon ?")
    visit.run()
    notice = visit.page.get_by_text("This question seems to be in French.")
    expect(notice).to_be_visible(timeout=ANSWER_MS)
    visit.wait_until_done()
    expect(notice).to_be_visible()
    said = " ".join(visit.page.locator(".rl-box").all_inner_texts())
    assert "evidencia" not in said
    assert "Ninguna" not in said


def test_a_phone_shows_everything_without_scrolling_sideways(browser: Browser, app: str) -> None:
    visit = Visit(browser, app, width=390, height=844)
    visit.pick(SPANISH)
    visit.run()
    visit.wait_until_done()
    wide = visit.page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
    assert wide <= 390
    cards = visit.page.locator("[class*=st-key-card]")
    expect(cards.first).to_be_visible()
    expect(cards.last).to_be_hidden()
    visit.page.locator(".rl-tabs label", has_text="Hybrid RRF + MMR").click()
    expect(cards.first).to_be_hidden()
    expect(cards.last).to_be_visible()
    assert visit.page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight") < 4000
    visit.context.close()


def test_an_offered_demo_question_fills_the_box_and_makes_way_for_its_results(visit: Visit) -> None:
    page = visit.page
    offered = page.locator(".st-key-offered")
    offered.get_by_role("button", name=f"{LABELS[ENGLISH]} {ENGLISH}", exact=True).click()
    expect(page.get_by_label("Question", exact=True)).to_have_value(ENGLISH)
    visit.run()
    expect(page.locator(".rl-passages").first).to_be_visible(timeout=ANSWER_MS)
    expect(offered).to_have_count(0)
