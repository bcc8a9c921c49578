import re
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.answers import answered, passage
from helpers.in_process import ask, html, press, text, visitor
from streamlit.testing.v1 import AppTest

import rag_core
from pages.compare import room_result
from pages.compare.presenter import renumbered
from pages.shared import rooms as shared
from rag_core.sessions.panel.room import MOST_WRONG, Guesses
from rag_core.sessions.panel.session import open_panel
from rag_core.sessions.panel.store import Rooms
from rag_core.values.answers import Citation, Grounded
from rag_core.values.errors import PanelError

QUESTION = "plasenta previa is sex alowed"  # three answers that differ, and a banner
VOTE = "pages/panel/vote.py"
CHOICES = [
    "The first is better",
    "The second is better",
    "Equally good",
    "Neither is good",
    "Both are unsafe",
]
GIVEN_AWAY = (
    "rl-bar", "rl-took", "rl-label", "rl-notices", "rl-support\"", "rl-votes", "rl-passages", "ordered by", "nDCG",
    "Simple semantic", "Hybrid RRF", "Ensemble", "cosine", "$",
)  # fmt: skip


@pytest.fixture
def presenter(start: Callable[..., AppTest], tmp_path: Path) -> AppTest:
    """Presenter mode with three answers and an open room."""
    app = start(RAG_HISTORY="on", RAG_DATABASE_URL=f"sqlite:///{tmp_path / 'rooms.db'}")
    app.query_params["s"] = ["simple_semantic", "hybrid_rrf", "ensemble"]
    return press(press(ask(app.run(), QUESTION), "Present"), "Open a room")


def code_of(app: AppTest) -> str:
    return str(app.session_state["panel.room"].code)


def rooms() -> Rooms:
    kept = shared.store()
    assert kept
    return kept


def phone(code: str = "") -> AppTest:
    """The page of somebody who votes."""
    app = visitor().run()
    app.session_state["panel.voter"] = secrets.token_hex()  # as the cookie gives it
    app.query_params.clear()
    if code:
        app.query_params["room"] = code
    app.switch_page(VOTE).run()
    assert not app.exception
    return app


def shown(app: AppTest) -> str:
    """What the page wrote, with what people can read in its widgets."""
    told = [one.value for one in (*app.caption, *app.warning, *app.info)]
    return "\n".join([html(app), *told, *(one.label for one in app.button)])


def judge_all(app: AppTest, choice: str) -> int:
    """Vote alike on every pair; returns how many there were."""
    count = 0
    while CHOICES[0] in [one.label for one in app.button]:
        press(app, choice)
        count += 1
    return count


def test_a_voter_sees_two_answers_and_nothing_that_names_them(presenter):
    waiting = phone(code_of(presenter))
    assert "The first question will appear here by itself." in shown(waiting)
    press(presenter, "Ask the room")
    page = phone(code_of(presenter).lower())
    assert [one.label for one in page.button if one.label in CHOICES] == CHOICES
    assert [clue for clue in GIVEN_AWAY if clue in shown(page)] == []
    assert QUESTION in html(page)
    assert html(page).count('class="rl-side"') == 2
    assert html(page).count("The whole answer") == 2  # what differs stands before it
    alone = re.findall(r'class="rl-alone">(.*?)</div>', html(page))
    assert len({text(one) for one in alone}) == 2
    assert rag_core.NOTICE in html(page)
    press(presenter, "Show the result")
    assert [clue for clue in GIVEN_AWAY if clue not in shown(presenter)] == []  # each was there to be hidden
    page.run()
    assert "The next question will appear here by itself." in shown(page)


def test_citations_are_numbered_as_they_come_and_open_the_same_passages():
    hits = [passage(f"Text {n}.", name=f"p{n}") for n in range(1, 12)]
    said = "Go [11]. Wait [2][11]. Stop."
    sentences = [
        Grounded(said.index(one), said.index(one) + len(one), one, "supported", by, by[0])
        for one, by in (("Go [11].", (11,)), ("Wait [2][11].", (2, 11)))
    ]
    trace = answered(said, *hits, sentences=sentences)
    cited = tuple(Citation(n, hits[n - 1].id, "", True, markers) for n, markers in ((11, (0, 2)), (2, (1,))))
    shown = renumbered(trace, replace(trace.answer, citations=cited))
    assert shown.answer.text == "Go [1]. Wait [2][1]. Stop."
    assert [shown.answer.text[one.start : one.end] for one in shown.answer.sentences] == [
        "Go [1].", "Wait [2][1]."
    ]  # fmt: skip
    assert [(one.n, one.by) for one in shown.answer.sentences] == [(1, (1,)), (2, (1, 2))]
    assert [shown.ranking.hits[one.n - 1].id for one in shown.answer.citations] == [one.context_id for one in cited]
    assert len(shown.ranking) == 11


def test_a_vote_has_reasons_and_a_comment_and_changes_until_voting_is_closed(presenter):
    press(presenter, "Ask the room")
    page = phone(code_of(presenter))
    (reasons,) = [one for one in page.button_group if str(one.key).startswith("reasons.")]
    reasons.set_value(["safe", "clear"])
    page.text_area[0].set_value("Says when.")
    press(page, "The first is better")
    (vote,) = rooms().votes(code_of(presenter))
    (asked,) = rooms().rounds(code_of(presenter))
    assert (vote.choice, vote.reasons, vote.comment) == ("left", ("clear", "safe"), "Says when.")
    assert "Pair 2 of 3" in shown(page)
    assert judge_all(page, "Equally good") == 2
    keys = sorted(one.pair.key for one in rooms().votes(code_of(presenter)))
    press(page, "Changed my mind", keys.index(vote.pair.key))
    assert page.text_area[0].value == "Says when."
    press(page, "Both are unsafe")
    votes = {one.pair.key: one.choice for one in rooms().votes(code_of(presenter))}
    assert len(votes) == 3
    assert votes[vote.pair.key] == "both_unsafe"
    press(page, "Changed my mind")
    press(presenter, "Close voting")
    press(page, "The first is better")  # the page did not know yet
    assert "Voting on this question is closed. Wait for the next question." in shown(page)
    assert {one.pair.key: one.choice for one in rooms().votes(code_of(presenter))} == votes
    cast = [replace(vote, choice="left"), replace(vote, choice="right", person="other", reasons=("clear",))]
    best, other = (asked.question.answers[place].label for place in (vote.pair.left, vote.pair.right))
    assert "One person has voted." in text(room_result.in_short(asked, cast[:1]))
    words = text(room_result.in_short(asked, cast))
    assert "Too close to call: 2 people." in words
    assert f"{best}: clearer 1, safer 1" in words
    assert f"{other}: clearer 1" in words


def test_a_wrong_code_is_told_kindly_and_the_right_one_leads_in(presenter):
    page = phone("ZZZZZ")
    assert "There is no room with this code. Check it with the presenter." in shown(page)
    page.text_input[0].set_value(f" {code_of(presenter).lower()} ")
    press(page, "Come in")
    assert f"Room {code_of(presenter)}" in html(page)
    assert "You are in." in html(page)
    press(presenter, "Delete this room")
    assert "There is no room with this code." in shown(page.run())


def test_a_phone_shows_how_the_room_voted_and_how_its_owner_did(presenter):
    code = code_of(presenter)
    press(presenter, "Ask the room")
    pages = [phone(code), phone(code), phone(code)]
    for page, choice in zip(pages, ("Neither is good", "Neither is good", "Both are unsafe"), strict=True):
        assert judge_all(page, choice) == 3
    press(presenter, "Show the result")
    assert "Nobody preferred an answer: 3 people. Both called unsafe in 3 of 9." in text(html(presenter))
    told = [text(html(page.run())) for page in pages]
    for one, choice, alike in zip(
        told, ("Neither is good", "Neither is good", "Both are unsafe"), (2, 2, 1), strict=True
    ):
        assert "Nobody preferred an answer: 3 people. Both called unsafe in 3 of 9." in one
        assert one.count(f"{choice} · {alike} of 3 chose the same") == 3


def test_the_way_in_fills_the_screen_until_the_presenter_begins(start, tmp_path):
    app = start(RAG_HISTORY="on", RAG_DATABASE_URL=f"sqlite:///{tmp_path / 'rooms.db'}")
    app = press(press(app.run(), "Present"), "Open a room")
    assert len(app.get("dialog")) == 1
    phone(code_of(app))
    assert re.findall(r"rl-counts[^>]*>([^<]*)<", html(app.run())) == ["1 person"]
    press(app, "Begin")
    assert [one for one in app.button if one.label == "Begin"] == []
    assert re.findall(r"rl-counts[^>]*>([^<]*)<", html(app)) == ["1 person"]


def test_the_result_has_the_votes_and_the_figures_and_its_file_opens_again(presenter):
    code = code_of(presenter)
    press(presenter, "Ask the room")
    assert judge_all(phone(code), "Both are unsafe") == 3
    assert judge_all(phone(code), "The first is better") == 3
    counts = re.findall(r"rl-counts[^>]*>([^<]*)<", html(presenter.run()))
    assert counts == ["2 people · 2 voted on question 1 · 6 votes · open"]
    press(presenter, "Show the result")
    told = r"Too close to call: 2 people\. [^.]+ preferred in [12] of 4\. Both called unsafe in 3 of 6\."
    assert re.search(told, text(html(presenter)))
    result = text(html(presenter).partition("rl-panel-result")[2].partition("</table>")[0])
    for strategy in ("Simple semantic", "Hybrid RRF", "Ensemble"):
        assert strategy in result
    assert "6 votes · 2 people · 1 question · both unsafe: 3" in text(html(presenter))
    assert "of 1 (" in result  # the share of acceptable answers
    assert presenter.session_state["run"].revealed
    told = re.search(r'class="rl-verdict".*?</p>', html(presenter))
    assert told
    assert sum(map(int, re.findall(r"</b> (\d)", told[0].partition("Votes of the room:")[2]))) == 3
    written = rooms().export(code, presenter.session_state["panel.room"].presenter_token)
    kept = open_panel(written)
    assert kept.votes == rooms().votes(code)

    press(presenter, "Delete this room")
    opened(presenter, written)
    assert kept.sha256 in shown(presenter).replace("\\", "")
    again = text(html(presenter).partition("rl-panel-result")[2].partition("</table>")[0])
    assert again == result
    opened(presenter, written.replace(QUESTION, QUESTION.upper(), 1))
    assert "is not as it was written" in presenter.error[0].value


def opened(app: AppTest, written: str) -> None:
    app.file_uploader[0].set_value(("room.json", written.encode(), "application/json")).run()
    assert not app.exception


def test_without_a_history_there_are_no_rooms(start):
    app = press(start(RAG_HISTORY="off").run(), "Present")
    (button,) = [one for one in app.button if one.label == "Open a room"]
    assert button.disabled
    assert "There are no rooms here: RAG_HISTORY is off." in shown(phone("ABCDE"))


def test_a_reload_finds_the_room_of_the_browser_again(presenter, monkeypatch):
    mine = presenter.session_state["panel.presenter"]
    again = visitor()
    again.query_params["run"] = presenter.session_state["run"].id
    again.session_state["panel.presenter"] = mine  # as the cookie gives it
    again.run()
    assert code_of(again) == code_of(presenter)
    press(again, "Ask the room")
    other = visitor()
    other.query_params["run"] = presenter.session_state["run"].id
    other.run()  # has the address, and is not the presenter
    assert other.session_state["panel.room"] is None


def test_codes_cannot_be_tried_without_end_and_who_is_in_stays_in(presenter, monkeypatch):
    guesses = Guesses(lambda: 0.0)
    monkeypatch.setattr(shared, "guesses", lambda: guesses)
    monkeypatch.setattr(shared, "address", lambda: "a")
    page = phone(code_of(presenter))
    wrong = [phone(f"{place:05d}") for place in range(3)]  # no code has a zero
    assert all("There is no room with this code." in shown(one) for one in wrong)
    for _ in range(MOST_WRONG - len(wrong)):
        with pytest.raises(PanelError), guesses.guess("a"):
            rooms().join("00000")
    for code in ("ZZZZZ", code_of(presenter)):
        assert "Too many wrong codes were typed. Wait a minute" in shown(phone(code))
    press(presenter, "Ask the room")
    assert judge_all(page.run(), CHOICES[0]) == 3


def test_a_browser_without_our_cookie_cannot_vote_and_is_told_why(presenter):
    page = visitor().run()
    page.query_params.update(room=code_of(presenter))
    page.switch_page(VOTE).run()
    assert "did not keep the cookie that tells people apart" in shown(page)
    assert rooms().people(code_of(presenter)) == 0
