"""The page of a person who judges an exam, made for a phone: a question, and of each passage whether it answers it.

What is tapped is stored at once; the rest is read when a question is opened, and stays if the database then fails.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.fragments import render
from pages.drawing.translate import plural, problem, t
from pages.shared import judging, rooms
from rag_core.sessions.exam.exam import HARM_CHARACTERS, Exam, ExamQuestion
from rag_core.values.types import text_key

if TYPE_CHECKING:
    from rag_core.sessions.exam.store import Exams  # with its database library

TICK_S = 5.0  # between two looks at whether there is more to judge
Place = tuple[int, str]  # of a passage: the number of its question, and its `text_key`


@dataclass
class _Open:
    """What a judge has open; no question if nothing is left to judge.

    Args:
        said: grade and harm of each passage that this person judged, as stored, the first first.
        lost: why what was said last of a passage is not stored.
    """

    exam: Exam
    questions: dict[int, ExamQuestion]
    said: dict[Place, tuple[int, str]]
    question: ExamQuestion | None
    lost: dict[Place, rag_core.RagError] = field(default_factory=dict)

    @property
    def before(self) -> ExamQuestion | None:
        """The question that was judged before this one."""
        seen = list(dict.fromkeys(number for number, _ in self.said))
        if self.question and self.question.number in seen:
            seen = seen[: seen.index(self.question.number)]
        return self.questions[seen[-1]] if seen else None

    def turn_to(self, question: ExamQuestion | None) -> None:
        """Open a question; for None, what is to be judged next."""
        self.question = question


def main() -> None:
    """Draw the page."""
    rooms.page("judge", t("Judge what was found"), t("The exam's code"), _exam)


def _exam(code: str) -> None:
    kept = rooms.exams()
    if kept is None:
        st.info(t("There are no exams here: RAG_HISTORY is off."))
        return
    mine = rooms.joined("judge", code, lambda _: kept.exam(code))
    key = f"judge.open.{code}"
    held: _Open | None = st.session_state.get(key)
    if held:
        _catch_up(kept, held)
    if held is None or held.question is None:
        held = st.session_state[key] = _opened(kept, kept.exam(code), mine, held.lost if held else {})
    untrusted.draw(render("room.line", words=held.exam.title))
    for (number, _), why in held.lost.items():
        if held.question is None or number != held.question.number:  # else it is said beside the passage
            told = t(
                "What you said of a passage of question {number} is not kept. {why}", number=number, why=problem(why)
            )
            untrusted.say(told, st.warning)
    if held.question:
        _ask(kept, held, held.question)
    else:
        untrusted.draw(render("room.thanks", judged=len(held.said)))
        rooms.watch(lambda: kept.next(code, mine) is not None, TICK_S)
    _ways(held)


def _opened(kept: Exams, exam: Exam, mine: str, lost: dict[Place, rag_core.RagError]) -> _Open:
    said = {(one.question, one.passage): (one.grade, one.harm) for one in kept.own_ticks(exam.code, mine)}
    questions = {one.number: one for one in kept.judgements(exam.code).questions}
    held = _Open(exam, questions, said, kept.next(exam.code, mine), lost)
    for place in said.keys() - lost:  # it may have been said in another tab
        _show(held, place)
    return held


def _show(held: _Open, place: Place) -> None:
    """Have the controls of a passage say what is stored of it."""
    said, how = held.said.get(place, (None, ""))
    st.session_state.update(zip(_keys(held, place), (said, bool(how), how), strict=True))


def _catch_up(kept: Exams, held: _Open) -> None:
    """Store what was tapped while the page was being drawn, without a callback; its question may be gone from the screen."""
    for question in held.questions.values():
        for passage in question.passages:
            _tick(kept, held, (question.number, text_key(passage)))


def _ask(kept: Exams, held: _Open, question: ExamQuestion) -> None:
    turn = f"{held.exam.code} {question.number:d}"  # a new one is shown from its top
    counts = {"count": len(held.questions), "judged": len(held.said)}
    untrusted.draw(render("room.to_judge", question=question, turn=turn, **counts))
    for rank, passage in enumerate(question.passages, start=1):
        with st.container(border=True, key=f"judged{rank}"):
            untrusted.draw(judging.card(passage))
            _controls(kept, held, (question.number, text_key(passage)), rank)


def _controls(kept: Exams, held: _Open, place: Place, rank: int) -> None:
    grade, harms, harm = _keys(held, place)
    if grade not in st.session_state:
        _show(held, place)
    # on the way back and forth they stay as they were left, with what is not stored yet
    change: dict[str, Any] = {"on_change": _tick, "args": (kept, held, place), "persist_state": "page"}
    judging.grade(t("Does passage {number} answer the question?", number=rank), grade, required=True, **change)
    if st.toggle(t("Could harm"), key=harms, **change):
        change |= {"max_chars": HARM_CHARACTERS, "height": 68}
        st.text_area(t("How? Without a reason it does not count."), key=harm, **change)
    if why := held.lost.get(place):
        untrusted.say(t("This is not kept. {why}", why=problem(why)), st.warning)
        st.button(t("Try again"), key=f"again.{grade}")  # any press does, see `_catch_up`


def _ways(held: _Open) -> None:
    question, left = held.question, 0
    with st.container(horizontal=True, key="judge-ways"):
        if before := held.before:
            st.button(t("Back"), key="judge.back", shortcut="B", on_click=held.turn_to, args=(before,))
        if question:
            left = sum((question.number, text_key(one)) not in held.said for one in question.passages)
            st.button(
                t("Next question"), key="judge.next", type="primary", shortcut="N", disabled=left > 0, on_click=held.turn_to, args=(None,),
            )  # fmt: skip
    if left:
        st.caption(plural("{count} passage is left.", "{count} passages are left.", left))


def _tick(kept: Exams, held: _Open, place: Place) -> None:
    """Store what the controls of a passage say; a comment without a grade waits for it in its box."""
    grade, harms, harm = (st.session_state.get(key) for key in _keys(held, place))
    if grade is None:
        return
    said = (grade, (harm or "").strip() if harms else "")
    try:
        if held.said.get(place) != said or place in held.lost:
            kept.tick(held.exam.code, rooms.token("judge"), *place, *said)
    except rag_core.RagError as error:
        held.lost[place] = error
    else:
        held.lost.pop(place, None)
        held.said[place] = said


def _keys(held: _Open, place: Place) -> list[str]:
    return [f"{one}.{held.exam.code}.{place[0]}.{place[1]}" for one in ("grade", "harms", "harm")]


main()
