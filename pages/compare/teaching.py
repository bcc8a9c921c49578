"""What a presenter teaches: the section that answers the question, where no strategy put it first."""

from __future__ import annotations

import streamlit as st

import rag_core
from pages.compare.how_it_got_here import passage_box
from pages.drawing import untrusted
from pages.drawing.translate import problem, t
from pages.shared import account
from pages.shared.engine import engine
from pages.shared.live import Comparison
from rag_core.lab.asked import teach


@st.fragment
def draw(run: Comparison) -> None:
    """Draw the choice of a section, for those who may operate the server."""
    if not account.may_operate():
        return
    box = st.expander(t("Another section answers this"), key="teach", on_change="rerun")
    if not box.open:
        return
    with box:
        st.caption(
            t(
                "Say which. This server keeps the question as asked of that section: whoever asks it, or one like it, "
                "finds the section by it. Documents lists what was taught; measurements leave it out."
            )
        )
        try:
            _choose(run)
        except rag_core.RagError as error:
            st.error(untrusted.label(problem(error)))


def _choose(run: Comparison) -> None:
    labs = {name: engine().wait(name) for name in dict.fromkeys(trace.corpus for trace in run.traces)}
    found = {one.id: (one, lab) for lab in labs.values() for one in lab.passages.values()}
    chosen = passage_box(
        t("The section that answers"), {name: one for name, (one, _) in found.items()}, "teach.passage"
    )
    pressed = st.button(
        t("Keep the question as asked of it"), key="teach.keep", disabled=chosen is None, type="primary"
    )
    if pressed and chosen:
        passage, lab = found[chosen]
        teach(lab.settings, lab.corpus, chosen, run.question, by=account.name(), country=run.country)
        st.success(
            untrusted.label(t("Kept as asked of {section}. Run it again.", section=passage.full_title))
        )
