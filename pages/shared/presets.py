"""Presets of a strategy, those that come with it and those that people saved: chosen, saved, renamed and deleted."""

from collections.abc import Callable, Mapping
from contextlib import suppress

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.translate import problem, t, translated, words_for
from pages.drawing.untrusted import Label, label, plain
from pages.shared import account
from rag_core.catalog import Preset, StrategySpec, presets_of, saved_presets, spelled
from rag_core.catalog.presets import MOST_LETTERS

Values = Mapping[str, object]
TITLES = words_for("presets")


def offered(recipe: rag_core.Recipe) -> tuple[Preset, ...]:
    """Those of a strategy; where the saved ones cannot be read, those it came with, and the reason on screen."""
    with untrusted.errors(st.warning):
        return presets_of(recipe)
    return recipe.presets


def saved() -> dict[str, tuple[str, Values]]:
    """Strategy@preset -> the strategy and its values, for every saved preset that can be used; says what is wrong with the rest."""
    found: dict[str, tuple[str, Values]] = {}
    problems = []
    for name, recipe in rag_core.RECIPES.items():
        try:
            for preset in saved_presets().of(recipe):
                try:
                    found[_written(recipe, preset.name)] = name, recipe.build(**preset.values).controls
                except rag_core.RagError as error:
                    problems.append(f"{_written(recipe, preset.name)}: {problem(error)}")
        except rag_core.RagError as error:  # mostly the same one for every strategy
            problems.append(problem(error))
    for told in dict.fromkeys(problems):
        untrusted.say(told, st.warning)
    return found


def called(name: str, chosen: StrategySpec) -> str:
    """What a strategy is called on screen; a saved preset, as `saved` has it, by its name first."""
    _, at, preset = name.partition("@")
    described = translated(rag_core.describe(chosen))
    return f"{preset}: {described}" if at else described


def title(name: str) -> str:
    """What a preset is called on screen; a saved one by its name."""
    return translated(TITLES[name]) if name in TITLES else name


def helps(presets: tuple[Preset, ...]) -> Label:
    """A line for each."""
    lines = (f"**{label(title(one.name))}**: {label(translated(one.help))}" for one in presets)
    return Label("\n\n".join(lines))


def choose(recipe: rag_core.Recipe, prefix: str, take: Callable[[rag_core.Setup], None]) -> None:
    """The presets of a strategy, each a button that sets its controls and models by `take`."""
    if presets := offered(recipe):
        st.pills(
            t("Presets"), [preset.name for preset in presets], key=f"{prefix}.preset",
            format_func=lambda name: label(title(name)), on_change=_take, args=(recipe, prefix, take),
            help=helps(presets),
        )  # fmt: skip
    if refused := st.session_state.pop(f"{prefix}.preset.refused", ""):
        untrusted.say(refused, st.error)


def _take(recipe: rag_core.Recipe, prefix: str, take: Callable[[rag_core.Setup], None]) -> None:
    chosen = st.session_state[f"{prefix}.preset"]
    if chosen:
        try:
            take(rag_core.set_up(f"{recipe.name}@{chosen}"))
        except rag_core.RagError as error:  # such as a control that is no longer there
            st.session_state[f"{prefix}.preset.refused"] = problem(error)
        st.session_state[f"{prefix}.preset"] = None


def save_as(recipe: rag_core.Recipe, prefix: str, values: Callable[[], Values]) -> None:
    """Save a setting under a name, and ask before replacing another; for operators, since all can use it."""
    if not account.may_operate():
        return
    with st.popover(t("Save as…"), key=f"{prefix}.save"):
        st.text_input(t("Name of this setting"), key=f"{prefix}.save.name", max_chars=MOST_LETTERS)
        st.caption(
            t(
                "Saved are the controls and prompts, not the models or documents. Everyone who can open the app can use, "
                "rename and delete it; on the command line it is {written}.",
                written=f"`{label(_written(recipe, t('name')))}`",
            )
        )
        st.button(t("Save"), key=f"{prefix}.save.now", type="primary", on_click=_save, args=(recipe, prefix, values))
        _tell(f"{prefix}.save")
        if st.session_state.get(f"{prefix}.save.taken"):
            st.button(
                t("Replace it"), key=f"{prefix}.save.replace", on_click=_save, args=(recipe, prefix, values, True),
            )  # fmt: skip


def _save(recipe: rag_core.Recipe, prefix: str, values: Callable[[], Values], replace: bool = False) -> None:
    kept, key = saved_presets(), f"{prefix}.save"
    name = st.session_state[f"{key}.name"]
    st.session_state[f"{key}.taken"] = False
    try:
        name = kept.save(recipe, name, values(), replace=replace)
    except rag_core.RagError as error:
        st.session_state[f"{key}.refused"] = problem(error)
        with suppress(rag_core.RagError):  # already on screen
            st.session_state[f"{key}.taken"] = spelled(name) in {preset.name for preset in kept.of(recipe)}
    else:
        st.session_state[f"{key}.done"] = t("Saved as {written}.", written=_written(recipe, name))


def edit(recipe: rag_core.Recipe, preset: str, key: str) -> None:
    """Rename or delete a saved preset, chosen in the widget `key`; draws nothing for a declared preset."""
    if preset in {one.name for one in recipe.presets}:
        return
    st.caption(t("On the command line: {written}", written=f"`{label(_written(recipe, preset))}`"))
    if not account.may_operate():
        return
    with st.popover(t("Rename or delete"), key=f"{key}.edit"):
        st.text_input(t("New name"), key=f"{key}.edit.name", max_chars=MOST_LETTERS)
        with st.container(horizontal=True):
            st.button(t("Rename"), key=f"{key}.rename", on_click=_change, args=(recipe, preset, key))
            st.button(
                t("Delete"), key=f"{key}.delete", type="tertiary", on_click=_change, args=(recipe, preset, key, True),
            )  # fmt: skip
        _tell(f"{key}.edit")


def _change(recipe: rag_core.Recipe, preset: str, key: str, delete: bool = False) -> None:
    kept = saved_presets()
    try:
        if delete:
            kept.delete(recipe, preset)
        st.session_state[key] = None if delete else kept.rename(recipe, preset, st.session_state[f"{key}.edit.name"])
    except rag_core.RagError as error:
        st.session_state[f"{key}.edit.refused"] = problem(error)


def _tell(key: str) -> None:
    if refused := st.session_state.pop(f"{key}.refused", ""):
        untrusted.say(refused, st.error)
    if done := st.session_state.pop(f"{key}.done", ""):
        untrusted.say(done, st.success)


def _written(recipe: rag_core.Recipe, preset: str) -> str:
    return plain(f"{recipe.name}@{preset.replace(' ', '_')}")
