"""Widgets generated from the strategies' controls and prompts, and their panel; a refused text stays in its box."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.fragments import render
from pages.drawing.translate import in_words, key_of, problem, t, translated
from pages.drawing.untrusted import label
from pages.shared import presets, wording
from pages.shared.engine import engine
from pages.shared.live import LETTERS
from rag_core.catalog import Choice, Control, Number, PromptText, Switch, Templates, Weights
from rag_core.explain import query_title
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


# two of the sources' pipelines, and the words alone, which answer otherwise than both
DEFAULT_COLUMNS = ("multi_query", "hybrid_rrf", "bm25", "contextual")
MOST_COLUMNS = len(DEFAULT_COLUMNS)
OFFERED = ("contextual", "rag_msr", "ensemble")  # beside them, before the first question
SHOWN_COLUMNS = 3  # unless the user says otherwise
PROMPTS = (Templates, PromptText)  # controls whose values are texts


def count_columns() -> None:
    """The widget that says how many strategies stand side by side."""
    st.segmented_control(
        t("Number of strategies"), list(range(2, MOST_COLUMNS + 1)), default=SHOWN_COLUMNS, key="columns",
        required=True, on_change=_add_columns, args=(columns(),), label_visibility="collapsed",
        persist_state="session",
    )  # fmt: skip


def offer_more() -> None:
    """Strategies that a press adds as a column, or puts in the last one's place: the sources' others, and ours."""
    shown = [_chosen(position) for position in range(columns())]
    count = min(columns() + 1, MOST_COLUMNS)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="more"):
        st.caption(t("Compare with:"))
        for name in (one for one in OFFERED if one not in shown):
            title = label(translated(rag_core.RECIPES[name].title))
            add = partial(st.session_state.update, {"columns": count, f"strategy.{count - 1}": name})
            st.button(title, key=f"more.{name}", type="tertiary", icon=":material/add:", on_click=add)


def columns() -> int:
    """How many strategies stand side by side."""
    return int(st.session_state.get("columns", SHOWN_COLUMNS))


def _add_columns(before: int) -> None:
    """Give each added column a strategy that no other column shows."""
    for position in range(before, st.session_state["columns"]):
        key = f"strategy.{position}"
        beside = [_chosen(other) for other in range(position)]
        if st.session_state.get(key) in (None, *beside):
            free = [name for name in (*DEFAULT_COLUMNS, *rag_core.RECIPES) if name not in beside]
            st.session_state[key] = free[0]


def _chosen(position: int) -> str:
    return kept_strategy(f"strategy.{position}", DEFAULT_COLUMNS[position])


def kept_strategy(key: str, default: str) -> str:
    """The strategy that a widget of the session chose; the default before it is drawn, or if it names none."""
    titles = {name: recipe.title for name, recipe in rag_core.RECIPES.items()}
    name = key_of(st.session_state.get(key, default), titles)
    return name if name in titles else default


def recipe_of(position: int) -> rag_core.Recipe:
    """The strategy chosen for a column."""
    return rag_core.RECIPES[_chosen(position)]


def strategy_box(position: int, runs_on: Callable[[int], None]) -> None:
    """The widget that chooses a column's strategy, its settings' button, and their panel while open."""
    letter, names = LETTERS[position], list(rag_core.RECIPES)
    is_open = st.session_state.get("panel") == position
    with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        untrusted.draw(render("asking.letter", letter=letter))
        untrusted.choose(
            t("Strategy {number:d}", number=position + 1), names, wording.strategy, f"strategy.{position}",
            index=names.index(DEFAULT_COLUMNS[position]), label_visibility="collapsed", persist_state="session",
        )  # fmt: skip
        show = partial(st.session_state.update, {"panel": None if is_open else position})
        st.button(t("Settings {letter}", letter=label(letter)), key=f"settings.{position}", on_click=show)
    if is_open:
        with st.container(key="panel"):
            _draw_panel(position, runs_on)


def strategy_of(recipe: rag_core.Recipe, values: Mapping[str, object]) -> rag_core.Strategy:
    """A strategy as set; with its defaults, and the reason on screen, where the values are not valid."""
    try:
        return recipe.build(**values)
    except rag_core.RagError as error:
        untrusted.say(t("{error} Until this is fixed, the defaults are used.", error=problem(error)), st.error)
        return recipe.build()


def _draw_panel(position: int, runs_on: Callable[[int], None]) -> None:
    recipe = recipe_of(position)
    prefix = f"{position}.{recipe.name}"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{label(LETTERS[position])} · {label(translated(recipe.title))}**")
        close = partial(st.session_state.update, {"panel": None})
        st.button(t("Close"), key="panel.close", shortcut="Esc", on_click=close)
    st.markdown(label(translated(recipe.summary)))
    presets.choose(recipe, prefix, partial(_take, position))
    # prompts are long, so they come last
    for control in sorted(recipe.controls, key=lambda one: isinstance(one, PROMPTS)):
        widget(recipe, control, prefix, why_idle(recipe, control, prefix))
    if any(control.name == "enriched" for control in recipe.controls):
        context_prompt(prefix)
    runs_on(position)
    with st.container(horizontal=True):
        presets.save_as(recipe, prefix, partial(current_values, recipe, prefix))
        st.button(t("Reset to defaults"), key=f"{prefix}.reset", on_click=reset, args=(recipe, prefix))
    st.caption(t("Source: {source}", source=label(translated(recipe.source))))


def current_values(recipe: rag_core.Recipe, prefix: str) -> dict[str, object]:
    """The widgets' values, or the defaults of widgets not drawn yet."""
    return {
        control.name: st.session_state.get(f"{prefix}.{control.name}", control.default) for control in recipe.controls
    }


def why_idle(recipe: rag_core.Recipe, control: Control, prefix: str) -> str:
    """Why moving a control would do nothing; empty if it acts, or sets what it needs."""
    return "" if control.sets_needs else recipe.idle(control, current_values(recipe, prefix))


def widget(recipe: rag_core.Recipe, control: Control, prefix: str, idle: str = "") -> None:
    """Draw the widget of one of a strategy's controls. `idle` says why the control has no effect, and disables it."""
    key = f"{prefix}.{control.name}"
    title = f"{label(translated(control.title))} `{label(control.name)}`"
    explained = label(f"{translated(control.help)} {translated(idle)}")
    shared: dict[str, Any] = {
        "key": key, "help": explained, "disabled": bool(idle), "persist_state": "session",
    }  # fmt: skip
    match control:
        case Number():
            number = int if control.whole else float
            low, high, step = number(control.min), number(control.max), number(control.step)
            st.slider(title, low, high, number(control.default), step, **shared)
        case Switch():
            st.toggle(title, control.default, **shared)
        case Choice():
            st.segmented_control(
                title, control.choices, format_func=lambda value: label(in_words(value)),
                default=control.default, required=True, **shared,
            )  # fmt: skip
        case Weights():
            _weights(recipe, control, prefix, idle)
        case Templates():
            st.markdown(title, help=label(translated(control.help)))
            templates_editor(control, key, idle)
        case PromptText():
            prompt_editor(control, key, idle)
        case _:
            raise TypeError(f"no widget for {type(control).__name__}")


def _weights(recipe: rag_core.Recipe, control: Weights, prefix: str, idle: str) -> None:
    key = f"{prefix}.{control.name}"
    values = current_values(recipe, prefix)
    wanted = recipe.wanted(control, values)
    weights: tuple[float, ...] = control.in_force(values) if wanted else st.session_state.get(key, control.default)
    weighed = next((one for one in recipe.controls if one.name == control.of), None)
    names = [str(place) for place in range(1, len(weights) + 1)]
    if isinstance(weighed, Templates):
        templates = st.session_state.get(f"{prefix}.{control.of}", weighed.parse(weighed.default))
        names = [template.name for template in templates]
    weights = (*weights, *[1.0] * (len(names) - len(weights)))

    def changed() -> None:
        moved = [float(st.session_state[f"{key}.{place}"]) for place in range(len(names))]
        st.session_state[key] = (*moved, *weights[len(names) :])
        put(recipe, prefix, wanted)

    for place, name in enumerate(names):
        slot = f"{key}.{place}"
        st.session_state[slot] = float(weights[place])
        st.slider(
            label(t("Weight {place}: {rewrite}", place=place + 1, rewrite=translated(query_title(name)))),
            0.0, float(control.max), step=control.step, key=slot, on_change=changed, disabled=bool(idle),
            help=label(f"{translated(control.help)} {translated(idle)}"),
        )  # fmt: skip


def preset_column(position: int, strategy: str, values: Mapping[str, object]) -> None:
    """Set a column of the Compare page to a strategy and its values, before that page is drawn."""
    st.session_state[f"strategy.{position}"] = strategy
    put(rag_core.RECIPES[strategy], f"{position}.{strategy}", values)


def runs_key(position: int, name: str) -> str:
    """Where the session keeps the model or the documents that a column chose."""
    return f"{position}.runs.{name}"


def _take(position: int, chosen: rag_core.Setup) -> None:
    preset_column(position, chosen.strategy.name, chosen.strategy.controls)
    for name, model in chosen.models.named.items():
        st.session_state[runs_key(position, name)] = model


def put(recipe: rag_core.Recipe, prefix: str, values: Mapping[str, object]) -> None:
    """Write control values into the session state of their widgets."""
    for control in recipe.controls:
        if control.name in values:
            value = control.parse(values[control.name])
            forget(f"{prefix}.{control.name}")
            st.session_state[f"{prefix}.{control.name}"] = value


def reset(recipe: rag_core.Recipe, prefix: str) -> None:
    """Set the widgets of a strategy to its defaults."""
    put(recipe, prefix, {control.name: control.default for control in recipe.controls})
