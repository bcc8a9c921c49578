"""Widgets generated from the strategies' controls."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

import rag_core
from pages.shared import foreign
from pages.shared.foreign import label
from pages.shared.templates import templates_editor

DEFAULT_COLUMNS = ("simple_semantic", "bm25", "hybrid_rrf", "multi_query")
MOST_COLUMNS = len(DEFAULT_COLUMNS)
SHOWN_COLUMNS = 3  # unless the user says otherwise


def strategy_columns(shown: int) -> list[rag_core.Strategy]:
    """Widgets to choose 2 to 4 strategies and set their controls; returns the strategies as set.

    Args:
        shown: how many columns of results are shown below, so that each strategy sits above its own.
    """
    before = st.session_state.get("columns", SHOWN_COLUMNS)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Strategies side by side**", width="content")
        count = st.segmented_control(
            "Number of strategies",
            list(range(2, MOST_COLUMNS + 1)),
            default=SHOWN_COLUMNS,
            key="columns",
            required=True,
            on_change=_add_columns,
            args=(before,),
            label_visibility="collapsed",
            persist_state="session",
        )
    slots = st.columns(max(count, shown))
    for slot in slots[count:]:
        slot.caption("Not in the next run.")
    return [_column(position, slot) for position, slot in enumerate(slots[:count])]


def settings() -> dict[str, object]:
    """Current values of the page's widgets: the question, the country, the corpus, the strategies and all their controls."""
    keys = ["question", "country", "corpus", "columns"]
    for position in range(MOST_COLUMNS):
        keys.append(f"strategy.{position}")
        keys += [
            f"{position}.{name}.{one.name}"
            for name, recipe in rag_core.RECIPES.items()
            for one in recipe.controls
        ]
    return {key: st.session_state[key] for key in keys if key in st.session_state}


def _add_columns(before: int) -> None:
    """Give each added column a strategy that no other column shows."""
    for position in range(before, st.session_state["columns"]):
        key = f"strategy.{position}"
        beside = [st.session_state.get(f"strategy.{other}") for other in range(position)]
        if st.session_state.get(key) in (None, *beside):
            free = [name for name in (*DEFAULT_COLUMNS, *rag_core.RECIPES) if name not in beside]
            st.session_state[key] = free[0]


def _column(position: int, slot: st.delta_generator.DeltaGenerator) -> rag_core.Strategy:
    names = list(rag_core.RECIPES)
    with slot, st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox(
            f"Strategy {position + 1:d}",
            names,
            index=names.index(DEFAULT_COLUMNS[position]),
            format_func=lambda name: foreign.plain(rag_core.RECIPES[name].title),
            key=f"strategy.{position}",
            label_visibility="collapsed",
            persist_state="session",
        )
        recipe = rag_core.RECIPES[name]
        prefix = f"{position}.{name}"
        with st.popover("Settings"):
            st.markdown(label(recipe.summary))
            st.caption(f"Source: {label(recipe.source)}")
            _presets(recipe, prefix)
            values: dict[str, object] = {}
            # the template editor is long, so it comes last
            for control in sorted(recipe.controls, key=lambda one: isinstance(one, rag_core.Templates)):
                values[control.name] = widget(control, prefix, control.idle(_current_values(recipe, prefix)))
            st.button("Reset to defaults", key=f"{prefix}.reset", on_click=_reset, args=(recipe, prefix))
    try:
        return recipe.build(**values)
    except rag_core.RagError as error:  # values that contradict each other
        with slot:
            st.error(foreign.label(f"{error} Until this is fixed, the defaults are used."))
        return recipe.build()


def _current_values(recipe: rag_core.Recipe, prefix: str) -> dict[str, object]:
    """The widgets' values, or the defaults of widgets not drawn yet."""
    return {
        control.name: st.session_state.get(f"{prefix}.{control.name}", control.default)
        for control in recipe.controls
    }


def _presets(recipe: rag_core.Recipe, prefix: str) -> None:
    if recipe.presets:
        helps = {preset.name: preset.help for preset in recipe.presets}
        st.pills(
            "Presets",
            list(helps),
            key=f"{prefix}.preset",
            format_func=label,
            on_change=_take_preset,
            args=(recipe, prefix),
            help="\n\n".join(f"**{label(name)}**: {label(text)}" for name, text in helps.items()),
        )


def _take_preset(recipe: rag_core.Recipe, prefix: str) -> None:
    chosen = st.session_state[f"{prefix}.preset"]
    if chosen:
        _reset(recipe, prefix)
        values = next(preset.values for preset in recipe.presets if preset.name == chosen)
        _put(recipe, prefix, values)
        st.session_state[f"{prefix}.preset"] = None


def widget(control: rag_core.Control, prefix: str, idle: str = "") -> object:
    """Draw a control's widget; returns its value. `idle` says why the control has no effect, and disables it."""
    key = f"{prefix}.{control.name}"
    shared = {"key": key, "help": label(f"{control.help} {idle}"), "disabled": bool(idle)}
    match control:
        case rag_core.Number():
            number = int if control.whole else float
            title = label(f"{control.name} ({control.unit})" if control.unit else control.name)
            low, high, step = number(control.min), number(control.max), number(control.step)
            return st.slider(
                title, low, high, number(control.default), step, persist_state="session", **shared
            )
        case rag_core.Switch():
            return st.toggle(label(control.name), control.default, persist_state="session", **shared)
        case rag_core.Choice():
            return st.segmented_control(
                label(control.name),
                control.choices,
                format_func=label,
                default=control.default,
                required=True,
                persist_state="session",
                **shared,
            )
        case rag_core.Weights():
            text = st.text_input(
                f"{label(control.name)} (comma-separated)",
                foreign.plain(rag_core.format_value(control.default)),
                persist_state="session",
                **shared,
            )
            return _parsed(control, text)
        case rag_core.Templates():
            return templates_editor(control, key)
        case _:
            raise TypeError(f"no widget for {type(control).__name__}")


def _parsed(control: rag_core.Control, value: object) -> object:
    """The parsed value, or the default with the error on screen; the typed text stays in its box."""
    try:
        return control.parse(value)
    except rag_core.RagError as error:
        st.error(foreign.label(error))
        return control.default


def preset_column(position: int, strategy: str, values: Mapping[str, object]) -> None:
    """Set a column of the Compare page to a strategy and its values, before that page is drawn."""
    st.session_state[f"strategy.{position}"] = strategy
    _put(rag_core.RECIPES[strategy], f"{position}.{strategy}", values)


def _put(recipe: rag_core.Recipe, prefix: str, values: Mapping[str, object]) -> None:
    """Write control values into the session state of their widgets."""
    for control in recipe.controls:
        if control.name in values:
            value = control.parse(values[control.name])
            shown = rag_core.format_value(value) if isinstance(control, rag_core.Weights) else value
            st.session_state[f"{prefix}.{control.name}"] = shown


def _reset(recipe: rag_core.Recipe, prefix: str) -> None:
    for control in recipe.controls:
        st.session_state.pop(f"{prefix}.{control.name}", None)
