"""Try very many settings of a strategy; choose on dev, report on test."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import streamlit as st

import rag_core
from pages.shared import plots
from pages.shared.controls import preset_column
from pages.shared.measuring import Work, choose_data, start_sweep, watch
from rag_core import evaluation as ev

PLAIN = {"displayModeBar": False}
MOST = (100, 300, 1000, 3000)  # settings offered
TUNED_FIRST = ("rrf_k", "mmr_lambda", "k1", "b", "k_final")  # varied unless the user says otherwise


def main() -> None:
    """Draw the page."""
    st.header("Tune a strategy", anchor=False)
    st.markdown(
        "Every setting answers every dev question; the best one is then reported on the test questions, which it "
        "was not chosen on. One retrieval serves all settings."
    )
    work: Work | None = st.session_state.get("sweeping")
    running = work is not None and not work.over.is_set()
    _form(disabled=running)
    st.divider()
    if work is not None and running:
        watch(work)
        return
    if work is not None and work.error:
        st.error(str(work.error))
    result = work.result if work else None
    past = ev.kept(rag_core.read_settings())
    if past:
        names = [path.stem for path in past]
        chosen = st.selectbox("Sweep", names, key="sweep.past", label_visibility="collapsed")
        if result is None or chosen != names[0]:
            result = ev.read_sweep(past[names.index(chosen)])
    if result is None:
        st.info("Nothing has been tuned yet.")
        return
    _result(result)


def _form(*, disabled: bool) -> None:
    left, right = st.columns([1, 2])
    with left:
        name = st.selectbox(
            "Strategy", list(rag_core.RECIPES), index=list(rag_core.RECIPES).index("hybrid_rrf"),
            format_func=lambda name: rag_core.RECIPES[name].title, key="sweep.strategy",
        )  # fmt: skip
        data = choose_data("sweep")
    recipe = rag_core.RECIPES[name]
    with right:
        controls = {control.name: control for control in recipe.controls if control.type in ("int", "float")}
        varied = st.multiselect(
            "Vary", list(controls), default=[one for one in TUNED_FIRST if one in controls][:3],
            key=f"sweep.vary.{name}",
        )  # fmt: skip
        axes = {one: _axis(controls[one], name) for one in varied}
    total = math.prod(len(values) for values in axes.values()) if axes else 0
    bottom = st.columns([1, 1, 2], vertical_alignment="bottom")
    metric = bottom[0].selectbox(
        "Metric", ["ndcg@10", "recall@10", "mrr", "map", "hit@5"],
        format_func=lambda name: ev.parse_metric(name).title, key="sweep.metric",
    )  # fmt: skip
    most = bottom[1].selectbox(
        "At most", MOST, index=2, format_func=lambda count: f"{count:,} settings",
        help="Of more combinations than this, a random sample is tried.", key="sweep.most",
    )  # fmt: skip
    tried = min(total, most)
    how = "all of them" if total <= most else f"a random {most:,} of them"
    if bottom[2].button(
        f"Tune: {total:,} combinations, {how}" if total else "Choose what to vary",
        type="primary", disabled=disabled or not tried, width="stretch",
    ):  # fmt: skip
        try:
            st.session_state["sweeping"] = start_sweep(data, recipe, axes, most, metric)
        except rag_core.RagError as error:
            st.error(str(error))
        else:
            st.rerun()


def _axis(control: rag_core.Control, strategy: str) -> tuple[object, ...]:
    number = int if control.type == "int" else float
    low, high = st.slider(
        control.name, number(control.min), number(control.max), (number(control.min), number(_high(control))),
        step=number(control.step), help=control.help, key=f"sweep.{strategy}.{control.name}",
    )  # fmt: skip
    return ev.spread(control, low, high)


def _high(control: rag_core.Control) -> float:
    """Where a range ends unless the user says otherwise: counts of passages beyond that only cost time."""
    return min(control.max, 30) if control.unit == "passages" else control.max


def _result(result: Mapping[str, Any]) -> None:
    title = ev.parse_metric(result["metric"]).title
    st.subheader(
        f"{rag_core.RECIPES[result['strategy']].title}: {len(result['settings']):,} settings in "
        f"{result['seconds']:.0f} s", anchor=False,
    )  # fmt: skip
    best, default = result["best"], result["default"]
    tuned_on, reported_on = result["tune"]["split"], result["report"]["split"]
    cells = st.columns(4)
    cells[0].metric(f"Best on {tuned_on}", f"{best['tuned']['mean']:.3f}", border=True)
    cells[1].metric(
        f"The same on {reported_on}", f"{best['reported']['mean']:.3f}",
        f"{best['reported']['mean'] - default['reported']['mean']:+.3f} to the defaults", border=True,
    )  # fmt: skip
    cells[2].metric(f"Defaults on {reported_on}", f"{default['reported']['mean']:.3f}", border=True)
    cells[3].metric(
        "Tuned minus reported", f"{best['gap']:+.3f}", border=True,
        help="How much of the winner's score was luck of the questions it was chosen on, "
        "or that these questions were easier.",
    )  # fmt: skip
    chosen = ", ".join(f"`{name}` {best['controls'][name]}" for name in result["varied"])
    st.markdown(f"**Winner:** {chosen}. On {reported_on}: {result['comparison']['verdict']}")
    if st.button("Open the winner in Compare", type="primary"):
        preset_column(0, result["strategy"], best["controls"])
        preset_column(1, result["strategy"], default["controls"])
        st.switch_page("pages/ask/compare.py")
    left, right = st.columns(2)
    with left:
        control = st.selectbox("Along one control", result["varied"], key="sweep.x")
        st.plotly_chart(plots.curve(result["settings"], control, title), key="curve", config=PLAIN)
        st.caption("The best score at each value, the other controls free, with its 95 % interval.")
    with right:
        others = [name for name in result["varied"] if name != control]
        if others:
            other = st.selectbox("Against another", others, key="sweep.y")
            st.plotly_chart(plots.heat(result["settings"], control, other, title), key="heat", config=PLAIN)
    st.subheader("Quality, time and cost", anchor=False)
    points = [
        {**row, "name": ", ".join(f"{name} {row['controls'][name]}" for name in result["varied"])}
        for row in result["finalists"]
    ]
    st.plotly_chart(plots.pareto(points, title, named=False), key="pareto", config=PLAIN)
    agreed = sum(row["same"] for row in result["finalists"])
    st.caption(
        f"{len(points)} settings down the order were run again from scratch, each alone, for their seconds; "
        f"{agreed} of {len(points)} gave exactly the scores of the sweep."
    )


main()
