"""A room as a file: downloaded by its presenter, and opened again without key or network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

import rag_core
from pages.compare import export, nameless, room_result
from pages.drawing import untrusted
from pages.drawing.translate import problem, t, when
from pages.shared.live import LETTERS

if TYPE_CHECKING:
    from rag_core.sessions.panel import PanelSession, Room, Rooms, Round

OPENED = "panel.opened"  # the file that is shown


def downloads(kept: Rooms, room: Room) -> None:
    """The buttons that save a room; a file is made when it is asked for."""
    from rag_core.sessions import panel

    def session() -> str:
        return kept.export(room.code, room.presenter_token)

    def minutes() -> str:
        return panel.minutes(panel.open_panel(session()))

    name = f"room-{room.code}-{room.opened:%Y-%m-%d}"
    export.file(t("Session (JSON, for `rag replay`)"), f"{name}.json", "application/json", session)
    export.file(t("Minutes (HTML, opens offline)"), f"{name}.html", "text/html", minutes)


def offer_to_open() -> None:
    """The button that opens a room's file."""
    with st.popover(t("Open a saved room"), icon=":material/folder_open:"):
        st.file_uploader(t("The session file of a room"), "json", key=OPENED)
        st.caption(t("It is checked and shown here, and kept nowhere."))


def draw_opened() -> None:
    """Draw what is in the file that was opened; nothing without one."""
    from rag_core.sessions import panel

    if not (given := st.session_state.get(OPENED)):
        return
    try:
        opened = panel.open_panel(given.getvalue().decode("utf-8", "replace"))
    except rag_core.RagError as error:
        st.error(untrusted.label(problem(error)))
        return
    with st.container(border=True):
        _draw(opened)


def _draw(opened: PanelSession) -> None:
    told = t(
        "Room {code}, opened on {when} UTC. Nothing in this file was altered: SHA-256 {sha256}",
        code=opened.room.code, when=when(opened.room.opened), sha256=opened.sha256,
    )  # fmt: skip
    st.caption(untrusted.label(told))
    room_result.draw(opened.rounds, opened.votes)
    if not opened.rounds:
        return
    asked: Round = st.selectbox(
        t("Question"),
        opened.rounds,
        format_func=lambda one: untrusted.plain(one.question.text),
        key="panel.asked",
    )
    names, answers = room_result.names(opened.rounds), asked.question.answers
    for place, (one, spot) in enumerate(zip(answers, st.columns(len(answers)), strict=True)):
        with spot, st.container(border=True):
            untrusted.draw(nameless.answer(one.trace, place, f"{LETTERS[place]} · {names[one.label]}"))
