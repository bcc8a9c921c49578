import itertools
import re
import tomllib
from threading import Semaphore

import pytest
from helpers.behaviours import Behaviour, Body, Endless, Reply
from helpers.browser import ANSWER_MS, ENGLISH
from helpers.in_process import html, press
from helpers.small import ROOT
from playwright.sync_api import expect

from pages.compare import asking

DEMOS = [
    entry["text"] for entry in tomllib.loads((ROOT / "data" / "demo.toml").read_text(encoding="utf-8"))["question"]
]


def test_the_next_question_is_answered_at_once_where_that_is_free(drawn):
    drawn.run()
    press(drawn, "Present")
    for text in DEMOS[:2]:
        press(drawn, "Next question")
        run = drawn.session_state["run"]
        assert run.question == text
        assert run.over
        assert html(drawn).count('class="rl-passages"') == 3
    press(drawn, "Leave")
    assert drawn.session_state["run"] is run  # nothing is asked again


def test_the_next_question_waits_for_run_where_a_model_is_asked(start, model):
    app = start(OPENAI_BASE_URL=model.url).run()
    press(app, "Present")
    press(app, "Next question")
    assert app.session_state["question"] == DEMOS[0]
    assert "run" not in app.session_state
    assert not model.requests
    press(app, "Run")
    assert html(app).count('class="rl-passages"') == 3
    press(app, "Next question")
    assert app.session_state["question"] == DEMOS[1]
    assert "rl-answer" not in html(app)  # none of the question before
    assert 'class="rl-passages"' not in html(app)


def test_next_begins_with_the_first_question_in_the_language_of_the_visit(drawn, monkeypatch):
    monkeypatch.setattr(asking, "language", lambda: "es")
    press(drawn.run(), "Next")
    assert drawn.session_state["question"].startswith("Con este calorón no pego el ojo.")
    assert "run" not in drawn.session_state  # outside presenter mode it is only filled in


@pytest.mark.browser
def test_a_presenter_shows_questions_without_a_mouse(paid_visit, model):
    """A question that is stopped, and one with a citation and votes. What is hidden: tests/app/test_blind.py."""
    page = paid_visit.page
    asked = Semaphore(0)

    def endless(body: Body) -> Behaviour:
        asked.release()
        return Endless()

    def press(button: str, key: str) -> None:
        expect(page.get_by_role("button", name=re.compile(f"^{button}"))).to_be_enabled(timeout=ANSWER_MS)
        page.keyboard.press(key)

    model.choose = endless
    page.locator(".st-key-columns").get_by_role("radio", name="4").click()
    expect(page.get_by_role("combobox", name=re.compile("Strategy 4"))).to_be_visible()
    press("Present", "F2")
    presented, answers = page.locator(".rl-presented"), page.locator(".rl-answer:not(.rl-live)")
    expect(page.get_by_role("combobox")).to_have_count(0)
    press("Next", "n")
    expect(presented).to_have_text(ENGLISH)
    press("Run", "g")
    for _ in range(4):
        assert asked.acquire(timeout=ANSWER_MS / 1000)
    expect(page.locator(".rl-wait", has_text="The answers will appear together.")).to_have_count(4)
    expect(page.locator(".rl-answer, .rl-passage")).to_have_count(0)  # none shows by its speed what it is
    press("Stop", "s")
    expect(page.locator(".rl-box", has_text="Finished results are kept.")).to_have_count(4)
    assert model.gone.wait(timeout=30)

    numbers = itertools.count(1)  # the answers differ, so that one can be better
    model.choose = lambda body: Reply(f"Go in at once, at door {next(numbers)} [1].")
    press("Next", "n")
    expect(presented).to_have_text(DEMOS[1])
    press("Run", "g")
    expect(answers).to_have_count(4, timeout=ANSWER_MS)
    expect(page.get_by_role("button", name=re.compile("^A is best"))).to_be_enabled(timeout=ANSWER_MS)
    assert answers.first.evaluate("one => parseFloat(getComputedStyle(one).fontSize)") > 20
    citation = page.locator("button.rl-cite").first
    for _ in range(40):
        page.keyboard.press("Tab")
        if citation.evaluate("one => one === document.activeElement"):
            break
    page.keyboard.press("Enter")
    card = page.locator(".rl-card:popover-open")
    expect(card).to_be_visible()
    page.keyboard.press("Escape")
    expect(card).to_have_count(0)

    ballot = page.locator(".st-key-ballot")
    tally = ballot.get_by_test_id("stCaptionContainer")
    for_one, tie = (f"votes so far: 1 · tie: {ties} · none good enough: 0" for ties in (0, 1))
    for button, key, told in (  # a vote is for all columns with the answer, so no two columns in a row
        ("A is best", "1", for_one),
        ("Tie", "t", tie),
        ("C is best", "3", for_one),
        ("None is good enough", "0", "votes so far: 1 · tie: 0 · none good enough: 1"),
        ("D is best", "4", for_one),
        ("Tie", "t", tie),
        ("B is best", "2", for_one),
    ):
        press(button, key)
        expect(ballot.locator("[kind=primary]", has_text=button)).to_have_count(1)
        expect(tally).to_have_text(told)
    page.reload()
    expect(tally).to_have_text(told, timeout=ANSWER_MS)
    press("Reveal", "v")
    expect(page.locator(".st-key-card1 .rl-named", has_text="voted best")).to_have_count(1)
    press("Leave", "b")
    expect(page.get_by_label("Question", exact=True)).to_have_value(DEMOS[1])
    expect(paid_visit.results_for(DEMOS[1])).to_have_count(1)
    expect(page.get_by_role("combobox", name=re.compile("Strategy 1"))).to_have_count(1)
    paid_visit.assert_clean()
