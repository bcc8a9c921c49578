"""An index on disk: immutable generations, and a pointer to the current one.

<home>/corpora/<corpus>/<model>/    and <model>+enriched/, with contexts
    CURRENT            name of the current generation; replaced atomically
    LOCK               lock of the process that writes
    gen-000001/        never changed once CURRENT has named it
        chroma/        vectors (and passages, as LlamaIndex writes them)
        docstore.json  documents (LlamaIndex)
        passages.json  passages, read when the index is opened
        lexical.npz    BM25 statistics
        manifest.json  contents of the generation, and checksums of the files above

A crash while writing leaves the old generation current. A generation that a process still reads is kept; see
`folder.drop_old` for when it goes.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..language.analysis import ANALYSER, MAIN_LANGUAGE, query_tokens, tokens
from ..values.errors import ConfigError, IndexDamaged, IndexOutdated, ProviderError, StorageError
from ..values.message import Message
from ..values.profile import Profile
from ..values.types import Hit, Passage, Vectors
from .bm25 import Bm25Index
from .chunking import DEFAULT, Chunking
from .passages import load_passages
from .vector_store import VectorStore

FORMAT = 2
TIE_MARGIN = 16  # extra hits, so that ties at the cutoff are broken by id
CHECKED = ("docstore.json", "passages.json", "lexical.npz")  # and the files of the vector store
ANOTHER_MODEL = "Set RAG_EMBEDDING and OPENAI_BASE_URL to that model, or index the corpus under another name."

Identity = tuple[int, int, int]  # of a file: device, inode, time of the last change


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a generation.

    Args:
        documents: document id -> {"hash", "root", "file"}.
        passages: number of passages.
        checksums: file name -> SHA-256.
        profile: the corpus's profile, as given.
        languages: detected languages, used if the profile names none.
        enricher: key of the enricher; empty for a plain index.
        context_prompt: the enricher's own prompt; empty for the standard one.
        without_context: number of passages whose context failed.
        chunking: how long its passages are.
        probe: the probe sentence's vector from a server's model; see `models.same_model`.
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
    context_prompt: str = ""
    without_context: int = 0
    probe: Sequence[float] = ()
    chunking: Chunking = DEFAULT

    def made_with(self, embedding: str) -> bool:
        """Whether it was written by this version's analyser and chunker, and the embedding model of this key."""
        now = (ANALYSER, self.chunking.key, embedding)
        return (self.analyser, self.chunker, self.embedding) == now

    def same_passages(self, other: Manifest) -> bool:
        """Whether both have the same documents, cut in the same way."""
        return (self.documents, self.chunking) == (other.documents, other.chunking)

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
            fields = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
            kept = {
                "profile": Profile.of(fields.get("profile", {})),
                "chunking": Chunking(**fields.get("chunking", {})),
            }
            return cls(**{**fields, **kept})
        except (OSError, ValueError, TypeError, AttributeError, ConfigError) as error:
            raise IndexDamaged(
                Message("{name}: manifest.json cannot be read ({reason}).", name=folder.name, reason=error)
            ) from error


def current_generation(folder: Path) -> Path | None:
    """The current generation; None when there is no index yet.

    Raises:
        IndexDamaged: CURRENT is lost, or names a missing generation.
    """
    name = current_name(folder)
    if name is None:
        if any((generation / "manifest.json").is_file() for generation in generations(folder)):
            raise IndexDamaged(Message("CURRENT is missing."))
        return None
    existing = {generation.name: generation for generation in generations(folder)}
    if name not in existing:
        raise IndexDamaged(Message("CURRENT names {name!r}, which does not exist.", name=name))
    return existing[name]


def current_name(folder: Path) -> str | None:
    """The name in CURRENT, unchecked; None when there is no CURRENT."""
    pointer = folder / "CURRENT"
    return pointer.read_text(encoding="utf-8", errors="replace").strip() if pointer.is_file() else None


def generations(folder: Path) -> list[Path]:
    """The generations in a corpus's folder, oldest first."""
    return sorted(path for path in folder.glob("gen-*") if path.name[4:].isdigit())


def next_number(folder: Path) -> int:
    """The next free generation number, above CURRENT's even if that folder is lost."""
    names = [path.name for path in generations(folder)] + [current_name(folder) or ""]
    return 1 + max((int(name[4:]) for name in names if name[4:].isdigit()), default=0)


def checksums(generation: Path) -> dict[str, str]:
    """SHA-256 of every file that never changes again, by its path in the generation.

    Includes Chroma's vector files, since a corrupt one crashes the process that opens it. Excludes its
    database, which SQLite may modify on opening, and the vector files of an empty collection.
    """
    kept = [generation / name for name in CHECKED]
    synced = [path.parent for path in (generation / "chroma").glob("*/index_metadata.pickle")]
    vectors = [path for folder in synced for path in folder.iterdir()]
    return {path.relative_to(generation).as_posix(): checksum(path) for path in (*kept, *sorted(vectors))}


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class CorpusIndex:
    """One generation, open for reading; implements the Index protocol. Thread-safe.

    Args:
        read: how the embedding model reads a question; BM25 searches for a gloss as well.
    """

    def __init__(
        self, manifest: Manifest, passages: Mapping[str, Passage], bm25: Bm25Index, vectors: VectorStore,
        generation: Path, read: Callable[[str], str] = str,
    ) -> None:  # fmt: skip
        self.manifest = manifest
        self.generation = generation
        self.passages = passages
        self._order = list(passages)
        self._bm25 = bm25
        self._vectors = vectors
        self._read = read
        self._identity: Identity | None = None
        counted = Counter(passage.language for passage in passages.values()).most_common()
        self._languages = [code for code, count in counted if count >= MAIN_LANGUAGE * len(passages)] or [
            "en"
        ]

    @property
    def profile(self) -> Profile:
        """The corpus's profile, with detected languages if none were given."""
        given = self.manifest.profile
        return replace(given, languages=given.languages or tuple(self.manifest.languages))

    @property
    def name(self) -> str:
        """Corpus, generation and number of passages, for traces."""
        number = int(self.generation.name.rpartition("-")[2])
        enriched = ", enriched" if self.manifest.enricher else ""
        return f"{self.manifest.corpus}{enriched}, {len(self._order):,} passages, generation {number}"

    @classmethod
    def open(
        cls, generation: Path, read: Callable[[str], str] = str, *, vectors_later: bool = False
    ) -> CorpusIndex:
        """Open a generation after an integrity check.

        Args:
            vectors_later: open and check the vector store, which takes half a second, when first searched.

        Raises:
            IndexDamaged: the message names the part that is missing, changed or incomplete.
        """
        resources = ExitStack()
        try:
            identity = _in_use(generation, resources)
            manifest = Manifest.read(generation)
            _check_files(generation, manifest)
            bm25 = Bm25Index.load(generation / "lexical.npz")
            passages = load_passages(generation / "passages.json")
            vectors = VectorStore(generation, manifest.dimensions, passages, resources)
            if not vectors_later:
                vectors.open()
        except BaseException:
            resources.close()
            raise
        index = cls(manifest, passages, bm25, vectors, generation, read)
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
        """The k passages with the highest cosine to one (d,) vector.

        Queries Chroma directly: LlamaIndex's `ChromaVectorStore.query` returns exp(-distance) instead of the
        cosine, and rebuilds every node from JSON although the passages are in memory here.
        """
        if not self._order:
            return []
        # extra hits, so that ties at the cutoff are broken by id and not by index internals
        count = min(k + TIE_MARGIN, len(self._order))
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
        with self._reading():
            nearest = self._vectors.nearest(vector, count)
        hits = [Hit(self.passages[identity], cosine, "cosine") for identity, cosine in nearest]
        return sorted(hits, key=lambda hit: (-hit.score, hit.id))[:k]

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn an error of Chroma, whose files were damaged since it was opened, into IndexDamaged."""
        try:
            yield
        except StorageError:
            raise
        except Exception as error:
            self._identity = None  # the next question opens and checks it again
            raise IndexDamaged(
                Message("{name}: the vector store cannot be read ({reason}).", name=self.name, reason=error),
                Message("Open the corpus again, for example with `rag doctor`, to rebuild its index."),
            ) from error

    def lexical(self, text: str, k: int, k1: float, b: float) -> list[Hit]:
        """The k best BM25 hits for a text, and for its gloss if there is one."""
        terms = query_tokens(text, self._languages, self.reading(text))
        places, scores = self._bm25.best(terms, k, k1, b)
        found = zip((self._order[place] for place in places), scores.tolist(), strict=True)
        best = sorted(found, key=lambda hit: (-hit[1], hit[0]))[:k]
        return [Hit(self.passages[identity], score, "bm25") for identity, score in best]

    def differs_from_rank_bm25(self, questions: Sequence[str]) -> list[str]:
        """The questions whose scores are not those of `rank_bm25.BM25Okapi` on the passages, to the last bit.

        They are compared without their gloss, which adds terms and takes a second to load.
        """
        from rank_bm25 import BM25Okapi  # for this check alone

        passages = [tokens(one.indexed_text, one.language) for one in self.passages.values()]
        okapi, known = BM25Okapi(passages), set().union(*passages)
        # rank_bm25 does not read n as ñ in a term that no passage has
        asked = {
            question: [term for term in query_tokens(question, self._languages) if term in known]
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
        """Number of passages that contain a term of a text."""
        return self._bm25.document_frequency(query_tokens(text, self._languages))

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """(n, d) stored vectors, rows L2-normalised."""
        if not ids:
            return np.zeros((0, self.manifest.dimensions), np.float32)
        with self._reading():
            vectors = self._vectors.get(ids)
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


def _check_files(generation: Path, manifest: Manifest) -> None:
    """Check the format and the checksums."""
    if manifest.format != FORMAT:
        raise IndexOutdated(
            Message(
                "{name}: format {format}, this version reads {known}.",
                name=generation.name,
                format=manifest.format,
                known=FORMAT,
            )
        )
    listed = {name.partition("/")[0] for name in manifest.checksums}
    needed = {*CHECKED, *(["chroma"] if manifest.passages else [])}
    if missing := sorted(needed - listed):
        raise IndexDamaged(
            Message(
                "{name}: manifest.json has no checksum of {files}.",
                name=generation.name,
                files=", ".join(missing),
            )
        )
    for name, expected in manifest.checksums.items():
        path = generation / name
        if not path.is_file() or checksum(path) != expected:
            part = "a file of the vector store, " if name.startswith("chroma/") else ""
            raise IndexDamaged(
                Message(
                    "{name}: {part}{file} is missing or changed.",
                    name=generation.name,
                    part=part,
                    file=name,
                )
            )
