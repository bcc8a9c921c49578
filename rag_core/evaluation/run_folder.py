"""An evaluation on disk, written question by question, so that a killed run resumes where it stopped.

<folder>/
    manifest.json           what is measured with what; runs with equal `identity` are the same run
    questions.jsonl         the questions with their judgements, so that the folder is self-contained
    records/<label>.jsonl   one line per question: the ranking after every stage, seconds, calls, or the error
    runs/<label>.trec       the final rankings, for any other tool
    results.json            metrics, intervals, comparisons
"""

import codecs
import json
import math
import os
import re
import time
from collections.abc import Collection, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from ..documents.benchmark import Benchmark, Question
from ..values.errors import ConfigError, DataError, StorageError, unreadable, unwritable
from ..values.message import Message
from ..values.owner_only import FILE, private_file, private_folder, write_atomically
from ..values.settings import Settings
from ..values.visible import as_json
from .manifest import Manifest, data_title, titles
from .metrics import trec_order
from .records import Record, read_records

LABEL = re.compile(r"[\w.+@-]+")


class RunFolder:
    """The folder of one evaluation, open for reading and appending; records are by label and question id."""

    def __init__(self, folder: Path, manifest: Manifest, judged: Benchmark, lock: FileLock | None = None) -> None:
        self.folder = folder
        self.manifest = manifest
        self.judged = judged
        self._lock = lock  # only the process that has it appends
        self.records: dict[str, dict[str, Record]] = {
            label: read_records(folder / "records" / f"{label}.jsonl", repair=lock is not None)
            for label in manifest.strategies
        }

    @classmethod
    def create(cls, folder: Path, manifest: Manifest, judged: Benchmark) -> Self:
        """Start a run or resume the same one; raises ConfigError for another run or a bad label, or StorageError."""
        for label in manifest.strategies:
            if not LABEL.fullmatch(label):
                raise ConfigError(
                    Message("A strategy cannot be labelled {label!r}.", label=label),
                    Message("Use letters, digits, '_', '-', '.' and '+'."),
                )
        try:
            private_folder(folder / "records")
            # the operating system releases it when its process ends, however that happens
            lock = FileLock(folder / "LOCK", mode=FILE, thread_local=False)
            lock.acquire(timeout=0)
        except Timeout:
            raise StorageError(
                Message("{folder} is being written by another run.", folder=folder),
                Message("Wait for it, stop it where it was started, or name another folder."),
            ) from None
        except OSError as error:
            raise unwritable(folder, error, Message("Check folder and disk.")) from error
        path = folder / "manifest.json"
        try:
            if not path.is_file():
                write_atomically(folder / "questions.jsonl", _questions(judged))
                write_atomically(path, as_json(manifest.as_json(), indent=1))
                return cls(folder, manifest, judged, lock)
            stored = Manifest.read(path)
            if conflicts := stored.conflicts(manifest):
                raise ConfigError(
                    Message(
                        "{folder} holds another run: different {names}.",
                        folder=folder,
                        names=", ".join(conflicts),
                    ),
                    Message("Name another folder, or delete this one."),
                )
            return cls(folder, stored, judged, lock)
        except BaseException:
            lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @classmethod
    def open(cls, folder: Path) -> Self:
        """A run on disk, for reading, with its questions; raises DataError if there is none."""
        manifest = Manifest.read(folder / "manifest.json")
        try:
            lines = (folder / "questions.jsonl").read_text(encoding="utf-8").split("\n")
            rows = [json.loads(line) for line in lines if line]
            judged = Benchmark(
                manifest.data,
                manifest.split,
                tuple(Question(**row["question"]) for row in rows),
                {row["question"]["id"]: row["grades"] for row in rows},
                manifest.checksum,
                manifest.judged_by,
                exam_of=next((row.get("exam_of", "") for row in rows), ""),
            )
            return cls(folder, manifest, judged)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise unreadable(folder, error, Message("Run the evaluation again.")) from error

    def close(self) -> None:
        """Release the lock, so that another process can write to the run."""
        if self._lock:
            self._lock.release()

    @property
    def labels(self) -> list[str]:
        return list(self.manifest.strategies)

    @property
    def results_file(self) -> Path:
        return self.folder / "results.json"

    def is_open(self, label: str, question: str) -> bool:
        """Whether a strategy has yet to answer a question: it was not asked, or it failed."""
        record = self.records[label].get(question)
        return record is None or bool(record.error)

    def append(self, label: str, record: Record) -> None:
        """Store a record with the cost of earlier failed attempts; raises StorageError."""
        record = record.after(self.records[label].get(record.question))
        path = self.folder / "records" / f"{label}.jsonl"
        try:
            private_file(path)
            with path.open("a", encoding="utf-8") as file:
                file.write(as_json(asdict(record), indent=None) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise unwritable(path, error, Message("Free disk space and run the same command again.")) from error
        self.records[label][record.question] = record


def folder_for(manifest: Manifest, settings: Settings) -> Path:
    """The unfinished run that measures the same, to be resumed, or a new folder."""
    for folder in past_runs(settings):
        if folder.name.endswith(manifest.identity) and not (folder / "results.json").is_file():
            return folder
    return _runs_folder(settings) / f"{time.strftime('%Y%m%d-%H%M%S')}-{manifest.identity}"


def past_runs(settings: Settings) -> list[Path]:
    """Folders of past runs, newest first."""
    return sorted((path.parent for path in _runs_folder(settings).glob("*/manifest.json")), reverse=True)


def run_title(folder: Path) -> str:
    """A run in one line: when, on what data, which strategies; raises DataError if it cannot be read."""
    manifest = Manifest.read(folder / "manifest.json")
    data = Message("{data} {split}", data=data_title(manifest.data), split=manifest.split)
    return Message.joined([manifest.minute, data, Message.joined(titles(manifest).values())], " · ")


def differences(older: RunFolder, newer: RunFolder) -> list[str]:
    """What differs between the setups of two runs, one sentence each."""
    one, other = older.manifest, newer.manifest
    checks = (
        (one.checksum == other.checksum,
         Message("The questions or judgements differ; only questions in both runs are compared.")),
        (one.engine == other.engine, Message("The models or the index differ.")),
        (one.depth == other.depth, Message("The depth differs.")),
        (one.versions == other.versions, Message("The library versions differ.")),
    )  # fmt: skip
    return [sentence for same, sentence in checks if not same]


def _runs_folder(settings: Settings) -> Path:
    return settings.home / "runs"


def _questions(judged: Benchmark) -> str:
    more = {"exam_of": judged.exam_of} if judged.exam_of else {}
    rows = [
        {"question": asdict(question), "grades": dict(judged.qrels[question.id]), **more}
        for question in judged.questions
    ]
    return "".join(f"{as_json(row, indent=None)}\n" for row in rows)


COLUMNS = 6


def read_run(path: Path, known_questions: Collection[str] | None = None) -> dict[str, list[str]]:
    """Any system's rankings by question id, by score as in trec_eval, not by rank; raises DataError, with file and line."""
    scores: dict[str, dict[str, float]] = {}
    lines: dict[tuple[str, str], int] = {}
    for number, columns in _rows(path):
        where = f"{path}, line {number}"
        if len(columns) != COLUMNS:
            raise DataError(
                f"{where}: the number of columns is {len(columns)}, not {COLUMNS}.",
                "Write each line as: question Q0 document rank score tag.",
            )
        question, _, document, _, score, _ = columns
        value = _number(score)
        if not math.isfinite(value):
            raise DataError(f"{where}: the score {score!r} is not a finite number.", "Correct or remove the line.")
        first = lines.setdefault((question, document), number)
        if first != number:
            raise DataError(
                f"{where}: document {document!r} is ranked twice for question {question!r}, first on line {first}.",
                "Remove one of the two lines.",
            )
        scores.setdefault(question, {})[document] = value
    if not scores:
        raise DataError(f"{path} is empty: it ranks no documents.", "Export the run again.")
    if known_questions is not None and not scores.keys() & set(known_questions):
        raise DataError(
            f"{path} ranks documents for {len(scores)} questions, none of them judged; "
            f"the first is {next(iter(scores))!r}.",
            "Use a run of this data set and split.",
        )
    return {question: trec_order(documents) for question, documents in scores.items()}


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield line numbers, from 1, and columns, split at ASCII white space only, as trec_eval does."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                text = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                if columns := text.split():
                    yield number, [column.decode() for column in columns]
    except UnicodeDecodeError as error:
        raise DataError(f"{path}, line {number}: not UTF-8.", "Save the file as UTF-8.") from error
    except OSError as error:
        raise unreadable(path, error, "Check the path.") from error


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
