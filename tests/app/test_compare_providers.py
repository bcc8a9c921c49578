"""Comparisons answered by a provider, in a real browser: slow, failing and hanging."""

import re
import threading

import pytest
from helpers.behaviours import Hang, Held, Reply
from helpers.browser import ANSWER_MS, ENGLISH, PLAIN, Visit, strategy_boxes, tab
from helpers.openai_server import role_of
from helpers.relay import relayed
from playwright.sync_api import expect

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


def test_a_hanging_model_is_told_and_can_be_stopped(paid_visit, model):
    page = paid_visit.page
    cut = page.locator(".rl-hint, .rl-box", has_text="The answer was cut off here.")
    paid_visit.pick(ENGLISH)
    for after, begun in ((0, 0), (3, 3)):
        model.choose = lambda body, after=after: Hang(after=after)
        model.gone.clear()
        paid_visit.run()
        waiting, seconds = page.locator(".rl-wait").first, re.compile(r"Writing the answer… \d+ s")
        expect(waiting).to_have_text(seconds, timeout=ANSWER_MS)
        earlier = waiting.inner_text()
        expect(waiting).not_to_have_text(
            earlier
        )  # after ten seconds it tells of the silence: test_columns.py
        expect(page.locator(".rl-live")).to_have_count(begun)
        paid_visit.stop_button.click()
        kept = page.locator(".rl-box", has_text="Finished results are kept.")
        expect(kept).to_have_count(3)  # long before the call's timeout
        assert model.gone.wait(timeout=30)
        expect(page.locator("div.rl-box")).to_have_count(3)
        expect(page.locator(".rl-answer")).to_have_count(begun)
        expect(cut).to_have_count(begun)
        assert role_of(model.requests[-1].body) == "answer"
