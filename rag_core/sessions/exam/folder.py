"""An exam as a BEIR folder, which `rag eval --data` measures here and any other tool elsewhere."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shutil
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from ...documents.benchmark import EXAM
from ...documents.documents import beir_rows, json_lines, line_fault, open_lines
from ...language.questions import check_question
from ...values.errors import DataError, InputError
from ...values.message import Message
from ...values.owner_only import write_atomically
from ...values.packed import pack, unpack
from ...values.types import Passage, text_key
from ..panel.room import new_token
from .exam import ANSWERS, OWNER, Exam, ExamQuestion, Origin, Tick
from .judgements import Judgements

if TYPE_CHECKING:
    from .store import Exams  # with its database library

FOLDERS = "measured-exams"  # in the state folder: exams as they are measured here
POOL = "pool.jsonl"  # of each question, whose first passages are judged, in the order they are shown
WRITTEN = "written"  # a digest of what one of those folders was written from


def export(judged: Judgements, passages: Iterable[Passage], folder: Path) -> Path:
    """Write an exam as a BEIR folder with all `passages` of its corpus, under their `text_key`s; returns the folder.

    Raises InputError if nothing is judged to answer, and StorageError if the folder cannot be written.
    """
    for name, text in _files(judged, passages).items():
        write_atomically(folder / name, text)  # another may be reading it
    return folder


def as_zip(judged: Judgements, passages: Iterable[Passage]) -> bytes:
    """What `export` writes, as one file; raises InputError as it does."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in _files(judged, passages).items():
            packed.writestr(name, text)
    return written.getvalue()


def for_measuring(exams: Exams, exam: Exam, passages: Mapping[str, Passage], home: Path) -> Path:
    """Export an exam into the state folder, unless it is there, and drop deleted ones; raises as `export`."""
    drop_written(home, keep=[one.code for one in exams.all()])
    folder, judged = home / FOLDERS / exam.code, exams.judgements(exam.code)
    now = hashlib.sha256(repr((_files(judged, ()), [*passages])).encode()).hexdigest()
    with suppress(OSError):
        if (folder / WRITTEN).read_text() == now:
            return folder
    export(judged, passages.values(), folder)
    write_atomically(folder / WRITTEN, now)
    return folder


def drop_written(home: Path, keep: Sequence[str] = ()) -> None:
    """Delete what `for_measuring` wrote, but for exams of some codes; it is written again when one is chosen."""
    for file in (home / FOLDERS).glob(f"*/{EXAM}"):
        if file.parent.name not in keep:
            shutil.rmtree(file.parent, ignore_errors=True)


def read_exam(folder: Path) -> Judgements:
    """An exam as `export` wrote it, to be added to those here; raises DataError, with file and line, for anything else."""
    if not (folder / EXAM).is_file():
        raise DataError(
            Message("{folder} is no exported exam: it has no {name}.", folder=folder, name=EXAM),
            Message("Name a folder that `rag exam export` wrote, or the page's download, unpacked."),
        )
    with _written(folder / EXAM, 1), open_lines(folder / EXAM) as lines:
        said = tomllib.loads(lines.read())
        depth, twice = int(said["depth"]), float(said["twice"])
        exam = Exam("", str(said["title"]), str(said["corpus"]), datetime.now(UTC), depth, twice, new_token())
    pools, questions = dict(json_lines(folder / POOL)), list[ExamQuestion]()
    for number, row in beir_rows(folder / "queries.jsonl"):
        with _written(folder / "queries.jsonl", number):
            about = row["metadata"]
            one = ExamQuestion(number, check_question(row["text"]), str(about["language"]), about["origin"])
            _check(one.id == row["_id"] and one.origin in get_args(Origin))
        with _written(folder / POOL, number):
            pool = pools[number]
            found = unpack(json.dumps(pool["passages"]))
            _check(pool["_id"] == one.id and all(_sound(each) for each in found))
            pooled, strategies = frozenset(map(str, pool["pooled"])), tuple(map(str, pool["strategies"]))
            questions.append(replace(one, passages=tuple(found), pooled=pooled, strategies=strategies))
    return Judgements(exam, tuple(questions), tuple(_ticks(folder / "judgements.tsv", questions)))


def _ticks(path: Path, questions: Iterable[ExamQuestion]) -> Iterator[Tick]:
    places = {(one.id, text_key(passage)): one.number for one in questions for passage in one.passages}
    with open_lines(path) as lines:
        rows, number = csv.DictReader(lines, delimiter="\t"), 2
        while True:
            with _written(path, number):
                if (row := next(rows, None)) is None:
                    return
                number = rows.line_num + 1
                at, grade = places[row["query-id"], row["corpus-id"]], int(row["grade"])
                _check(grade in range(len(ANSWERS)) and None not in row.values())
                judged = datetime.fromisoformat(row["judged"])
                yield Tick(at, row["corpus-id"], row["judge"], grade, row["harm"], judged)


def _sound(passage: object) -> bool:
    texts = [getattr(passage, name) for name in ("id", "doc_id", "title", "heading", "text", "language", "source")]
    return isinstance(passage, Passage) and all(isinstance(one, str) for one in texts)


def _check(holds: bool) -> None:
    if not holds:
        raise ValueError


@contextmanager
def _written(path: Path, number: int) -> Iterator[None]:
    """Say of what cannot be read inside the block that it is not as `export` writes it."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, csv.Error, InputError, DataError) as error:
        what = Message("not as an exported exam has it")
        raise line_fault(path, number, what, Message("Export the exam again, and change nothing in it.")) from error


def _files(judged: Judgements, passages: Iterable[Passage]) -> dict[str, str]:
    exam = judged.exam
    if not judged.measurable:
        raise InputError(
            Message("No passage of exam {code} is judged to answer anything yet.", code=exam.code),
            Message("Judge some."),
        )
    ids = {one.number: one.id for one in judged.questions}
    everyone = dict.fromkeys(one.person for one in judged.ticks)
    names = {person: f"person {place}" for place, person in enumerate(everyone, start=1)} | {OWNER: OWNER}
    corpus = {text_key(p): {"_id": text_key(p), "title": p.full_title, "text": p.text} for p in passages}
    asked = [
        {"_id": one.id, "text": one.text, "metadata": {"language": one.language, "origin": one.origin}}
        for one in judged.questions
    ]
    grades = [(question, key, grade) for question, found in judged.qrels.items() for key, grade in found.items()]
    said = [
        (ids[one.question], one.passage, names[one.person], one.grade, ANSWERS[one.grade], one.harm, one.judged.isoformat())
        for one in judged.ticks
    ]  # fmt: skip
    return {
        "corpus.jsonl": _jsonl(corpus.values()),
        "queries.jsonl": _jsonl(asked),
        "qrels/test.tsv": _tsv([("query-id", "corpus-id", "score"), *grades]),
        "judgements.tsv": _tsv([("query-id", "corpus-id", "judge", "grade", "answer", "harm", "judged"), *said]),
        "judgements.toml": _toml(judged_by=str(judged.standing.sentence)),
        POOL: _jsonl(
            {
                "_id": one.id,
                "strategies": one.strategies,
                "pooled": sorted(one.pooled),
                "passages": json.loads(pack(one.passages)),
            }
            for one in judged.questions
        ),
        EXAM: _toml(corpus=exam.corpus, title=exam.title, depth=exam.depth, twice=exam.twice),
    }


def _jsonl(rows: Iterable[Mapping[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _tsv(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter="\t", lineterminator="\n").writerows(rows)
    return text.getvalue()


def _toml(**values: str | float) -> str:
    return "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in values.items())
