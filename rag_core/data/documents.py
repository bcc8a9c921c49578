"""Documents on disk: Markdown with front matter and a checker for it, and BEIR folders."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..language.analysis import LANGUAGES, language_of
from ..values.errors import DataError
from ..values.profile import Profile, read_profile

BUILTIN = "obstetrics"  # the corpus in data/corpus
TOPICS = frozenset(
    [
        "antenatal",
        "screening",
        "complications",
        "labour",
        "birth",
        "postpartum",
        "newborn",
        "breastfeeding",
        "emergency",
    ]
)
WORDS = (400, 700)  # shortest and longest body of a document


@dataclass(frozen=True, slots=True)
class Source:
    """A publication behind a document's facts."""

    organisation: str
    title: str
    year: int

    def __str__(self) -> str:
        return f"{self.organisation}, {self.title}, {self.year}"


@dataclass(frozen=True, slots=True)
class Document:
    """A document: front matter and body.

    Args:
        topic: one of TOPICS in the built-in collection; otherwise empty.
    """

    id: str
    title: str
    language: str
    text: str
    topic: str = ""
    sources: tuple[Source, ...] = ()

    @property
    def word_count(self) -> int:
        """Words of the body."""
        return len(self.text.split())

    def contains(self, words: str) -> bool:
        """Whether title or body contains each of these words, in any case, also inside longer words."""
        text = f"{self.title} {self.text}".casefold()
        return all(word in text for word in words.casefold().split())


def read_document(path: Path) -> Document:
    """Read a Markdown file with the collection's front matter.

    Raises:
        DataError: the file is unreadable, or a field is missing or has the wrong type.
    """
    import frontmatter
    import yaml

    try:
        post = frontmatter.loads(path.read_text(encoding="utf-8-sig"))
        fields: Mapping[str, Any] = post.metadata
        sources = tuple(
            Source(str(row["organisation"]), str(row["title"]), int(row["year"])) for row in fields["sources"]
        )
        return Document(
            id=str(fields["id"]),
            title=str(fields["title"]),
            language=str(fields["language"]),
            topic=str(fields["topic"]),
            text=post.content,
            sources=sources,
        )
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DataError(
            f"{path} cannot be read: {error}.", "Check the file's encoding and front matter."
        ) from error
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{path}: a front matter field is missing or invalid: {error}.",
            "Required are id, title, language, topic and sources with organisation, title and year.",
        ) from error


def read_collection(folder: Path) -> list[Document]:
    """All documents under a folder of Markdown files, ordered by id.

    Raises:
        DataError: the folder is missing or has no documents, or one cannot be read.
    """
    paths = sorted(folder.rglob("*.md"))
    if not paths:
        raise DataError(
            f"There are no documents in {folder}.",
            "Restore that folder, or set RAG_DATA to a folder with documents in corpus/.",
        )
    return sorted((read_document(path) for path in paths), key=lambda document: document.id)


def builtin_documents(data: Path) -> list[Document]:
    """The documents of the built-in corpus, ordered by id.

    Args:
        data: the folder that contains `corpus`.

    Raises:
        DataError: the folder is missing, or a document cannot be read.
    """
    return read_collection(data / "corpus")


def builtin_profile(data: Path) -> Profile:
    """The profile of the built-in corpus.

    Args:
        data: the folder that contains `corpus`.

    Raises:
        DataError: its profile is malformed.
    """
    return read_profile(data / "corpus") or Profile()


def check_collection(folder: Path) -> list[str]:
    """The faults of a collection, one per line; empty if there are none."""
    problems: list[str] = []
    seen: dict[str, Path] = {}
    bodies: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.md")):
        try:
            document = read_document(path)
        except DataError as error:
            problems.append(str(error))
            continue
        problems += [f"{path}: {problem}" for problem in _document_problems(document, path)]
        if document.id in seen:
            problems.append(f"{path}: id {document.id!r} is also used by {seen[document.id]}")
        seen[document.id] = path
        for paragraph in document.text.split("\n\n"):
            words = " ".join(paragraph.split())
            if len(words.split()) >= 12 and words in bodies:
                problems.append(f"{path}: repeats a paragraph from {bodies[words]}: {words[:60]}…")
            bodies[words] = path
    return problems if seen or problems else [f"{folder}: no documents"]


def _document_problems(document: Document, path: Path) -> Iterator[str]:
    if document.id != f"{path.parent.name}-{path.stem}":
        yield f"id is {document.id!r}, not {path.parent.name}-{path.stem!r}"
    if document.language not in LANGUAGES or document.language != path.parent.name:
        yield f"language {document.language!r} does not match the folder {path.parent.name!r}"
    elif language_of(document.text) != document.language:
        yield f"the text does not seem to be in {document.language!r}"
    if document.topic not in TOPICS:
        yield f"topic {document.topic!r} is not one of {', '.join(sorted(TOPICS))}"
    if not document.text.lstrip().startswith(f"# {document.title}\n"):
        yield "the body does not start with the title as a heading"
    words = len(document.text.split())
    if not WORDS[0] <= words <= WORDS[1]:
        yield f"{words} words, not {WORDS[0]} to {WORDS[1]}"
    if document.text.count("\n## ") < 3:
        yield "fewer than three sections"
    if not document.sources:
        yield "no sources"
    for source in document.sources:
        if not source.organisation or not source.title or not 1990 <= source.year <= 2030:
            yield f"source {source} is malformed"


def beir_documents(folder: Path, name: str = "corpus.jsonl") -> Iterator[Document]:
    """The documents of a BEIR folder, or of another file in this format, in file order.

    Raises:
        DataError: a row is malformed or repeated; the message names file and line.
    """
    for _, row in beir_rows(folder / name):
        title = str(row.get("title") or "")
        language = str(row.get("language") or language_of(row["text"]))
        yield Document(row["_id"], title, language, row["text"])


def beir_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number from 1, row) of a corpus.jsonl or queries.jsonl; a numeric `_id` becomes its text.

    Raises:
        DataError: a line is not a JSON object, has no valid `_id` or `text`, or repeats an id; the message
            names file and line.
    """
    lines: dict[str, int] = {}
    for number, row in json_lines(path):
        if problem := _row_problem(row):
            raise DataError(f"{path}, line {number}: {problem}.", "Each line needs _id and text.")
        row["_id"] = str(row["_id"])
        first = lines.setdefault(row["_id"], number)
        if first != number:
            raise DataError(
                f"{path}, line {number}: id {row['_id']!r} is repeated, first on line {first}.",
                "Remove one of the two.",
            )
        yield number, row


def _row_problem(row: Any) -> str:
    if not isinstance(row, dict):
        return "not a JSON object"
    for name in ("_id", "text"):
        if name not in row:
            return f"no {name!r} field"
    if type(row["_id"]) not in (str, int) or not str(row["_id"]).strip():
        return f"_id is {row['_id']!r}, which is not an id"
    return "" if isinstance(row["text"], str) else f"text is {row['text']!r}, which is not text"


def is_beir(folder: Path) -> bool:
    """Whether this is a BEIR folder."""
    return (folder / "corpus.jsonl").is_file()


def json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """(line number from 1, value) of a JSON Lines file; empty lines are skipped."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    value = json.loads(line)
                    if "\\u" in line:
                        json.dumps(
                            value, ensure_ascii=False
                        ).encode()  # fails on half of an escaped surrogate pair
                    yield number, value
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise DataError(
            f"{path}, line {number}: {half!r} is half a character.", "Fix or remove the line."
        ) from error
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path}, line {number}: not JSON ({error.msg}).", "Fix or remove the line."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path} cannot be read: {error}.", "Check that the file exists and is UTF-8."
        ) from error
