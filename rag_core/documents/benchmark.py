"""Judged questions: the built-in ones and BEIR folders (Thakur et al., NeurIPS 2021).

<folder>/corpus.jsonl             {"_id", "title", "text"}; for the built-in questions, data/corpus instead
<folder>/queries.jsonl            {"_id", "text", "metadata": {"language", "kind", "level"}}
<folder>/qrels/<split>.tsv        query-id, corpus-id, score: judgements of documents
<folder>/qrels-passages/<split>.tsv   built-in only: the same for passages, by document id and position
<folder>/judgements.toml          optional: judged_by = "one sentence on who judged"
<folder>/exam.toml                of an exam: corpus = "the corpus whose passages are judged"; they are then measured one by
                                  one, under the keys that `values.types.text_key` gives
"""

import csv
import hashlib
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..language.analysis import LANGUAGES, language_of
from ..values.errors import DataError, InputError, unreadable
from ..values.message import Message
from ..values.triage import LEVELS
from ..values.types import Passage, document_ids, text_key
from .documents import beir_rows, line_fault, numbered_lines
from .limits import MAX_TITLE, shorten


def trec_lines(ranked: Mapping[str, Sequence[str]], tag: str) -> str:
    """Rankings (question id -> distinct document ids, best first) as lines of a run of the system `tag`.

    Scores count down from the ranking's length to 1: tools sort by score, and the order after MMR or a filter follows
    no score. Raises InputError if an id or the tag is empty or has white space, which the format does not allow.
    """
    return "".join(
        f"{_column(question)} Q0 {_column(document)} {rank} {len(documents) - rank + 1} {_column(tag)}\n"
        for question, documents in ranked.items()
        for rank, document in enumerate(documents, start=1)
    )


def _column(text: str) -> str:
    if text.split() == [text]:
        return text
    what = Message("{text} cannot be a column of a TREC run file: white space separates the columns.", text=repr(text))
    raise InputError(what, Message("Use a name without white space."))


KINDS = [
    "clear", "lay", "keywords", "ambiguous", "facets", "number_negation", "misspelt", "cross_language",
    "outside", "emergency", "hurried",
]  # fmt: skip
SPLITS = ("dev", "test")
EXAM = "exam.toml"
JUDGED_BY_AUTHORS = "Judged by the set's authors; see its documentation."

_HEADER = ["query-id", "corpus-id", "score"]
_GRADE = re.compile(r"(-?[0-9]{1,9})(\.0*)?")  # some sets write 1.0

Qrels = Mapping[str, Mapping[str, int]]  # question id -> document or passage key -> grade


class _Judgement(NamedTuple):
    question: str
    document: str
    grade: int
    decimal: bool  # written as 1.0


@dataclass(frozen=True, slots=True)
class Question:
    """A benchmark question; what its file does not give is empty, but its language is detected."""

    id: str
    text: str
    language: str
    kind: str  # one of KINDS
    level: str  # one of `triage.LEVELS`: what the person who typed it must do
    twin: str = ""  # shared with the same question in the other language


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The questions of one split with their document judgements.

    Args:
        questions: those judged in the split, in file order.
        qrels: of documents; a grade above 0 is relevant.
        checksum: first 16 hexadecimal digits of the SHA-256 of queries, judgements and corpus, one after the other.
        judged_by: a sentence on who judged, from the set itself, and one on each kind of fault in it, with its count.
        also_documents: ids of questions that are documents of the corpus too, as in ArguAna and Quora; as in BEIR, a
            search for one leaves that document out, unless it is judged for the question.
        exam_of: the corpus whose passages are judged, by `text_key`; empty where documents are.
    """

    name: str
    split: str
    questions: tuple[Question, ...]
    qrels: Qrels
    checksum: str
    judged_by: str = JUDGED_BY_AUTHORS
    also_documents: frozenset[str] = frozenset()
    exam_of: str = ""

    def judged_ids(self, passages: Iterable[Passage]) -> tuple[str, ...]:
        """What is judged of passages, in their order, each once: their documents, or of an exam they themselves."""
        return tuple(dict.fromkeys(map(text_key, passages))) if self.exam_of else document_ids(passages)

    @property
    def measured(self) -> tuple[Question, ...]:
        """The questions with a relevant document; metrics are computed on these only."""
        return tuple(question for question in self.questions if self._answerable(question))

    @property
    def unanswerable(self) -> tuple[Question, ...]:
        return tuple(question for question in self.questions if not self._answerable(question))

    def _answerable(self, question: Question) -> bool:
        return any(grade > 0 for grade in self.qrels[question.id].values())


def read_builtin(data: Path, split: str) -> Benchmark:
    """The built-in questions of a split, English and Spanish; raises DataError, with file and line."""
    questions: list[Question] = []
    qrels: dict[str, Mapping[str, int]] = {}
    files: list[Path] = []
    for language in LANGUAGES:
        folder = data / "questions" / language
        path = _qrels_file(folder, split)
        judged = read_qrels(path)
        questions += [question for question in read_questions(folder) if question.id in judged]
        qrels |= judged
        files += [folder / "queries.jsonl", path]
    by = read_judged_by(data / "questions")
    return Benchmark("builtin", split, tuple(questions), qrels, _checksum(files), by)


def read_beir(folder: Path, split: str) -> Benchmark:
    """The judged questions of a BEIR folder; raises DataError, with file and line, also if no document is relevant."""
    if not os.path.isdir(folder):  # Path.is_dir raises an OSError for a name that is too long
        raise DataError(Message("There is no folder {folder}.", folder=folder), Message("Check the path."))
    corpus, queries = folder / "corpus.jsonl", folder / "queries.jsonl"
    qrels_file = _qrels_file(folder, split)
    rows = {row["_id"]: row for row in _query_rows(queries)}
    documents = {row["_id"] for _, row in beir_rows(corpus)}
    judgements = list(_judgements(qrels_file))
    qrels = _by_question(row for row in judgements if row.question in rows)
    if not any(grade > 0 for grades in qrels.values() for grade in grades.values()):
        named = {"qrels_file": qrels_file}
        none = Message("{qrels_file} judges no document relevant, so there is nothing to measure.", **named)
        raise DataError(none, Message("Choose another split, or add judgements with a score above 0."))
    also_documents = frozenset(one for one in qrels if one in documents and one not in qrels[one])
    notes = _notes(judgements, rows, documents, len(also_documents))
    return Benchmark(
        _sentence(folder / EXAM, "title") or folder.resolve().name,
        split,
        tuple(_question(row) for identity, row in rows.items() if identity in qrels),
        qrels,
        _checksum([queries, qrels_file, corpus]),
        Message.joined([read_judged_by(folder), *notes], " ") if notes else read_judged_by(folder),
        also_documents,
        exam_corpus(folder),
    )


def _notes(rows: Sequence[_Judgement], questions: Iterable[str], documents: Iterable[str], also: int) -> list[Message]:
    """What in a set is not as it should be, how often, and what is done about it: as BEIR's and trec_eval's users do."""
    absent = len({row.document for row in rows}.difference(documents))
    unasked = len({row.question for row in rows}.difference(questions))
    again = len(rows) - len({(row.question, row.document) for row in rows})
    decimal = sum(row.decimal for row in rows)
    found = (
        (absent, Message("Judged documents that corpus.jsonl does not have: {count:,}; they count as not found.", count=absent)),
        (unasked, Message("Judged questions that queries.jsonl does not have: {count:,}; they are left out.", count=unasked)),
        (again, Message("Judgements that repeat another: {count:,}; the last one counts.", count=again)),
        (decimal, Message("Grades written with a decimal point: {count:,}; they are whole numbers.", count=decimal)),
        (also, Message("Questions that are documents too: {count:,}; each is left out of what it finds.", count=also)),
    )  # fmt: skip
    return [note for count, note in found if count]


def read_judged_by(folder: Path) -> str:
    """The sentence on who judged in a folder's judgements.toml; without the file, the set's authors. Raises DataError."""
    return _sentence(folder / "judgements.toml", "judged_by") or JUDGED_BY_AUTHORS


def exam_corpus(folder: Path) -> str:
    """The corpus that an exam in a folder is about; empty if it is no exam. Raises DataError."""
    return _sentence(folder / EXAM, "corpus") or ""


def _sentence(path: Path, name: str) -> str | None:
    """A text of a TOML file, on one line; None without the file. Raises DataError."""
    if not path.is_file():
        return None
    try:
        sentence = tomllib.loads(path.read_text(encoding="utf-8")).get(name)
    except (OSError, ValueError, RecursionError) as error:  # includes TOMLDecodeError
        raise unreadable(path, error, Message("Check that it is UTF-8 and TOML.")) from error
    if not isinstance(sentence, str) or not sentence.strip():
        silent = Message("{path} does not say {name}.", path=path, name=name)
        raise DataError(silent, Message('Write {name} = "..." there.', name=name))
    return " ".join(sentence.split())


def read_questions(folder: Path) -> list[Question]:
    """The questions of a queries.jsonl, in file order, metadata in the built-in form only; raises DataError, with line."""
    return [_question(row) for row in _query_rows(folder / "queries.jsonl")]


def read_qrels(path: Path) -> Qrels:
    """The judgements of one split; raises DataError, with file and line, if a row is malformed."""
    return _by_question(_judgements(path))


def _query_rows(path: Path) -> Iterator[dict[str, Any]]:
    for number, row in beir_rows(path):
        if not row["text"].strip():
            bare = Message("question {question!r} has no text", question=row["_id"])
            raise line_fault(path, number, bare, Message("Write it or remove the line."))
        yield row


def _question(row: Mapping[str, Any]) -> Question:
    match row.get("metadata"):
        case {"language": str(language), "kind": str(kind), "level": str(level), **rest} if level in LEVELS:
            return Question(row["_id"], row["text"], language, kind, level, str(rest.get("twin", "")))
    return Question(row["_id"], row["text"], language_of(row["text"]), "", "")


def _judgements(path: Path) -> Iterator[_Judgement]:
    try:
        rows = numbered_lines(path)
        first = next(rows, (1, ""))[1]
        if _columns(first) != _HEADER:
            found = Message("the header is {line}", line=repr(first.strip()[:80]))
            step = Message(
                "BEIR judgements have three tab-separated columns, with the header query-id, corpus-id, score."
            )
            raise line_fault(path, 1, found, step)
        for number, line in rows:
            if not line.strip(" \n"):
                continue
            row = _columns(line)
            if len(row) != len(_HEADER):
                odd = Message("the number of columns is {columns}, not 3", columns=len(row))
                step = Message("Write query-id, corpus-id and score, separated by tabs.")
                raise line_fault(path, number, odd, step)
            question, document, grade = row
            if (read := _GRADE.fullmatch(grade.strip())) is None:
                odd = Message("the score {grade!r} is not a whole number", grade=shorten(grade, MAX_TITLE))
                raise line_fault(path, number, odd, Message("Write grades as 0, 1, 2, ..."))
            yield _Judgement(question, document, int(read[1]), read[2] is not None)
    except csv.Error as error:
        raise unreadable(path, error, Message("Write three columns, separated by tabs.")) from error


def _columns(line: str) -> list[str]:
    """The columns of one line; parsed line by line, so that a stray quote cannot swallow the next lines."""
    return next(csv.reader([line], delimiter="\t"), [])


def _by_question(judgements: Iterable[_Judgement]) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for row in judgements:
        qrels.setdefault(row.question, {})[row.document] = row.grade
    return qrels


def _qrels_file(folder: Path, split: str) -> Path:
    path = folder / "qrels" / f"{split}.tsv"
    splits = sorted(file.stem for file in (folder / "qrels").glob("*.tsv"))
    if split in splits:  # by its name: "../" is no split, and the disk refuses a long one
        return path
    step = Message("{folder} has no judgements.", folder=path.parent)
    if splits:
        step = Message("The splits here: {splits}.", splits=", ".join(splits))
    raise DataError(Message("There are no questions of a split {name!r} here.", name=split), step)


def _checksum(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()[:16]


def passage_key(identity: str) -> str:
    """A passage's id without its content hash: document id and position, as judgements name it."""
    return identity.rsplit(":", 1)[0]
