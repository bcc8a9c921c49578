"""The page `/judge`: what is tapped is stored at once, stands after a reload, and is told when it is not kept."""

import secrets
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.answers import passage
from helpers.in_process import fail, html, press, text, visitor
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.state.session_state import WStates
from streamlit.testing.v1 import AppTest

from pages.shared.rooms import exams
from rag_core.sessions.exam.exam import Draft, Exam
from rag_core.sessions.exam.store import Exams
from rag_core.values.types import text_key

JUDGE = "pages/panel/judge.py"
QUESTIONS = ("How long may I keep a book?", "¿Cuánto cuesta el carné?")
TEXTS = {
    1: ("You may keep a book for three weeks.", "Fines are 10 cents a day.\n- <b>Not</b> on Sundays"),
    2: ("El carné es gratuito.",),
}
NEXT = "Next question"


@pytest.fixture
def exam(start: Callable[..., AppTest], tmp_path: Path) -> Exam:
    """An exam of two questions, with two passages and one, on a new server."""
    start(RAG_HISTORY="on", RAG_DATABASE_URL=f"sqlite:///{tmp_path / 'exams.db'}")
    made = exams().make("leaflets", [Draft(one) for one in QUESTIONS], title="Library <leaflets>", twice=0)
    for number, texts in TEXTS.items():
        found = [passage(one, name=f"{number}-{place}") for place, one in enumerate(texts)]
        exams().add_found(made.code, number, found, {"bm25": "bm25"})
    return made


def phone(code: str, browser: str | None = None) -> AppTest:
    """The page of somebody who judges; the same `browser` is the same person."""
    app = visitor().run()
    app.session_state["panel.judge"] = browser or secrets.token_hex()  # as the cookie gives it
    app.query_params.clear()
    if code:
        app.query_params["room"] = code
    app.switch_page(JUDGE).run()
    assert not app.exception
    return app


def told(app: AppTest) -> str:
    return " ".join([text(html(app)), *(one.value for one in (*app.caption, *app.warning, *app.info))])


def choose(app: AppTest, place: int, grade: int) -> AppTest:
    grades = [one for one in app.button_group if str(one.key).startswith("grade.")]
    grades[place].set_value(grade).run()
    assert not app.exception
    return app


def chosen(app: AppTest) -> list[int | None]:
    return [one.value for one in app.button_group if str(one.key).startswith("grade.")]


def can_go_on(app: AppTest) -> bool:
    (button,) = [one for one in app.button if one.label == NEXT]
    return not button.disabled


def stored(exam: Exam) -> dict[tuple[int, str], tuple[int, str]]:
    return {(one.question, one.passage): (one.grade, one.harm) for one in exams().judgements(exam.code).ticks}


def shown_texts(exam: Exam, number: int) -> list[str]:
    return [text_key(one) for one in exams().judgements(exam.code).questions[number - 1].passages]


def test_a_judge_goes_through_an_exam_and_every_tap_is_stored_at_once(exam):
    page = phone(exam.code.lower())
    first, second = shown_texts(exam, 1)
    assert "Question 1 of 2 · 0 judged by you" in told(page)
    assert f"{QUESTIONS[0]}</p>" in html(page)
    assert "Library &lt;leaflets&gt;" in html(page)
    assert "<li>&lt;b&gt;Not&lt;/b&gt; on Sundays</li>" in html(page)
    assert chosen(page) == [None, None]
    assert "2 passages are left." in told(page)
    choose(page, 0, 2)
    assert stored(exam) == {(1, first): (2, "")}
    assert not can_go_on(page)
    choose(page, 0, 1)
    choose(page, 1, 0)
    assert stored(exam) == {(1, first): (1, ""), (1, second): (0, "")}
    assert "Question 1 of 2 · 2 judged by you" in told(page)
    assert can_go_on(page)
    press(page, NEXT)
    assert "Question 2 of 2 · 2 judged by you" in told(page)
    assert 'lang="es"' in html(page)
    choose(page, 0, 2)
    press(page, NEXT)
    assert "Thank you. Nothing is left for you to judge.You judged 3 passages." in told(page)
    press(page, "Back")
    assert chosen(page) == [2]
    press(page, "Back")
    assert chosen(page) == [1, 0]
    assert "Back" not in [one.label for one in page.button]
    choose(page, 1, 2)
    assert stored(exam)[1, second] == (2, "")
    press(page, NEXT)
    assert "You judged 3 passages." in told(page)


def test_a_reload_keeps_what_was_said_and_the_way_back(exam):
    browser = secrets.token_hex()
    choose(phone(exam.code, browser), 1, 0)
    again = phone(exam.code.lower(), browser)
    assert chosen(again) == [None, 0]
    assert "Question 1 of 2 · 1 judged by you" in told(again)
    choose(again, 0, 2)
    assert QUESTIONS[0] in told(again)  # until the judge goes on
    later = phone(exam.code, browser)
    assert QUESTIONS[1] in told(later)
    press(later, "Back")
    assert chosen(later) == [2, 0]
    other = phone(exam.code)  # each question has its judge
    assert "There is nothing to judge in this exam just now." in told(other)


def test_harm_is_stored_with_the_grade_and_waits_for_one(exam):
    browser = secrets.token_hex()
    page = phone(exam.code, browser)
    key = (1, shown_texts(exam, 1)[0])
    page.toggle[0].set_value(True).run()
    page.text_area[0].set_value(" It says weeks. ").run()
    assert stored(exam) == {}
    choose(page, 0, 1)
    assert stored(exam) == {key: (1, "It says weeks.")}
    again = phone(exam.code, browser)
    assert again.toggle[0].value
    assert again.text_area[0].value == "It says weeks."
    again.text_area[0].set_value("It says months.").run()
    assert stored(exam) == {key: (1, "It says months.")}
    again.toggle[0].set_value(False).run()
    assert stored(exam) == {key: (1, "")}
    assert len(again.text_area) == 0


def test_a_tick_that_the_database_refuses_is_told_beside_it_and_can_be_sent_again(exam, monkeypatch):
    page = phone(exam.code)
    choose(page, 0, 2)
    with monkeypatch.context() as broken:
        broken.setattr(Exams, "tick", fail)
        broken.setattr(Exams, "judgements", fail)
        choose(page, 1, 1)
        assert "This is not kept. The disk is full. Free some of it." in told(page)
        assert chosen(page) == [2, 1]
        assert "1 judged by you" in told(page)
        assert not can_go_on(page)
        press(page, "Try again")
        assert "This is not kept." in told(page)
    press(page, "Try again")
    assert "This is not kept." not in told(page)
    assert stored(exam)[1, shown_texts(exam, 1)[1]] == (1, "")
    with monkeypatch.context() as broken:
        broken.setattr(Exams, "next", fail)
        press(page, NEXT)
        assert "The disk is full." in told(page)
    press(page, "Try again")
    assert QUESTIONS[1] in told(page)


def test_a_passage_that_was_taken_out_is_told_and_gone_after_a_reload(exam):
    browser = secrets.token_hex()
    page = phone(exam.code, browser)
    first, second = exams().judgements(exam.code).questions[0].passages
    exams().take_out("leaflets", {first.doc_id})
    choose(page, 0, 2)
    assert "This passage is no longer in the exam. Open the page again." in told(page)
    choose(page, 1, 2)
    assert stored(exam) == {(1, text_key(second)): (2, "")}
    assert first.text not in told(phone(exam.code, browser))


def test_a_wrong_code_is_told_kindly_and_the_right_one_leads_in(exam):
    page = phone("ZZZZZ")
    assert "There is no exam with this code." in told(page)
    page.text_input[0].set_value(f" {exam.code.lower()} ")
    press(page, "Come in")
    assert QUESTIONS[0] in told(page)
    assert [one.label for one in phone("").text_input] == ["The exam's code"]


def test_an_exam_without_passages_has_nothing_to_judge_yet(exam):
    empty = exams().make("leaflets", [Draft(QUESTIONS[0])])
    page = phone(empty.code)
    assert "There is nothing to judge in this exam just now.Come back later." in told(page)
    exams().add_found(empty.code, 1, [passage(TEXTS[1][0])], {"bm25": "bm25"})
    page.run()  # as its watching fragment does
    assert QUESTIONS[0] in told(page)


def test_a_browser_without_our_cookie_cannot_judge_and_is_told_why(exam):
    page = visitor().run()
    page.query_params.update(room=exam.code)
    page.switch_page(JUDGE).run()
    assert "did not keep the cookie that tells people apart" in told(page)
    assert chosen(page) == []


def test_without_a_history_there_are_no_exams(start):
    start()
    assert "There are no exams here: RAG_HISTORY is off." in told(phone("ABCDE"))


def late(app: AppTest, place: int, grade: int) -> None:
    """A tap on the question that is on the screen, which arrives with whatever is sent next."""
    grades = [one for one in app.button_group if str(one.key).startswith("grade.")]
    sent = grades[place].set_value(grade)._widget_state
    seen, root = app._tree.get_widget_states, app._tree
    root.get_widget_states = lambda: WidgetStates(widgets=[*seen().widgets, sent])


def to_second(exam: Exam) -> tuple[AppTest, tuple[int, str]]:
    """A phone that has judged the first question and may go on, and the place of its first passage."""
    page = phone(exam.code)
    choose(choose(page, 0, 2), 1, 0)
    return page, (1, shown_texts(exam, 1)[0])


@pytest.mark.parametrize("called", [True, False])
def test_a_tap_on_a_question_that_is_being_replaced_is_kept(exam, monkeypatch, called):
    page, place = to_second(exam)
    late(page, 0, 1)
    if not called:  # as when it is tapped while the page is being drawn
        on_change = "streamlit.runtime.state.session_state.WStates.call_callback"
        press_only = WStates.call_callback
        monkeypatch.setattr(on_change, lambda self, name: press_only(self, name) if "judge.next" in name else None)
    press(page, NEXT)
    assert "Question 2 of 2" in told(page)
    assert stored(exam)[place] == (1, "")
    assert "is not kept" not in told(page)


def test_a_tap_that_arrives_after_its_question_was_replaced_is_kept(exam):
    page, place = to_second(exam)
    grades = [one for one in page.button_group if str(one.key).startswith("grade.")]
    sent = grades[0].set_value(1)._widget_state
    grades[0].set_value(2)
    press(page, NEXT)
    assert "Question 2 of 2" in told(page)
    seen = page._tree.get_widget_states()
    page._tree.get_widget_states = lambda: WidgetStates(widgets=[*seen.widgets, sent])
    page.run()
    assert stored(exam)[place] == (1, "")


def test_a_tap_on_a_replaced_question_that_cannot_be_stored_is_told_until_it_can(exam, monkeypatch):
    page, place = to_second(exam)
    late(page, 0, 1)
    with monkeypatch.context() as broken:
        broken.setattr(Exams, "tick", fail)
        press(page, NEXT)
        assert QUESTIONS[1] in told(page)
        assert "What you said of a passage of question 1 is not kept. The disk is full." in told(page)
        assert stored(exam)[place] == (2, "")
    page.run()
    assert "is not kept" not in told(page)
    assert stored(exam)[place] == (1, "")


def test_what_was_said_in_another_tab_stands(exam):
    browser = secrets.token_hex()
    page = phone(exam.code, browser)
    choose(choose(page, 0, 2), 1, 0)
    choose(phone_back(exam, browser), 0, 1)
    press(page, NEXT)
    press(page, "Back")
    assert chosen(page) == [1, 0]
    assert stored(exam)[1, shown_texts(exam, 1)[0]] == (1, "")


def phone_back(exam: Exam, browser: str) -> AppTest:
    other = phone(exam.code, browser)
    press(other, "Back")
    return other
