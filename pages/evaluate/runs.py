"""Past runs, and two of them side by side."""

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.translate import t, translated
from pages.drawing.untrusted import label
from pages.shared import setups, wording
from rag_core import evaluation as ev


def draw() -> None:
    """Draw the view."""
    folders = ev.past_runs(rag_core.read_settings())
    if not folders:
        st.info(t("Nothing has been measured yet."))
        st.page_link("pages/evaluate/evaluate.py", label=t("Measure strategies"), icon=":material/play_arrow:")
        return
    runs = []
    for folder in folders:
        with untrusted.errors():
            runs.append(ev.RunFolder.open(folder))
    st.caption(t("Choose one run to see its results, or two to compare them."))
    event = st.dataframe(
        untrusted.cells(map(_row, runs)), hide_index=True, on_select="rerun", selection_mode="multi-row", key="history",
        placeholder="", column_config={t("Best"): st.column_config.NumberColumn(format="%.3f")},
    )  # fmt: skip
    picked = [runs[row] for row in event["selection"]["rows"] if row < len(runs)]
    if len(picked) == 1:
        see = {"view": "results", "run": picked[0].folder.name}
        st.button(t("See its results"), type="primary", on_click=st.query_params.update, kwargs=see)
    elif len(picked) == 2:
        _compare(picked[1], picked[0])
    elif picked:
        st.info(t("Choose two runs."))


def _row(run: ev.RunFolder) -> dict[str, object]:
    results, manifest = ev.stored_results(run), run.manifest
    names = strategies(manifest)
    leader = results.leader if results else None
    return {
        t("When"): manifest.minute,
        t("Questions"): t("{count:,} of {asked}", count=manifest.questions, asked=asked(manifest.data, manifest.split)),
        t("Strategies"): ", ".join(names.values()),
        t("Depth"): str(manifest.depth or t("as configured")),
        t("Metric"): wording.metric(results.primary) if results else t("not finished"),
        t("Leader"): names[leader] if leader else "",
        t("Best"): results.primary_means[leader] if results and leader else None,
        t("Embeddings"): manifest.engine["embedding"],
        t("Language model"): setups.called(str(manifest.engine["llm"])),
    }


def _compare(older: ev.RunFolder, newer: ev.RunFolder) -> None:
    st.subheader(t("Comparison"), anchor=False)
    for warning in ev.differences(older, newer):
        untrusted.say(translated(warning), st.warning)
    names = [*ev.DEFAULT_METRICS, "recall@100"]
    metric = untrusted.choose(t("Metric"), names, wording.metric, "history.metric")
    found = ev.compare_runs(older, newer, ev.parse_metric(metric))
    number = st.column_config.NumberColumn
    st.dataframe(
        untrusted.cells(
            {
                t("Strategy"): translated(row.title),
                t("Older"): row.older,
                t("Newer"): row.newer,
                t("In"): t("both")
                if row.comparison
                else t("the older only")
                if row.newer is None
                else t("the newer only"),
                t("Questions in both"): row.comparison.n if row.comparison else None,
                t("Wins of the newer"): row.comparison.wins if row.comparison else None,
                t("Losses"): row.comparison.losses if row.comparison else None,
            }
            for row in found
        ),
        hide_index=True,
        column_config={
            t("Older"): number(format="%.3f"),
            t("Newer"): number(format="%.3f"),
            t("Strategy"): st.column_config.TextColumn(width="large"),
        },
    )
    compared = [(translated(row.title), row.comparison) for row in found if row.comparison]
    if not compared:
        st.info(t("The runs have no strategy with the same settings in common."))
    for title, pair in compared:
        sides = {pair.a: t("{title} (newer)", title=title), pair.b: t("{title} (older)", title=title)}
        st.markdown(f"- {label(translated(ev.verdict(pair, sides)))}")


def asked(data: str, split: str) -> str:
    """The questions of a run: "Built-in questions (test)"; those of a BEIR folder by the folder's name."""
    return t("{questions} ({split})", questions=translated(ev.data_title(data)), split=split)


def strategies(manifest: ev.Manifest) -> dict[str, str]:
    """Label -> title and settings of each strategy of a run."""
    return {label: translated(title) for label, title in ev.titles(manifest).items()}
