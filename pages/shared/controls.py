"""Widgets made from the catalogue's declarations."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

import rag_core

DEFAULT_COLUMNS = ("simple_semantic", "bm25", "hybrid_rrf")
MOST_COLUMNS = 4


def strategy_columns() -> list[rag_core.Strategy]:
    """Let the user choose 2 to 4 strategies and set their controls; the strategies as set."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Strategies side by side**", width="content")
        count = st.segmented_control(
            "Number of strategies",
            list(range(2, MOST_COLUMNS + 1)),
            default=len(DEFAULT_COLUMNS),
            key="columns",
            required=True,
            label_visibility="collapsed",
            persist_state="session",
        )
    return [_column(position, slot) for position, slot in enumerate(st.columns(count))]


def _column(position: int, slot: st.delta_generator.DeltaGenerator) -> rag_core.Strategy:
    names = list(rag_core.RECIPES)
    default = DEFAULT_COLUMNS[position % len(DEFAULT_COLUMNS)]
    with slot, st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox(
            f"Strategy {position + 1}",
            names,
            index=names.index(default),
            format_func=lambda name: rag_core.RECIPES[name].title,
            key=f"strategy.{position}",
            label_visibility="collapsed",
            persist_state="session",
        )
        recipe = rag_core.RECIPES[name]
        with st.popover("Settings"):
            st.markdown(recipe.summary)
            st.caption(f"Source: {recipe.source}")
            values = {control.name: _control(control, f"{position}.{name}") for control in recipe.controls}
            st.button(
                "Back to the defaults",
                key=f"{position}.{name}.reset",
                on_click=_reset,
                args=(recipe, f"{position}.{name}"),
            )
    return recipe.build(**values)


def _control(control: rag_core.Control, prefix: str) -> int | float:
    number = int if control.type == "int" else float
    label = f"{control.name} ({control.unit})" if control.unit else control.name
    return st.slider(
        label,
        min_value=number(control.min),
        max_value=number(control.max),
        value=number(control.default),
        step=number(control.step),
        help=control.help,
        key=f"{prefix}.{control.name}",
        persist_state="session",
    )


def preset_column(position: int, strategy: str, values: Mapping[str, object]) -> None:
    """Set a column of the Compare page to a strategy and its values, before that page is drawn."""
    st.session_state[f"strategy.{position}"] = strategy
    for name, value in values.items():
        st.session_state[f"{position}.{strategy}.{name}"] = value


def _reset(recipe: rag_core.Recipe, prefix: str) -> None:
    for control in recipe.controls:
        st.session_state.pop(f"{prefix}.{control.name}", None)
