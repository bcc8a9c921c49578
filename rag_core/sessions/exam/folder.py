"""An exam as a BEIR folder, which `rag eval --data` measures here and any other tool elsewhere; and how far it is."""

from __future__ import annotations

import csv
import io
import json
import shutil
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...documents.benchmark import EXAM
from ...values.errors import InputError, unwritable
from ...values.message import Message
from ...values.owner_only import write_atomically
from ...values.types import Passage, text_key
from .exam import ANSWERS, OWNER, Exam, ExamQuestion, Tick, agreement, disputed, qrels

if TYPE_CHECKING:
    from .store import Exams  # with its database library

SPLIT = "test"
FOLDERS = "measured-exams"  # in the state folder: exams as they are measured here, written again whenever one is chosen


@dataclass(frozen=True, slots=True)
class Standing:
    """How far an exam is.

    Args:
        cards: passages to judge, over all questions.
        judged: of those, how many somebody has.
        complete: questions whose every passage is judged by as many people as it needs.
        harmful: passages of which somebody says how they could harm.
        agreement: see `exam.agreement`.
    """

    questions: int
    pooled: int
    complete: int
    cards: int
    judged: int
    people: int
    disputed: int
    harmful: int
    agreement: float | None

    @classmethod
    def of(cls, exam: Exam, questions: Sequence[ExamQuestion], ticks: Sequence[Tick]) -> Standing:
        said: dict[tuple[int, str], set[str]] = {}
        for tick in ticks:
            said.setdefault((tick.question, tick.passage), set()).add(tick.person)
        cards = {(one.number, text_key(p)): exam.judges(one.number) for one in questions for p in one.passages}
        short = {key[0] for key, needed in cards.items() if len(said.get(key, set()) - {OWNER}) < needed}
        pooled = [one for one in questions if one.passages]
        return cls(
            questions=len(questions),
            pooled=len(pooled),
            complete=sum(one.number not in short for one in pooled),
            cards=len(cards),
            judged=len(cards.keys() & said.keys()),
            people=len({tick.person for tick in ticks} - {OWNER}),
            disputed=len(disputed(ticks)),
            harmful=len({(tick.question, tick.passage) for tick in ticks if tick.harm}),
            agreement=agreement(ticks),
        )

    @property
    def sentence(self) -> Message:
        """Who judged, for a result: an exam's `judged_by`."""
        alpha = Message("not defined") if self.agreement is None else f"{self.agreement:.2f}"
        return Message(
            "An exam judged by {people} people: {judged} of {cards} passages of {questions} questions, as 2 (answers), "
            "1 (in part) or 0; Krippendorff's alpha {alpha}; of {disputed} disagreements not settled, the lower grade counts. "
            "What nobody judged counts as 0; known questions like the exam's are left out.",
            people=self.people,
            judged=self.judged,
            cards=self.cards,
            questions=self.pooled,
            alpha=alpha,
            disputed=self.disputed,
        )

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def export(
    exam: Exam,
    questions: Sequence[ExamQuestion],
    ticks: Sequence[Tick],
    passages: Iterable[Passage],
    folder: Path,
) -> Path:
    """Write an exam as a BEIR folder with all `passages` of its corpus, under their `text_key`s; returns the folder.

    Raises InputError if nothing is judged to answer, and StorageError if the folder cannot be written.
    """
    files = _files(exam, questions, ticks, passages)
    try:
        (folder / "qrels").mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise unwritable(folder, error, Message("Choose another folder.")) from error
    return folder


def as_zip(exam: Exam, questions: Sequence[ExamQuestion], ticks: Sequence[Tick], passages: Iterable[Passage]) -> bytes:
    """What `export` writes, as one file; raises InputError as it does."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in _files(exam, questions, ticks, passages).items():
            packed.writestr(name, text)
    return written.getvalue()


def for_measuring(exams: Exams, exam: Exam, home: Path) -> Path:
    """Write an exam, with no other passages than its own, to be measured here; returns its folder. Raises as `export`.

    Drops what was written of exams that are no longer there.
    """
    drop_written(home, keep=[one.code for one in exams.all()])
    questions, folder = exams.questions(exam.code), home / FOLDERS / exam.code
    own = [passage for one in questions for passage in one.passages]
    for name, text in _files(exam, questions, exams.ticks(exam.code), own).items():
        write_atomically(folder / name, text)  # another may be reading it
    return folder


def drop_written(home: Path, keep: Sequence[str] = ()) -> None:
    """Delete what `for_measuring` wrote, but for exams of some codes; it is written again when one is chosen."""
    for file in (home / FOLDERS).glob(f"*/{EXAM}"):
        if file.parent.name not in keep:
            shutil.rmtree(file.parent, ignore_errors=True)


def _files(
    exam: Exam, questions: Sequence[ExamQuestion], ticks: Sequence[Tick], passages: Iterable[Passage]
) -> dict[str, str]:
    judged = qrels(questions, ticks)
    if not any(grade for grades in judged.values() for grade in grades.values()):
        raise InputError(
            Message("No passage of exam {code} is judged to answer anything yet.", code=exam.code),
            Message("Judge some."),
        )
    names = {one.number: one.id for one in questions}
    people = {person: f"person {place}" for place, person in enumerate(dict.fromkeys(t.person for t in ticks), start=1)}
    people[OWNER] = OWNER
    sentence = Standing.of(exam, questions, ticks).sentence
    corpus = {text_key(p): {"_id": text_key(p), "title": p.full_title, "text": p.text} for p in passages}
    asked = [
        {"_id": one.id, "text": one.text, "metadata": {"language": one.language, "origin": one.origin}}
        for one in questions
    ]
    grades = [(question, passage, grade) for question, found in judged.items() for passage, grade in found.items()]
    said = [
        (
            names[t.question],
            t.passage,
            people[t.person],
            t.grade,
            ANSWERS[t.grade],
            t.harm,
            t.judged.isoformat(),
        )
        for t in ticks
    ]
    return {
        "corpus.jsonl": _jsonl(corpus.values()),
        "queries.jsonl": _jsonl(asked),
        f"qrels/{SPLIT}.tsv": _tsv([("query-id", "corpus-id", "score"), *grades]),
        "judgements.tsv": _tsv([("query-id", "corpus-id", "judge", "grade", "answer", "harm", "judged"), *said]),
        "judgements.toml": f"judged_by = {json.dumps(str(sentence), ensure_ascii=False)}\n",
        EXAM: f"corpus = {json.dumps(exam.corpus, ensure_ascii=False)}\ntitle = {json.dumps(exam.title, ensure_ascii=False)}\n",
    }


def _jsonl(rows: Iterable[Mapping[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _tsv(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter="\t", lineterminator="\n").writerows(rows)
    return text.getvalue()
