"""The views of a page, of which only the chosen one is drawn."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.drawing import untrusted
from pages.drawing.translate import t, translated


def choose(views: Mapping[str, str], key: str) -> str:
    """Draw what chooses a view; returns its name, which the address keeps unless it is the first.

    Args:
        views: names in the address, the same in every language -> titles.
        key: where the session keeps the choice.
    """
    first, asked = next(iter(views)), st.query_params.get("view")
    last = st.session_state.get(f"{key}.asked")
    if st.session_state.get(key) not in views or asked != last:
        st.session_state[key] = asked if asked in views else first
    st.segmented_control(
        t("View"), list(views), key=key, format_func=lambda name: untrusted.label(translated(views[name])), required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    # none, where the browser names a view in the words of the language before
    chosen: str = st.session_state[key] or last or first
    wanted = chosen if chosen != first else None
    if wanted:
        st.query_params["view"] = wanted
    else:
        st.query_params.pop("view", None)
    st.session_state[f"{key}.asked"] = wanted
    return chosen
