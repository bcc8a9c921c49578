"""The judged questions to measure on, and the lab over their documents."""

import hashlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from ..documents.answer_set import AnswerSet, JudgedAnswer, answer_file, read_answer_set
from ..documents.benchmark import SPLITS, Benchmark, exam_corpus, read_beir, read_builtin, read_questions
from ..documents.documents import BUILTIN, json_lines, readable_documents
from ..lab.engines import Engines
from ..lab.lab import Lab
from ..lab.opening import open_lab
from ..values.errors import DataError
from ..values.message import Message
from ..values.settings import Settings
from ..values.trace import Trace
from ..values.types import document_ids
from .cost_estimate import CostEstimate
from .manifest import BUILTIN_DATA
from .metrics import parse_metric
from .run_folder import RunFolder
from .verdicts import AnswerVerdict, assess


def read_judged(data: str, split: str, settings: Settings) -> Benchmark:
    """The built-in questions, or a BEIR folder's; raises DataError, with file and line, if malformed."""
    try:
        return read_builtin(settings.data, split) if data == BUILTIN_DATA else read_beir(Path(data), split)
    except OSError as error:  # no access, or a name too long to be one
        raise DataError(
            Message("The questions cannot be read: {reason}.", reason=error.strerror or error),
            Message("Check the path and its permissions."),
        ) from error


def splits_of(data: str, settings: Settings) -> tuple[str, ...]:
    """The splits that `read_judged` can read, by name; "test" alone where none can be listed."""
    folder = settings.data / "questions" / "en" if data == BUILTIN_DATA else Path(data)
    try:
        return tuple(sorted(file.stem for file in (folder / "qrels").glob("*.tsv"))) or ("test",)
    except OSError:  # reading it says why
        return ("test",)


def read_answers(data: str, judged: Benchmark, settings: Settings) -> AnswerSet | None:
    """The judged answers to a split's questions, None when the data has none; raises DataError if they are malformed."""
    path = answer_file(settings.data if data == BUILTIN_DATA else Path(data), judged.split)
    return read_answer_set(path, judged) if path.is_file() else None


def quality_of(trace: Trace, settings: Settings) -> dict[str, float] | None:
    """Recall, precision, MRR and nDCG of a trace's documents, by name, cut at the number of its passages.

    None unless it is a built-in question with relevant documents, by its text, asked of the built-in documents, when
    nobody had taught them questions: they may have taught this one. Raises DataError if the questions cannot be read.
    """
    grades = _builtin_grades(settings.data).get(_key(trace.question)) if _can_be_judged(trace) else None
    if grades is None:
        return None
    ranked = document_ids(hit.passage for hit in trace.ranking)
    k = max(len(trace.ranking), 1)
    metrics = (parse_metric(f"{name}@{k}") for name in ("recall", "precision", "mrr", "ndcg"))
    return {metric.name: metric(ranked, grades) for metric in metrics}


@lru_cache(maxsize=1)  # a page asks at every click, and reading takes a tenth of a second
def _builtin_grades(data: Path) -> Mapping[str, Mapping[str, int]]:
    """Question -> document id -> grade, of those with relevant documents."""
    splits = [read_builtin(data, split) for split in SPLITS]
    return {_key(one.text): judged.qrels[one.id] for judged in splits for one in judged.measured}


def judged_answer(trace: Trace, settings: Settings) -> tuple[JudgedAnswer, frozenset[str]] | None:
    """What decides on a trace's answer, and the relevant documents; returns None, and raises, as `quality_of` does."""
    return _builtin_answers(settings.data).get(_key(trace.question)) if trace.corpus == BUILTIN else None


def verdict_of(trace: Trace, settings: Settings) -> AnswerVerdict | None:
    """The verdict on a trace's answer; None without a judged answer, and where taught questions helped it."""
    known = judged_answer(trace, settings) if _can_be_judged(trace) else None
    return assess(known[0], trace, known[1]).verdict if known and trace.answer else None


def _can_be_judged(trace: Trace) -> bool:
    return trace.corpus == BUILTIN and "taught" not in trace.engine


def kind_of(question: str, settings: Settings) -> str:
    """The kind of a built-in question with a judged answer, else ""; raises DataError for unreadable data."""
    known = _builtin_answers(settings.data).get(_key(question))
    return known[0].question.kind if known else ""


@lru_cache(maxsize=1)
def _builtin_answers(data: Path) -> Mapping[str, tuple[JudgedAnswer, frozenset[str]]]:
    """Question -> what decides on its answer, and its relevant documents."""
    found = {}
    for split in SPLITS:
        judged = read_builtin(data, split)
        if (path := answer_file(data, split)).is_file():
            answers = read_answer_set(path, judged)
            qrels = answers.extend(judged).qrels
            for name, one in answers.answers.items():
                grades = qrels.get(name, {})
                found[_key(one.question.text)] = one, frozenset(key for key, grade in grades.items() if grade)
    return found


def _key(question: str) -> str:
    return " ".join(question.split()).casefold()


def open_judged(
    data: str,
    settings: Settings,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
    engines: Engines | None = None,
    consent: Callable[[CostEstimate], None] = lambda bill: None,
) -> Lab:
    """The lab over a judged set's documents, untaught; a BEIR folder is indexed, embedding what is new.

    An exam's lab is that of its corpus or, where there is none, of the passages in its folder. `consent` is called with
    the maximum cost of embedding before anything is sent, and may raise. Raises as `open_lab`.
    """
    folder = None if data == BUILTIN_DATA else Path(data).resolve()
    exam_of = exam_corpus(folder) if folder else ""
    here = exam_of if exam_of == BUILTIN or (settings.home / "corpora" / exam_of).is_dir() else ""
    corpus = here or (corpus_of(folder) if folder else BUILTIN)
    lab = open_lab(
        corpus,
        settings=settings,
        documents=None if here else folder,
        engines=engines,
        progress=progress,
        consent=lambda calls: consent(CostEstimate.of(calls)),
    )
    return lab.untaught([one.text for one in read_questions(folder)] if folder and exam_of else ())


def source_of(data: str) -> str:
    """The data's name in a manifest: "builtin", or the folder's absolute path."""
    return data if data == BUILTIN_DATA else str(Path(data).resolve())


def corpus_of(folder: Path) -> str:
    """The corpus of a BEIR folder's documents: a readable name, unique to the path."""
    name = "".join(char if char.isalnum() else "-" for char in folder.name)
    return f"beir-{name}-{hashlib.sha256(str(folder).encode()).hexdigest()[:6]}"


def document_titles(run: RunFolder, settings: Settings) -> dict[str, str]:
    """Document id -> title; empty when the documents have moved."""
    source = run.manifest.source
    try:
        if source == BUILTIN_DATA:
            documents, _ = readable_documents(settings.data / "corpus")
            return {document.id: document.title for document in documents}
        rows = json_lines(Path(source) / "corpus.jsonl")
        return {str(row["_id"]): str(row.get("title") or "") for _, row in rows}
    except DataError:
        return {}
