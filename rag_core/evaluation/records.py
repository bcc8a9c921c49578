"""What an evaluation stores of each question: the ranking after every stage, seconds, calls, or the error."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from pydantic import TypeAdapter

from ..values.errors import DataError, RagError
from ..values.message import Message
from ..values.trace import Step, Trace
from ..values.types import Cost, Hit, ModelCall, Passage, document_ids, token_counts

JudgedIds = Callable[[Iterable[Passage]], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class StageRanking:
    """One ranking after a stage: distinct documents, best first, each at the rank of its best passage.

    `origin`: the transform that wrote the query ("question" for none); `retriever`: what made it, empty after a fusion.
    """

    origin: str
    retriever: str
    query: str
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StageRecord:
    """One stage of a run: its seconds, and the rankings it left."""

    stage: str
    kind: str
    seconds: float
    lanes: tuple[StageRanking, ...]


@dataclass(frozen=True, slots=True)
class Calls:
    """The model calls of one purpose and model, summed; those of unknown price are summed separately."""

    purpose: str
    model: str
    count: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None

    @property
    def cost(self) -> Cost:
        return Cost(unpriced=self.count) if self.cost_usd is None else Cost(self.cost_usd)

    def __add__(self, other: Self) -> Self:
        return replace(
            self,
            count=self.count + other.count,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=(self.cost + other.cost).usd,
        )


@dataclass(frozen=True, slots=True)
class Record:
    """One question put to one strategy; `error` says why it failed or was stopped, else it is empty.

    `calls` are those of this attempt, `earlier` those of attempts that failed before it: all were paid for. `scores`
    are those of `ranked`, each of the document's best passage; empty where they are not known, as in a run file.
    """

    question: str
    stages: tuple[StageRecord, ...] = ()
    calls: tuple[Calls, ...] = ()
    warnings: tuple[str, ...] = ()
    error: str = ""
    earlier: tuple[Calls, ...] = ()
    scores: tuple[float, ...] = ()

    @property
    def ranked(self) -> tuple[str, ...]:
        return self.stages[-1].lanes[0].documents if self.stages and self.stages[-1].lanes else ()

    def missed(self, grades: Mapping[str, int]) -> list[str]:
        """The relevant documents that are not in the final ranking, in the order of `grades`."""
        found = set(self.ranked)
        return [name for name, grade in grades.items() if grade > 0 and name not in found]

    @property
    def seconds(self) -> float:
        return sum(stage.seconds for stage in self.stages)

    @property
    def cost(self) -> Cost:
        """Of all calls, including those of earlier attempts."""
        return sum((calls.cost for calls in (*self.calls, *self.earlier)), Cost())

    def after(self, failed: Self | None) -> Self:
        return replace(self, earlier=(*failed.earlier, *failed.calls)) if failed else self

    @classmethod
    def of(cls, question: str, trace: Trace, judged_ids: JudgedIds = document_ids) -> Self:
        """`judged_ids` names what is judged of passages, as `Benchmark.judged_ids` does."""
        stages, calls = tuple(_stages(trace.steps, judged_ids)), _summed(trace.calls)
        scores = _judged(next(iter(trace.final.rankings), ()), judged_ids).values()
        return cls(question, stages, calls, trace.warnings, scores=tuple(scores))

    @classmethod
    def failed(cls, question: str, error: RagError) -> Self:
        return cls(question, calls=_summed(error.calls), error=str(error))

    @classmethod
    def ranking(cls, question: str, documents: Sequence[str]) -> Self:
        lane = StageRanking("question", "", "", tuple(documents))
        return cls(question, (StageRecord("run file", "retrieve", 0.0, (lane,)),))


_RECORD = TypeAdapter(Record)
_REQUIRED = {"question", "stages", "warnings", "error"}  # without them, a line is from something else


def _stages(steps: Sequence[Step], judged_ids: JudgedIds) -> Iterator[StageRecord]:
    for step in steps:
        lanes = tuple(
            StageRanking(
                ranking.query.origin,
                ranking.retriever,
                ranking.query.text,
                tuple(_judged(ranking, judged_ids)),
            )
            for ranking in step.after.rankings
        )
        yield StageRecord(step.stage, step.kind, step.seconds, lanes)


def _judged(hits: Iterable[Hit], judged_ids: JudgedIds) -> dict[str, float]:
    """What is judged of a ranking, best first, with the score of its best passage."""
    found: dict[str, float] = {}
    for hit in hits:
        for name in judged_ids([hit.passage]):
            found.setdefault(name, float(hit.score))  # a stage's own may be of numpy
    return found


def _summed(calls: Sequence[ModelCall]) -> tuple[Calls, ...]:
    groups: dict[tuple[str, str, bool], list[ModelCall]] = {}
    for call in calls:
        groups.setdefault((call.purpose, call.model, call.cost_usd is None), []).append(call)
    return tuple(
        Calls(purpose, model, len(group), *token_counts(group), Cost.of(group).usd)
        for (purpose, model, _), group in groups.items()
    )


def read_records(path: Path, *, repair: bool) -> dict[str, Record]:
    """The records of a file by question, without a last line cut short, which `repair` removes; raises DataError."""
    if not path.is_file():
        return {}
    data = path.read_bytes()
    complete = data[: data.rfind(b"\n") + 1]
    if repair and len(complete) < len(data):
        os.truncate(path, len(complete))
    return {record.question: record for record in _parsed(path, complete)}


def _parsed(path: Path, data: bytes) -> Iterator[Record]:
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line:
            continue
        try:
            row = json.loads(line)
            if missing := _REQUIRED - row.keys():
                raise ValueError(f"no {min(missing)}")
            yield _RECORD.validate_python(row)
        except (ValueError, AttributeError) as error:  # pydantic's ValidationError is a ValueError
            raise DataError(
                Message(
                    "{path}, line {number}: not a record ({reason}).",
                    path=path,
                    number=number,
                    reason=repr(error),
                ),
                Message("Delete the file; its questions will be asked again."),
            ) from error
