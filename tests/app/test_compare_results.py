"""One comparison in a real browser: its results, how they are read, a second question, another session, a source."""

import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from helpers.browser import (
    ANSWER_MS,
    ENGLISH,
    HALVES,
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
from playwright.sync_api import Browser, Locator, expect

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
    expect(visit.page.get_by_label("Question", exact=True)).to_have_value("When should I go in?\nMy waters broke.")
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
    desk.pick(HALVES)
    desk.run()
    since = moved_by_run(page)
    desk.wait_until_done()
    for answer in page.locator(".rl-answer").all():
        assert answer.bounding_box()["y"] < 500  # below what differs and the rewrites, in the upper half
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

    # a sentence that is pointed at is marked in its margin, and nothing covers the text
    said = page.locator(".rl-answer .rl-sentence").first
    said.hover()
    left, width, text = said.evaluate("""one => {
      const {left, width} = getComputedStyle(one, '::before');
      return [left, width, getComputedStyle(one.closest('.rl-answer')).paddingLeft].map(parseFloat);
    }""")
    assert left + width <= text
    expect(page.locator("[role=tooltip]").filter(visible=True)).to_have_count(0)

    found = page.locator(".rl-found tbody tr")
    expect(found.first).to_contain_text("–")  # what a column did not find comes first
    found.first.locator(".rl-rank:not(.rl-absent) button").first.click()
    expect(page.locator(".rl-card:popover-open .rl-text")).to_be_visible()
    page.keyboard.press("Escape")

    summaries = page.locator(".rl-passages").first.locator("summary")
    summaries.first.focus()
    page.keyboard.press("Tab")
    expect(summaries.nth(1)).to_be_focused()


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
