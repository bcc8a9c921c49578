"""A saved session for other tools: a spreadsheet's CSV, and TREC run files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

from ..documents.trec import trec_lines
from ..values.notice import NOTICE
from ..values.visible import as_cell
from .saved import Saved

TOPIC = "q1"  # a session has one question
COLUMNS = (
    "question", "label", "strategy", "model", "corpus", "rank", "passage", "document", "title", "relevance",
    "score", "scale", "cited", "voted_best", "text", "source", "notice",
)  # fmt: skip
_SPACE = re.compile(r"\s")


def passages_csv(traces: Sequence[Saved]) -> str:
    """One row per strategy and passage, in UTF-8 with a byte order mark, by which spreadsheets know it.

    A text that a spreadsheet would run as a formula begins with an apostrophe (OWASP, CSV Injection).
    """
    written = io.StringIO()
    rows = csv.writer(written)
    rows.writerow(COLUMNS)
    for trace in traces:
        cited = {one.n for one in trace.answer.citations} if trace.answer else set()
        voted = "" if trace.voted_best is None else "yes" if trace.voted_best else "no"
        for rank, one in enumerate(trace.contexts, start=1):
            cells = (
                trace.question, trace.name, trace.strategy, trace.model, trace.corpus, rank, one.id, one.doc_id, one.title, one.label or "",
                one.score, one.score_scale, "yes" if rank in cited else "no", voted, one.text, one.source, NOTICE,
            )  # fmt: skip
            rows.writerow([as_cell(cell) for cell in cells])
    return f"\ufeff{written.getvalue()}"


def trec_runs(traces: Sequence[Saved]) -> dict[str, str]:
    """Label -> TREC run of the strategy's passages, for topic `TOPIC`; white space in an id becomes "_".

    One run per strategy: a run ranks a document once per topic. The format has no place for our notice.
    """
    return {
        trace.name: trec_lines({TOPIC: [_word(one.id) for one in trace.contexts]}, _word(trace.name))
        for trace in traces
    }


def _word(text: str) -> str:
    return _SPACE.sub("_", text)
