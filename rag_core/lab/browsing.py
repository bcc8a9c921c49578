"""Reading a corpus: its documents as they were cut into passages, and a search for words in them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..documents.documents import Document
from ..indexing import CorpusIndex
from ..indexing.cutting import blocks
from ..indexing.recovery import stored_documents
from ..values.sources import sources_from_json
from ..values.types import Hit, Passage
from .lab import Lab

K1, B = 1.5, 0.75  # of BM25, as the strategy bm25 has them
MOST_SHOWN = 60_000  # characters, about 20 pages: what a browser draws at once


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """A document of an index, with the folder (or UPLOADS) and the file there that it was indexed from."""

    document: Document
    root: str
    file: str


@dataclass(frozen=True, slots=True)
class PassageSearch:
    """Passages with any of the words, best first by BM25 score, then id; `read` has the words in English."""

    hits: tuple[Hit, ...]
    read: str = ""


def indexed_documents(index: CorpusIndex) -> list[IndexedDocument]:
    """The documents of an index, by title or id; raises IndexDamaged if they cannot be read."""
    found = [
        IndexedDocument(
            Document(
                name,
                str(about["title"]),
                str(about["language"]),
                str(stored["text_resource"]["text"]),
                sources=sources_from_json(about.get("sources", "")),
            ),
            str(about["root"]),
            str(about["file"]),
        )
        for name, stored in stored_documents(index.generation).items()
        for about in [stored["metadata"]]
    ]
    return sorted(
        found, key=lambda one: ((one.document.title or one.document.id).casefold(), one.document.id)
    )


def search_passages(lab: Lab, words: str) -> PassageSearch:
    """Every passage of a lab's corpus that has any of these words, by BM25 with its defaults; calls no model.

    Raises RagError if the index is lost or damaged.
    """
    index = lab.index
    hits = index.lexical(words, len(index.passages), K1, B)
    read = index.reading(words)
    return PassageSearch(tuple(hits), "" if read == words else read)


def passages_by_document(lab: Lab) -> Mapping[str, tuple[Passage, ...]]:
    """Document id -> its passages in reading order, with contexts where the corpus has an enriched index.

    Raises RagError if the index is lost or damaged.
    """
    enriched = lab.enriched
    contexts = enriched.passages if enriched else {}
    found: dict[str, list[Passage]] = {}
    for name, passage in lab.index.passages.items():
        context = contexts[name].context if name in contexts else ""
        found.setdefault(passage.doc_id, []).append(replace(passage, context=context))
    return {name: tuple(sorted(members, key=position_of)) for name, members in found.items()}


def position_of(passage: Passage) -> int:
    """Where a passage stands in its document, from 0."""
    return int(passage.id.rsplit(":", 2)[1])


def size_of(lab: Lab, passage: Passage) -> int:
    """How long a passage is with its title and headings, in word pieces of the embedding model: what chunking limits."""
    return lab.engines.embedder.count(replace(passage, context="").indexed_text)


def parts_of(document: Document) -> tuple[str, ...]:
    """A document's text in parts of at most MOST_SHOWN characters, cut between paragraphs if possible."""
    return tuple(blocks(document.text, MOST_SHOWN))
