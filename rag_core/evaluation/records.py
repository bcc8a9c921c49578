"""An evaluation on disk: written question by question, so that a killed one goes on where it was.

<folder>/
    manifest.json           what is measured with what; two runs with equal `identity` are the same run
    questions.jsonl         the questions with their judgements, so that the folder explains itself
    records/<label>.jsonl   one line a question: the ranking after every stage, seconds, calls, or the error
    runs/<label>.trec       the final rankings, for any other tool
    results.json            metrics, intervals, comparisons
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from ..data.benchmark import JUDGED_BY_AUTHORS, Benchmark, Question
from ..values.errors import ConfigError, DataError, RagError, StorageError
from ..values.trace import Step, Trace
from ..values.types import Cost, ModelCall

LABEL = re.compile(r"[\w.+-]+")
# What two runs must share to be the same run; the rest of a manifest only tells where it ran.
IDENTITY = ("data", "split", "checksum", "strategies", "depth", "engine")


@dataclass(frozen=True, slots=True)
class StageRanking:
    """One ranking after a stage.

    Args:
        origin: which transform wrote its query; "question" for the user's own words.
        retriever: name of the retriever that found it; empty once rankings have been fused.
        query: the text searched with.
        documents: ids, best first, each once: a document stands where its best passage does.
    """

    origin: str
    retriever: str
    query: str
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StageRecord:
    """A stage of one run: its time, and what it left."""

    stage: str
    kind: str
    seconds: float
    lanes: tuple[StageRanking, ...]


@dataclass(frozen=True, slots=True)
class Calls:
    """The model calls of one purpose and model, summed; those of unknown price by themselves."""

    purpose: str
    model: str
    count: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None

    @property
    def cost(self) -> Cost:
        """Their cost."""
        return Cost(unpriced=self.count) if self.cost_usd is None else Cost(self.cost_usd)


@dataclass(frozen=True, slots=True)
class Record:
    """One question through one strategy; with an error when it failed or was stopped, and the calls it took.

    Args:
        earlier: the calls of earlier attempts that came to nothing; they were paid for too.
    """

    question: str
    stages: tuple[StageRecord, ...] = ()
    calls: tuple[Calls, ...] = ()
    warnings: tuple[str, ...] = ()
    error: str = ""
    earlier: tuple[Calls, ...] = ()

    @property
    def ranked(self) -> tuple[str, ...]:
        """Document ids in the order the strategy ends with."""
        return self.stages[-1].lanes[0].documents if self.stages and self.stages[-1].lanes else ()

    def missed(self, grades: Mapping[str, int]) -> list[str]:
        """The relevant documents that are not in the final ranking, in the order of `grades`."""
        found = set(self.ranked)
        return [name for name, grade in grades.items() if grade > 0 and name not in found]

    @property
    def seconds(self) -> float:
        """Sum of the stages' seconds."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def cost(self) -> Cost:
        """Of all calls, those of earlier attempts included."""
        return sum((calls.cost for calls in (*self.calls, *self.earlier)), Cost())

    def after(self, failed: Record | None) -> Record:
        """This record, and with it what an earlier attempt cost."""
        return replace(self, earlier=(*failed.earlier, *failed.calls)) if failed else self

    @classmethod
    def of(cls, question: str, trace: Trace) -> Record:
        """What is kept of a trace."""
        return cls(question, tuple(_stages(trace.steps)), _summed(trace.calls), trace.warnings)

    @classmethod
    def failed(cls, question: str, error: RagError) -> Record:
        """What is kept of a failure: its reason, and the calls it took."""
        return cls(question, calls=_summed(error.calls), error=str(error))

    @classmethod
    def ranking(cls, question: str, documents: Sequence[str]) -> Record:
        """A ranking that another system made."""
        lane = StageRanking("question", "", "", tuple(documents))
        return cls(question, (StageRecord("run file", "retrieve", 0.0, (lane,)),))

    @classmethod
    def parse(cls, row: Mapping[str, Any]) -> Record:
        """The record of one line of a records file."""
        stages = tuple(
            StageRecord(
                one["stage"],
                one["kind"],
                one["seconds"],
                tuple(
                    StageRanking(lane["origin"], lane["retriever"], lane["query"], tuple(lane["documents"]))
                    for lane in one["lanes"]
                ),
            )
            for one in row["stages"]
        )
        calls, earlier = (tuple(Calls(**call) for call in row.get(name, ())) for name in ("calls", "earlier"))
        return cls(row["question"], stages, calls, tuple(row["warnings"]), row["error"], earlier)


def _stages(steps: Sequence[Step]) -> Iterator[StageRecord]:
    for step in steps:
        lanes = tuple(
            StageRanking(
                ranking.query.origin,
                ranking.retriever,
                ranking.query.text,
                tuple(dict.fromkeys(hit.passage.doc_id for hit in ranking)),
            )
            for ranking in step.after.rankings
        )
        yield StageRecord(step.stage, step.kind, step.seconds, lanes)


def _summed(calls: Sequence[ModelCall]) -> tuple[Calls, ...]:
    groups: dict[tuple[str, str, bool], list[ModelCall]] = {}
    for call in calls:
        groups.setdefault((call.purpose, call.model, call.cost_usd is None), []).append(call)
    return tuple(
        Calls(
            purpose,
            model,
            len(group),
            sum(call.input_tokens for call in group),
            sum(call.output_tokens for call in group),
            Cost.of(group).usd,
        )
        for (purpose, model, _), group in groups.items()
    )


class RunFolder:
    """The folder of one evaluation, open for reading and appending.

    Attributes:
        manifest: what is measured with what.
        records: label -> question id -> record, as far as the run has come.
    """

    def __init__(
        self, folder: Path, manifest: Mapping[str, Any], judged: Benchmark, lock: FileLock | None = None
    ) -> None:
        self.folder = folder
        self.manifest = manifest
        self.judged = judged
        self._lock = lock  # held by the one process that appends
        self.records: dict[str, dict[str, Record]] = {
            label: _read_records(folder / "records" / f"{label}.jsonl", mend=lock is not None)
            for label in manifest["strategies"]
        }

    @classmethod
    def create(cls, folder: Path, manifest: Mapping[str, Any], judged: Benchmark) -> RunFolder:
        """A new run, or the one that stands there when it is the same.

        Raises:
            ConfigError: another run stands there, or a label cannot be a file's name.
            StorageError: the folder cannot be written.
        """
        for label in manifest["strategies"]:
            if not LABEL.fullmatch(label):
                raise ConfigError(
                    f"A strategy cannot be labelled {label!r}.", "Use letters, digits, '_', '-', '.' and '+'."
                )
        try:
            (folder / "records").mkdir(parents=True, exist_ok=True)
            # the system lets go of it when its process ends, however that happens
            lock = FileLock(folder / "LOCK", thread_local=False)
            lock.acquire(timeout=0)
        except Timeout:
            raise StorageError(
                f"{folder} is being written by another run.",
                "Wait for it, stop it where it was started, or name another folder.",
            ) from None
        except OSError as error:
            raise StorageError(f"{folder} cannot be written: {error}.", "Check folder and disk.") from error
        try:
            return cls._written(folder, manifest, judged, lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def _written(
        cls, folder: Path, manifest: Mapping[str, Any], judged: Benchmark, lock: FileLock
    ) -> RunFolder:
        """The run whose lock this process has: a new one, or the same one begun before."""
        path = folder / "manifest.json"
        if path.is_file():
            held = read_json(path)
            ours = json.loads(json.dumps(manifest))
            other = [key for key in IDENTITY if key != "engine" and held.get(key) != ours[key]]
            other += different(held.get("engine", {}), ours["engine"])
            if other:
                raise ConfigError(
                    f"{folder} holds another run, with another {', '.join(other)}.",
                    "Name another folder, or delete this one.",
                )
            return cls(folder, held, judged, lock)
        write_atomically(folder / "questions.jsonl", _questions(judged))
        write_atomically(path, json.dumps(manifest, indent=1, ensure_ascii=False))
        return cls(folder, manifest, judged, lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @classmethod
    def open(cls, folder: Path) -> RunFolder:
        """A run that stands on disk, with its own copy of the questions.

        Raises:
            DataError: there is none, or it cannot be read.
        """
        manifest = read_json(folder / "manifest.json")
        try:
            lines = (folder / "questions.jsonl").read_text(encoding="utf-8").split("\n")
            rows = [json.loads(line) for line in lines if line]
            judged = Benchmark(
                manifest["data"],
                manifest["split"],
                tuple(Question(**row["question"]) for row in rows),
                {row["question"]["id"]: row["grades"] for row in rows},
                manifest["checksum"],
                manifest.get("judged_by", JUDGED_BY_AUTHORS),
            )
            return cls(folder, manifest, judged)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{folder} cannot be read: {error!r}.", "Run the evaluation again.") from error

    def close(self) -> None:
        """Let another process write to the run."""
        if self._lock:
            self._lock.release()

    @property
    def labels(self) -> list[str]:
        """The strategies as they are called in this run."""
        return list(self.manifest["strategies"])

    @property
    def finished(self) -> bool:
        """Whether every question was put to every strategy."""
        return all(len(held) == len(self.judged.measured) for held in self.records.values())

    @property
    def results(self) -> dict[str, Any] | None:
        """The stored results; None before the run's end."""
        path = self.folder / "results.json"
        return read_json(path) if path.is_file() else None

    def is_open(self, label: str, question: str) -> bool:
        """Whether a question is still to be put to a strategy: it was not yet, or it failed."""
        held = self.records[label].get(question)
        return held is None or bool(held.error)

    def append(self, label: str, record: Record) -> None:
        """Keep a record, on disk before anything else happens; of one that failed before, what that cost too.

        Raises:
            StorageError: the disk is full or the folder gone.
        """
        record = record.after(self.records[label].get(record.question))
        path = self.folder / "records" / f"{label}.jsonl"
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(record), ensure_ascii=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StorageError(
                f"{path} cannot be written: {error}.", "Free disk space and run the same command again."
            ) from error
        self.records[label][record.question] = record


def identity(manifest: Mapping[str, Any]) -> str:
    """Eight hexadecimal digits of what a run measures."""
    what = json.dumps([manifest[key] for key in IDENTITY], sort_keys=True)
    return hashlib.sha256(what.encode()).hexdigest()[:8]


def different(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The names of what is not the same in two engines."""
    return [key for key in {**one, **other} if one.get(key, "") != other.get(key, "")]


def write_atomically(path: Path, text: str) -> None:
    """Write a file whole or not at all.

    Raises:
        StorageError: it cannot be written.
    """
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error}.", "Check folder and disk.") from error


def _questions(judged: Benchmark) -> str:
    rows = (
        {"question": asdict(question), "grades": dict(judged.qrels[question.id])}
        for question in judged.questions
    )
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file that a run wrote.

    Raises:
        DataError: it is missing or malformed.
    """
    try:
        held: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}.", "Run the evaluation again.") from error
    return held


def _read_records(path: Path, *, mend: bool) -> dict[str, Record]:
    """The records of a file, without a last line that a kill cut off; `mend` takes it off the file."""
    if not path.is_file():
        return {}
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if mend and len(whole) < len(data):
        os.truncate(path, len(whole))
    return {record.question: record for record in _parsed(path, whole)}


def _parsed(path: Path, data: bytes) -> Iterator[Record]:
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line:
            try:
                yield Record.parse(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise DataError(
                    f"{path}, line {number}: not a record ({error!r}).",
                    "Delete the file; its questions are then asked again.",
                ) from error
