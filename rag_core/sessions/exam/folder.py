"""An exam as a BEIR folder, which `rag eval --data` measures here and any other tool elsewhere."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shutil
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pydantic import TypeAdapter

from ...documents.benchmark import EXAM
from ...values.errors import DataError, InputError
from ...values.message import Message
from ...values.owner_only import write_atomically
from ...values.types import Passage, text_key
from .exam import ANSWERS, OWNER, Exam
from .judgements import Judgements, check

if TYPE_CHECKING:
    from .store import Exams  # with its database library

FOLDERS = "measured-exams"  # in the state folder: exams as they are measured here
WHOLE = "exam.json"  # all that is kept of it but who owns it, to be read again here
MOST_UNPACKED = 100_000_000  # bytes, so that an upload cannot fill the memory
WRITTEN = "written"  # a digest of what one of those folders was written from
_JUDGEMENTS = TypeAdapter(Judgements)


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


def read_exam(text: str) -> Judgements:
    """An exam as `export` wrote it into WHOLE, to be added to those here; raises DataError for anything else."""
    try:
        written = json.loads(text)
        written["exam"] |= {"code": "", "opened": datetime.now(UTC)}
        judged = _JUDGEMENTS.validate_python(written)
        check(judged)
    except (ValueError, KeyError, TypeError, RecursionError, InputError) as error:  # includes pydantic's
        where = f"{error}".splitlines()[:2][-1]  # pydantic's second line
        said = Message("This is not an exam as it is exported; see {where}.", where=where)
        raise DataError(said, Message("Export the exam again, and change nothing in it.")) from error
    return judged


def read_zip(packed: BinaryIO) -> Judgements:
    """An exam as `as_zip` gave it; raises DataError for anything else."""
    broken = zipfile.BadZipFile, zlib.error, LookupError, RuntimeError, UnicodeDecodeError
    with suppress(*broken), zipfile.ZipFile(packed) as archive:
        if archive.getinfo(WHOLE).file_size <= MOST_UNPACKED:
            return read_exam(archive.read(WHOLE).decode())
    raise DataError(Message("This is not the file of an exam."), Message("Take it as it was downloaded."))


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
    ticks = tuple(replace(one, person=names[one.person]) for one in judged.ticks)
    unnamed = {"exam": {"code", "opened", "owner_token"}}
    whole = _JUDGEMENTS.dump_python(replace(judged, ticks=ticks), mode="json", exclude=unnamed)
    grades = [(question, key, grade) for question, found in judged.qrels.items() for key, grade in found.items()]
    said = [
        (ids[one.question], one.passage, one.person, one.grade, ANSWERS[one.grade], one.harm, one.judged.isoformat())
        for one in ticks
    ]  # fmt: skip
    return {
        "corpus.jsonl": _jsonl(corpus.values()),
        "queries.jsonl": _jsonl(asked),
        "qrels/test.tsv": _tsv([("query-id", "corpus-id", "score"), *grades]),
        "judgements.tsv": _tsv([("query-id", "corpus-id", "judge", "grade", "answer", "harm", "judged"), *said]),
        "judgements.toml": _toml(judged_by=str(judged.standing.sentence)),
        WHOLE: json.dumps(whole, ensure_ascii=False, indent=1),
        EXAM: _toml(corpus=exam.corpus, title=exam.title),
    }


def _jsonl(rows: Iterable[Mapping[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _tsv(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter="\t", lineterminator="\n").writerows(rows)
    return text.getvalue()


def _toml(**values: str | float) -> str:
    return "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in values.items())
