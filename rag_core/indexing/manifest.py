"""What a generation contains, in its manifest, and whether its files are still those that were written."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..language.analysis import ANALYSER
from ..models.minilm import sha256
from ..values.errors import ConfigError, IndexOutdated
from ..values.message import Message
from ..values.profile import Profile
from . import bm25, chroma, passages
from .backends import MAPPED_FILE, damaged
from .cutting import DEFAULT, Chunking
from .stores import CHROMA, MAPPED, Stores

FORMAT = 3
SEARCHED = (
    *(f"{passages.FOLDER}/{name}" for name in passages.NAMES),
    *(f"{bm25.FOLDER}/{name}" for name in bm25.NAMES),
)
CHECKED = ("docstore.json", *SEARCHED)  # and the files of the vector store
VECTORS = (MAPPED_FILE, chroma.FOLDER)  # where those are


@dataclass(frozen=True)
class Manifest:
    """The contents of a generation.

    Args:
        documents: document id -> {"hash", "root", "file"}.
        checksums: file name -> SHA-256.
        languages: detected languages of the documents, used if the profile names none.
        spoken: the main languages of the passages, in which a question's words are read.
        enricher: key of the enricher; empty for a plain index.
        context_prompt: the enricher's own prompt; empty for the standard one.
        without_context: number of passages whose context failed.
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
    spoken: Sequence[str] = ("en",)
    enricher: str = ""
    context_prompt: str = ""
    without_context: int = 0
    store: str = MAPPED
    probe: Sequence[float] = ()
    chunking: Chunking = DEFAULT

    def made_with(self, embedding: str) -> bool:
        """Whether it was written by this version's analyser and chunker, and the embedding model of this key."""
        now = (ANALYSER, self.chunking.key, embedding)
        return (self.analyser, self.chunker, self.embedding) == now

    def same_passages(self, other: Manifest) -> bool:
        return (self.documents, self.chunking) == (other.documents, other.chunking)

    @functools.cached_property
    def digest(self) -> str:
        """Eight hexadecimal digits of the passages, their contexts, and how they are searched."""
        parts = [self.embedding, self.analyser, self.enricher]
        parts += [self.checksums.get(name, "") for name in SEARCHED]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]

    def write(self, folder: Path) -> None:
        (folder / "manifest.json").write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read manifest.json; raises IndexDamaged if it is missing or malformed."""
        try:
            fields = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
            kept = {
                "profile": Profile.of(fields.get("profile", {})),
                "chunking": Chunking(**fields.get("chunking", {})),
            }
            return cls(**{**fields, **kept})
        except (OSError, ValueError, TypeError, AttributeError, ConfigError) as error:
            raise damaged(folder, Message("manifest.json cannot be read ({reason}).", reason=error)) from error


def checksums(generation: Path) -> dict[str, str]:
    """SHA-256 of every file that never changes again, Chroma's vectors but not its database, by path in the generation."""
    kept = [generation / name for name in CHECKED]
    kept += generation.glob(MAPPED_FILE)
    synced = [path.parent for path in (generation / chroma.FOLDER).glob("*/index_metadata.pickle")]
    vectors = [path for folder in synced for path in folder.iterdir()]
    return {path.relative_to(generation).as_posix(): sha256(path) for path in (*kept, *sorted(vectors))}


def check_listed(generation: Path, manifest: Manifest, stores: Stores) -> None:
    """Raise IndexOutdated for another format or store, and IndexDamaged for files without a checksum, which it names."""
    if manifest.format != FORMAT:
        what = Message("format {format}, this version reads {known}.", format=manifest.format, known=FORMAT)
        raise damaged(generation, what, kind=IndexOutdated)
    if manifest.store not in stores:
        what = Message("its vectors are in the store {store!r}, which RAG_VECTORS does not name.", store=manifest.store)
        raise damaged(generation, what, kind=IndexOutdated)
    missing = sorted(set(CHECKED) - manifest.checksums.keys())
    if manifest.store in (MAPPED, CHROMA) and MAPPED_FILE not in manifest.checksums:
        missing.append(MAPPED_FILE)
    if missing:
        what = Message("manifest.json has no checksum of {files}.", files=", ".join(missing))
        raise damaged(generation, what)


def check_files(generation: Path, manifest: Manifest, names: Collection[str]) -> None:
    """Check these files' checksums; raises IndexDamaged, which names a file that is missing or changed."""
    for name in names:
        path = generation / name
        if not path.is_file() or sha256(path) != manifest.checksums[name]:
            part = "a file of the vector store, " if name.partition("/")[0] in VECTORS else ""
            raise damaged(generation, Message("{part}{file} is missing or changed.", part=part, file=name))
