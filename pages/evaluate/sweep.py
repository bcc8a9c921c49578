"""Try many settings of a strategy: choose the best on dev, report it on test."""

from functools import partial
from typing import Any

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.translate import in_words, t, translated
from pages.drawing.untrusted import label
from pages.evaluate import plots
from pages.shared import account, permalink, wording
from pages.shared.measuring import choose_data, jobs, judged_by, lab_for, start, under_way
from rag_core import evaluation as ev
from rag_core.catalog import Choice, Control, Number, Switch, format_value
from rag_core.jobs import start_sweep

MOST = (100, 300, 1000, 3000)  # settings offered
TUNED_FIRST = ("rrf_k", "mmr_lambda", "k1", "b", "weighting", "merge", "vector_weight", "alpha", "theta",
               "include_question")  # the first three a strategy has are varied by default  # fmt: skip
KEPT: dict[str, Any] = {"persist_state": "session"}


def draw() -> None:
    """Draw the view."""
    st.markdown(
        t(
            "Every setting is measured on every dev question; the best one is then reported on the test questions, which "
            "played no part in choosing it. All settings share their retrievals."
        )
    )
    under_way("sweep")
    if not account.operators_only():
        _form()
    st.divider()
    result = _choose_sweep()
    if result is None:
        st.info(t("Nothing has been searched yet."))
        return
    _result(result)


def _choose_sweep() -> ev.SweepResult | None:
    past = {path.stem: path for path in ev.list_sweeps(rag_core.read_settings())}
    wanted = st.query_params.get("sweep")
    if wanted and wanted not in past:
        untrusted.say(t("There is no sweep {name} here.", name=repr(wanted)), st.warning)
    if not past:
        return None
    if wanted in past:
        st.session_state["sweep.past"] = wanted
        del st.query_params["sweep"]
    name = untrusted.choose(
        t("Sweep"), list(past), lambda name: translated(ev.sweep_title(past[name])), "sweep.past",
        label_visibility="collapsed",
    )  # fmt: skip
    with untrusted.errors():
        return ev.SweepResult.read(past[name], "Delete it and sweep again.")
    return None


def _form() -> None:
    left, right = st.columns([1, 2])
    with left:
        name = untrusted.choose(
            t("Strategy"), list(rag_core.RECIPES), wording.strategy, "sweep.strategy",
            index=list(rag_core.RECIPES).index("hybrid_rrf"), **KEPT,
        )  # fmt: skip
        data = choose_data("sweep")
        judged_by(data, "dev")
    recipe = rag_core.RECIPES[name]
    controls = {control.name: control for control in recipe.controls if control.changes_passages}
    counts = [control.name for control in recipe.controls if _counts_passages(control)]
    with right:
        others = [one for one in controls if one not in counts]
        varied = st.multiselect(
            t("Vary"), others, format_func=lambda one: untrusted.plain(translated(controls[one].title)), default=[one for one in TUNED_FIRST if one in others][:3],
            placeholder=t("Choose"), key=f"sweep.vary.{name}", **KEPT,
        )  # fmt: skip
        varied += st.multiselect(
            t("Vary counts of passages too"), counts, format_func=lambda one: untrusted.plain(translated(controls[one].title)), default=[], key=f"sweep.counts.{name}",
            placeholder=t("Kept as they are"), **KEPT,
        )  # fmt: skip
        st.caption(
            t(
                "Counts are kept as they are unless you add them: more passages alone raise nDCG@10 and recall. "
                "If the passages used vary, the result shows how much of the gain comes from that."
            )
        )
        axes = {one: _axis(recipe, controls[one]) for one in varied}
    total = ev.grid_size(axes)
    bottom = st.columns([1, 1, 2], vertical_alignment="bottom")
    metric = untrusted.choose(
        t("Metric"), ["ndcg@10", "recall@10", "mrr", "map", "hit@5"],
        wording.metric, "sweep.metric", **KEPT, place=bottom[0],
    )  # fmt: skip
    most = bottom[1].selectbox(
        t("At most"), MOST, index=2, format_func=lambda count: t("{count:,} settings", count=count),
        help=t("If there are more combinations, a random sample is tried."), key="sweep.most", **KEPT,
    )  # fmt: skip
    how = t("all of them") if total <= most else t("a random {count:,} of them", count=most)
    if bottom[2].button(
        t("Search: {total:,} combinations, {how}", total=total, how=how) if total else t("Choose what to vary"),
        type="primary", disabled=not total, width="stretch", key="sweep.start",  # one button, whatever its label
    ):  # fmt: skip
        lab, settings = partial(lab_for, data), rag_core.read_settings()
        begin = partial(start_sweep, jobs(), lab, settings, data, recipe, axes, most, metric)
        start("sweep", begin, t("This sweep is already running on this server; here is its progress."))


def _counts_passages(control: Control) -> bool:
    return isinstance(control, Number) and control.unit == "passages"


def _axis(recipe: rag_core.Recipe, control: Control) -> tuple[object, ...]:
    key = f"sweep.{recipe.name}.{control.name}"
    title, explained = label(translated(control.title)), label(translated(control.help))
    match control:
        case Number():
            number = int if control.whole else float
            # higher counts of passages only cost time
            high = min(control.max, 30) if _counts_passages(control) else control.max
            low, high = st.slider(
                title, number(control.min), number(control.max), (number(control.min), number(high)),
                step=number(control.step), help=explained, key=key, **KEPT,
            )  # fmt: skip
            return ev.axis_values(control, low, high)
        case Switch():
            st.caption(t("{name}: on and off. {help}", name=title, help=explained))
            return (True, False)
        case Choice():
            shared = {
                "default": control.choices,
                "selection_mode": "multi",
                "help": explained,
                "key": key,
                **KEPT,
            }
            return tuple(st.pills(title, control.choices, format_func=lambda one: label(in_words(one)), **shared))
    text = st.text_input(
        t("{name}: values, separated by semicolons", name=title),
        f"{untrusted.plain(format_value(control.default))};", help=explained, key=key, **KEPT,
    )  # fmt: skip
    with untrusted.errors():
        return ev.parse_axis(recipe, f"{control.name}={text.strip().strip(';')};")[1]
    return ()


def _result(result: ev.SweepResult) -> None:
    title = wording.metric(result.metric)
    st.subheader(
        t("{title}: {count:,} settings in {seconds:.0f} s", title=label(translated(rag_core.RECIPES[result.strategy].title)), count=len(result.settings), seconds=result.seconds), anchor=False,
    )  # fmt: skip
    _scores(result)
    _winner(result)
    if not result.varied:
        st.info(t("All settings were the same, so there is nothing to plot."))
        return
    declared = {control.name: control for control in rag_core.RECIPES[result.strategy].controls}

    def called(name: str) -> str:
        """The control's title as in the form; its name if this version has no such control."""
        return translated(declared[name].title) if name in declared else name

    left, right = st.columns(2)
    with left:
        control = untrusted.choose(t("Along one control"), result.varied, called, "sweep.x")
        untrusted.chart(plots.curve(result.best_along(control), control, called(control), title), "curve")
        st.caption(t("The best score at each value, over all other controls, with its 95 % interval."))
    with right:
        others = [name for name in result.varied if name != control]
        if others:
            other = untrusted.choose(t("Against another"), others, called, "sweep.y")
            best = result.best_along(control, other)
            untrusted.chart(plots.heat(best, control, other, (called(control), called(other)), title), "heat")
    st.subheader(t("Quality, time and cost"), anchor=False)
    points = result.front()
    untrusted.chart(plots.pareto(points, title), "pareto")
    st.caption(
        t(
            "{count} settings, from best to worst, were run again from scratch, one at a time, to time them; "
            "{reproduced:,} of {count} gave exactly the scores of the sweep.",
            count=len(points),
            reproduced=sum(row.same for row in result.finalists),
        )
    )


def _scores(result: ev.SweepResult) -> None:
    tuned_on, reported_on = label(result.tune.split), label(result.report.split)
    cells = st.columns(4)
    cells[0].metric(t("Best on {tuned_on}", tuned_on=tuned_on), f"{result.best.tuned.mean:.3f}", border=True)
    cells[1].metric(
        t("The same on {reported_on}", reported_on=reported_on), f"{result.best.reported.mean:.3f}",
        t("{gain:+.3f} over the defaults", gain=result.gain), border=True,
    )  # fmt: skip
    cells[2].metric(
        t("Defaults on {reported_on}", reported_on=reported_on),
        f"{result.default.reported.mean:.3f}",
        border=True,
    )
    cells[3].metric(
        t("Higher on {tuned_on} by", tuned_on=tuned_on), f"{result.best.gap:+.3f}", border=True,
        help=t("Overfitting to {tuned_on}, or harder questions in {reported_on}.", tuned_on=tuned_on, reported_on=reported_on),
    )  # fmt: skip


def _winner(result: ev.SweepResult) -> None:
    best, default = result.best.controls, result.default.controls
    won, other = (label(translated(result.title_of(one))) for one in (best, default))
    st.markdown(t("**Winner:** {best}\n\n**Compared with:** {default}", best=won, default=other))
    verdict = ev.verdict(result.comparison, {"best": t("the winner"), "default": t("the other")})
    st.markdown(label(t("On {split}: {verdict}", split=result.report.split, verdict=verdict)))
    if result.equal_k:
        untrusted.say(translated(result.equal_k.sentence), st.warning)
    untrusted.say(translated(result.judged_by))
    untrusted.say(t("Cost of the whole sweep: {cost}.", cost=result.cost))
    permalink.link(
        t("Open the winner in Compare"), [rag_core.set_up((result.strategy, one)) for one in (best, default)]
    )
