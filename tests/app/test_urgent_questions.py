"""The notice above the answers to an urgent question."""

from __future__ import annotations

import pytest
from helpers.browser import CHROMIUM, Visit
from playwright.sync_api import expect

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]


def test_an_urgent_question_is_met_by_what_to_do_above_the_answers(visit: Visit) -> None:
    visit.type("Desde que nació mi bebé lloro todo el día y no quiero vivir")
    visit.run()
    notice = visit.page.locator(".rl-urgent")
    expect(notice).to_contain_text("No está sola.")
    expect(notice).to_have_attribute("lang", "es")
    visit.wait_until_done()
    answers = visit.page.locator(".rl-said, .rl-box").first
    assert notice.bounding_box()["y"] < answers.bounding_box()["y"]
    visit.assert_clean()


def test_a_routine_question_has_no_notice(visit: Visit) -> None:
    visit.type("How much folic acid do I need?")
    visit.run()
    visit.wait_until_done()
    expect(visit.page.locator(".rl-urgent")).to_have_count(0)
