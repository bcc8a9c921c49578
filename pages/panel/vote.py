"""The page of a person in a room, made for a phone: a question, what differs between two answers, five buttons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st
from markupsafe import Markup

import rag_core
from pages.compare import presenter, room_result
from pages.drawing import untrusted
from pages.drawing.fragments import render
from pages.drawing.translate import declared, problem, t, translated, words_for
from pages.shared import question_header, rooms
from rag_core.explain import together
from rag_core.sessions.panel.room import CHOICES, COMMENT_CHARACTERS, Choice, Pair, Round, Vote

if TYPE_CHECKING:
    from rag_core.sessions.panel.store import Rooms  # with its database library

TICK_S = 2.0  # between two looks at whether the room has gone on
AGAIN = "vote.again"  # the vote that is about to be changed: room, question and pair
ALARMS = ("buried", "cut")  # kinds of remarks that stand above an answer
REFUSED = "vote.refused"  # why the last vote was not taken
SIDES = (declared("First answer"), declared("Second answer"))
WORDS = words_for("choices")


def main() -> None:
    """Draw the page."""
    rooms.page("vote", t("Vote on two answers"), t("The room's code, as the presenter shows it"), _room)


def _room(code: str) -> None:
    kept = rooms.store()
    if kept is None:
        st.info(t("There are no rooms here: RAG_HISTORY is off."))
        return
    mine = rooms.joined("voter", code, partial(kept.join, code))
    asked = kept.current(code)
    untrusted.draw(render("room.line", words=t("Room {code}", code=code.upper())))
    if refused := st.session_state.pop(REFUSED, None):
        untrusted.say(problem(refused), st.warning)
    if asked is None:
        _wait(t("You are in. The first question will appear here by itself."))
        st.caption(t("Nobody is asked for a name: a random number in your browser makes your vote count once."))
    elif asked.revealed:
        _outcome(kept, asked, mine)
        _wait(t("The next question will appear here by itself."))
    elif asked.closed:
        _wait(t("Voting on this question is closed. The next one will appear here by itself."))
    else:
        _ballot(kept, asked, mine)
    shown = rooms.standing(asked)
    rooms.watch(lambda: rooms.standing(kept.current(code)) != shown, TICK_S)


def _outcome(kept: Rooms, asked: Round, mine: str) -> None:
    votes = [one for one in kept.votes(asked.room) if one.round == asked.number]
    if not votes:
        return
    said: dict[str, Counter[int | Choice]] = {}
    for one in votes:
        said.setdefault(one.pair.key, Counter())[_preferred(one)] += 1
    names, answers = room_result.names([asked]), asked.question.answers
    own = []
    for vote in kept.own_votes(asked, mine):
        chosen, counts = _preferred(vote), said[vote.pair.key]
        first, second = (names[answers[place].label] for place in sorted((vote.pair.left, vote.pair.right)))
        words = translated(WORDS[vote.choice]) if vote.better is None else names[answers[vote.better].label]
        with_you = t("{count} of {judged} chose the same", count=counts[chosen], judged=counts.total())
        own.append((first, second, words, with_you))
    in_short = room_result.in_short(asked, votes)
    untrusted.draw(render("room.outcome", question=asked.question.text, in_short=in_short, own=own))


def _preferred(vote: Vote) -> int | Choice:
    """The place of the preferred answer, whichever side it stood on; otherwise the choice."""
    return vote.choice if vote.better is None else vote.better


def _wait(words: str) -> None:
    untrusted.draw(render("room.waiting", words=words))


def _ballot(kept: Rooms, asked: Round, mine: str) -> None:
    """The question with what to do at once, and the next pair of answers to it, or the person's own votes."""
    question = asked.question
    if where := question.answers[0].trace.country:  # the presenter's, until one is chosen
        st.session_state.setdefault("country", where)
    own = sorted(kept.own_votes(asked, mine), key=lambda vote: vote.pair.key)  # a changed one keeps its place
    again = st.session_state.get(AGAIN)
    changing = again[2] if again and again[:2] == (asked.room, asked.number) else None
    pair = changing or kept.pair(asked, mine)
    turn = f"{asked.room} {asked.number:d} {pair.key if pair else ''}"  # a new one is shown from its top
    untrusted.draw(render("room.asked", text=question.text, language=question.language, turn=turn))
    question_header.draw_notice(question.triage, key="urgent")
    if pair:
        if question.readings > 1 and not changing:
            untrusted.say(t("Pair {number} of {count}", number=len(own) + 1, count=question.readings))
        _judge(asked, mine, pair)
        return
    _wait(t("Thank you. The next question will appear here by itself."))
    st.caption(t("Your votes are counted:"))
    for number, vote in enumerate(own, start=1):
        key = vote.pair.key
        with st.container(horizontal=True, vertical_alignment="center", key=f"own.{key}"):
            untrusted.draw(render("room.counted", number=number, words=translated(WORDS[vote.choice])))
            st.button(t("Changed my mind"), key=f"again.{key}", on_click=_again, args=(asked, vote))


def _judge(asked: Round, mine: str, pair: Pair) -> None:
    answers = [asked.question.answers[number].trace for number in (pair.left, pair.right)]
    alone = _alone(answers)
    reasons, comment = _keys(asked, pair)
    with st.form("ballot", border=False):
        for place, (trace, spot) in enumerate(zip(answers, st.columns(2), strict=True)):
            with spot, st.container(border=True, key=f"side{place}"):
                untrusted.draw(_side(trace, place, alone))
        st.pills(
            t("Why? (optional)"), list(room_result.REASONS), selection_mode="multi", key=reasons,
            format_func=lambda reason: untrusted.label(translated(room_result.REASONS[reason])),
        )  # fmt: skip
        st.text_area(t("Comment (optional)"), key=comment, max_chars=COMMENT_CHARACTERS, height=68)
        with st.container(key="choices"):
            for choice in CHOICES:
                st.form_submit_button(
                    translated(WORDS[choice]), key=f"choose.{choice}", width="stretch", on_click=_vote, args=(asked, mine, pair, choice),
                    type="primary" if choice in ("left", "right") else "secondary",
                )  # fmt: skip


def _alone(traces: Sequence[rag_core.Trace]) -> list[list[tuple[str, list[str]]]]:
    """For each of two answers the sections with sentences only it has; none if one declines or needs what leads it."""
    found: list[list[tuple[str, list[str]]]] = [[], []]
    said = [trace.answer for trace in traces]
    if any(one is None or one.abstained or any(each.kind in ALARMS for each in one.remarks) for one in said):
        return found
    for quoted in together(traces):
        for place in (0, 1):
            if only := [one.text for one in quoted.statements if one.columns == (place,)]:
                found[place].append((quoted.title, only))
    return found


def _side(trace: rag_core.Trace, place: int, alone: Sequence[Sequence[tuple[str, Sequence[str]]]]) -> Markup:
    title = translated(SIDES[place])
    if not any(alone):
        return presenter.nameless(trace, place, title)
    return render("room.side", title=title, alone=alone[place], whole=presenter.nameless(trace, place, ""))


def _vote(asked: Round, mine: str, pair: Pair, choice: Choice) -> None:
    reasons, comment = _keys(asked, pair)
    said = st.session_state.get(reasons, ()), st.session_state.get(comment, "")
    try:
        if kept := rooms.store():
            kept.vote(asked, mine, pair, choice, *said)
    except rag_core.RagError as error:
        st.session_state[REFUSED] = error
        return
    st.session_state.pop(AGAIN, None)


def _again(asked: Round, vote: Vote) -> None:
    reasons, comment = _keys(asked, vote.pair)
    st.session_state.update({reasons: list(vote.reasons), comment: vote.comment})
    st.session_state[AGAIN] = (asked.room, asked.number, vote.pair)


def _keys(asked: Round, pair: Pair) -> tuple[str, str]:
    place = f"{asked.room}.{asked.number}.{pair.key}"
    return f"reasons.{place}", f"comment.{place}"


main()
