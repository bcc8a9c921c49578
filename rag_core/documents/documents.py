"""Documents on disk: Markdown with front matter, and BEIR folders."""

import itertools
import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from ..language.analysis import language_of
from ..values.errors import DataError, unreadable, why_unreadable
from ..values.message import Message
from ..values.sources import Source
from ..values.where import value_text
from .files import list_files, read_bytes
from .hidden import reported, take_hidden
from .limits import MAX_ID, MAX_LINE, MAX_TITLE, READING, LimitExceeded, shorten
from .markdown import Mark, take_front_matter, take_markdown, take_marks

_BETWEEN = re.compile(r"[^\s,]|\Z")


def elements(text: str) -> Iterator[tuple[int, str]]:
    """(line number from 1, element) of an array, or of objects one after the other.

    What is no JSON ends above the next line that begins as its own does, or is the rest: its reader says why.
    """
    place = _after(text, 0)
    inside = text.startswith("[", place)
    place, number, counted = _after(text, place + inside), 1, 0
    while place < len(text) and text[place] != "]":
        number, counted = number + text.count("\n", counted, place), place
        try:
            end = json.JSONDecoder().raw_decode(text, place)[1]
        except (ValueError, RecursionError):
            begins = text[text.rfind("\n", 0, place) + 1 : place + 1]
            end = (text.find(f"\n{begins}", place) if begins.strip() == "{" else -1) % (len(text) + 1)
        yield number, text[place:end]
        place = _after(text, end)
    if text[place:].strip() != "]" * inside:
        yield number, text[place:] or "…"  # the end is missing


def _after(text: str, place: int) -> int:
    return next(_BETWEEN.finditer(text, place)).start()


BUILTIN = "obstetrics"  # the corpus in data/corpus
SAMPLE = 400  # characters of a row that tell its language, where it names none
_FIELDS = {"_id", "title", "language", "text"}
_OURS = {"id", "title", "language", "topic", "sources", "patient", "questions"}
_ALSO = {"_id": "id", "text": "contents"}  # what Pyserini's collections call them
_ARRAY = Message("a JSON array, not one object a line")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8}){0,3}")


@dataclass(frozen=True, slots=True)
class Document:
    """A document: front matter and body. Its title becomes one line, cut at MAX_TITLE.

    Topic and patient are given in the built-in collection; an empty patient is the mother. Raises DataError if the id
    is longer than MAX_ID.

    Args:
        marks: the sources of its sections, in order; sections without one have all of the document's.
        hidden: what its file hides from readers; in neither title nor text.
        questions: (heading, question) that its file says its sections answer; the first section without a heading.
        metadata: (name, value) to filter by, several for a list (`metadata_of`).
        pieces: the texts of its passages, if a program has cut it; otherwise its sections are cut.
    """

    id: str
    title: str
    language: str
    text: str
    topic: str = ""
    sources: tuple[Source, ...] = ()
    marks: tuple[Mark, ...] = ()
    hidden: tuple[str, ...] = ()
    patient: str = ""
    questions: tuple[tuple[str, str], ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    pieces: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.id) > MAX_ID:
            says = {"most": MAX_ID, "identity": shorten(self.id, 60)}
            long = Message("An id is longer than {most} characters: {identity!r}.", **says)
            raise DataError(long, Message("Shorten it."))
        object.__setattr__(self, "title", shorten(" ".join(self.title.split()), MAX_TITLE))

    @property
    def word_count(self) -> int:
        return len(self.text.split())


def as_seen(document: Document) -> Document:
    """A document without what nobody sees in its title and text; that is in its `hidden`."""
    title, in_title = take_hidden(document.title)
    text, in_text = take_hidden(document.text)
    if not (in_title or in_text) and title == document.title and text == document.text:
        return document
    return replace(document, title=title, text=text, hidden=reported((*document.hidden, *in_title, *in_text)))


def read_document(path: Path) -> Document:
    """Read a Markdown file with the collection's front matter; raises DataError as `parse_document`."""
    try:
        return as_seen(parse_document(read_bytes(path, READING.file).decode("utf-8-sig"), path))
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error, Message("Check the path, and save the file as UTF-8.")) from error
    except LimitExceeded as error:
        what = Message("{path} cannot be read: {reason}.", path=path, reason=error.reason)
        raise DataError(what, Message("Correct or remove the file.")) from error


def parse_document(text: str, path: Path) -> Document:
    """The document in a Markdown text with the collection's front matter; raises DataError for a wrong field or size."""
    import yaml

    others = ("id", "jurisdiction", "type")
    try:
        fields, body = take_front_matter(text.replace("\r\n", "\n").lstrip())
        sources = tuple(
            Source(
                _plain(row, "organisation"),
                _plain(row, "title"),
                int(row["year"]),
                *("" if row.get(name) is None else _plain(row, name) for name in others),
            )
            for row in fields["sources"]
        )
        body, unseen = take_hidden(body.strip())  # first, so that headings are the same in text and marks
        body, marks = take_marks(body, {source.id for source in sources if source.id})
        body, hidden = take_markdown(body)
        return Document(
            id=_plain(fields, "id"),
            title=_plain(fields, "title"),
            language=_plain(fields, "language"),
            topic=_plain(fields, "topic"),
            text=body,
            sources=sources,
            marks=marks,
            hidden=reported((*hidden, *unseen)),
            patient=_plain(fields, "patient") if fields.get("patient") else "",
            questions=questions_in(fields),
            metadata=metadata_of(fields, _OURS),
        )
    except (yaml.YAMLError, LimitExceeded) as error:
        reason = why_unreadable(error)
        what = Message("{path}: the front matter cannot be read: {reason}.", path=path, reason=reason)
        raise DataError(what, Message("Check its YAML.")) from error
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise DataError(
            Message("{path}: a front matter field is missing or invalid: {reason}.", path=path, reason=error),
            Message("Required are id, title, language, topic and sources with organisation, title and year."),
        ) from error


def questions_in(fields: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """`Document.questions` from the front matter's: a list, or lists by heading; otherwise raises TypeError."""
    given = fields.get("questions") or {}
    lists = given if isinstance(given, dict) else {"": given}
    sound = (isinstance(one, list) and all(isinstance(text, str) for text in one) for one in lists.values())
    if not all(sound):
        raise TypeError("questions must be a list of texts, or such lists by heading")
    return tuple((str(heading), text) for heading, one in lists.items() for text in one)


def metadata_of(fields: Mapping[str, Any], known: Collection[str] = ()) -> tuple[tuple[str, str], ...]:
    """`Document.metadata` of fields but those `known`: the plain values, and those of lists; what is nested is left out."""
    return tuple(
        (str(name), shorten(value_text(one), MAX_TITLE))
        for name, value in fields.items()
        for one in (value if isinstance(value, list) else [value])
        if name not in known and not isinstance(one, (list, dict, set, tuple, type(None)))
    )


def _plain(fields: Mapping[str, Any], name: str) -> str:
    """A field as text. Lists and mappings are refused: with aliases, a short one may be endless when written out."""
    value = fields[name]
    if isinstance(value, (list, dict, set, tuple)):
        raise TypeError(f"{name} is not a single value")
    return shorten(str(value), MAX_TITLE) if name != "id" else str(value)


def read_collection(folder: Path) -> list[Document]:
    """All documents under a folder of Markdown files, ordered by id; raises DataError if one cannot be read."""
    documents, faults = readable_documents(folder)
    if faults:
        raise faults[0]
    return documents


def readable_documents(folder: Path) -> tuple[list[Document], list[DataError]]:
    """The readable documents of a collection, by id, and the faults of the others; raises DataError if there are none."""
    if not (paths := markdown_files(folder)):
        step = Message("Restore that folder, or set RAG_DATA to a folder with documents in corpus/.")
        raise DataError(Message("There are no documents in {folder}.", folder=folder), step)
    documents: list[Document] = []
    faults: list[DataError] = []
    for path in paths:
        try:
            documents.append(read_document(path))
        except DataError as error:
            faults.append(error)
    return sorted(documents, key=lambda document: document.id), faults


def markdown_files(folder: Path) -> list[Path]:
    """Like `read_path`, it opens nothing but regular files inside the folder."""
    try:
        return [path for name, path in list_files(folder).files if name.endswith(".md")]
    except OSError:
        return []


def beir_documents(folder: Path) -> Iterator[Document]:
    """The documents of a BEIR folder, in file order; raises DataError as `beir_rows`."""
    for _, row in beir_rows(folder / "corpus.jsonl"):
        document = as_seen(_document(row))
        yield document if document.language else replace(document, language=language_of(document.text[:SAMPLE]))


def json_documents(text: str, path: Path) -> Iterator[Document]:
    """Documents from rows of JSON, one a line or in an array; raises DataError as `beir_rows`, after all the others."""
    top = text.lstrip().partition("\n")[0].rstrip()  # "{" alone: not one object a line
    array = path.suffix.lower() == ".json" or top.startswith("[") or top == "{"
    seen: dict[str, int] = {}
    faults: list[tuple[int, DataError]] = []
    for number, line in elements(text) if array else enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = _row(line, number, path, seen)
        except DataError as error:
            faults.append((number, error))
            continue
        rest = (f"{name}: {value}" for name, value in row.items() if name not in _FIELDS and value)
        yield replace(_document(row), hidden=reported(rest))
    if faults:
        (_, first), *more = faults
        if not more:
            raise first
        also = shorten(", ".join(str(number) for number, _ in more), 100)
        raise DataError(Message("{first} Lines not read either: {also}.", first=first.sentence, also=also))


def _document(row: Mapping[str, Any]) -> Document:
    known = row.get("metadata")
    own = metadata_of({**row, **(known if isinstance(known, dict) else {})}, _FIELDS)
    title, language = str(row.get("title") or ""), language_code(row.get("language"))
    return Document(row["_id"], title, language, row["text"], metadata=own)


def language_code(value: Any) -> str:
    """A language code as given in a file; empty if it is not one."""
    return value if isinstance(value, str) and _LANGUAGE.fullmatch(value) else ""


def beir_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line from 1, row) of a corpus.jsonl or queries.jsonl, ids as text; raises DataError, with line, for a wrong row."""
    seen: dict[str, int] = {}
    return ((number, _row(line, number, path, seen)) for number, line in numbered_lines(path) if line.strip())


def json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """(line from 1, value) of a JSON Lines file, empty lines skipped; raises DataError, with file and line."""
    return ((number, _value(line, number, path)) for number, line in numbered_lines(path) if line.strip())


def _row(line: str, number: int, path: Path, seen: dict[str, int]) -> dict[str, Any]:
    """The row on a line, its id as text; adds that to `seen`, id -> line; raises DataError if it is wrong or repeated."""
    row = _value(line, number, path)
    if isinstance(row, dict):
        row |= {name: row.pop(other) for name, other in _ALSO.items() if name not in row and other in row}
    problem = _ARRAY if number == 1 and isinstance(row, list) else _row_problem(row)
    if problem:
        raise line_fault(path, number, problem, Message("Each line needs _id and text."))
    identity = row["_id"] = str(row["_id"])
    if (first := seen.setdefault(identity, number)) != number:
        again = Message("id {identity!r} is repeated, first on line {first}", identity=identity, first=first)
        raise line_fault(path, number, again, Message("Remove one of the two."))
    return dict(row)


def _row_problem(row: Any) -> str:
    if not isinstance(row, dict):
        return Message("not a JSON object")
    for name in ("_id", "text"):
        if name not in row:
            return Message("no {name!r} field", name=name)
    if type(row["_id"]) not in (str, int) or not str(row["_id"]).strip():
        return Message("_id is {value}, which is not an id", value=shorten(repr(row["_id"]), MAX_TITLE))
    if len(str(row["_id"])) > MAX_ID:
        return Message("_id is longer than {most} characters", most=MAX_ID)
    if not isinstance(row["text"], str):
        return Message("text is {value}, which is not text", value=shorten(repr(row["text"]), MAX_TITLE))
    return ""


def _value(line: str, number: int, path: Path) -> Any:
    problem: str
    try:
        value = json.loads(line)
        if "\\u" in line:
            json.dumps(value, ensure_ascii=False).encode()  # fails on half of an escaped surrogate pair
        return value
    except UnicodeEncodeError as error:
        problem = Message("{sign!r} is half a character", sign=error.object[error.start])
    except json.JSONDecodeError as error:
        array = number == 1 and line.lstrip().startswith("[")
        problem = _ARRAY if array else Message("not JSON ({reason})", reason=error.msg)
    except RecursionError:
        problem = Message("lists or objects are nested too deeply")
    except ValueError as error:  # a number of thousands of digits
        problem = why_unreadable(error)
    raise line_fault(path, number, problem, Message("Fix or remove the line."))


@contextmanager
def open_lines(path: Path) -> Iterator[TextIO]:
    """A text file, open for reading; raises DataError if it cannot be opened or is not UTF-8."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            yield lines
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error, Message("Check that the file exists and is UTF-8.")) from error


def line_fault(path: Path, number: int, problem: str, step: str) -> DataError:
    """The error for a line of a file, from 1; `step` says what to do."""
    where = Message("{path}, line {number}: {problem}.", path=path, number=number, problem=problem)
    return DataError(where, step)


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """(line number from 1, line), reading none longer than MAX_LINE into memory: for these it raises DataError."""
    with open_lines(path) as lines:
        for number in itertools.count(1):
            line = lines.readline(MAX_LINE + 1)
            if len(line) > MAX_LINE:
                long = Message("longer than {most:,} characters", most=MAX_LINE)
                raise line_fault(path, number, long, Message("Shorten or remove the line."))
            if not line:
                return
            yield number, line
