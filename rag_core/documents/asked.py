"""The questions that sections of documents are known to answer.

A folder of tab-separated files, of the built-in collection one a document, with a header and the columns

passage     id of the passage that answers, as it was when somebody read it
language    ISO 639-1 code of the question
question    as somebody asks it
taught      when a person said so in the app, ISO 8601 in UTC; this column and the next are in TAUGHT alone
by          who, where people sign in

OUTSIDE has questions that no passage answers, without the first column. In BESIDE, which people put beside their
documents, `passage` can also be a file's name, for its first section, or NAME#HEADING, and `language` can be empty.
"""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

from ..values.errors import DataError, unreadable, unwritable
from ..values.message import Message
from ..values.owner_only import FILE, private_folder, write_atomically
from .documents import line_fault, open_lines
from .limits import megabytes

BESIDE = "asked.tsv"
WRITTEN = "written.tsv"  # by a language model
OUTSIDE = "outside.tsv"
TAUGHT = "taught.tsv"  # what people said in the app, which no measurement may know
MOST_BYTES = 5_000_000  # of BESIDE, some 50,000 questions


class Asked(NamedTuple):
    """A question that a passage answers, by the passage's id, or that none answers ("")."""

    passage: str
    language: str
    question: str
    taught: str = ""
    by: str = ""

    @property
    def document(self) -> str:
        return self.passage.rsplit(":", 2)[0]

    @property
    def words(self) -> str:
        """The question, and when it was taught if it was."""
        if not self.taught:
            return self.question
        return Message("{question} (taught on {day})", question=self.question, day=self.taught[:10])


def asked_folder(home: Path, corpus: str) -> Path:
    """Where the state folder has the questions of a corpus, beside its indexes."""
    return home / "corpora" / corpus / "asked"


def read_asked(folder: Path, *, taught: bool = True) -> list[Asked]:
    """The questions in a folder, in the order of its files; raises DataError with file and line."""
    left_out = {OUTSIDE} if taught else {OUTSIDE, TAUGHT}
    paths = sorted(path for path in folder.glob("*.tsv") if path.name not in left_out)
    return [asked for path in paths for asked in read_questions(path)]


def read_questions(path: Path) -> list[Asked]:
    """The questions in one file, none if there is none; raises DataError as `read_asked`."""
    if not path.exists():
        return []
    header, found = _columns(path), []
    with open_lines(path) as lines:
        try:
            for number, row in enumerate(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE), start=1):
                sound = len(row) == len(header) and (row[0].count(":") >= 2 or path.name in (BESIDE, OUTSIDE))
                if not (row == header if number == 1 else sound):
                    names = ", ".join(header)
                    rule = Message("A file begins with the columns {names}; each row has all.", names=names)
                    raise line_fault(path, number, Message("not a question of a passage"), rule)
                found.append(Asked(**{"passage": "", **dict(zip(header, row, strict=True))}))
        except (csv.Error, UnicodeDecodeError) as error:
            raise unreadable(path, error, Message("Save it as tab-separated UTF-8.")) from error
    return found[1:]


def _columns(path: Path) -> list[str]:
    return list({TAUGHT: Asked._fields, OUTSIDE: Asked._fields[1:3]}.get(path.name, Asked._fields[:3]))


def read_beside(path: Path, name: str) -> list[Asked]:
    """The questions in a file of this name beside documents; raises DataError as `read_asked`, or if it is too large."""
    if path.stat().st_size > MOST_BYTES:
        what = Message("{path} is larger than {limit}.", path=path, limit=megabytes(MOST_BYTES))
        raise DataError(what, Message("Leave some questions out."))
    return [one._replace(passage=name.removesuffix(BESIDE) + one.passage) for one in read_questions(path)]


def change_asked(path: Path, change: Callable[[list[Asked]], Iterable[Asked]]) -> None:
    """Replace a state file's questions by those that `change` makes, under a lock; raises DataError or StorageError."""
    try:
        private_folder(path.parent)
        with FileLock(path.with_suffix(".lock"), mode=FILE):
            old, header = read_questions(path), _columns(path)
            new = list(change(old))
            if new and new != old:
                rows = (header, *(one[: len(header)] for one in new))
                cells = ([" ".join(cell.split()) for cell in row] for row in rows)
                write_atomically(path, "".join("\t".join(row) + "\n" for row in cells))
            elif old and not new:
                path.unlink()
    except OSError as error:
        raise unwritable(path, error, Message("Check folder and disk.")) from error


def drop_asked(folder: Path, gone: Callable[[Asked], bool]) -> None:
    """Delete questions from every file in a folder of the state folder, and below; raises as `change_asked`."""
    for path in folder.rglob("*.tsv"):
        change_asked(path, lambda old: (one for one in old if not gone(one)))


def placed(asked: Iterable[Asked], passages: Iterable[str]) -> tuple[list[Asked], list[Asked], list[Asked]]:
    """The questions with their passages' present ids, those of them to be read again, and those without a passage.

    A passage that moved in its document keeps its questions. So does one whose text changed, by its position: somebody
    should read these again.
    """
    ids = list(passages)
    by_content = {content_of(identity): identity for identity in reversed(ids)}
    by_position = {identity.rsplit(":", 1)[0]: identity for identity in ids}
    found: dict[str, list[Asked]] = defaultdict(list)
    changed, lost = [], []
    for one in asked:
        if (same := by_content.get(content_of(one.passage))) is not None:
            found[same].append(one._replace(passage=same))
        elif (now := by_position.get(one.passage.rsplit(":", 1)[0])) is not None:
            found[now].append(one._replace(passage=now))
            changed.append(found[now][-1])
        else:
            lost.append(one)
    return [one for identity in ids for one in found.get(identity, ())], changed, lost


def content_of(identity: str) -> tuple[str, str]:
    """Document and content hash in a passage's id: the same for the same text."""
    document, _, content = identity.rsplit(":", 2)
    return document, content
