"""Which answers of a comparison answer the question, what says so, and the section that the others missed."""

import hashlib
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from ..documents.benchmark import passage_key
from ..offline.urgent import check_safety
from ..prompts.prompt import COMPARE_ANSWERS, Answers
from ..prompts.replies import read_object
from ..runtime.context import Context
from ..runtime.services import Services
from ..values.errors import ProviderError, attach_calls_to_errors, read_data_file
from ..values.settings import Settings
from ..values.trace import Trace
from ..values.types import Hit, Label, ModelCall, Passage
from .cost_estimate import CostEstimate
from .datasets import judged_answer
from .verdicts import AnswerVerdict, Assessment, assess

Kind = Literal["answers", "partly", "misses", "harmful", "declines", "declines_rightly", "leads", "by_notice", "buries"]
Basis = Literal["judged", "model", "estimated", "urgent"]

JUDGED: Mapping[AnswerVerdict, Kind] = {
    "acceptable": "answers",
    "incomplete": "partly",
    "off_topic": "misses",
    "harmful": "harmful",
    "abstained_wrongly": "declines",
    "abstained_rightly": "declines_rightly",
}
# By the label of the section that an answer quotes first, and a step higher if another column quotes it first too: that
# strategies agree tells as much as a label does. See `estimates`.
ESTIMATED: tuple[Kind, ...] = ("misses", "partly", "answers")
STEPS: Mapping[Label, int] = {"Low": 0, "Medium": 1, "High": 2}


class Estimate(NamedTuple):
    """Of `of` test answers that are estimated so, `answered` answer the question."""

    answered: int
    of: int


BY_MODEL: tuple[Kind, ...] = ("answers", "partly", "misses", "harmful")
LONGEST_WHY = 200  # characters; a model may write more than the line above the columns has room for


@dataclass(frozen=True, slots=True)
class ColumnVerdict:
    """Whether the answer of one column answers the question.

    Args:
        basis: "judged" by the statements that an answer to this question must and must not make, by a language "model",
            "estimated" by the section that it quotes first, or to an "urgent" question by what it begins with.
        lacks: a statement that it should make, and does not; may be empty.
        says: a statement that it must not make; may be empty.
        begins: the section that it quotes first; None where it cites none.
    """

    kind: Kind
    basis: Basis
    lacks: str = ""
    says: str = ""
    begins: Passage | None = None


def column_verdicts(traces: Sequence[Trace | None], settings: Settings) -> tuple[ColumnVerdict | None, ...]:
    """The verdict on the answer of each column; None where nothing can be said of it.

    Nothing calls a model, and no average of a strategy counts. Answers to an urgent question are not estimated, since
    the sections on the ordinary case look much like those on the danger; whether they begin with what to do now is
    checked. Raises DataError if the built-in questions or their answers cannot be read.
    """
    begun = Counter(first.id for trace in traces if trace and (first := first_quoted(trace)))
    return tuple(_verdict(trace, settings, begun) if trace and trace.answer else None for trace in traces)


def estimated(trace: Trace, begun: Counter[str]) -> Kind | None:
    """What an answer is estimated to be, by the columns that begin with each passage; None where nothing tells."""
    first = first_quoted(trace)
    if first is None or first.relevance is None or first.relevance.scorer == "rank":
        return None  # a label by rank says nothing of the question
    return ESTIMATED[min(STEPS[first.relevance.label] + (begun[first.id] > 1), 2)]


def _verdict(trace: Trace, settings: Settings, begun: Counter[str]) -> ColumnVerdict | None:
    begins = _begins(trace)
    if known := judged_answer(trace, settings):
        found: Assessment = assess(known[0], trace, known[1])
        lacks, says = ("".join(each[:1]) for each in (found.missing, found.unwanted))
        return ColumnVerdict(JUDGED[found.verdict], "judged", lacks, says, begins)
    if trace.answer and trace.answer.abstained:
        return ColumnVerdict("declines", "estimated")
    if trace.triage.urgent:
        check = check_safety(trace)
        led: Kind = "by_notice" if check.by_notice else "leads" if check.leads else "buries"
        return ColumnVerdict(led, "urgent", begins=begins)
    kind = estimated(trace, begun)
    return ColumnVerdict(kind, "estimated", begins=begins) if kind else None


def verdicts_by_model(
    traces: Sequence[Trace | None], ctx: Context
) -> tuple[tuple[ColumnVerdict | None, ...], tuple[ModelCall, ...]]:
    """The judge's verdict on the answer of each column, and the calls made: one, repeated if it is malformed.

    The answers are sent unnamed, equal ones once, in an order drawn from their texts, so that neither column nor
    strategy counts. None without an answer; an abstention "declines" and is not sent. Raises RagError, with the calls,
    if the judge fails.
    """
    written = [trace.answer if trace else None for trace in traces]
    texts = {one.text for one in written if one and not one.abstained}
    order = sorted(texts, key=lambda text: hashlib.sha256(text.encode()).digest())

    def parse(reply: str) -> list[tuple[Kind, str]]:
        values = read_object(reply)
        return [_read_verdict(values.get(str(n)), n) for n in range(1, len(order) + 1)]

    found: list[tuple[Kind, str]] = []
    if order:
        question = next(trace.question for trace in traces if trace)
        with attach_calls_to_errors(ctx.meter.calls):
            found = ctx.complete_parsed(COMPARE_ANSWERS, parse, question=question, answers=Answers(order))
    by_text = dict(zip(order, found, strict=True))

    def verdict(trace: Trace | None) -> ColumnVerdict | None:
        if trace is None or trace.answer is None:
            return None
        if trace.answer.abstained:
            return ColumnVerdict("declines", "model")
        kind, why = by_text[trace.answer.text]
        lacks, says = (why if kind == which else "" for which in ("partly", "harmful"))
        return ColumnVerdict(kind, "model", lacks, says, _begins(trace))

    return tuple(map(verdict, traces)), tuple(ctx.meter.calls)


def _read_verdict(value: object, n: int) -> tuple[Kind, str]:
    kind = value.get("verdict") if isinstance(value, dict) else None
    why = value.get("why", "") if isinstance(value, dict) else ""
    if kind not in BY_MODEL or not isinstance(why, str):
        raise ValueError(f"answer {n} has no verdict of {', '.join(BY_MODEL)}")
    if kind in ("partly", "harmful") and not why.strip():
        raise ValueError(f'answer {n} is "{kind}", and its "why" is empty')
    return kind, why.strip()[:LONGEST_WHY]


def bill_of_verdicts(traces: Sequence[Trace | None], rehearsal: Services) -> CostEstimate:
    """What `verdicts_by_model` costs at most, by a `Lab.rehearsal`, which sends nothing."""
    ctx = Context(rehearsal)
    with suppress(ProviderError):  # no rehearsed reply has this shape, so that every attempt is counted
        verdicts_by_model(traces, ctx)
    return CostEstimate.of(ctx.meter.calls)


def first_quoted(trace: Trace) -> Hit | None:
    """The passage of the answer's first citation."""
    if not trace.answer or not trace.answer.citations:
        return None
    first = trace.answer.citations[0].context_id
    return next((hit for hit in trace.ranking if hit.id == first), None)


def _begins(trace: Trace) -> Passage | None:
    first = first_quoted(trace)
    return first.passage if first else None


def would_answer(
    traces: Sequence[Trace | None],
    verdicts: Sequence[ColumnVerdict | None],
    passages: Mapping[str, Passage],
    settings: Settings,
) -> Passage | None:
    """The section that the columns which do not answer should have quoted; None where it is not known.

    What the best column quotes first; for a judged question, the passage that says what a column leaves out.
    """
    known = next((known for trace in traces if trace and (known := judged_answer(trace, settings))), None)
    must = known[0].must if known else ()
    lacks = {one.lacks for one in verdicts if one}
    lacking = {key for one in must if one.says in lacks for key in one.passages}
    for trace, one in zip(traces, verdicts, strict=True):
        if trace and trace.answer and one and one.kind in ("answers", "leads") and one.begins:
            quoted = (passages.get(cited.context_id) for cited in trace.answer.citations)
            return next((each for each in quoted if each and passage_key(each.id) in lacking), one.begins)
    keyed = {passage_key(name): one for name, one in passages.items()}
    needed = (key for one in must for key in one.passages)
    return next((keyed[key] for key in needed if key in keyed), None)


@lru_cache(maxsize=1)
def estimates(data: Path) -> Mapping[Kind, Estimate]:
    """How often answers so estimated do answer, best first, by tests/benchmarks/fit_estimates.py; raises DataError."""
    found = read_data_file(data / "estimates.toml", tomllib.loads)
    return {kind: Estimate(**found[kind]) for kind in reversed(ESTIMATED)}
