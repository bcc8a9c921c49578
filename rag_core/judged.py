"""Judged questions: BEIR folders of questions with graded judgements, for documents and for passages.

<folder>/queries.jsonl            {"_id", "text", "metadata": {"language", "kind", "emergency"}}
<folder>/qrels/<split>.tsv        query-id, corpus-id, score: judgements of documents
<folder>/qrels-passages/<split>.tsv   the same for passages, by document id and heading path
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .corpus import json_lines
from .errors import DataError

KINDS = [
    "clear",
    "lay",
    "keywords",
    "ambiguous",
    "facets",
    "number_negation",
    "misspelt",
    "cross_language",
    "outside",
    "emergency",
]
SPLITS = ("dev", "test")
GRADES = (0, 1, 2)

Qrels = Mapping[str, Mapping[str, int]]  # question id -> document or passage key -> grade


@dataclass(frozen=True, slots=True)
class Question:
    """A question to measure on.

    Args:
        kind: one of KINDS.
        emergency: the asker's situation calls for help at once.
    """

    id: str
    text: str
    language: str
    kind: str
    emergency: bool


def read_questions(folder: Path) -> list[Question]:
    """The questions of a folder, in file order.

    Raises:
        DataError: naming file and line of what is malformed.
    """
    path = folder / "queries.jsonl"
    questions = []
    for number, row in json_lines(path):
        try:
            metadata = row["metadata"]
            questions.append(
                Question(
                    row["_id"], row["text"], metadata["language"], metadata["kind"], metadata["emergency"]
                )
            )
        except (KeyError, TypeError) as error:
            raise DataError(
                f"{path}, line {number}: field {error} is missing.", "See data/README.md."
            ) from error
    return questions


def read_qrels(path: Path) -> Qrels:
    """Judgements of one split.

    Raises:
        DataError: naming file and line of what is malformed.
    """
    judged: dict[str, dict[str, int]] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            for number, row in enumerate(csv.reader(lines, delimiter="\t"), start=1):
                if number == 1:
                    if row != ["query-id", "corpus-id", "score"]:
                        raise DataError(
                            f"{path}, line 1: the header is {row}.", "It is query-id, corpus-id, score."
                        )
                    continue
                if len(row) != 3 or not row[2].isdigit():
                    raise DataError(
                        f"{path}, line {number}: not a judgement: {row}.", "Mend or remove the line."
                    )
                if row[1] in judged.setdefault(row[0], {}):
                    raise DataError(
                        f"{path}, line {number}: {row[0]} and {row[1]} stand twice.", "Remove one."
                    )
                judged[row[0]][row[1]] = int(row[2])
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path} cannot be read: {error}.", "Check that the file exists and is UTF-8."
        ) from error
    return judged
