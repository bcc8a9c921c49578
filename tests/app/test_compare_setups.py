from collections import Counter

import pytest
from helpers.behaviours import Reply
from helpers.browser import ANSWER_MS, Visit
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

QUESTION = "When is anti-D given?"


def choose(page: Page, box: str, option: str) -> None:
    """Choose an option of the open panel."""
    found = page.locator(".st-key-panel").get_by_role("combobox", name=box)
    expect(found).to_have_count(1)  # the panel before it is closed
    found.fill(option)
    page.get_by_role("option", name=option, exact=True).click()


def test_two_models_and_two_corpora_beside_each_other(browser, paid, model):
    model.choose = lambda body: Reply(f"Written by {body['model']} [1].")
    visit = Visit(browser, f"{paid}/?s=simple_semantic&s=simple_semantic")
    page = visit.page
    visit.type(QUESTION)
    visit.wait_for_draft(QUESTION)
    chips = ["model: gpt-4o-mini", "model: my-local-model · documents: ward"]
    visit.settings("A")
    choose(page, "Language model", "gpt-4o-mini")
    expect(page.locator(".st-key-card0 .rl-chip")).to_have_text(chips[0])
    page.keyboard.press("Escape")
    expect(page.locator(".st-key-panel")).to_be_hidden()  # else the box is still A's below B's title
    visit.settings("B")
    choose(page, "Language model", "my-local-model")
    expect(page.locator(".st-key-card1 .rl-chip")).to_have_text("model: my-local-model")
    choose(page, "Documents this column searches", "ward")
    expect(page.locator(".st-key-card1 .rl-chip")).to_have_text(chips[1])
    page.keyboard.press("Escape")
    visit.run()

    def as_it_was() -> None:
        for place, name in enumerate(("gpt-4o-mini", "my-local-model")):
            card = page.locator(f".st-key-card{place}")
            expect(card.locator(".rl-answer")).to_contain_text(f"Written by {name}", timeout=ANSWER_MS)
            expect(card.locator(".rl-chip")).to_have_text(chips[place])
            expect(card.locator(".rl-passage")).to_have_count((5, 1)[place])
        expect(page.locator(".rl-changed")).to_have_count(0)

    as_it_was()
    visit.wait_until_done(2)
    assert Counter(one.body["model"] for one in model.requests) == {"gpt-4o-mini": 1, "my-local-model": 1}
    expect(page.get_by_text("no price in data/prices.toml")).to_be_visible()
    expect(
        page.get_by_text(
            "The columns searched different documents: A Built-in documents, B ward. A dash need not be a miss."
        )
    ).to_be_visible()
    second = page.locator(".st-key-card1")
    second.locator(".rl-passage summary").click()
    expect(second.locator("a[href^='documents?corpus=ward&']").first).to_be_attached()
    expect(page.get_by_role("combobox", name="Demo questions")).to_be_visible()
    assert "1.model=gpt-4o-mini" in page.url
    assert "2.model=my-local-model" in page.url
    page.reload()
    as_it_was()
    fresh = browser.new_context().new_page()  # another visitor, by the address without the run
    fresh.goto(page.url.partition("&run=")[0])
    expect(fresh.locator(".rl-chip")).to_have_text(chips)
    fresh.context.close()
    assert len(model.requests) == 2  # nothing was asked again
    visit.context.close()
