"""The room of a presenter, on Compare: how people come in, what is put to the vote, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

import rag_core
from pages.compare import export, presenter, room_result
from pages.drawing import untrusted
from pages.drawing.fragments import render
from pages.drawing.translate import plural, problem, t, when
from pages.shared import rooms
from pages.shared.live import LETTERS, Comparison
from rag_core.sessions.panel.room import Room, Round, as_question, can_be_asked
from rag_core.values.errors import PanelError

if TYPE_CHECKING:
    from rag_core.sessions.panel.store import Rooms  # with its database library

TICK_S = 2.0  # between two counts
KEYS = {"open": "O", "ask": "A", "close": "X", "reveal": "W"}  # beside the presenter's own
ROOM = "panel.room"  # of this session; None if it opened none
REFUSED = "panel.refused"
ICON = ":material/groups:"
INVITED = "panel.invited"  # the code of the room whose invitation was closed
OPENED = "panel.opened"  # the file that is shown


def draw(run: Comparison | None, *, running: bool) -> None:
    """Draw the button that opens a room, or the room; what went wrong in its place."""
    if refused := st.session_state.pop(REFUSED, None):
        untrusted.say(problem(refused), st.error)
    try:
        kept = rooms.store()
        room = _mine(kept) if kept else None
        if kept and room:
            _draw(kept, room, run, running=running)
            return
    except PanelError:  # it was deleted
        st.session_state[ROOM] = None
    except rag_core.RagError as error:
        untrusted.say(problem(error), st.error)
        return
    off = t("There are no rooms here: RAG_HISTORY is off.")
    told = t("People vote on the answers from their phones, without names.") if kept else off
    with st.container(horizontal=True, gap="small", key="room"):
        _button(t("Open a room"), "open", partial(_open, kept) if kept else None, help=told, icon=ICON)
        with st.popover(t("Open a saved room"), icon=":material/folder_open:"):
            st.file_uploader(t("The session file of a room"), "json", key=OPENED)
            st.caption(t("It is checked and shown here, and kept nowhere."))
    draw_opened()


def _mine(kept: Rooms) -> Room | None:
    """The room that this browser opened last; a reload finds it again."""
    if ROOM not in st.session_state:
        try:
            st.session_state[ROOM] = kept.presented(rooms.token("presenter"))
        except rag_core.RagError:  # opening a room reports the error; other visitors need not see it
            return None
    room: Room | None = st.session_state[ROOM]
    return room


def _draw(kept: Rooms, room: Room, run: Comparison | None, *, running: bool) -> None:
    asked = kept.current(room.code)
    if inviting := asked is None and st.session_state.get(INVITED) != room.code:
        st.dialog(t("Come in"), width="large", on_dismiss=_begin(room))(_invite)(kept, room)
    shown = run if run and not presenter.upcoming() else None
    same = bool(shown and asked and asked.question.text == shown.question)
    voting = asked if asked and not asked.closed else None
    hidden = asked if asked and same and not asked.revealed else None
    ready = shown and not running and not (same and voting) and can_be_asked(shown.traces)
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="room"):
        with st.popover(untrusted.label(t("Room {code}", code=room.code)), icon=ICON):
            untrusted.draw(rooms.invitation("vote", room.code))
            st.caption(t("It closes by itself on {when} UTC.", when=when(room.closes)))
            downloads(kept, room)
            _button(t("Open another room"), "another", partial(_open, kept), width="stretch")
            with st.container(border=True):
                st.caption(t("Its questions and votes are deleted for good."))
                _button(t("Delete this room"), "delete", partial(_delete, kept, room))
        ask = partial(_ask, kept, room, shown) if shown and ready else None
        told = t("Puts these answers to the vote, two at a time.")
        _button(t("Ask the room"), "ask", ask, type="primary", help=told)
        _button(t("Close voting"), "close", partial(kept.close, voting, room.presenter_token) if voting else None)
        reveal = partial(_reveal, kept, room, hidden, shown) if shown and hidden else None
        _button(t("Show the result"), "reveal", reveal, help=t("Closes voting, and shows the names."))
        if not inviting:
            _counts(kept, room)


def _invite(kept: Rooms, room: Room) -> None:
    """The way into the room, over the whole screen, until the presenter begins."""
    with st.container(key="invite"):
        untrusted.draw(rooms.invitation("vote", room.code))
        _counts(kept, room)
        if st.button(t("Begin"), key="room.begin", type="primary", on_click=_begin(room)):
            st.rerun()


def _begin(room: Room) -> Callable[[], None]:
    return partial(st.session_state.update, {INVITED: room.code})


def _button(words: str, name: str, what: Callable[[], object] | None, **options: Any) -> None:
    st.button(
        untrusted.label(words), key=f"room.{name}", shortcut=KEYS.get(name), on_click=_do, args=(what,), disabled=what is None, **options
    )  # fmt: skip


def draw_result(run: Comparison) -> None:
    """Draw what the room's votes say, once it is revealed for this question; below what to do at once."""
    room: Room | None = st.session_state.get(ROOM)
    kept = rooms.store() if room else None
    if room is None or kept is None:
        return
    try:
        asked = kept.current(room.code)
        if asked and asked.revealed and asked.question.text == run.question:
            room_result.draw(kept.rounds(room.code), kept.votes(room.code))
    except rag_core.RagError:  # the line of the room says why
        return


@st.fragment(run_every=TICK_S)
def _counts(kept: Rooms, room: Room) -> None:
    try:
        asked = kept.current(room.code)
        parts = [plural("{count} person", "{count} people", kept.people(room.code))]
        if asked:
            count = kept.count(asked)
            parts += [
                t("{voted} voted on question {number}", voted=count.voted, number=asked.number),
                plural("{count} vote", "{count} votes", count.votes),
                t("closed") if asked.closed else t("open"),
            ]
    except rag_core.RagError as error:
        parts = [problem(error)]
    untrusted.draw(render("room.counts", words=" · ".join(parts)))


def _do(what: Callable[[], object]) -> None:
    """Do what a button says; why it was refused stands on the page then."""
    try:
        what()
    except rag_core.RagError as error:
        st.session_state[REFUSED] = error


def _open(kept: Rooms) -> None:
    title = t("Panel of {when} UTC", when=when(datetime.now(UTC)))
    st.session_state[ROOM] = kept.open_room(title, presenter_token=rooms.token("presenter"))


def _ask(kept: Rooms, room: Room, run: Comparison) -> None:
    from rag_core import evaluation as ev

    kind = ev.kind_of(run.question, rag_core.read_settings())
    kept.ask(room.code, room.presenter_token, as_question(run.traces, kind))


def _reveal(kept: Rooms, room: Room, asked: Round, run: Comparison) -> None:
    kept.reveal(asked, room.presenter_token)
    presenter.reveal(run)


def _delete(kept: Rooms, room: Room) -> None:
    kept.delete_room(room.code, room.presenter_token)
    st.session_state[ROOM] = None


def downloads(kept: Rooms, room: Room) -> None:
    """The buttons that save a room; a file is made when it is asked for."""

    def session() -> str:
        return kept.export(room.code, room.presenter_token)

    def as_minutes() -> str:
        from rag_core.sessions.panel.minutes import minutes
        from rag_core.sessions.panel.session import open_panel

        return minutes(open_panel(session()))

    name = f"room-{room.code}-{room.opened:%Y-%m-%d}"
    export.file(t("Session (JSON, for `rag replay`)"), f"{name}.json", "application/json", session)
    export.file(t("Minutes (HTML, opens offline)"), f"{name}.html", "text/html", as_minutes)


@untrusted.errors()
def draw_opened() -> None:
    """Draw what is in the file that was opened; nothing without one."""
    from rag_core.sessions.panel.session import open_panel

    if not (given := st.session_state.get(OPENED)):
        return
    opened = open_panel(given.getvalue().decode("utf-8", "replace"))
    with st.container(border=True):
        told = t(
            "Room {code}, opened on {when} UTC. Nothing in this file was altered: SHA-256 {sha256}",
            code=opened.room.code, when=when(opened.room.opened), sha256=opened.sha256,
        )  # fmt: skip
        untrusted.say(told)
        room_result.draw(opened.rounds, opened.votes)
        if not opened.rounds:
            return
        asked = untrusted.choose(t("Question"), opened.rounds, lambda one: one.question.text, "panel.asked")
        names, answers = room_result.names(opened.rounds), asked.question.answers
        for place, (one, spot) in enumerate(zip(answers, st.columns(len(answers)), strict=True)):
            with spot, st.container(border=True):
                title = f"{LETTERS[place]} · {names[one.label]}"
                untrusted.draw(presenter.nameless(one.trace, place, title))
