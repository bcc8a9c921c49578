"""What a column runs on: its language models, its documents and a filter of them, chosen in its settings."""

from contextlib import suppress

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.translate import t, translated
from pages.shared import controls, corpora
from pages.shared.engine import engine
from rag_core.values.model_choice import OFFLINE_MODEL
from rag_core.values.where import where_words

SAME = ""  # the option that chooses nothing
LANGUAGE_MODELS = ("model", "rewriter_model", "judge_model")
MODELS = (*LANGUAGE_MODELS, "reranker")
CORPUS, WHERE = "corpus", "where"


def settings(*others: str) -> dict[str, object]:
    """Current values of Compare's widgets: its question, country and documents, all that columns chose, and `others`."""
    keys = ["question", "country", "corpus", "columns", *others]
    for position in range(controls.MOST_COLUMNS):
        keys.append(f"strategy.{position}")
        for name, recipe in rag_core.RECIPES.items():
            keys += [f"{position}.{name}.{one.name}" for one in recipe.controls]
        keys += [controls.runs_key(position, name) for name in (*MODELS, CORPUS, WHERE)]
    return {one: st.session_state[one] for one in keys if one in st.session_state}


def of(position: int) -> rag_core.Setup:
    """A column as set; without its models or documents, and the reason on screen, where they are not valid."""
    recipe = controls.recipe_of(position)
    strategy = controls.strategy_of(recipe, controls.current_values(recipe, f"{position}.{recipe.name}"))
    values = {
        name: value
        for name in (*MODELS, CORPUS, WHERE)
        if (value := st.session_state.get(controls.runs_key(position, name)))
    }
    with untrusted.errors():
        return rag_core.set_up(strategy, **values)
    return rag_core.set_up(strategy)


def offered() -> tuple[str, ...] | None:
    """The language models that an address may name; any while there are no settings, when nothing runs."""
    settings = engine().settings
    return settings.choosable_models if settings else None


def other_models() -> list[str]:
    """The language models that columns chose in place of those of the settings, each once."""
    chosen = (
        st.session_state.get(controls.runs_key(position, name))
        for position in range(controls.columns())
        for name in LANGUAGE_MODELS
    )
    return list(dict.fromkeys(called(model) for model in chosen if model))


def runs_on(setup: rag_core.Setup) -> str:
    """The models and documents a column chose, in a few words; empty if it chose none."""
    models = setup.models
    parts = [
        models.model and t("model: {name}", name=called(models.model)),
        models.rewriter_model and t("rewriter: {name}", name=called(models.rewriter_model)),
        models.judge_model and t("judge: {name}", name=called(models.judge_model)),
        models.reranker and t("reranker: {name}", name=reranker(models.reranker)),
        setup.corpus and t("documents: {name}", name=corpora.title(setup.corpus)),
        setup.where and t("only {filter}", filter=where_words(setup.where)),
    ]
    return " · ".join(part for part in parts if part)


def called(model: str) -> str:
    """A language model's name for people."""
    return t("offline engine") if model.startswith(OFFLINE_MODEL) else model


def reranker(name: str) -> str:
    """A reranker's name for people."""
    return t("offline scorer") if name.startswith(OFFLINE_MODEL) else name


def title(setup: rag_core.Setup) -> str:
    """A column's name: its strategy, what is changed in it, and what it runs on."""
    return " · ".join(part for part in (translated(rag_core.describe(setup.strategy)), runs_on(setup)) if part)


def put(position: int, setup: rag_core.Setup) -> None:
    """Set a column of the Compare page before that page is drawn."""
    controls.preset_column(position, setup.strategy.name, setup.strategy.controls)
    for name in (*MODELS, CORPUS, WHERE):
        st.session_state[controls.runs_key(position, name)] = setup.chosen.get(name, SAME)


def draw(position: int) -> None:
    """The widgets of a column's models and documents."""
    settings = engine().settings
    if settings is None:
        return
    as_set = t("Offline engine (no language model)")
    if settings.uses_openai:
        as_set = t("As in the settings ({model})", model=settings.answer_model)
    _model(position, "model", t("Language model"), as_set, settings)
    if settings.uses_openai:
        same, recipe = t("The same, or as in the settings"), controls.recipe_of(position)
        if "rewrite" in recipe.calls or st.session_state.get(f"{position}.{recipe.name}.transform"):
            _model(position, "rewriter_model", t("Model that rewrites the question"), same, settings)
        if "judge" in recipe.calls:
            _model(position, "judge_model", t("Model that judges the passages"), same, settings)
    else:
        st.caption(
            t(
                "To compare language models, set OPENAI_API_KEY or OPENAI_BASE_URL before starting the app, "
                "and list their names in RAG_MODELS."
            )
        )
    _draw_reranker(position, settings)
    known = corpora.names()
    chosen = st.session_state.get(controls.runs_key(position, CORPUS)) or SAME  # may have been deleted since
    if len(known) > 1 or chosen:
        untrusted.choose(
            t("Documents this column searches"), list(dict.fromkeys((SAME, *known, chosen))),
            lambda name: corpora.title(name) if name else t("As chosen for the page"), controls.runs_key(position, CORPUS),
            persist_state="session",
        )  # fmt: skip
    _draw_filter(position)


def _draw_filter(position: int) -> None:
    """The list of filters, where passages of the column's documents have metadata to choose by, or one is chosen."""
    corpus = st.session_state.get(controls.runs_key(position, CORPUS)) or corpora.chosen()
    filters: tuple[str, ...] = ()
    with suppress(rag_core.RagError):  # which a run of the column says
        filters = engine().wait(corpus).filters if engine().lab else ()
    chosen = st.session_state.get(controls.runs_key(position, WHERE)) or SAME
    if filters or chosen:
        untrusted.choose(
            t("Passages this column searches"), list(dict.fromkeys((SAME, *filters, chosen))),
            lambda where: where_words(where) or t("All"), controls.runs_key(position, WHERE), persist_state="session",
            help=t("By what documents say of themselves: front matter, or the fields of a row."),
        )  # fmt: skip


def _draw_reranker(position: int, settings: rag_core.Settings) -> None:
    """The list of rerankers, for a strategy that reranks; those that the settings name, and no others."""
    recipe = controls.recipe_of(position)
    values = controls.current_values(recipe, f"{position}.{recipe.name}")
    chosen = st.session_state.get(controls.runs_key(position, "reranker")) or SAME  # an address may name any
    if not ("rerank" in values or any(stage.name == "Rerank" for stage in recipe.build().stages) or chosen):
        return
    first, *others = settings.choosable_rerankers
    as_set = t("As in the settings ({model})", model=reranker(first))
    untrusted.choose(
        t("Reranker"), list(dict.fromkeys((SAME, first, *others, chosen))),
        lambda name: reranker(name) if name else as_set,
        controls.runs_key(position, "reranker"), persist_state="session", disabled=not values.get("rerank", True),
        help=t("A cross-encoder named in RAG_RERANKER, after a comma, can be chosen here."),
    )  # fmt: skip


def _model(position: int, name: str, title: str, same: str, settings: rag_core.Settings) -> None:
    own = controls.runs_key(position, name)
    offered = settings.choosable_models if settings.uses_openai else ()
    chosen = st.session_state.get(own) or SAME
    words = {SAME: same, OFFLINE_MODEL: t("Offline engine (no language model)")}
    untrusted.choose(
        title, list(dict.fromkeys((SAME, *offered, chosen))), lambda model: words.get(model, model), own,
        help=t("Others can be chosen once RAG_MODELS lists them.") if settings.uses_openai else None,
        persist_state="session",
    )  # fmt: skip
