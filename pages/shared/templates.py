"""Editor for a strategy's rewriting templates: edit, add and remove."""

from __future__ import annotations

import streamlit as st

import rag_core
from pages.shared import foreign
from pages.shared.i18n import problem, t

OWN_TEXT = "Question: {question}\n\nRewrite it so that …\n\nNew wording:"


def templates_editor(control: rag_core.Templates, key: str) -> None:
    """Draw the editor. The session keeps the last valid templates, while invalid text stays in its box.

    Args:
        key: where the session stores the templates.
    """
    templates: tuple[rag_core.Template, ...] = st.session_state.setdefault(
        key, control.parse(control.default)
    )
    st.caption(
        t(
            "These prompts are sent to the language model. The offline engine knows the built-in templates by name; "
            "for a custom one it substitutes synonyms."
        )
    )
    for place, template in enumerate(templates):
        with st.expander(f"{place + 1:d}. {foreign.label(template.name)}"):
            _edit(control, key, templates, place)
    left = [name for name in rag_core.READY_TEMPLATES if name not in {one.name for one in templates}]
    if len(templates) < rag_core.MAX_TEMPLATES:
        st.pills(
            t("Add a template"),
            [*left, "custom"],
            key=f"{key}.add",
            format_func=foreign.label,
            on_change=_add,
            args=(key,),
            label_visibility="visible",
        )


def _edit(
    control: rag_core.Templates, key: str, templates: tuple[rag_core.Template, ...], place: int
) -> None:
    template = templates[place]
    slot = f"{key}.{place}.{template.name}"
    name = st.text_input(t("Name"), foreign.plain(template.name), key=f"{slot}.name")
    text = st.text_area(
        t("Prompt sent to the language model"), foreign.plain(template.text), key=f"{slot}.text", height=200
    )
    if (name, text) != (template.name, template.text):
        parts: list[object] = list(templates)
        parts[place] = {"name": name, "text": text}
        try:
            st.session_state[key] = control.parse(parts)
        except rag_core.RagError as error:
            st.error(
                foreign.label(
                    t("{error} Until this is fixed, the earlier version is used.", error=problem(error))
                )
            )
    if len(templates) > 1:
        st.button(t("Remove"), key=f"{slot}.remove", on_click=_remove, args=(key, place))


def _remove(key: str, place: int) -> None:
    templates = st.session_state[key]
    st.session_state[key] = templates[:place] + templates[place + 1 :]


def _add(key: str) -> None:
    chosen = st.session_state[f"{key}.add"]
    if not chosen:
        return
    templates = st.session_state[key]
    names = {template.name for template in templates}
    name = next(n for n in (f"custom {count}" for count in range(1, 100)) if n not in names)
    new = rag_core.READY_TEMPLATES.get(chosen) or rag_core.custom_template(name, OWN_TEXT)
    st.session_state[key] = (*templates, new)
    st.session_state[f"{key}.add"] = None
