"""The results of a run: metrics, pairs, kinds of questions, stages, and single questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

import rag_core
from pages.shared import foreign, html, plots, rankings
from pages.shared.foreign import label as md
from rag_core import evaluation as ev

VERDICTS = ("worse", "better", "different", "failed", "same")
SEED = "seed_ndcg"
EFFECTS = {"": "first ranking", "cut": "shorter list", "order": "new order", "more": "longer list"}


def main() -> None:
    """Draw the page."""
    st.header("Results", anchor=False)
    run = _choose_run()
    if run is None:
        st.info("Nothing has been measured yet.")
        st.page_link("pages/measure/run.py", label="Measure strategies", icon="▶️")
        return
    results = ev.stored_results(run)
    if results is None:
        st.warning("This run did not finish. Start the same measurement again to resume it.")
        return
    names = ev.titles(run.manifest)
    _head(results, names)
    figures, kinds, stages, questions = st.tabs(
        ["Figures", "Kinds of questions", "Stage by stage", "Question by question"]
    )
    with figures:
        _figures(results, names)
    with kinds:
        _groups(results, names)
    with stages:
        _stages(run, results, names)
    with questions:
        _questions(run, results, names)


def _choose_run() -> ev.RunFolder | None:
    runs = ev.past_runs(rag_core.read_settings())
    if not runs:
        return None
    names = [folder.name for folder in runs]
    wanted = st.query_params.get("run")
    if wanted in names and st.session_state.get("results.linked") != wanted:
        st.session_state["results.run"] = st.session_state["results.linked"] = wanted
    name = st.selectbox(
        "Run", names, format_func=lambda name: foreign.plain(ev.run_title(runs[names.index(name)])), key="results.run",
        label_visibility="collapsed",
    )  # fmt: skip
    try:
        return ev.RunFolder.open(runs[names.index(name)])
    except rag_core.RagError as error:
        st.error(foreign.label(error))
        return None


def _head(results: ev.Results, names: Mapping[str, str]) -> None:
    manifest = results.manifest
    depth = f"depth {manifest.depth or 'as configured'}"
    engine = f"embeddings {manifest.engine['embedding']} · index {manifest.engine['index']}"
    of = f"of {results.data} ({results.split})"
    st.markdown(f"**{results.queries:,} questions** {md(of)} · {md(depth)} · {md(engine)}")
    if results.judged_by:
        st.caption(foreign.label(results.judged_by))
    for label, row in results.strategies.items():
        if row.failed:
            st.warning(
                foreign.label(
                    f"{names[label]}: {row.failed} questions failed and are excluded from the metrics. "
                    f"{row.failures[0]}"
                )
            )


def _figures(results: ev.Results, titles: Mapping[str, str]) -> None:
    primary = ev.parse_metric(results.primary)
    names = list(next(iter(results.strategies.values())).metrics)
    shown = st.selectbox(
        "Metric",
        names,
        format_func=lambda name: foreign.plain(ev.parse_metric(name).title),
        key="results.metric",
    )
    foreign.chart(
        plots.intervals(
            {titles[label]: row.metrics[shown] for label, row in results.strategies.items()},
            ev.parse_metric(shown).title,
        ),
        "intervals",
    )
    real = [name for name in names if not name.startswith(SEED)]
    st.dataframe(foreign.cells(_table(results, titles, real)), hide_index=True, column_config=_formats(real))
    st.caption(
        "Click a column header to sort. “Judged” is the share of the top ten documents with a judgement; "
        "documents without one count as not relevant. Each strategy is timed alone."
    )
    if seeds := [name for name in names if name.startswith(SEED)]:
        st.subheader("As RAG-MSR computed it", anchor=False)
        st.dataframe(
            foreign.cells(_table(results, titles, seeds)), hide_index=True, column_config=_formats(seeds)
        )
        st.caption(
            "Binary gains, with the ideal order taken from the retrieved list itself: missed documents cost nothing. "
            "The published 0.868, 0.849, 0.763 and 0.918 were computed this way, on ten chosen questions. "
            "Never compare it with the real nDCG above."
        )
    st.subheader(f"Is the difference real? ({md(primary.title)})", anchor=False)
    if not results.comparisons:
        st.caption("Measure two strategies to compare them.")
        return
    left, right = st.columns(2)
    with left:
        foreign.chart(plots.pairs(results.comparisons, titles), "pairs")
        st.caption("Row minus column, by number; ✓ marks a difference that is probably real. p from a paired randomisation "
                   "test, corrected for all pairs (Holm).")  # fmt: skip
    with right:
        for pair in results.comparisons:
            power = (
                ""
                if pair.minimum_detectable is None
                else f" A true difference of {pair.minimum_detectable:.3f} would be detected four times in five."
            )
            st.markdown(
                f"- {md(ev.verdict_with_titles(pair, titles))} {md(titles[pair.a])} wins {pair.wins:d}, "
                f"ties {pair.ties:d}, loses {pair.losses:d}.{power}"
            )
    st.subheader("Quality, time and cost", anchor=False)
    points = [replace(point, name=titles[point.name]) for point in ev.pareto_front(results)]
    foreign.chart(plots.pareto(points, primary.title), "front")


def _table(results: ev.Results, titles: Mapping[str, str], names: Sequence[str]) -> list[dict[str, object]]:
    return [
        {"strategy": titles[label]}
        | {name: score.mean if (score := row.metrics[name]) else None for name in names}
        | {
            "n": row.queries,
            "judged": row.judged_at_10,
            "ms": None if row.seconds_per_query is None else 1000 * row.seconds_per_query,
            "cost": row.cost_usd,
        }
        for label, row in results.strategies.items()
    ]


def _formats(names: Sequence[str]) -> dict[str, object]:
    number = st.column_config.NumberColumn
    return {name: number(ev.parse_metric(name).title, format="%.3f") for name in names} | {
        "judged": number("Judged", format="percent"),
        "ms": number("ms per question", format="%.0f"),
        "cost": number("US $ in total", format="%.4f", help="Empty when a price is unknown."),
        "n": number("Questions"),
        "strategy": st.column_config.TextColumn("Strategy", pinned=True),
    }


def _groups(results: ev.Results, titles: Mapping[str, str]) -> None:
    primary = results.primary
    title = ev.parse_metric(primary).title
    known = {group: members for group, members in results.groups.items() if members}
    if not known:
        st.info("These questions are not labelled by kind, and share one language.")
    for group, members in known.items():
        st.subheader(f"By {md(group)}", anchor=False)
        foreign.chart(plots.groups(members, primary, title, titles), f"groups.{group}")
    if known:
        st.caption("Small groups have wide intervals; widely overlapping intervals decide nothing.")


def _stages(run: ev.RunFolder, results: ev.Results, titles: Mapping[str, str]) -> None:
    primary = ev.parse_metric(results.primary)
    st.caption(
        f"{md(primary.title)} after each stage, and its change from the previous ranking, or from the best of several "
        "when a stage fuses them. A stage that both shortens and reorders has two rows: the cut, then the new order "
        "at that length. p is exploratory, uncorrected."
    )
    for label in run.labels:
        effects = ev.stage_effects(run, label, primary)
        seconds = results.strategies[label].stage_seconds
        st.markdown(f"**{md(titles[label])}**")
        st.dataframe(
            foreign.cells(
                {
                    "stage": effect.stage,
                    "ranking": effect.lane or "–",
                    "effect": EFFECTS[effect.effect],
                    "documents": effect.documents,
                    "score": effect.score.mean,
                    "change": effect.change.mean if effect.change else None,
                    "interval": f"{effect.change.low:+.3f} to {effect.change.high:+.3f}"
                    if effect.change
                    else "",
                    "p": "" if effect.p is None else plots.p_text(effect.p),
                    "against": effect.before,
                    "ms": 1000 * seconds.get(f"{effect.position + 1} {effect.stage}", 0.0),
                }
                for effect in effects
            ),
            hide_index=True,
            placeholder="",
            column_config={
                "score": st.column_config.NumberColumn(primary.title, format="%.3f"),
                "change": st.column_config.NumberColumn(format="%+.3f"),
                "documents": st.column_config.NumberColumn(
                    format="%.1f", help="Mean number after this step."
                ),
                "ms": st.column_config.NumberColumn(format="%.1f"),
                "interval": st.column_config.TextColumn("95 % interval of the change"),
            },
        )
        if rewrites := ev.rewrite_effects(run, label):
            st.dataframe(
                foreign.cells(
                    {
                        "searched with": row.origin,
                        "questions": row.questions,
                        "error rate": row.error_rate,
                        "relevant, unique to it": row.unique_relevant,
                    }
                    for row in rewrites
                ),
                hide_index=True,
                column_config={"error rate": st.column_config.NumberColumn(format="%.2f")},
            )
            st.caption(
                "Error rate, as in the RAG-MSR README: the share of retrieved documents that are not relevant."
            )


def _questions(run: ev.RunFolder, results: ev.Results, titles: Mapping[str, str]) -> None:
    if len(run.labels) < 2:
        st.info("Measure two strategies to see where they differ.")
        return
    left, right = st.columns(2)
    baseline = left.selectbox(
        "Baseline", run.labels, key="results.baseline", format_func=lambda label: foreign.plain(titles[label])
    )
    others = [label for label in run.labels if label != baseline]
    label = right.selectbox(
        "Compared with", others, key="results.other", format_func=lambda label: foreign.plain(titles[label])
    )
    primary = ev.parse_metric(results.primary)
    changes = ev.changes(run, primary, baseline, label)
    counts = Counter(change.verdict for change in changes)
    chosen = st.pills(
        "Show", VERDICTS, default=["worse"], selection_mode="multi", key="results.verdicts",
        format_func=lambda verdict: md(f"{verdict} ({counts[verdict]})"),
    )  # fmt: skip
    texts = {question.id: question for question in run.judged.questions}
    rows = [change for change in changes if change.verdict in chosen]
    if not rows:
        st.info("No questions match.")
        return
    event = st.dataframe(
        foreign.cells(
            {
                "question": texts[change.question].text,
                titles[baseline]: change.baseline,
                titles[label]: change.score,
                "verdict": change.verdict,
                "kind": texts[change.question].kind,
            }
            for change in rows
        ),
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        key="results.changes",
        column_config={
            foreign.plain(titles[name]): st.column_config.NumberColumn(format="%.3f") for name in (baseline, label)
        } | {"question": st.column_config.TextColumn(width="large")},
    )  # fmt: skip
    picked = [row for row in event["selection"]["rows"] if row < len(rows)]
    if not picked:
        st.caption("Tick a question to see how each strategy arrived at its ranking.")
        return
    question = texts[rows[picked[0]].question]
    _both(run, question.id, question.text, {label: titles[label] for label in (baseline, label)})


def _both(run: ev.RunFolder, question: str, text: str, shown: Mapping[str, str]) -> None:
    foreign.draw(html.results_heading(text))
    titles = ev.document_titles(run, rag_core.read_settings())
    for place, (label, title) in zip(st.columns(2), shown.items(), strict=True):
        record = run.records[label][question]
        with place:
            st.markdown(f"**{md(title)}**")
            if record.error:
                st.error(foreign.label(record.error))
            foreign.draw(rankings.stages(record, run.judged.qrels[question], titles))


main()
