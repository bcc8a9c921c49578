"""Documents on disk: the collection's Markdown format with its checker, and BEIR folders."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..language.analysis import LANGUAGES, language_of
from ..values.errors import DataError
from ..values.profile import Profile, read_profile
from ..values.settings import read_settings

BUILTIN = "obstetrics"  # the corpus of the documents in data/corpus
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
WORDS = (400, 700)  # length of a document's body


@dataclass(frozen=True, slots=True)
class Source:
    """A publication that a document's facts come from."""

    organisation: str
    title: str
    year: int

    def __str__(self) -> str:
        return f"{self.organisation}, {self.title}, {self.year}"


@dataclass(frozen=True, slots=True)
class Document:
    """A document: its front matter and its body.

    Args:
        topic: one of TOPICS for the built-in collection; empty elsewhere.
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
        DataError: the file is unreadable, or a field is missing or of the wrong kind.
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
            f"{path}: the front matter lacks a field or has a wrong one: {error}.",
            "It needs id, title, language, topic and sources with organisation, title and year.",
        ) from error


def read_collection(folder: Path) -> list[Document]:
    """Every document under a folder of Markdown files, by id.

    Raises:
        DataError: the folder is missing or holds no document, or one cannot be read.
    """
    paths = sorted(folder.rglob("*.md"))
    if not paths:
        raise DataError(
            f"There is no document in {folder}.",
            "Restore that folder, or set RAG_DATA to a folder whose corpus/ holds documents.",
        )
    return sorted((read_document(path) for path in paths), key=lambda document: document.id)


def builtin_documents() -> list[Document]:
    """The documents of the built-in corpus, by id.

    Raises:
        DataError: the folder is missing, or a document cannot be read.
    """
    return read_collection(read_settings().data / "corpus")


def builtin_profile() -> Profile:
    """What the built-in corpus is about.

    Raises:
        DataError: its profile is malformed.
    """
    return read_profile(read_settings().data / "corpus") or Profile()


def check_collection(folder: Path) -> list[str]:
    """What is wrong with a collection, one line a finding; empty when all is well."""
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
                problems.append(f"{path}: repeats a paragraph of {bodies[words]}: {words[:60]}…")
            bodies[words] = path
    return problems if seen or problems else [f"{folder}: no document"]


def _document_problems(document: Document, path: Path) -> Iterator[str]:
    if document.id != f"{path.parent.name}-{path.stem}":
        yield f"id is {document.id!r}, not {path.parent.name}-{path.stem!r}"
    if document.language not in LANGUAGES or document.language != path.parent.name:
        yield f"language {document.language!r} does not fit the folder {path.parent.name!r}"
    elif language_of(document.text) != document.language:
        yield f"the text does not read as {document.language!r}"
    if document.topic not in TOPICS:
        yield f"topic {document.topic!r} is not one of {', '.join(sorted(TOPICS))}"
    if not document.text.lstrip().startswith(f"# {document.title}\n"):
        yield "the body does not begin with the title as its heading"
    words = len(document.text.split())
    if not WORDS[0] <= words <= WORDS[1]:
        yield f"{words} words, not {WORDS[0]} to {WORDS[1]}"
    if document.text.count("\n## ") < 3:
        yield "fewer than three sections"
    if not document.sources:
        yield "no source"
    for source in document.sources:
        if not source.organisation or not source.title or not 1990 <= source.year <= 2030:
            yield f"source {source} is not well-formed"


def beir_documents(folder: Path, name: str = "corpus.jsonl") -> Iterator[Document]:
    """The documents of a BEIR folder, or of any file in its form, in file order.

    Raises:
        DataError: naming file and line of what is malformed or repeated.
    """
    for _, row in beir_rows(folder / name):
        title = str(row.get("title") or "")
        language = str(row.get("language") or language_of(row["text"]))
        yield Document(row["_id"], title, language, row["text"])


def beir_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number from 1, row) of a corpus.jsonl or queries.jsonl; a numeric `_id` becomes its text.

    Raises:
        DataError: naming file and line, when a line is not a JSON object, lacks `_id` or `text`, has one
            of the wrong kind, or repeats an id.
    """
    lines: dict[str, int] = {}
    for number, row in json_lines(path):
        if problem := _row_problem(row):
            raise DataError(f"{path}, line {number}: {problem}.", "Each line needs _id and text.")
        row["_id"] = str(row["_id"])
        first = lines.setdefault(row["_id"], number)
        if first != number:
            raise DataError(
                f"{path}, line {number}: id {row['_id']!r} stands twice, first on line {first}.",
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
    """Whether a folder has the BEIR layout."""
    return (folder / "corpus.jsonl").is_file()


def json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """(line number from 1, value) of a JSON-lines file; empty lines are passed over."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    value = json.loads(line)
                    if "\\u" in line:
                        json.dumps(value, ensure_ascii=False).encode()  # refuses half an escaped emoji
                    yield number, value
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise DataError(
            f"{path}, line {number}: {half!r} is half a character.", "Mend or remove the line."
        ) from error
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path}, line {number}: not JSON ({error.msg}).", "Mend or remove the line."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path} cannot be read: {error}.", "Check that the file exists and is UTF-8."
        ) from error
