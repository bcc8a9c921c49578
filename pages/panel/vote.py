"""The page of a person in a room, made for a phone: a question, two answers without names, four buttons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.translate import problem, t, translated
from pages.drawing.untrusted import escape
from pages.panel import ballot
from pages.shared import question_header, rooms
from rag_core.values.errors import PanelError

if TYPE_CHECKING:
    from rag_core.sessions.panel import Choice, Pair, Rooms, Round, Vote

TICK_S = 2.0  # between two looks at whether the room has gone on
AGAIN = "vote.again"  # the vote that is about to be changed: room, question and pair
REFUSED = "vote.refused"  # why the last vote was not taken


def main() -> None:
    """Draw the page."""
    code = st.query_params.get(rooms.PARAMETER, "")
    with st.container(key="vote"):
        with st.container(key="unseen" if code else "purpose"):
            st.header(t("Vote on two answers"), anchor=False)
        if not code:
            _enter()
            return
        try:
            _room(code)
        except PanelError as error:
            st.warning(untrusted.label(problem(error)))
            _enter()
        except rag_core.RagError as error:
            st.warning(untrusted.label(problem(error)))
            st.button(t("Try again"))


def _enter() -> None:
    """Ask for the code of a room."""
    with st.form("join", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        typed = st.text_input(t("The room's code, as the presenter shows it"), max_chars=12, width=320)
        pressed = st.form_submit_button(t("Come in"), type="primary")
    if pressed and typed.strip():
        st.query_params[rooms.PARAMETER] = typed.strip().upper()
        st.rerun()


def _room(code: str) -> None:
    kept = rooms.store()
    if kept is None:
        st.info(t("There are no rooms here: RAG_HISTORY is off."))
        return
    mine, asked = rooms.token("voter"), kept.current(code)
    if st.session_state.get("vote.joined") != code:
        kept.join(code, mine)
        st.session_state["vote.joined"] = code
    untrusted.draw(f'<p class="rl-room-line">{escape(t("Room {code}", code=code.upper()))}</p>')
    if refused := st.session_state.pop(REFUSED, None):
        st.warning(untrusted.label(problem(refused)))
    if asked is None:
        _wait(t("You are in. The first question will appear here by itself."))
        st.caption(
            t("Nobody is asked for a name: a random number in your browser makes your vote count once.")
        )
    elif asked.revealed:
        _wait(t("The presenter shows the result. The next question will appear here by itself."))
    elif asked.closed:
        _wait(t("Voting on this question is closed. The next one will appear here by itself."))
    else:
        _ballot(kept, asked, mine)
    _watch(kept, code, rooms.standing(asked))


def _wait(words: str) -> None:
    untrusted.draw(
        f'<p class="rl-waiting" role="status"><span class="rl-spin"></span><span>{escape(words)}</span></p>'
    )


@st.fragment(run_every=TICK_S)
def _watch(kept: Rooms, code: str, shown: tuple[int, bool, bool]) -> None:
    """Draw the page again once the room has gone on; until then nothing on it moves."""
    try:
        gone_on = rooms.standing(kept.current(code)) != shown
    except PanelError:
        gone_on = True  # the room was deleted
    except rag_core.RagError:  # the database does not answer; what is on screen stays
        st.caption(t("The server does not answer just now. This page tries again by itself."))
        return
    if gone_on:
        st.rerun()


def _ballot(kept: Rooms, asked: Round, mine: str) -> None:
    question = asked.question
    if where := question.answers[0].trace.country:  # the presenter's, until one is chosen
        st.session_state.setdefault("country", where)
    own = sorted(
        kept.own_votes(asked, mine), key=lambda vote: vote.pair.key
    )  # a changed one stays in its place
    again = st.session_state.get(AGAIN)
    changing = again[2] if again and again[:2] == (asked.room, asked.number) else None
    pair = changing or kept.pair(asked, mine)
    turn = f"{asked.room} {asked.number:d} {pair.key if pair else ''}"
    untrusted.draw(ballot.question(question.text, question.language, turn))
    question_header.draw_notice(question.triage, key="urgent")
    if pair:
        if question.readings > 1 and not changing:
            told = t("Pair {number} of {count}", number=len(own) + 1, count=question.readings)
            st.caption(untrusted.label(told))
        _judge(asked, mine, pair)
        return
    _wait(t("Thank you. The next question will appear here by itself."))
    st.caption(t("Your votes are counted:"))
    for number, vote in enumerate(own, start=1):
        with st.container(horizontal=True, vertical_alignment="center", key=f"own.{vote.pair.key}"):
            untrusted.draw(ballot.voted(vote.choice, number))
            st.button(
                t("Changed my mind"),
                key=f"again.{vote.pair.key}",
                on_click=_again,
                args=(asked, vote),
            )


def _judge(asked: Round, mine: str, pair: Pair) -> None:
    """Two answers, side by side or, on a phone, one under the other; and the vote on them."""
    from rag_core.sessions.panel import COMMENT_CHARACTERS, REASONS

    for place, (number, spot) in enumerate(zip((pair.left, pair.right), st.columns(2), strict=True)):
        with spot, st.container(border=True, key=f"side{place}"):
            untrusted.draw(ballot.side(asked.question.answers[number].trace, place))
    key = _key(asked, pair)
    with st.form("ballot", border=False):
        st.pills(
            t("Why? (optional)"), REASONS, selection_mode="multi", key=f"reasons.{key}",
            format_func=lambda reason: untrusted.label(translated(ballot.REASONS[reason])),
        )  # fmt: skip
        st.text_area(t("Comment (optional)"), key=f"comment.{key}", max_chars=COMMENT_CHARACTERS, height=68)
        with st.container(key="choices"):
            for choice, words in ballot.CHOICES.items():
                st.form_submit_button(
                    translated(words),
                    key=f"choose.{choice}",
                    type="secondary" if choice == "both_unsafe" else "primary",
                    width="stretch",
                    on_click=_vote,
                    args=(asked, mine, pair, choice),
                )


def _vote(asked: Round, mine: str, pair: Pair, choice: Choice) -> None:
    key = _key(asked, pair)
    said = st.session_state.get(f"reasons.{key}", ()), st.session_state.get(f"comment.{key}", "")
    try:
        if kept := rooms.store():
            kept.vote(asked, mine, pair, choice, *said)
    except rag_core.RagError as error:
        st.session_state[REFUSED] = error
        return
    st.session_state.pop(AGAIN, None)


def _again(asked: Round, vote: Vote) -> None:
    """Put a pair in front of its judge again, with what was said of it."""
    key = _key(asked, vote.pair)
    st.session_state[f"reasons.{key}"] = list(vote.reasons)
    st.session_state[f"comment.{key}"] = vote.comment
    st.session_state[AGAIN] = (asked.room, asked.number, vote.pair)


def _key(asked: Round, pair: Pair) -> str:
    return f"{asked.room}.{asked.number}.{pair.key}"


main()
