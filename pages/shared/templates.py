"""Editing the rewriting templates of a strategy: order, text, adding and removing."""

from __future__ import annotations

import streamlit as st

import rag_core

OWN_TEXT = "Question: {question}\n\nRewrite it so that …\n\nNew wording:"


def templates_editor(control: rag_core.Templates, key: str) -> object:
    """The templates of a column; what was typed stays until it is right, and the last right ones are used.

    Args:
        key: where the templates are kept in the session.
    """
    held: tuple[rag_core.Template, ...] = st.session_state.setdefault(key, control.parse(control.default))
    st.markdown("**templates**", help=control.help)
    st.caption(
        "A language model is sent these texts. The offline engine goes by the names of the ready ones, and "
        "answers one of your own with synonyms."
    )
    for place, template in enumerate(held):
        with st.expander(f"{place + 1}. {template.name}"):
            _edit(control, key, held, place)
    left = [name for name in rag_core.READY_TEMPLATES if name not in {one.name for one in held}]
    if len(held) < rag_core.MAX_TEMPLATES:
        adding = [*left, "your own"]
        st.pills(
            "Add a rewrite", adding, key=f"{key}.add", on_change=_add, args=(key,), label_visibility="visible"
        )
    return st.session_state[key]


def _edit(control: rag_core.Templates, key: str, held: tuple[rag_core.Template, ...], place: int) -> None:
    template = held[place]
    slot = f"{key}.{place}.{template.name}"
    name = st.text_input("Name", template.name, key=f"{slot}.name")
    text = st.text_area("What the language model is sent", template.text, key=f"{slot}.text", height=200)
    if (name, text) != (template.name, template.text):
        parts: list[object] = list(held)
        parts[place] = {"name": name, "text": text}
        try:
            st.session_state[key] = control.parse(parts)
        except rag_core.RagError as error:
            st.error(f"{error} Until then the earlier wording is used.")
    if len(held) > 1:
        st.button("Remove", key=f"{slot}.remove", on_click=_remove, args=(key, place))


def _remove(key: str, place: int) -> None:
    held = st.session_state[key]
    st.session_state[key] = held[:place] + held[place + 1 :]


def _add(key: str) -> None:
    chosen = st.session_state[f"{key}.add"]
    if not chosen:
        return
    held = st.session_state[key]
    names = {template.name for template in held}
    name = next(n for n in (f"own {count}" for count in range(1, 100)) if n not in names)
    new = rag_core.READY_TEMPLATES.get(chosen) or rag_core.custom_template(name, OWN_TEXT)
    st.session_state[key] = (*held, new)
    st.session_state[f"{key}.add"] = None
