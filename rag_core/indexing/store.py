"""An index on disk: immutable generations, and a pointer to the current one.

<home>/corpora/<corpus>/<model>/    and <model>+enriched/, with contexts
    CURRENT            name of the current generation; replaced atomically
    LOCK               lock of the process that writes
    gen-000001/        never changed once CURRENT has named it
        vectors.npy    vectors
        chroma/        the passages with their vectors, for other programs
        docstore.json  documents (LlamaIndex)
        passages/      passages, a line each, read when looked up
        lexical/       BM25 statistics
        manifest.json  contents of the generation, and checksums of the files above

A crash while writing leaves the old generation current. A generation that a process still reads is kept, and
where machines share the folder also one that was just replaced; see `folder.drop_old` for when it goes.
"""

from __future__ import annotations

import copy
import fcntl
import functools
import heapq
import os
import re
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..language.analysis import query_tokens, tokens
from ..values.errors import IndexDamaged, MissingResource, ProviderError, RagError
from ..values.message import Message
from ..values.profile import Profile
from ..values.types import Hit, Passage, Vectors
from . import chroma
from .backends import MAPPED_FILE, Lexical, OpenVectors, damaged
from .bm25 import Bm25Index
from .manifest import CHECKED, Manifest, check_files, check_listed
from .passages import Passages
from .stores import CHROMA, STORES, WORDS, Stores

if TYPE_CHECKING:
    from llama_index.vector_stores.chroma import ChromaVectorStore

_GENERATION = re.compile(r"gen-\d+")
DEEP = 1000  # passages that fit a filter, up to which all are compared
TIE_MARGIN = 16  # extra hits, so that ties at the cutoff are broken by id
ANOTHER_MODEL = "Set RAG_EMBEDDING and OPENAI_BASE_URL to that model, or index the corpus under another name."

Identity = tuple[int, int, int]  # of a file: device, inode, time of the last change


def current_generation(folder: Path) -> Path | None:
    """The current generation, None without an index; raises IndexDamaged if CURRENT is lost or names a missing one."""
    name = current_name(folder)
    if name is None:
        if any((generation / "manifest.json").is_file() for generation in generations(folder)):
            raise IndexDamaged(Message("CURRENT is missing."))
        return None
    generation = folder / name
    if not _GENERATION.fullmatch(name) or not generation.exists():
        raise IndexDamaged(Message("CURRENT names {name!r}, which does not exist.", name=name))
    return generation


def current_name(folder: Path) -> str | None:
    """The name in CURRENT, unchecked; None when there is no CURRENT."""
    pointer = folder / "CURRENT"
    return pointer.read_text(encoding="utf-8", errors="replace").strip() if pointer.is_file() else None


def generations(folder: Path) -> list[Path]:
    """The generations in a corpus's folder, oldest first."""
    return sorted(path for path in folder.glob("gen-*") if _GENERATION.fullmatch(path.name))


def next_number(folder: Path) -> int:
    """The next free generation number, above CURRENT's even if that folder is lost."""
    names = [path.name for path in generations(folder)] + [current_name(folder) or ""]
    return 1 + max((int(name[4:]) for name in names if name[4:].isdigit()), default=0)


class CorpusIndex:
    """One generation, open for reading; an Index. `read` reads a question as the model does. Thread-safe."""

    def __init__(
        self, manifest: Manifest, passages: Passages, bm25: Lexical, vectors: Callable[[], OpenVectors],
        generation: Path, read: Callable[[str], str] = str,
    ) -> None:  # fmt: skip
        self.manifest = manifest
        self.generation = generation
        self.passages: Mapping[str, Passage] = passages
        self._ids = passages.ids
        self._at = passages.at
        self._bm25 = bm25
        self._vectors = vectors
        self._read = read
        self._identity: Identity | None = None
        self._whole: CorpusIndex | None = None  # whose files it reads, if it finds some passages only
        self._only: dict[str, int] | None = None  # id -> place of the passages that may be found; all of them

    def among(self, fits: Callable[[Passage], bool], called: str) -> CorpusIndex | None:
        """The same, `called` so, over the passages that fit, None if none does; words weigh as in all passages."""
        index = copy.copy(self)
        index._whole, index.name = self, f"{self.name}, {called}"
        index._only = {one.id: place for place, one in enumerate(self.passages.values()) if fits(one)}
        return index if index._only else None

    @functools.cached_property
    def profile(self) -> Profile:
        """The corpus's profile, with detected languages if none were given."""
        given = self.manifest.profile
        return replace(given, languages=given.languages or tuple(self.manifest.languages))

    @functools.cached_property
    def name(self) -> str:
        """Corpus, generation and number of passages, for traces."""
        number = int(self.generation.name.rpartition("-")[2])
        enriched = ", enriched" if self.manifest.enricher else ""
        return f"{self.manifest.corpus}{enriched}, {len(self._ids):,} passages, generation {number}"

    @classmethod
    def open(
        cls,
        generation: Path,
        read: Callable[[str], str] = str,
        *,
        stores: Stores = STORES,
        vectors_later: bool = False,
    ) -> CorpusIndex:
        """Open a generation, whose vectors are in one of `stores`, after an integrity check.

        `vectors_later` opens and checks the vectors when first searched. Raises IndexDamaged, which names the part.
        """
        resources = ExitStack()
        try:
            identity = _in_use(generation, resources)
            manifest = Manifest.read(generation)
            check_listed(generation, manifest, stores)
            check_files(generation, manifest, CHECKED)
            passages = Passages(generation)

            def opened() -> OpenVectors:
                check_files(generation, manifest, manifest.checksums.keys() & {MAPPED_FILE})
                store = stores[manifest.store]
                try:
                    return store.open(generation, passages.ids, manifest.dimensions, resources)
                except IndexDamaged as error:
                    raise damaged(generation, error.message) from error

            vectors = _once(opened)
            lexical = stores[manifest.store].lexical(Bm25Index.load(generation), vectors)
            if not vectors_later and manifest.store != WORDS:
                vectors()
        except BaseException:
            resources.close()
            raise
        index = cls(manifest, passages, lexical, vectors, generation, read)
        index._identity = identity
        weakref.finalize(index, resources.close)  # readers may still use it when a newer one is opened
        return index

    def is_from(self, generation: Path) -> bool:
        """Whether it was opened from this generation as it is on disk now, and not from one it replaced."""
        if self.generation != generation:
            return False
        try:
            return self._identity == _identity((generation / "manifest.json").stat())
        except OSError:
            return False

    def dense(self, vector: Vectors, k: int) -> list[Hit]:
        """The k passages of highest cosine to one (d,) vector; Chroma's query gives exp(-distance), approximately."""
        if not self._ids:
            return []
        # extra hits, so that ties at the cutoff are broken by id and not by index internals
        count = min(k + TIE_MARGIN, len(self._ids))
        with self._reading():
            nearest = self._nearest(vector, count)
        hits = [Hit(self.passages[identity], cosine, "cosine") for identity, cosine in nearest]
        return sorted(hits, key=lambda hit: (-hit.score, hit.id))[:k]

    def _nearest(self, vector: Vectors, count: int) -> Sequence[tuple[str, float]]:
        vectors, only = self._vectors(), self._only
        if vector.shape != (self.manifest.dimensions,):
            raise ProviderError(
                Message(
                    "The embedding model gives vectors of {size} numbers; the index of corpus {corpus!r} has {dimensions}: another model made it.",
                    size=vector.size,
                    corpus=self.manifest.corpus,
                    dimensions=self.manifest.dimensions,
                ),
                ANOTHER_MODEL,
            )
        if only is None:
            return vectors.nearest(vector, count)
        if len(only) > DEEP:
            found = [hit for hit in vectors.nearest(vector, DEEP) if hit[0] in only]
            if len(found) >= count:
                return found[:count]
        held = vectors.get(list(only))  # few, or far from the question
        cosines = np.einsum("ij,j->i", np.array(list(held.values())), vector)
        return heapq.nsmallest(count, zip(held, cosines.tolist(), strict=True), key=lambda hit: (-hit[1], hit[0]))

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn an error of a store, whose files were damaged since it was opened, into IndexDamaged."""
        try:
            yield
        except RagError:
            raise
        except Exception as error:
            (self._whole or self)._identity = None  # the next question opens and checks it again
            raise IndexDamaged(
                Message("{name}: the vector store cannot be read ({reason}).", name=self.name, reason=error),
                Message("Open the corpus again, for example with `rag doctor`, to rebuild its index."),
            ) from error

    def lexical(self, text: str, k: int, k1: float, b: float) -> list[Hit]:
        """The k best BM25 hits for a text, and for its gloss if there is one."""
        terms = query_tokens(text, self.manifest.spoken, self.reading(text))
        places, scores = self._bm25.best(terms, k if self._only is None else len(self._ids), k1, b)
        if self._only is not None:
            among = np.isin(places, list(self._only.values()))
            places, scores = places[among], scores[among]
        found = sorted(zip(places, scores.tolist(), strict=True), key=lambda hit: (-hit[1], self._ids[hit[0]]))
        return [Hit(self._at(int(place)), score, "bm25") for place, score in found[:k]]

    def differs_from_rank_bm25(self, questions: Sequence[str]) -> list[str]:
        """The questions whose scores, without their gloss, are not `rank_bm25.BM25Okapi`'s to the last bit."""
        from rank_bm25 import BM25Okapi  # for this check alone

        passages = [tokens(one.indexed_text, one.language) for one in self.passages.values()]
        okapi, known = BM25Okapi(passages), set().union(*passages)
        # rank_bm25 does not read n as ñ in a term that no passage has
        asked = {
            question: [term for term in query_tokens(question, self.manifest.spoken) if term in known]
            for question in questions
        }
        return [
            question
            for question, terms in asked.items()
            if not np.array_equal(self._bm25.scores(terms), okapi.get_scores(terms))
        ]

    def reading(self, text: str) -> str:
        """What `lexical` searches for beside a text: its gloss, or the text itself."""
        return self._read(text)

    def document_frequency(self, text: str) -> int:
        return self._bm25.document_frequency(query_tokens(text, self.manifest.spoken))

    def vector_store(self) -> ChromaVectorStore:
        """This generation's Chroma collection, to be read; raises MissingResource without one, and as `open_collection`."""
        if self.manifest.store != CHROMA:
            raise MissingResource(
                Message(
                    "{name}: its vectors are in the store {store!r}, not in embedded Chroma.",
                    name=self.name,
                    store=self.manifest.store,
                ),
                Message("Unset RAG_VECTORS, and index the documents again."),
            )
        files = [name for name in self.manifest.checksums if name.startswith(f"{chroma.FOLDER}/")]
        check_files(self.generation, self.manifest, files)
        return chroma.open_collection(self.generation, len(self._ids))

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """(n, d) stored vectors, rows L2-normalised."""
        if not ids:
            return np.zeros((0, self.manifest.dimensions), np.float32)
        with self._reading():
            vectors = self._vectors().get(ids)
        return np.array([vectors[identity] for identity in ids], np.float32)


def _identity(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino, found.st_mtime_ns


def _in_use(generation: Path, resources: ExitStack) -> Identity | None:
    """Lock a generation against deletion until `resources` is closed; its identity, None without a manifest.

    A shared lock on its manifest, which needs no permission to write; the system drops it with the process.
    """
    try:
        manifest = resources.enter_context((generation / "manifest.json").open("rb"))
    except OSError:
        return None  # reading it says what is wrong
    with suppress(OSError):  # a file system without locks
        fcntl.flock(manifest, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return _identity(os.fstat(manifest.fileno()))


def _once(opened: Callable[[], OpenVectors]) -> Callable[[], OpenVectors]:
    """Vectors that are opened when first used: BM25 alone never needs them. Thread-safe; tried again after an error."""
    lock, first = threading.Lock(), functools.cache(opened)

    def vectors() -> OpenVectors:
        with lock:
            return first()

    return vectors
