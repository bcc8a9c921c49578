"""An index on disk: generations that are written once, checked, and then pointed at.

<home>/corpora/<corpus>/<model key>/    and <model key>+enriched/, whose passages have contexts
    CURRENT            name of the generation in use; replaced in one step
    LOCK               held by the one process that writes
    gen-000001/        never changed after CURRENT named it
        chroma/        passages and vectors
        docstore.json  the documents themselves (LlamaIndex)
        lexical.npz    BM25 statistics
        manifest.json  what the generation holds, and the checksums of the files above

A crash while writing leaves CURRENT on the old generation. The generation before the current one is
kept for processes that still read it.
"""

from __future__ import annotations

import hashlib
import json
import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..language.analysis import ANALYSER, MAIN_LANGUAGE, query_tokens
from ..values.errors import ConfigError, IndexDamaged
from ..values.profile import Profile
from ..values.types import Hit, Passage, Vectors
from .bm25 import Bm25Index
from .chunking import CHUNKER, content_hash, passage_of

FORMAT = 1
TIE_MARGIN = 16  # hits asked for beyond the cut
PAGE = 10_000  # Chroma fails on reads above 32,766 rows
CHECKED_NEIGHBOURS = 1000  # passages the health check asks the vector index for
COLLECTION = "passages"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a generation holds.

    Args:
        documents: document id -> {"hash", "root", "file"}.
        passages: number of passages.
        checksums: file name -> SHA-256.
        profile: what the corpus is about, as it was given.
        languages: of the documents, as they were detected; they stand where the profile names none.
        enricher: what wrote the passages' contexts; empty for a plain index.
        without_context: passages for which it failed to.
    """

    format: int
    corpus: str
    embedding: str
    dimensions: int
    analyser: str
    chunker: str
    documents: Mapping[str, Mapping[str, Any]]
    passages: int
    checksums: Mapping[str, str]
    profile: Profile = Profile()
    languages: Sequence[str] = ()
    enricher: str = ""
    without_context: int = 0

    @property
    def is_ours(self) -> bool:
        """Whether this version cuts and analyses passages the same way."""
        return self.analyser == ANALYSER and self.chunker == CHUNKER

    @property
    def digest(self) -> str:
        """Eight hexadecimal digits of the passages, their contexts, and how they are searched."""
        parts = [self.embedding, self.analyser, self.enricher]
        parts += [self.checksums.get(name, "") for name in ("passages.json", "lexical.npz")]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]

    def write(self, folder: Path) -> None:
        """Write manifest.json."""
        (folder / "manifest.json").write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read manifest.json.

        Raises:
            IndexDamaged: it is missing or malformed.
        """
        try:
            held = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
            return cls(**{**held, "profile": Profile.of(held.get("profile", {}))})
        except (OSError, ValueError, TypeError, AttributeError, ConfigError) as error:
            raise IndexDamaged(f"{folder.name}: manifest.json cannot be read ({error}).") from error


def current_generation(folder: Path) -> Path | None:
    """The generation in use; None when there is no index yet.

    Raises:
        IndexDamaged: CURRENT names a generation that is not there.
    """
    name = current_name(folder)
    if name is None:
        if any((generation / "manifest.json").is_file() for generation in generations(folder)):
            raise IndexDamaged("CURRENT is missing.")
        return None
    held = {generation.name: generation for generation in generations(folder)}
    if name not in held:
        raise IndexDamaged(f"CURRENT names {name!r}, which is not there.")
    return held[name]


def current_name(folder: Path) -> str | None:
    """The name in CURRENT, whatever it is worth; None when there is no CURRENT."""
    pointer = folder / "CURRENT"
    return pointer.read_text(encoding="utf-8", errors="replace").strip() if pointer.is_file() else None


def generations(folder: Path) -> list[Path]:
    """The generations in a corpus's folder, oldest first."""
    return sorted(path for path in folder.glob("gen-*") if path.name[4:].isdigit())


def next_number(folder: Path) -> int:
    """Number of a new generation; never one that CURRENT names, whose folder may be lost and still open here."""
    names = [path.name for path in generations(folder)] + [current_name(folder) or ""]
    return 1 + max((int(name[4:]) for name in names if name[4:].isdigit()), default=0)


def checksums(generation: Path) -> dict[str, str]:
    """SHA-256 of every file that never changes again, by its path in the generation.

    Chroma's vector files are among them: a garbled one would end the process that opens it. Its
    database is not, since SQLite may touch it on opening, nor are the vector files of a collection so
    small that Chroma replays it from the database (they have no index_metadata.pickle yet).
    """
    kept = [generation / name for name in ("docstore.json", "passages.json", "lexical.npz")]
    synced = [path.parent for path in (generation / "chroma").glob("*/index_metadata.pickle")]
    vectors = [path for folder in synced for path in folder.iterdir()]
    return {path.relative_to(generation).as_posix(): checksum(path) for path in (*kept, *sorted(vectors))}


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def chroma_client(folder: Path) -> Any:
    """The one place that opens Chroma: its settings must be the same for every client of a path."""
    import chromadb
    from chromadb.api.shared_system_client import SharedSystemClient
    from chromadb.config import Settings

    try:
        return chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
    except Exception:
        # Chroma keeps the half-started system, and every later attempt at this path would fail
        SharedSystemClient._identifier_to_system.pop(str(folder), None)
        raise


class CorpusIndex:
    """One generation, open for reading; the context's Index. Safe to share between threads."""

    def __init__(
        self, manifest: Manifest, passages: Mapping[str, Passage], order: Sequence[str], bm25: Bm25Index,
        collection: Any, generation: Path,
    ) -> None:  # fmt: skip
        self.manifest = manifest
        self.generation = generation
        self.passages = passages
        self._order = list(order)
        self._bm25 = bm25
        self._collection = collection
        counted = Counter(passage.language for passage in passages.values()).most_common()
        self._languages = [code for code, count in counted if count >= MAIN_LANGUAGE * len(passages)] or [
            "en"
        ]

    @property
    def profile(self) -> Profile:
        """What the corpus is about; its languages are those detected where none were given."""
        given = self.manifest.profile
        return replace(given, languages=given.languages or tuple(self.manifest.languages))

    @property
    def name(self) -> str:
        """Corpus, generation and number of passages, for traces."""
        number = int(self.generation.name.rpartition("-")[2])
        enriched = ", enriched" if self.manifest.enricher else ""
        return f"{self.manifest.corpus}{enriched}, {len(self._order):,} passages, generation {number}"

    @classmethod
    def open(cls, generation: Path) -> CorpusIndex:
        """Open a generation after checking that it is whole.

        Raises:
            IndexDamaged: naming the part that is missing, changed or short.
        """
        manifest = Manifest.read(generation)
        if manifest.format != FORMAT:
            raise IndexDamaged(f"{generation.name}: format {manifest.format}, this version reads {FORMAT}.")
        for name, expected in manifest.checksums.items():
            path = generation / name
            if not path.is_file() or checksum(path) != expected:
                part = "a file of the vector store, " if name.startswith("chroma/") else ""
                raise IndexDamaged(f"{generation.name}: {part}{name} is missing or changed.")
        bm25 = Bm25Index.load(generation / "lexical.npz")
        order = json.loads((generation / "passages.json").read_text(encoding="utf-8"))
        client = None
        try:
            client = chroma_client(generation / "chroma")
            collection = client.get_collection(COLLECTION, embedding_function=None)
            passages = _read_passages(collection)
            _check_vectors(collection, manifest)
            if set(order) != set(passages):
                raise IndexDamaged(f"the vector store holds {len(passages)} passages, not {len(order)}.")
        except Exception as error:  # Chroma raises many kinds for a broken store
            if client is not None:
                client.close()
            damaged = isinstance(error, IndexDamaged)
            what = str(error) if damaged else f"the vector store cannot be opened ({error})."
            raise IndexDamaged(f"{generation.name}: {what}") from error
        index = cls(manifest, passages, order, bm25, collection, generation)
        weakref.finalize(index, client.close)  # a reader may still be at work when a newer one is opened
        return index

    def dense(self, vector: Vectors, k: int) -> list[Hit]:
        """The k passages with the highest cosine to one (d,) vector.

        By Chroma's own query: LlamaIndex's `ChromaVectorStore.query` gives exp(-distance) in place of the
        cosine, and rebuilds every node from its JSON, which are in memory here.
        """
        if not self._order:
            return []
        # a few more than wanted, so that ties at the cut go by id and not by the build of the index
        wanted = min(k + TIE_MARGIN, len(self._order))
        found = self._collection.query(
            query_embeddings=[vector.tolist()], n_results=wanted, include=["distances"]
        )
        pairs = zip(found["ids"][0], found["distances"][0], strict=True)
        hits = [Hit(self.passages[identity], 1.0 - float(distance), "cosine") for identity, distance in pairs]
        return sorted(hits, key=lambda hit: (-hit.score, hit.id))[:k]

    def lexical(self, text: str, k: int, k1: float, b: float) -> list[Hit]:
        """The k best BM25 hits of a text."""
        scores, matched = self._bm25.scores(query_tokens(text, self._languages), k1, b)
        rows = sorted(np.flatnonzero(matched), key=lambda row: (-scores[row], self._order[row]))
        return [Hit(self.passages[self._order[row]], float(scores[row]), "bm25") for row in rows[:k]]

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """(n, d) stored vectors, rows L2-normalised."""
        if not ids:
            return np.zeros((0, self.manifest.dimensions), np.float32)
        found = self._collection.get(ids=list(ids), include=["embeddings"])
        held = dict(zip(found["ids"], found["embeddings"], strict=True))
        return np.array([held[identity] for identity in ids], np.float32)


def _read_passages(collection: Any) -> dict[str, Passage]:
    passages: dict[str, Passage] = {}
    for offset in range(0, max(collection.count(), 1), PAGE):
        page = collection.get(limit=PAGE, offset=offset, include=["documents", "metadatas"])
        for identity, text, metadata in zip(page["ids"], page["documents"], page["metadatas"], strict=True):
            passages[identity] = passage_of(identity, text, metadata)
            if not identity.endswith(f":{content_hash(passages[identity])}"):
                raise IndexDamaged(f"the vector store holds another text for passage {identity}.")
    return passages


def _check_vectors(collection: Any, manifest: Manifest) -> None:
    """A vector index can lose rows without an error: ask it for as many neighbours as there are."""
    if collection.configuration_json["hnsw"]["space"] != "cosine":
        raise IndexDamaged("the vector store does not measure cosine.")
    expected = min(manifest.passages, CHECKED_NEIGHBOURS)
    if not expected:
        return
    probe = np.ones(manifest.dimensions, np.float32) / np.sqrt(manifest.dimensions)
    found = collection.query(query_embeddings=[probe.tolist()], n_results=expected, include=[])
    if len(set(found["ids"][0])) != expected:
        raise IndexDamaged(f"the vector store finds {len(set(found['ids'][0]))} of {expected} passages.")
