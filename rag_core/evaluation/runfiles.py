"""TREC run files: one line per ranked document, `question Q0 document rank score tag`."""

from __future__ import annotations

import codecs
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from ..documents.trec import trec_lines
from ..values.errors import DataError, why_unreadable
from ..values.owner_only import write_atomically
from .metrics import trec_order

COLUMNS = 6


def write_run(path: Path, ranked: Mapping[str, Sequence[str]], tag: str) -> None:
    """Write rankings to a run file atomically; see `trec_lines`.

    Raises:
        InputError: an id or the tag is empty or has white space, which the format does not allow.
        StorageError: the file cannot be written.
    """
    write_atomically(path, trec_lines(ranked, tag))


def read_run(path: Path, known_questions: Collection[str] | None = None) -> dict[str, list[str]]:
    """Read the rankings of any system in trec_eval's order: by score, not by the rank column.

    Args:
        known_questions: ids of the judged questions; at least one must be in the file.

    Returns:
        Question id -> document ids, best first, with the questions in file order.

    Raises:
        DataError: a line is malformed or repeated (the message names file and line), or the file is empty or
            ranks none of the known questions.
    """
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
            raise DataError(
                f"{where}: the score {score!r} is not a finite number.", "Correct or remove the line."
            )
        first = lines.setdefault((question, document), number)
        if first != number:
            raise DataError(
                f"{where}: document {document!r} is ranked twice for question {question!r}, "
                f"first on line {first}.",
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
        raise DataError(f"{path} cannot be read: {why_unreadable(error)}.", "Check the path.") from error


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
