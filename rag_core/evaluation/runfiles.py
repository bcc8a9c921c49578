"""TREC run files: rankings as `question Q0 document rank score tag`, one line a document."""

from __future__ import annotations

import codecs
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from ..values.errors import DataError, InputError
from .metrics import trec_order
from .stored import write_atomically

COLUMNS = 6


def write_run(path: Path, ranked: Mapping[str, Sequence[str]], tag: str) -> None:
    """Write rankings, whole or not at all.

    The scores count down from a ranking's length to 1, whatever the strategy's own were: tools sort by
    score, and the order after MMR or a filter is not that of any score. A question without a document
    leaves no line.

    Args:
        ranked: question id -> distinct document ids, best first.
        tag: the system's name.

    Raises:
        InputError: an id or the tag is empty or has white space, which the format cannot hold.
        StorageError: the file cannot be written.
    """
    lines = [
        f"{_word(question)} Q0 {_word(document)} {rank} {len(documents) - rank + 1} {_word(tag)}\n"
        for question, documents in ranked.items()
        for rank, document in enumerate(documents, start=1)
    ]
    write_atomically(path, "".join(lines))


def read_run(path: Path, known_questions: Collection[str] | None = None) -> dict[str, list[str]]:
    """Read the rankings of any system, ordered as trec_eval does: by score, not by the rank column.

    Args:
        known_questions: ids of the questions to be measured; at least one must be in the file.

    Returns:
        Question id -> document ids, best first; questions in the order of their first line.

    Raises:
        DataError: naming file and line of what is malformed or repeated; or the file is empty, or is about
            other questions.
    """
    scores: dict[str, dict[str, float]] = {}
    lines: dict[tuple[str, str], int] = {}
    for number, columns in _rows(path):
        where = f"{path}, line {number}"
        if len(columns) != COLUMNS:
            raise DataError(
                f"{where}: the number of columns is {len(columns)}, not {COLUMNS}.",
                "A line of a TREC run file is: question Q0 document rank score tag.",
            )
        question, _, document, _, score, _ = columns
        value = _number(score)
        if not math.isfinite(value):
            raise DataError(
                f"{where}: the score {score!r} is not a finite number.", "Mend or remove the line."
            )
        first = lines.setdefault((question, document), number)
        if first != number:
            raise DataError(
                f"{where}: document {document!r} stands twice for question {question!r}, "
                f"first on line {first}.",
                "Remove one of the two lines.",
            )
        scores.setdefault(question, {})[document] = value
    if not scores:
        raise DataError(f"{path} is empty: it ranks no document.", "Write the run again.")
    if known_questions is not None and not scores.keys() & set(known_questions):
        raise DataError(
            f"{path} ranks documents for {len(scores)} questions, none of which is among the judged ones: "
            f"its first is {next(iter(scores))!r}.",
            "It is probably another set's run, or another split's.",
        )
    return {question: trec_order(held) for question, held in scores.items()}


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """(line number from 1, columns); columns are parted by ASCII white space alone, as trec_eval does."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                held = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                if columns := held.split():
                    yield number, [column.decode() for column in columns]
    except UnicodeDecodeError as error:
        raise DataError(f"{path}, line {number}: not UTF-8.", "Save the file as UTF-8.") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error}.", "Check the path.") from error


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _word(text: str) -> str:
    if text.split() != [text]:
        raise InputError(
            f"A TREC run file cannot hold {text!r}: its columns are parted by white space.",
            "Rename it without white space.",
        )
    return text
