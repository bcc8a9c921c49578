"""The Documents page finds passages by their words and shows how each document was cut."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from helpers.browser import ANSWER_MS, CHROMIUM, Visit, strategy_boxes, tab
from playwright.sync_api import Browser, Locator, Page, expect

import rag_core
from rag_core.lab.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]
WORDS = "anti-D rhesus"


@pytest.fixture(params=[1440, 390])
def page(browser: Browser, app: str, request: pytest.FixtureRequest) -> Page:
    context = browser.new_context(viewport={"width": request.param, "height": 900})
    page = context.new_page()
    page.goto(f"{app}/documents")
    expect(page.locator(".rl-dot")).to_be_visible(timeout=ANSWER_MS)
    yield page
    context.close()


def search(page: Page, words: str) -> None:
    box = page.get_by_role("textbox", name="Words to search for")
    box.fill(words)
    box.press("Enter")


def found(page: Page) -> Locator:
    return page.locator(".st-key-found")


def test_passages_are_found_by_their_words_and_open_their_document(page: Page, lab: Lab) -> None:
    hits = rag_core.search_passages(lab, WORDS).hits
    documents = {hit.passage.doc_id for hit in hits}
    search(page, WORDS)
    expect(page.get_by_text(f"{len(hits)} passages found in {len(documents)} documents")).to_be_visible()
    expect(found(page).locator(".rl-cut")).to_have_count(20)
    best = found(page).locator(".rl-cut").first
    expect(best).to_contain_text(f"{hits[0].passage.heading} · English · BM25 {hits[0].score:.2f}")
    expect(best.locator("mark").first).to_have_text(re.compile("anti|rhesus|d", re.IGNORECASE))

    found(page).get_by_role("button", name=re.compile(r"^2\. ")).click()
    second = hits[1].passage
    opened = page.locator(".rl-opened")
    back = page.get_by_role("button", name="Back to the results")
    if page.viewport_size == {"width": 390, "height": 900}:  # one above the other
        expect(opened).to_be_in_viewport(ratio=0.5)
        back.click()
        expect(best).to_be_in_viewport()
        found(page).get_by_role("button", name=re.compile(r"^2\. ")).click()
    else:
        expect(back).to_be_hidden()
    expect(opened).to_contain_text(second.text.split("\n")[0][:80])
    number, pieces = rag_core.position_of(second) + 1, rag_core.size_of(lab, second)
    about = f"{number}. {second.heading} · {pieces} word pieces, {len(second.text)} characters"
    expect(opened).to_contain_text(about)
    expect(opened.locator(".rl-context")).to_contain_text("Context:")

    found(page).get_by_role("button", name=re.compile("^Show ")).click()
    expect(found(page).locator(".rl-cut")).to_have_count(min(40, len(hits)))
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_spanish_words_find_english_passages_too_and_say_so(page: Page) -> None:
    search(page, "cesárea")
    expect(page.get_by_text(re.compile("Searched for in English too: .*caesarean"))).to_be_visible()
    page.locator(".st-key-library-language").get_by_text("English", exact=True).click()
    expect(found(page).locator(".rl-cut").first).to_contain_text("· English · BM25")
    expect(found(page).locator("mark", has_text=re.compile("caesarean", re.IGNORECASE)).first).to_be_visible()


def test_words_that_no_passage_has_say_what_to_do(page: Page) -> None:
    search(page, "xyloquine")
    expect(
        page.get_by_text("No passage has any of these words. Try other words, or remove a filter.")
    ).to_be_visible()
    search(page, "")
    expect(page.get_by_text("Guidance cited by this document")).to_be_visible()


def test_contexts_are_compared_with_and_without(visit: Visit) -> None:
    page = visit.page
    tab(page, "Documents").click()
    page.get_by_role("link", name="Compare with and without contexts").click()
    boxes = strategy_boxes(page)
    expect(boxes).to_have_count(2)
    expect(boxes.first).to_have_value("Contextual retrieval")
    expect(boxes.last).to_have_value("Contextual retrieval")
    visit.type("When is anti-D given?")
    visit.run()
    visit.wait_until_done(columns=2)
    address = parse_qs(urlsplit(page.url).query)
    assert address["s"] == ["contextual", "contextual"]
    assert {name: value for name, value in address.items() if name.endswith(".enriched")} == {
        "2.enriched": ["false"]
    }
