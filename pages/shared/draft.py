"""A question that is in the box but was not run: the browser keeps it in the address, so that a reload brings it back.

The form hides what is typed from the server until it is submitted. So a script of ours writes it into the address, and
the server reads it once, at the start of a visit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

import rag_core
from pages.shared import foreign
from pages.shared.i18n import plural

NAME = "typed"
# Looks four times a second, because neither React's changes of a box nor the server's of the address make an event.
SCRIPT = f"""<script>
if (!window.draftKept) {{
  let seen;
  window.draftKept = setInterval(() => {{
    const box = document.querySelector(".st-key-question-row textarea");
    if (!box || seen === location.href + box.value) return;
    const address = new URL(location.href), asked = address.searchParams.get("q");
    if (box.value.trim() && box.value !== asked) address.searchParams.set("{NAME}", box.value);
    else address.searchParams.delete("{NAME}");
    if (address.href !== location.href) history.replaceState(history.state, "", address);
    seen = location.href + box.value;
  }}, 250);
}}
</script>"""


def keep() -> None:
    """Have the browser keep what is typed; draw it beside the box."""
    foreign.script(SCRIPT)


def take() -> None:
    """Put the question that the address keeps into the box, once a visit; before the box is drawn."""
    if "draft.taken" in st.session_state:
        return
    st.session_state["draft.taken"] = True
    typed = st.query_params.get(NAME, "")
    if not typed.strip():
        return
    most = rag_core.MAX_QUESTION
    if len(typed) > most:
        problem = plural(
            "The typed question has {count:,} character; only the first {most:,} are used.",
            "The typed question has {count:,} characters; only the first {most:,} are used.",
            len(typed),
            most=most,
        )
        st.session_state["misread"] = [*st.session_state.get("misread", ()), problem]
    st.session_state["question"] = typed[:most]


def without(parameters: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The parameters of an address that the server writes: all but the browser's own."""
    return {name: list(values) for name, values in parameters.items() if name != NAME}
