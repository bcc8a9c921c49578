"""The questions that sections of documents are known to answer.

A folder of tab-separated files, of the built-in collection one a document, with a header and the columns

passage     id of the passage that answers, as it was when somebody read it
language    ISO 639-1 code of the question
question    as somebody asks it
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..values.errors import DataError, unreadable
from ..values.message import Message
from .documents import open_lines

HEADER = ["passage", "language", "question"]


class Asked(NamedTuple):
    """A question that a passage answers, by the passage's id."""

    passage: str
    language: str
    question: str


def read_asked(folder: Path) -> list[Asked]:
    """The questions of every document in a folder, in the order of its files; none if there is no folder.

    Raises:
        DataError: a file cannot be read or a row is malformed; the message names file and line.
    """
    return [asked for path in sorted(folder.glob("*.tsv")) for asked in _read(path)]


def _read(path: Path) -> Iterator[Asked]:
    with open_lines(path) as lines:
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        try:
            for number, row in enumerate(rows, start=1):
                sound = len(row) == len(HEADER) and row[0].count(":") >= 2
                if not (row == HEADER if number == 1 else sound):
                    raise DataError(
                        Message(
                            "{path}, line {number}: not a question of a passage.", path=path, number=number
                        ),
                        Message(
                            "A file begins with the columns {names}; each row has all.",
                            names=", ".join(HEADER),
                        ),
                    )
                if number > 1:
                    yield Asked(*row)
        except (csv.Error, UnicodeDecodeError) as error:
            raise unreadable(path, error, Message("Save it as tab-separated UTF-8.")) from error


def placed(asked: Iterable[Asked], passages: Iterable[str]) -> tuple[list[Asked], list[Asked], list[Asked]]:
    """Questions at the passages as they are now.

    A passage that moved in its document keeps its questions; one whose text changed keeps them too, by its position, but
    somebody should read them again.

    Args:
        passages: the ids of all passages.

    Returns:
        The questions with the ids of today's passages, in the order of the passages; those of them whose passage has
        another text; and those without a passage, as they were.
    """
    ids = list(passages)
    by_content = {_content(identity): identity for identity in reversed(ids)}
    by_position = {identity.rsplit(":", 1)[0]: identity for identity in ids}
    found: dict[str, list[Asked]] = defaultdict(list)
    changed, lost = [], []
    for one in asked:
        if (same := by_content.get(_content(one.passage))) is not None:
            found[same].append(one._replace(passage=same))
        elif (now := by_position.get(one.passage.rsplit(":", 1)[0])) is not None:
            found[now].append(one._replace(passage=now))
            changed.append(found[now][-1])
        else:
            lost.append(one)
    return [one for identity in ids for one in found.get(identity, ())], changed, lost


def _content(identity: str) -> tuple[str, str]:
    """Document and content hash in a passage's id."""
    document, _, content = identity.rsplit(":", 2)
    return document, content
