"""A passage that is judged, and what can be said of it: for those who judge an exam, and for its owner."""

from typing import Any

import streamlit as st
from markupsafe import Markup

from pages.drawing import untrusted
from pages.drawing.fragments import render
from pages.drawing.translate import translated, words_for
from pages.shared.whole_document import with_lists
from rag_core.language.highlight import highlight
from rag_core.sessions.exam.exam import ANSWERS
from rag_core.values.types import Passage

GRADES = words_for("grades")


def card(passage: Passage) -> Markup:
    """A passage as HTML, with its title."""
    return render("room.passage", passage=passage, text=with_lists(highlight(passage.text, "", passage.language)))


def words(grade: int) -> str:
    """What a grade says: 2 is "Answers it"."""
    return translated(GRADES[ANSWERS[grade]])


def grade(title: str, key: str, *, labelled: bool = False, **more: Any) -> None:
    """Draw the choice of a grade, in the session under `key`; only `labelled`, its title is seen. `more` is for Streamlit."""
    st.segmented_control(
        untrusted.label(title), range(len(ANSWERS))[::-1], key=key, format_func=lambda one: translated(GRADES[ANSWERS[one]]),
        width="stretch", label_visibility="visible" if labelled else "collapsed", **more,
    )  # fmt: skip
