"""The results of a run: metrics, pairs, kinds of questions, stages, and single questions."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import streamlit as st
from markupsafe import Markup
from streamlit.elements.lib.column_types import ColumnConfig

import rag_core
from pages.drawing import untrusted
from pages.drawing.fragments import render
from pages.drawing.translate import declared, t, translated, words_for
from pages.drawing.untrusted import label as md
from pages.evaluate import plots, runs
from pages.shared import corpora, shipped, wording
from pages.shared.measuring import say_judged_by
from rag_core import evaluation as ev
from rag_core.explain import query_title, stage_title

VERDICTS = (
    declared("worse"), declared("better"), declared("different"), declared("failed"), declared("same"),
)  # fmt: skip
SEED = "seed_ndcg"
GROUPS = words_for("question_groups")
EFFECTS = words_for("effects")
LISTED = 10  # documents per stage; the rest are counted


@untrusted.errors()
def draw() -> None:
    """Draw the view."""
    name = _choose()
    if name == shipped.NAME:
        found = shipped.results()
        untrusted.say(f"{t('Is it real?')} {shipped.whether_real(found)}")
        st.caption(translated(shipped.ABOUT))
        _draw(None, found)
        return
    run = ev.RunFolder.open(_past()[name])
    stored = ev.stored_results(run)
    if stored is None:
        st.warning(t("This run did not finish. Start the same measurement again to resume it."))
        return
    _draw(run, stored)


def _draw(run: ev.RunFolder | None, results: ev.Results) -> None:
    names = runs.strategies(results.manifest)
    _head(results, names)
    if run:
        _of_exam(run, results, names)
    titles = [t("Figures"), t("Kinds of questions"), t("Stage by stage"), t("Question by question")]
    figures, groups, *single = st.tabs(
        titles if run else titles[:2],
        key="results.part",
        on_change="rerun",  # only the open one is drawn
    )
    if figures.open:
        with figures:
            _figures(results, names)
    if groups.open:
        with groups:
            _groups(results, names)
    for tab, part in zip(single, (_stages, _questions), strict=False):
        if run and tab.open:
            with tab:
                part(run, results, names)


def _of_exam(run: ev.RunFolder, results: ev.Results, names: Mapping[str, str]) -> None:
    """The result of an exam in words, and what of it nobody judged; nothing for other data."""
    if not run.judged.exam_of:
        return
    metric = wording.metric(results.primary)
    if said := ev.in_words(results, names):
        scale = t("{metric}, from 0 to 1, the higher the better", metric=metric)
        untrusted.say(f"{scale}: {translated(said)}", st.success)
    if without := run.judged.unanswerable:
        untrusted.say(
            t("Questions of which no passage is judged an answer: {count}. They are left out.", count=len(without))
        )
    lacking = ev.unjudged(run, ev.parse_metric(results.primary))
    for label, one in lacking.items():
        untrusted.say(translated(one.sentence(names[label], metric)))
    if lacking:
        asked = {"view": "exam", "corpus": corpora.title(run.judged.exam_of)}
        st.page_link("pages/documents/documents.py", label=t("Have more of them judged"), query_params=asked)


def _past() -> dict[str, Path]:
    return {folder.name: folder for folder in ev.past_runs(rag_core.read_settings())}


def _choose() -> str:
    """The run to show, by name; the measurement that ships with the lab is the last, and the only one at first."""
    past = _past()
    names = [*past, shipped.NAME]
    wanted = st.query_params.get("run")
    if wanted and wanted not in names:
        untrusted.say(t("There is no measured run {name} here.", name=repr(wanted)), st.warning)
    if wanted in names and st.session_state.get("results.linked") != wanted:
        st.session_state["results.run"] = st.session_state["results.linked"] = wanted

    def title(name: str) -> str:
        return t("Shipped with the lab") if name == shipped.NAME else translated(ev.run_title(past[name]))

    chosen: str = untrusted.choose(t("Measured run"), names, title, "results.run", label_visibility="collapsed")
    return chosen


def _head(results: ev.Results, names: Mapping[str, str]) -> None:
    manifest = results.manifest
    depth = t("depth {depth}", depth=manifest.depth or t("as configured"))
    st.markdown(
        t(
            "**{queries:,} questions** of {asked} · {depth} · embeddings {embedding}",
            queries=results.queries,
            asked=md(runs.asked(results.data, results.split)),
            depth=md(depth),
            embedding=md(str(manifest.engine["embedding"])),
        )
    )
    say_judged_by(results.judged_by)
    for label, row in results.strategies.items():
        if row.failed:
            untrusted.say(
                t(
                    "{strategy}: {failed} questions failed and are excluded from the metrics. {failures}",
                    strategy=names[label],
                    failed=row.failed,
                    failures=translated(row.failures[0]),
                ),
                st.warning,
            )


def _figures(results: ev.Results, titles: Mapping[str, str]) -> None:
    primary = ev.parse_metric(results.primary)
    names = list(next(iter(results.strategies.values())).metrics)
    shown = untrusted.choose(t("Metric"), names, wording.metric, "results.metric")
    scores = {titles[label]: row.metrics[shown] for label, row in results.strategies.items()}
    untrusted.chart(plots.intervals(scores, wording.metric(shown)), "intervals")
    real = [name for name in names if not name.startswith(SEED)]
    _scores(results, titles, real)
    st.caption(
        t(
            "Click a column header to sort. “Judged” is the share of the top ten documents with a judgement; "
            "documents without one count as not relevant. Each strategy is timed alone."
        )
    )
    if seeds := [name for name in names if name.startswith(SEED)]:
        with st.expander(t("As RAG-MSR computed it")):
            _scores(results, titles, seeds)
            st.caption(
                t(
                    "Binary gains, with the ideal order taken from the retrieved list itself: missed documents cost nothing. "
                    "The published 0.868, 0.849, 0.763 and 0.918 were computed this way, on ten chosen questions. "
                    "Never compare it with the real nDCG above."
                )
            )
    st.subheader(t("Is the difference real? ({title})", title=md(translated(primary.title))), anchor=False)
    if not results.comparisons:
        st.caption(t("Measure two strategies to compare them."))
        return
    every = len(results.comparisons) == math.comb(len(titles), 2)
    left, right = st.columns(2) if every else (None, st.container())
    if left:
        with left:
            untrusted.chart(plots.pairs(results.comparisons, titles), "pairs")
            st.caption(t("Row minus column, by number; ✓ marks a difference that is probably real. p from a paired randomisation "
                       "test, corrected for all pairs (Holm)."))  # fmt: skip
    with right:
        for pair in results.comparisons:
            swapped = pair.different and pair.difference is not None and pair.difference < 0
            better, worse = (pair.losses, pair.wins) if swapped else (pair.wins, pair.losses)
            # that there are too few questions is said of no pair by name
            of_whom = f"{titles[pair.a]} – {titles[pair.b]}: " if pair.p_holm is None else ""
            st.markdown(
                t(
                    "- {verdict} Better on {better:d} questions, equal on {ties:d}, worse on {worse:d}.",
                    verdict=md(of_whom + translated(ev.verdict(pair, titles))),
                    better=better,
                    ties=pair.ties,
                    worse=worse,
                )
            )
    st.subheader(t("Quality, time and cost"), anchor=False)
    points = [replace(point, name=titles[point.name]) for point in ev.pareto_front(results)]
    untrusted.chart(plots.pareto(points, translated(primary.title)), "front")


def _scores(results: ev.Results, titles: Mapping[str, str], names: Sequence[str]) -> None:
    rows = [
        {"strategy": titles[label]}
        | {name: score.mean if (score := row.metrics[name]) else None for name in names}
        | {"interval": f"{score.ci_low:.3f}–{score.ci_high:.3f}" if (score := row.metrics[names[0]]) else "–"}
        | {
            "n": row.queries,
            "judged": None if row.judged_at_10 is None else 100 * row.judged_at_10,
            "ms": None if row.seconds_per_query is None else 1000 * row.seconds_per_query,
            "cost": row.cost_usd,
        }
        for label, row in results.strategies.items()
    ]
    number = st.column_config.NumberColumn
    formats: dict[str, ColumnConfig | str | None] = {
        **{name: number(wording.metric(name), format="%.3f") for name in names},
        "judged": number(t("Judged"), format="%.1f %%"),
        "ms": number(t("ms per question"), format="%.0f"),
        "cost": number(t("US $ in total"), format="%.4f", help=t("Empty when a price is unknown.")),
        "n": number(t("Questions")),
        "strategy": st.column_config.TextColumn(t("Strategy"), pinned=True),
        "interval": t("{title}, 95 % interval", title=wording.metric(names[0])),
    }
    st.dataframe(untrusted.cells(rows), hide_index=True, column_config=formats)


def _groups(results: ev.Results, titles: Mapping[str, str]) -> None:
    primary = results.primary
    title = wording.metric(primary)
    known = {group: members for group, members in results.groups.items() if members}
    if not known:
        st.info(t("These questions are not labelled by kind, and share one language."))
    for group, members in known.items():
        st.subheader(md(translated(GROUPS.get(group, group))), anchor=False)
        in_words = {wording.kind(name): row for name, row in members.items()}
        untrusted.chart(plots.groups(in_words, primary, title, titles), f"groups.{group}")
    if known:
        st.caption(t("Small groups have wide intervals; widely overlapping intervals decide nothing."))


def _list_title(lane: str) -> str:
    *origin, retriever = lane.split(" ")
    words = [stage_title(retriever), *(query_title(one) for one in origin)]
    return " · ".join(translated(one) for one in words if one)


def _against(before: str, stages: set[str]) -> str:
    """The stage, and of several lists the one, that an effect is measured against."""
    stage = max((one for one in stages if before.startswith(one)), key=len, default="")
    if not stage:
        return before
    lane = _list_title(before.removeprefix(stage).strip())
    return " · ".join(part for part in (translated(stage_title(stage)), lane) if part)


def _stages(run: ev.RunFolder, results: ev.Results, titles: Mapping[str, str]) -> None:
    primary = ev.parse_metric(results.primary)
    st.caption(
        t(
            "{title} after each stage, and its change from the previous ranking, or from the best of several "
            "when a stage fuses them. A stage that both shortens and reorders has two rows: the cut, then "
            "the new order at that length. p is exploratory, uncorrected.",
            title=md(translated(primary.title)),
        )
    )
    for label in run.labels:
        effects = ev.stage_effects(run, label, primary)
        seconds = results.strategies[label].stage_seconds
        st.markdown(f"**{md(titles[label])}**")
        st.dataframe(
            untrusted.cells(
                {
                    t("Stage"): translated(stage_title(effect.stage)),
                    t("Ranking"): _list_title(effect.lane) or "–",
                    t("Effect"): translated(EFFECTS[effect.effect]),
                    t("Documents"): effect.documents,
                    "score": effect.score.mean,
                    t("Change"): effect.change.mean if effect.change else None,
                    t("95 % interval of the change"): t(
                        "({low:+.3f} to {high:+.3f})", low=effect.change.low, high=effect.change.high
                    )
                    if effect.change
                    else "",
                    "p": "" if effect.p is None else plots.p_text(effect.p),
                    t("Against"): _against(effect.before, {one.stage for one in effects}),
                    "ms": 1000 * seconds.get(f"{effect.position + 1} {effect.stage}", 0.0),
                }
                for effect in effects
            ),
            hide_index=True,
            placeholder="",
            column_config={
                "score": st.column_config.NumberColumn(translated(primary.title), format="%.3f"),
                t("Change"): st.column_config.NumberColumn(format="%+.3f"),
                t("Documents"): st.column_config.NumberColumn(format="%.1f", help=t("Mean number after this step.")),
                "ms": st.column_config.NumberColumn(format="%.1f"),
            },
        )
        if rewrites := ev.rewrite_effects(run, label):
            st.dataframe(
                untrusted.cells(
                    {
                        t("Searched with"): row.origin,
                        t("Questions"): row.questions,
                        t("Error rate"): row.error_rate,
                        t("In keywords"): _form_rate(row, "keywords"),
                        t("In sentences"): _form_rate(row, "sentence"),
                        t("Relevant, unique to it"): row.unique_relevant,
                    }
                    for row in rewrites
                ),
                hide_index=True,
                column_config={
                    name: st.column_config.NumberColumn(format="%.2f")
                    for name in (t("Error rate"), t("In keywords"), t("In sentences"))
                },
            )
            st.caption(
                t(
                    "Error rate, as in the RAG-MSR README: the share of retrieved documents that are not relevant; also for "
                    "questions of keywords and of whole sentences alone."
                )
            )


def _form_rate(row: ev.RewriteEffect, form: str) -> float | None:
    errors = row.forms.get(form)
    return errors.error_rate if errors else None


def _questions(run: ev.RunFolder, results: ev.Results, titles: Mapping[str, str]) -> None:
    if len(run.labels) < 2:
        st.info(t("Measure two strategies to see where they differ."))
        return
    left, right = st.columns(2)
    baseline = untrusted.choose(t("Baseline"), run.labels, lambda label: titles[label], "results.baseline", place=left)
    others = [label for label in run.labels if label != baseline]
    label = untrusted.choose(t("Compared with"), others, lambda label: titles[label], "results.other", place=right)
    changes = ev.changes(run, ev.parse_metric(results.primary), baseline, label)
    counts = Counter(change.verdict for change in changes)
    chosen = st.pills(
        t("Show"), VERDICTS, default=["worse"], selection_mode="multi", key="results.verdicts",
        format_func=lambda verdict: md(f"{translated(verdict)} ({counts[verdict]})"),
    )  # fmt: skip
    texts = {question.id: question for question in run.judged.questions}
    rows = [change for change in changes if change.verdict in chosen]
    if not rows:
        st.info(t("No questions match."))
        return
    event = st.dataframe(
        untrusted.cells(
            {
                "question": texts[change.question].text,
                titles[baseline]: change.baseline,
                titles[label]: change.score,
                "verdict": translated(change.verdict),
                "kind": wording.kind(texts[change.question].kind),
            }
            for change in rows
        ),
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        key="results.changes",
        column_config={
            untrusted.plain(titles[name]): st.column_config.NumberColumn(format="%.3f") for name in (baseline, label)
        } | {
            "question": st.column_config.TextColumn(t("Question"), width="large"),
            "verdict": t("Verdict"),
            "kind": t("Kind"),
        },
    )  # fmt: skip
    picked = [row for row in event["selection"]["rows"] if row < len(rows)]
    if not picked:
        st.caption(t("Tick a question to see how each strategy arrived at its ranking."))
        return
    question = texts[rows[picked[0]].question]
    _both(run, question.id, question.text, {label: titles[label] for label in (baseline, label)})


def _both(run: ev.RunFolder, question: str, text: str, shown: Mapping[str, str]) -> None:
    untrusted.draw(render("asking.heading", question=text))
    titles = ev.document_titles(run, rag_core.read_settings())
    for place, (label, title) in zip(st.columns(2), shown.items(), strict=True):
        record = run.records[label][question]
        with place:
            st.markdown(f"**{md(title)}**")
            if record.error:
                untrusted.say(record.error, st.error)
            untrusted.draw(recorded(record, run.judged.qrels[question], titles))


def recorded(record: ev.Record, grades: Mapping[str, int], titles: Mapping[str, str]) -> Markup:
    """Every stage of a run on one question, in order, with each document's grade."""
    return render(
        "strategies.recorded", stages=record.stages, missed=record.missed(grades), grades=grades, titles=titles, most=LISTED
    )  # fmt: skip
