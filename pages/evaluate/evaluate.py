"""How good the strategies are on judged questions: measure, see the results, search settings, compare runs."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.translate import declared, t, translated
from pages.evaluate import results, runs, sweep
from pages.shared import account, permalink, presets, question_header, wording
from pages.shared.measuring import choose_data, jobs, judged_by, lab_for, start, under_way
from rag_core import evaluation as ev
from rag_core.catalog import StrategySpec
from rag_core.jobs import start_run

DEFAULT = ("bm25", "simple_semantic", "hybrid_rrf")
OFFERED = ("ndcg@10", "ndcg@5", "ndcg@3", "ndcg@1", "recall@5", "recall@10", "recall@20", "recall@100",
           "precision@5", "mrr", "map", "hit@5", "seed_ndcg@10")  # fmt: skip
# the choice survives leaving the page and a reload
KEPT: dict[str, Any] = {"persist_state": "session", "bind": "query-params"}


def _measure() -> None:
    st.markdown(
        t(
            "Every question has documents judged relevant. This measures retrieval only: no answers are written "
            "and no answer model is called."
        )
    )
    under_way("run")  # first, so that a phone shows it without scrolling
    if not account.operators_only():
        _form()


def _form() -> None:
    left, right = st.columns(2)
    with left:
        data = choose_data("run", in_address=True)
        splits = ev.splits_of(data, rag_core.read_settings())
        split = untrusted.choose(
            t("Split"), splits, str, "split", index=splits.index("test") if "test" in splits else 0,
            help=t("Which judgements: dev to tune on, test to report on."), **KEPT,
        )  # fmt: skip
        judged_by(data, split)
    with right:
        titles = {name: recipe.title for name, recipe in rag_core.RECIPES.items()}
        with permalink.kept("strategies", titles, [name for name in DEFAULT if name in titles]):
            names = st.multiselect(
                t("Strategies"), list(titles), key="strategies", placeholder=t("Choose"), persist_state="session",
                format_func=lambda name: untrusted.plain(translated(titles[name])),
            )  # fmt: skip
        compared = {**_compared(), **presets.saved()}
        also = st.multiselect(
            t("As set on the Compare page, or saved"), list(compared), format_func=lambda label: untrusted.plain(presets.called(label, compared[label])),
            help=t("The columns of the last comparison, with their settings, and settings saved under a name."), key="run.compared",
            placeholder=t("Choose settings") if compared else t("Compare a question first"),
            disabled=not compared, persist_state="session",
        )  # fmt: skip
    with st.expander(t("Depth and metrics")):
        deep = st.toggle(
            t("Deep rankings (100 passages)"), key="deep",
            help=t("Raises every count of passages to 100, as deep metrics require. "
            "Otherwise, strategies run as configured."), **KEPT,
        )  # fmt: skip
        metrics = st.multiselect(
            t("Metrics; comparisons use the first"), OFFERED, default=list(ev.DEFAULT_METRICS), placeholder=t("Choose"),
            format_func=lambda name: untrusted.plain(wording.metric(name)), key="metrics", **KEPT,
        )  # fmt: skip
    if st.button(t("Measure"), type="primary", disabled=not (names or also)):
        chosen: dict[str, StrategySpec] = {name: name for name in names}
        chosen |= {label: compared[label] for label in also}
        lab, depth = partial(lab_for, data), 100 if deep else None
        begin = partial(start_run, jobs(), lab, rag_core.read_settings(), data, split, chosen, depth, metrics)
        start("run", begin, t("This measurement is already running on this server; here is its progress."))


def _compared() -> dict[str, tuple[str, Mapping[str, object]]]:
    run = st.session_state.get("run")
    return {
        f"{column.strategy.name}.{position}": (column.strategy.name, column.strategy.controls)
        for position, column in enumerate(run.columns if run else (), start=1)
    }


VIEWS = {
    "measure": (declared("Measure"), _measure),
    "results": (declared("Results"), results.draw),
    "search-settings": (declared("Find settings"), sweep.draw),
    "runs": (declared("Runs"), runs.draw),
}
OWN = {
    "run": "results",
    "sweep": "search-settings",
    "strategies": "measure",
}  # a parameter of the address -> the view it is for


def main() -> None:
    """Draw the page."""
    st.header(t("Measure strategies on judged questions"), anchor=False)
    view = question_header.choose_view({name: title for name, (title, _) in VIEWS.items()}, "evaluate.view")
    for parameter, owner in OWN.items():
        if view != owner:
            st.query_params.pop(parameter, None)
    _, draw = VIEWS[view]
    with untrusted.errors():  # such as a setting that is not valid
        draw()


main()
