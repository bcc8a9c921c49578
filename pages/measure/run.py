"""Put judged questions to several strategies and watch the figures come in."""

from __future__ import annotations

import streamlit as st

import rag_core
from pages.shared.measuring import Work, choose_data, measure, watch
from rag_core import evaluation as ev

DEFAULT = ("bm25", "simple_semantic", "hybrid_rrf")
OFFERED = ("ndcg@10", "ndcg@5", "ndcg@3", "ndcg@1", "recall@5", "recall@10", "recall@20", "recall@100",
           "precision@5", "mrr", "map", "hit@5", "seed_ndcg@10")  # fmt: skip


def main() -> None:
    """Draw the page."""
    st.header("Measure strategies on judged questions", anchor=False)
    st.markdown(
        "Every question has documents that readers judged relevant. No answers are written and no answer model "
        "is called: this measures what the strategies find."
    )
    work: Work | None = st.session_state.get("measuring")
    running = work is not None and not work.over.is_set()
    _form(disabled=running)
    if work is None:
        return
    st.divider()
    if running:
        watch(work)
    elif work.error:
        st.error(str(work.error))
        if work.run:
            st.caption("What was measured is kept: the same run goes on where it stopped.")
    elif work.run and work.result:
        st.success(f"**{work.title}**: done.")
        st.session_state["run_folder"] = work.run.folder.name
        st.page_link("pages/measure/results.py", label="See the results", icon="📊")


def _form(*, disabled: bool) -> None:
    left, right = st.columns(2)
    with left:
        data = choose_data("run")
        split = st.text_input("Split", "test", help="Which judgements: dev to tune on, test to report on.")
    with right:
        names = st.multiselect(
            "Strategies", list(rag_core.RECIPES), default=[name for name in DEFAULT if name in rag_core.RECIPES],
            format_func=lambda name: rag_core.RECIPES[name].title,
        )  # fmt: skip
        compared = _compared()
        also = st.multiselect(
            "As set on the Compare page", list(compared), format_func=lambda label: compared[label][2],
            help="The columns of the last comparison, with the values they ran with.",
            placeholder="Choose columns" if compared else "Compare a question first",
            disabled=not compared,
        )  # fmt: skip
    with st.expander("Depth and metrics"):
        deep = st.toggle(
            "Deep rankings (100 passages)",
            help="Raises every count of passages to 100, so that deep metrics mean something. "
            "Without it the strategies run as configured.",
        )
        metrics = st.multiselect(
            "Metrics; comparisons go by the first", OFFERED, default=list(ev.DEFAULT_METRICS),
            format_func=lambda name: ev.parse_metric(name).title,
        )  # fmt: skip
    if st.button("Measure", type="primary", disabled=disabled or not (names or also)):
        chosen: dict[str, rag_core.Chosen] = {name: name for name in names}
        chosen |= {label: (compared[label][0], compared[label][1]) for label in also}
        try:
            st.session_state["measuring"] = measure(
                data, split.strip(), chosen, 100 if deep else None, metrics
            )
        except rag_core.RagError as error:
            st.error(str(error))
        else:
            st.rerun()


def _compared() -> dict[str, tuple[str, dict[str, object], str]]:
    """Label -> strategy, control values, title: the columns of the last comparison."""
    run = st.session_state.get("run")
    columns = run.columns if run else ()
    return {
        f"{column.strategy.name}.{position}": (
            column.strategy.name,
            dict(column.strategy.controls),
            f"Column {position}: {rag_core.RECIPES[column.strategy.name].title}",
        )
        for position, column in enumerate(columns, start=1)
    }


main()
