"""Comparisons answered by a provider, in a real browser: slow, failing and hanging, two models beside each other, a reload."""

import re
import threading
from collections import Counter

import pytest
from helpers.behaviours import Held, Reply
from helpers.browser import (
    ANSWER_MS,
    ENGLISH,
    PLAIN,
    Visit,
    strategy_boxes,
    tab,
    wait_for_models,
    wait_until_drawn,
)
from helpers.relay import relayed
from helpers.source_files import write
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_a_running_comparison_survives_other_pages_and_reloads(paid_visit, model):
    released = threading.Event()
    model.choose = lambda body: Held(released, Reply("Go in at once [1]."))
    page = paid_visit.page
    paid_visit.show_columns(2)
    paid_visit.settings("A").get_by_role("slider", name="k_final").press("ArrowLeft")
    page.keyboard.press("Escape")
    for back in (page.go_back, tab(page, "Compare").click):  # before anything runs
        tab(page, "Documents").click()
        expect(page.get_by_role("heading", name="The documents behind the answers")).to_be_visible()
        back()
        expect(strategy_boxes(page)).to_have_count(2)
    paid_visit.type(ENGLISH)
    paid_visit.run()
    expect(page.locator(".rl-passage")).to_have_count(4 + 5, timeout=ANSWER_MS)

    def as_it_was() -> None:
        expect(page.get_by_label("Question", exact=True)).to_have_value(ENGLISH, timeout=60_000)
        expect(paid_visit.results_for(ENGLISH)).to_have_count(1)
        expect(strategy_boxes(page)).to_have_count(2)
        expect(page.locator(".rl-passage")).to_have_count(4 + 5)
        expect(page.locator(".rl-changed")).to_have_count(0)

    page.reload()
    as_it_was()
    tab(page, "Documents").click()
    expect(page.get_by_role("heading", name="The documents behind the answers")).to_be_visible()
    page.go_back()
    as_it_was()
    tab(page, "Documents").click()
    expect(page.get_by_role("heading", name="The documents behind the answers")).to_be_visible()
    tab(page, "Compare").click()
    as_it_was()
    released.set()
    paid_visit.wait_until_done(2)
    assert "run=" in page.url
    page.reload()
    as_it_was()
    expect(page.locator(".rl-answer", has_text="Go in at once")).to_have_count(2)
    expect(paid_visit.settings("A").get_by_role("slider", name="k_final")).to_have_value("4")
    assert len(model.requests) == 2  # one answer a column: no reload asked again


def test_a_source_that_is_being_read_stays_open_when_another_column_ends(paid_visit, model):
    released, replies = threading.Event(), [Reply("Go in at once [1].")]
    model.choose = lambda body: replies.pop() if replies else Held(released, Reply("Go in at once [1]."))
    page = paid_visit.page
    paid_visit.show_columns(2)
    paid_visit.type(ENGLISH)
    paid_visit.run()
    page.locator(".rl-answer:not(.rl-live) .rl-cite").first.click(timeout=ANSWER_MS)
    card = page.locator(".rl-card:popover-open")
    expect(card).to_have_count(1)
    expect(page.locator(".rl-also")).to_have_count(0)
    released.set()
    paid_visit.wait_until_done(2)
    expect(page.locator(".rl-also").first).to_be_attached()  # the list below was drawn anew
    expect(card).to_have_count(1)


def test_a_lost_connection_loses_nothing(browser, paid, model):
    released = threading.Event()
    model.choose = lambda body: Held(released, Reply("Go in at once [1]."))
    with relayed(paid) as network:
        visit = Visit(browser, f"{network.address}/{PLAIN}")
        page = visit.page
        visit.type(ENGLISH)
        visit.run()
        expect(page.locator(".rl-passage")).to_have_count(15, timeout=ANSWER_MS)
        assert network.cut() > 0
        released.set()
        for _ in range(3):
            assert model.answered.acquire(timeout=30)
        expect(page.locator(".rl-passage")).to_have_count(15)  # what was drawn stays while nothing comes
        network.mend()
        visit.wait_until_done()
        expect(page.locator(".rl-answer", has_text="Go in at once")).to_have_count(3)
        expect(page.get_by_label("Question", exact=True)).to_have_value(ENGLISH)
        assert len(model.requests) == 3  # one answer a column: nothing was asked again
        visit.context.close()


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


def test_contexts_are_written_through_reloads(browser, paid, model, tmp_path):
    files = write(tmp_path / "files", {f"{name}.md": f"# {name}\n\nAbout {name}." for name in ("meals", "visits")})
    released = threading.Event()
    model.choose = lambda body: Held(released, Reply("About a clinic."))
    visit = Visit(browser, paid)
    page = visit.page
    page.goto(f"{paid}/documents?view=add")
    wait_for_models(page)
    named = page.get_by_role("combobox", name="Name of the collection")
    named.fill("clinic")
    named.press("Enter")
    page.locator("input[type=file]").set_input_files(sorted(files.iterdir()))
    expect(page.get_by_role("button", name=re.compile(r"Remove .+\.md"))).to_have_count(2)
    page.get_by_text("More choices").click()
    context = page.get_by_role("switch", name="Add a context to each passage")
    expect(context).to_be_visible()
    wait_until_drawn(page)
    context.press("Space")
    expect(context).to_be_checked()
    page.get_by_role("button", name="Add documents").click()
    agree = page.get_by_role("button", name="Go on")
    expect(agree).to_be_visible(timeout=ANSWER_MS)
    page.reload()  # while it waits for consent
    expect(page.get_by_text("Nothing is sent before you agree.")).to_be_visible()
    assert model.requests == []
    agree.click()
    expect(page.get_by_text("It continues when this page is closed")).to_be_visible()
    page.reload()  # while a model writes
    expect(page.get_by_text("It continues when this page is closed")).to_be_visible(timeout=ANSWER_MS)
    released.set()
    expect(page.get_by_text("2 added.")).to_be_visible(timeout=ANSWER_MS)
    assert len(model.requests) == 2  # one context a passage: nothing was asked again
    visit.context.close()
