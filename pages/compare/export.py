"""The menu that saves a comparison as a file; a file is made when it is asked for."""

import io
import zipfile
from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from pages.drawing import untrusted
from pages.drawing.translate import language, problem, t
from pages.shared import setups
from pages.shared.live import Comparison
from rag_core.sessions.saved import Saved, parse_session, passages_csv, session_json, session_text, trec_runs
from rag_core.values.translation import translated


def menu(run: Comparison) -> None:
    """Draw the menu; nothing for a comparison without a result."""
    if not run.traces:
        return
    several = len(run.traces) > 1
    name = f"comparison-{run.asked:%Y-%m-%d-%H%M}"
    with st.popover(t("Download"), icon=":material/download:", width="content"):
        failures = [
            f"{setups.title(column.setup)}: {problem(why)}"
            for column in run.columns
            if (why := column.error or column.stopped)
        ]
        report = partial(_html, run, language(), failures)
        file(t("Report (HTML, opens offline)"), f"{name}.html", "text/html", report)
        session = partial(session_text, run.traces, _voted(run))
        file(t("Session (JSON, for `rag replay`)"), f"{name}.json", "application/json", session)
        file(t("Passages (CSV)"), f"{name}.csv", "text/csv", lambda: passages_csv(_session(run)))
        ending, kind = (".trec.zip", "application/zip") if several else (".trec", "text/plain")
        file(t("Rankings (TREC run)"), name + ending, kind, partial(_trec, run))
        st.caption(
            t("Every file but the TREC run, whose format has no place for it, says that this is no medical advice.")
        )


def file(title: str, name: str, kind: str, make: Callable[[], str | bytes]) -> None:
    """A button that downloads a file, which is made when it is pressed."""
    st.download_button(untrusted.label(title), make, name, kind, key=f"download.{name}", on_click="ignore", width="stretch")  # fmt: skip


def _session(run: Comparison) -> tuple[Saved, ...]:
    return parse_session(session_json(run.traces, voted=_voted(run)))


def _voted(run: Comparison) -> list[bool]:
    if run.best is None:
        return []
    return [place in run.best for place, column in enumerate(run.columns) if column.trace]


def _html(run: Comparison, language: str, failures: Sequence[str]) -> str:
    """The report in a language, which is passed in because a download is made outside the visit."""
    from rag_core.sessions.html_report import report

    said = [
        saved.model_copy(update={"warnings": [translated(language, one) for one in trace.warnings]})
        for saved, trace in zip(_session(run), run.traces, strict=True)
    ]
    return report(said, run.asked, failures, language)


def _trec(run: Comparison) -> str | bytes:
    runs = trec_runs(_session(run))
    if len(runs) == 1:
        return next(iter(runs.values()))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for label, text in runs.items():
            archive.writestr(f"{label}.trec", text)
    return packed.getvalue()
