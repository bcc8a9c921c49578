"""The JSON of `rag query --json` and `rag compare --json`: written, read back, and exported as CSV and TREC runs."""

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from ..documents.benchmark import trec_lines
from ..values.answers import Citation, Remark
from ..values.errors import DataError, why_unreadable
from ..values.message import NOTICE
from ..values.sources import Source
from ..values.trace import Trace
from ..values.types import Cost, ModelCall
from ..values.visible import as_cell, as_json

_HINT = "Save one with `rag query QUESTION --json > FILE`, or `rag compare`."


class _Part(BaseModel):
    """Keys that nothing here reads are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class SavedQuery(_Part):
    """A query, and what the embedding model read in its place."""

    text: str
    origin: str
    weight: float
    read_as: str | None = None


class SavedContext(_Part):
    """A passage at its rank."""

    id: str
    title: str
    score: float
    score_scale: str
    label: str | None
    doc_id: str = ""
    text: str = ""
    source: str = ""
    sources: tuple[Source, ...] = ()
    differs_from: tuple[Source, ...] = ()
    gives_orders: bool = False


class SavedSentence(_Part):
    """A sentence of an answer and how well passages support it."""

    text: str
    support: str


class SavedAnswer(_Part):
    """An answer."""

    text: str
    abstained: bool
    reason: str = ""
    notice: str = ""
    citations: tuple[Citation, ...] = ()
    sentences: tuple[SavedSentence, ...] = ()
    remarks: tuple[Remark, ...] = ()


class SavedStep(_Part):
    """A stage that ran, with its duration in seconds."""

    stage: str
    seconds: float
    calls: tuple[ModelCall, ...] = ()

    @property
    def cost_usd(self) -> float | None:
        return Cost.of(self.calls).usd


class SavedMetrics(_Part):
    """Tokens and US dollars of the whole run; None where a price is unknown."""

    total_cost: float | None
    total_input_tokens: int = 0
    total_output_tokens: int = 0


class Saved(_Part):
    """A saved trace."""

    question: str
    strategy: str
    controls: dict[str, Any]
    fingerprint: str
    queries: tuple[SavedQuery, ...]
    contexts: tuple[SavedContext, ...]
    answer: SavedAnswer | None
    metrics: SavedMetrics
    engine: dict[str, Any]
    models: dict[str, str] = {}
    label: str = ""
    country: str | None = None
    steps: tuple[SavedStep, ...] = ()
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    voted_best: bool | None = None

    @property
    def corpus(self) -> str:
        return str(self.engine.get("index") or "").partition(",")[0]

    @property
    def subject(self) -> str:
        """What that corpus was about; empty where it was not said."""
        return str(self.engine.get("profile") or "").partition(" · ")[0]

    @property
    def model(self) -> str:
        """Name of the language model that wrote the answer, or of the offline engine."""
        return str(self.engine.get("llm") or "")

    @property
    def name(self) -> str:
        """What tells it from the other traces of its session."""
        return self.label or self.strategy


class _Compared(_Part):
    traces: tuple[Saved, ...]


def session_json(traces: Sequence[Trace], labels: Sequence[str] = (), voted: Sequence[bool] = ()) -> dict[str, Any]:
    """The JSON that `rag compare --json` prints, and `read_session` reads, of at least one trace of one question.

    `labels` are the strategies' by default, numbered where equal; `voted` says which were voted best, if there was a vote.
    """
    return {
        "notice": NOTICE,
        "question": traces[0].question,
        "traces": [
            {"label": label, **trace.as_json(), **({"voted_best": voted[place]} if voted else {})}
            for place, (label, trace) in enumerate(zip(labels or _labels(traces), traces, strict=True))
        ],
    }


def session_text(traces: Sequence[Trace], voted: Sequence[bool] = ()) -> str:
    """`session_json` as the command line prints it."""
    return f"{as_json(session_json(traces, voted=voted))}\n"


def _labels(traces: Sequence[Trace]) -> list[str]:
    names = [trace.strategy for trace in traces]
    return [
        f"{name}_{names[:place].count(name) + 1}" if names.count(name) > 1 else name for place, name in enumerate(names)
    ]


def read_session(path: Path) -> tuple[Saved, ...]:
    """The traces of a session file: at least one, all for the same question; raises DataError."""
    text = read_text(path)
    try:
        return parse_session(json.loads(text))
    except DataError as error:
        raise DataError(f"{path} is not a saved session: {error.message}", _HINT) from error
    except (ValueError, RecursionError) as error:  # ValueError: no JSON, or a number of thousands of digits
        raise DataError(f"{path} is not a saved session: it is not JSON ({why_unreadable(error)}).", _HINT) from error


def read_text(path: Path) -> str:
    """The text of a session file; raises DataError if the file cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise DataError(f"{path} cannot be read: {why_unreadable(error)}.", _HINT) from error


def parse_session(data: object) -> tuple[Saved, ...]:
    """The traces in the JSON of a session, as `session_json` gives it; raises DataError for another shape."""
    try:
        several = isinstance(data, dict) and "traces" in data
        traces = _Compared.model_validate(data).traces if several else (Saved.model_validate(data),)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DataError(f"{f'{where}: ' if where else ''}{first['msg']}.", _HINT) from error
    if len({saved.question for saved in traces}) != 1:
        raise DataError("it has no trace, or more than one question.", _HINT)
    return traces


TOPIC = "q1"  # a session has one question
COLUMNS = (
    "question", "label", "strategy", "model", "corpus", "rank", "passage", "document", "title", "relevance",
    "score", "scale", "cited", "voted_best", "text", "source", "notice",
)  # fmt: skip
_SPACE = re.compile(r"\s")


def passages_csv(traces: Sequence[Saved]) -> str:
    """A row per strategy and passage, UTF-8 with BOM; formulas begin with an apostrophe (OWASP, CSV Injection)."""
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
