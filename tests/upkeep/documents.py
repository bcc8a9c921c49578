"""Checking a collection of documents: ids, lengths, languages, sources and repetitions."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rag_core.documents.documents import Document, markdown_files, read_document
from rag_core.language.analysis import LANGUAGES, language_of
from rag_core.values.errors import DataError
from rag_core.values.sources import JURISDICTIONS

TOPICS = frozenset([
    "antenatal", "screening", "complications", "labour", "birth", "postpartum", "newborn", "breastfeeding",
    "emergency",
])  # fmt: skip
PATIENTS = frozenset(["baby", "bereaved", "child", "partner"])  # besides the mother, who is not named
TYPES = frozenset(["guideline", "leaflet", "consensus", "review", "drug label", "statistics", "law"])
FIRST_YEAR = {"law": 1900}  # of a source, by type; otherwise 1990
WORDS = (400, 900)  # shortest and longest body of a document


def check_collection(folder: Path) -> list[str]:
    """The faults of a collection, one per line; empty if there are none."""
    problems: list[str] = []
    seen: dict[str, Path] = {}
    bodies: dict[str, Path] = {}
    for path in markdown_files(folder):
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
            # lead-ins may be equal
            if len(words.split()) >= 12 and words in bodies and not words.endswith(":"):
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
    if document.patient and document.patient not in PATIENTS:
        yield f"patient {document.patient!r} is not one of {', '.join(sorted(PATIENTS))}; leave it out for the mother"
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
        if not source.organisation or not source.title or not FIRST_YEAR.get(source.type, 1990) <= source.year <= 2030:
            yield f"source {source} is malformed"
        if source.jurisdiction not in JURISDICTIONS:
            yield f"source {source.id or source}: jurisdiction {source.jurisdiction!r} is not one of ours"
        if source.type not in TYPES:
            yield f"source {source.id or source}: type {source.type!r} is not one of {', '.join(sorted(TYPES))}"
    yield from _mark_problems(document)


def _mark_problems(document: Document) -> Iterator[str]:
    keys = Counter(source.id for source in document.sources)
    yield from (f"{count} sources have the id {key!r}" for key, count in keys.items() if count > 1 or not key)
    named = [key for mark in document.marks for key in (*mark.sources, *mark.differs_from)]
    yield from (f"source {key!r} is not in the front matter" for key in dict.fromkeys(named) if key not in keys)
    yield from (f"no section names source {key!r}" for key in keys if key and key not in named)
    for hidden in document.hidden:
        yield f"this does not name a section's sources, and readers do not see it: {hidden}"
    headings = [line.lstrip("# ").strip() for line in document.text.splitlines() if line.startswith("## ")]
    marked = [mark.heading for mark in document.marks]
    yield from (f"two sections are named {one!r}" for one, count in Counter(headings).items() if count > 1)
    yield from (f"section {one!r} names no sources" for one in headings if one not in marked)
    for mark in document.marks:
        if not mark.sources:
            yield f"section {mark.heading!r} names no source before differs_from"
        if repeated := set(mark.sources) & set(mark.differs_from):
            yield f"section {mark.heading!r}: {min(repeated)!r} differs from itself"
