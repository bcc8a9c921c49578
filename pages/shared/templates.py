"""Editors for the prompts of a strategy: one prompt, or a list of rewriting templates.

The session keeps the last valid texts under the control's key; what is refused stays in its box, with the reason.
"""

from collections.abc import Callable, Mapping

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.translate import problem, t, translated
from pages.shared.engine import engine
from rag_core.catalog import PromptText, Templates
from rag_core.prompts.prompt import CONTEXT_PROMPT, Template
from rag_core.prompts.templates import MAX_TEMPLATES

OWN_TEXT = "Question: {question}\n\nRewrite it so that …\n\nNew wording:"
HEIGHT = 200  # px of a text box

Take = Callable[[Mapping[str, str]], None]  # stores what the boxes say, or raises


def prompt_editor(control: PromptText, key: str, idle: str) -> None:
    """Draw the editor of one prompt, in a box of its own; `idle` says why the prompt has no effect."""
    template: Template = st.session_state.setdefault(key, control.default)

    def take(texts: Mapping[str, str]) -> None:
        st.session_state[key] = control.parse(texts)

    with st.expander(untrusted.label(translated(control.title)), key=f"{key}.box"):
        st.caption(f"{untrusted.label(translated(control.help))} `{untrusted.label(control.name)}`")
        _boxes(key, template, take, idle or _unread(control.purpose))
        if template != control.default or f"{key}.refused" in st.session_state:
            st.button(t("Back to the original"), key=f"{key}.original", on_click=forget, args=(key,))


def templates_editor(control: Templates, key: str, idle: str) -> None:
    """Draw the editor of a list of rewriting templates; see `prompt_editor`."""
    templates: tuple[Template, ...] = st.session_state.setdefault(key, control.parse(control.default))
    unread = idle or _unread(control.purpose)
    for place, template in enumerate(templates):
        slot = f"{key}.{place}.{template.name}"

        def take(texts: Mapping[str, str], place: int = place) -> None:
            parts: list[object] = list(st.session_state[key])
            parts[place] = texts
            st.session_state[key] = control.parse(parts)

        with st.expander(f"{place + 1:d}. {untrusted.label(template.name)}"):
            _boxes(slot, template, take, unread, named=True)
            if len(templates) > 1:
                st.button(t("Remove"), key=f"{slot}.remove", on_click=_remove, args=(key, place))
    left = [name for name in control.names if name not in {one.name for one in templates}]
    addable = left if unread else [*left, "custom"]
    if len(templates) < MAX_TEMPLATES and addable:
        st.pills(
            t("Add a template"), addable, key=f"{key}.add", format_func=untrusted.label, on_change=_add,
            args=(control, key), label_visibility="visible",
        )  # fmt: skip


def context_prompt(key: str) -> None:
    """Show the prompt that writes the passages' contexts, which no question sends, and how to index with another."""
    with st.expander(t("Passage context prompt"), key=f"{key}.context"):
        st.caption(
            t(
                "Sent when documents are indexed with contexts, not when a question is asked, so it can only be read here. "
                "To write the contexts of your documents with another user message:"
            )
        )
        st.code("rag index PATH --corpus NAME --enrich --context-prompt FILE", language=None, wrap_lines=True)
        for name, title in (("system", t("System message")), ("text", t("User message"))):
            st.text_area(
                title, untrusted.plain(getattr(CONTEXT_PROMPT, name)), key=f"{key}.context.{name}", height=HEIGHT,
                disabled=True,
            )  # fmt: skip


def forget(key: str) -> None:
    """Go back to a control's original prompts, and to their texts in the boxes."""
    for name in map(str, [*st.session_state]):
        if name.startswith(f"{key}.") and name.endswith(".refused"):
            del st.session_state[name]
    st.session_state.pop(key, None)


def _boxes(slot: str, template: Template, take: Take, unread: str, *, named: bool = False) -> None:
    """The boxes of one template; a change is checked and taken at once, unless `unread` says why not."""
    if unread:
        untrusted.say(translated(unread))
    stored = {"name": template.name} if named else {}
    stored |= {"system": template.system, "text": template.text}
    shown = {name: untrusted.plain(text) for name, text in stored.items()}
    keys = {name: f"{slot}.{name}" for name in stored}
    if not all(key in st.session_state for key in keys.values()):  # the boxes were closed in between
        st.session_state.pop(f"{slot}.refused", None)
    if f"{slot}.refused" not in st.session_state:
        for name, text in shown.items():
            if st.session_state.get(keys[name]) != text:
                st.session_state[keys[name]] = text

    def changed() -> None:
        typed = {name: str(st.session_state[keys[name]]) for name in stored}
        try:  # what was not touched stays as it is, also where the box shows it otherwise
            take({name: stored[name] if typed[name] == shown[name] else typed[name] for name in stored})
            st.session_state.pop(f"{slot}.refused", None)
        except rag_core.RagError as error:
            st.session_state[f"{slot}.refused"] = problem(error)

    if named:
        st.text_input(t("Name"), key=keys["name"], on_change=changed, disabled=bool(unread))
    for name, title in (("system", t("System message")), ("text", t("User message"))):
        st.text_area(title, key=keys[name], on_change=changed, height=HEIGHT, disabled=bool(unread))
    if refused := st.session_state.get(f"{slot}.refused"):
        untrusted.say(t("{error} Until this is fixed, the earlier version is used.", error=refused), st.error)


def _unread(purpose: str) -> str:
    """Why the model of a role reads no text; empty when it does, or is not known yet."""
    lab = engine().lab
    if lab is None or purpose in lab.engines.paid:
        return ""
    return t(
        "The offline engine reads a prompt's name and fields, not its text, so a change would have no effect. Set up a "
        "language model to edit it."
    )


def _remove(key: str, place: int) -> None:
    templates = st.session_state[key]
    st.session_state[key] = templates[:place] + templates[place + 1 :]


def _add(control: Templates, key: str) -> None:
    chosen = st.session_state[f"{key}.add"]
    if not chosen:
        return
    templates = st.session_state[key]
    names = {template.name for template in templates}
    name = next(n for n in (f"custom {count}" for count in range(1, 100)) if n not in names)
    ready = next((one for one in control.ready if one.name == chosen), None)
    st.session_state[key] = (*templates, ready or control.custom(name, OWN_TEXT))
    st.session_state[f"{key}.add"] = None
