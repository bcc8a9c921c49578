"""Reading a corpus: its documents as cut into passages, a search for words in them, and their vectors in a plane."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..documents.documents import Document
from ..indexing import CorpusIndex
from ..indexing.cutting import blocks
from ..indexing.recovery import stored_documents
from ..runtime.context import Context
from ..stages import Dense
from ..values.sources import sources_from_json
from ..values.types import Hit, Passage, Query, Vectors
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
    return sorted(found, key=lambda one: ((one.document.title or one.document.id).casefold(), one.document.id))


def search_passages(lab: Lab, words: str) -> PassageSearch:
    """Every passage with any of these words, by BM25 with its defaults; RagError if the index is lost or damaged."""
    index = lab.index
    hits = index.lexical(words, len(index.passages), K1, B)
    read = index.reading(words)
    return PassageSearch(tuple(hits), "" if read == words else read)


def passages_by_document(lab: Lab) -> Mapping[str, tuple[Passage, ...]]:
    """Document id -> passages in reading order, with contexts if indexed; RagError if the index is lost or damaged."""
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


Plane = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PlacedPassage:
    """A passage, its place in the plane, and its cosine to the first query (None without queries)."""

    passage: Passage
    x: float
    y: float
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class PlacedQuery:
    """A query and its place in the plane."""

    query: Query
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class VectorMap:
    """Passages and queries in the plane of the passages' first two principal components.

    `shares` are of the passages' variance along either axis, 0 to 1; `dimensions` is that of the vectors.
    """

    passages: tuple[PlacedPassage, ...]
    queries: tuple[PlacedQuery, ...]
    shares: tuple[float, float]
    dimensions: int


def principal_plane(vectors: Vectors) -> tuple[Plane, Plane, tuple[float, float]]:
    """The mean (d,), the first two principal axes (2, d), and the share of variance along either.

    Principal component analysis (Pearson 1901; Jolliffe 2002, section 3.5): the right singular vectors of the
    centred (n, d) matrix with the largest singular values. Each axis points to where its largest component is
    positive, so that the plane is the same in every run. Axes that the vectors do not span are zero.
    """
    matrix = np.asarray(vectors, np.float64)
    mean = matrix.mean(axis=0)
    _, singular, axes = np.linalg.svd(matrix - mean, full_matrices=False)
    variances = singular**2
    total = float(variances.sum())
    plane = np.zeros((2, matrix.shape[1]))
    shares = [0.0, 0.0]
    for place in range(min(2, len(singular))):
        share = float(variances[place]) / total if total else 0.0
        if share > np.finfo(np.float32).eps:
            axis = axes[place]
            plane[place] = axis * np.sign(axis[np.argmax(np.abs(axis))])
            shares[place] = share
    return mean, plane, (shares[0], shares[1])


def vector_map(lab: Lab, queries: Sequence[Query] = ()) -> VectorMap:
    """A corpus's passages, and queries embedded as for search unless billed, in a plane; IndexDamaged if unreadable."""
    index, embedder = lab.index, lab.engines.embedder
    ids = sorted(index.passages)
    vectors = index.vectors(ids)
    if not ids:
        return VectorMap((), (), (0.0, 0.0), vectors.shape[1])
    mean, plane, shares = principal_plane(vectors)
    asked = list(queries) if embedder.local else []
    dense, ctx = Dense(), Context(lab.services())
    embedded = np.array([dense.vector(query, ctx) for query in asked]).reshape(len(asked), vectors.shape[1])
    places = (vectors - mean) @ plane.T
    cosines = vectors @ embedded[0] if asked else None
    return VectorMap(
        tuple(
            PlacedPassage(
                index.passages[identity], float(x), float(y), None if cosines is None else float(cosines[row])
            )
            for row, (identity, (x, y)) in enumerate(zip(ids, places, strict=True))
        ),
        tuple(
            PlacedQuery(query, float(x), float(y))
            for query, (x, y) in zip(asked, (embedded - mean) @ plane.T, strict=True)
        ),
        shares,
        vectors.shape[1],
    )
