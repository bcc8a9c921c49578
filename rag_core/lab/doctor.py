"""Which engines are active and why, and what is missing."""

import platform
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..catalog import RECIPES
from ..documents.benchmark import read_builtin
from ..documents.documents import BUILTIN
from ..indexing import CorpusIndex, Progress, no_progress
from ..indexing.chroma import COLLECTION, FOLDER
from ..indexing.stores import CHROMA, MAPPED, MILVUS, SERVER, WORDS
from ..models.embedding import LlamaEmbedder
from ..models.minilm import MINILM
from ..values.errors import DataError, RagError
from ..values.settings import Role, Settings, read_settings
from .engines import Engines
from .lab import Lab
from .opening import open_lab

PACKAGES = (
    "llama-index", "llama-index-vector-stores-chroma", "chromadb", "onnxruntime", "sentence-transformers", "torch",
    "streamlit",
)  # fmt: skip
WORK: Mapping[Role, str] = {
    "answer": "answers",
    "rewrite": "rewrites",
    "judge": "judgements",
    "enrich": "passage contexts",
}
PAGE = 65_536  # bytes; enough for a full disk to refuse
COMPARED = 10  # questions, evenly spaced
PROBE = "When should I go to the hospital if I have contractions?"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report: good, bad (it prevents answering) or a note (None), and what mends it."""

    ok: bool | None
    what: str
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    """The whole report."""

    can_answer: bool
    engine: dict[str, str | None]
    versions: dict[str, str]
    findings: tuple[Finding, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def examine(progress: Progress = no_progress) -> Findings:
    """Open the built-in corpus, answer a test question, and report what was found on the way."""
    versions = {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
    lines = [Finding(None, ", ".join(f"{name} {number}" for name, number in versions.items()))]
    lines += _plugins()
    engine: dict[str, str | None] = {}
    try:
        settings = read_settings()
        lines += [Finding(None, line) for line in _roles(settings)]
        lab = open_lab(BUILTIN, settings=settings, progress=progress)
        lines += [Finding(None, warning) for warning in lab.warnings]
        engine = lab.engine
        lines.append(Finding(True, f"embedding model {engine['embedding']}, index {engine['index']}"))
        lines += _vectors(lab)
        lines += _unwritable(settings.home)
        lines.append(_lexical(settings, lab.index))
        lines.append(Finding(None, _gloss(settings, lab.engines.embedder)))
        lines.append(Finding(None, _labels(lab.engines)))
        trace = lab.run(PROBE, "hybrid_rrf")
        lines.append(Finding(True, f"test question answered in {trace.seconds:.1f} s by {engine['llm']}"))
        return Findings(True, engine, versions, tuple(lines))
    except RagError as error:
        lines.append(Finding(False, error.message, error.next_step))
        return Findings(False, engine, versions, tuple(lines))


def _plugins() -> Iterator[Finding]:
    for package, names in RECIPES.packages.items():
        yield Finding(None, f"strategies of package {package}: {', '.join(names)}")
    for failure in RECIPES.failed:
        name = failure.package.partition(" ")[0]
        yield Finding(None, str(failure), f"pip install --upgrade {name}, or pip uninstall {name}")


def _unwritable(home: Path) -> Iterator[Finding]:
    """A note when the state folder cannot be written, on a read-only or full disk."""
    try:
        with tempfile.TemporaryFile(dir=home) as file:
            file.write(bytes(PAGE))
    except OSError as error:
        yield Finding(
            None,
            f"{home} cannot be written ({error.strerror or error}): questions are answered, but nothing can be "
            "indexed, measured or cached",
            "Free disk space or set RAG_HOME to a writable folder.",
        )


def _vectors(lab: Lab) -> Iterator[Finding]:
    where = {
        WORDS: "none, because the corpus was indexed by words alone",
        MAPPED: "in a file that is mapped into memory, compared one by one",
        CHROMA: "in a file that is mapped into memory, compared one by one, and in a Chroma collection",
        SERVER: "on the Chroma server of RAG_VECTORS, by its approximate index",
        MILVUS: "in the Milvus of RAG_VECTORS, which searches words too where k1 and b are the defaults",
    }
    yield Finding(None, f"vectors: {where[lab.index.manifest.store]}")
    for index in (lab.index, lab.enriched):
        if index and index.manifest.store == CHROMA:
            folder = index.generation / FOLDER
            try:
                index.vector_store()
                yield Finding(True, f"Chroma collection {COLLECTION!r} in {folder}: {len(index.passages):,} passages")
            except RagError as error:
                mend = f"Delete {folder} and run `rag doctor` again; questions are answered meanwhile."
                yield Finding(None, f"Chroma collection in {folder}: {error.message}", mend)


def _lexical(settings: Settings, index: CorpusIndex) -> Finding:
    try:
        questions = [question.text for question in read_builtin(settings.data, "dev").measured]
    except DataError as error:
        return Finding(None, error.message, error.next_step)
    asked = questions[:: max(len(questions) // COMPARED, 1)][:COMPARED]
    other = index.differs_from_rank_bm25(asked)
    by = f"rank_bm25 {version('rank-bm25')} on {len(asked)} questions"
    if other:
        remade = f"Delete {settings.home / 'corpora' / BUILTIN} and run `rag doctor` again."
        return Finding(None, f"keyword search: {len(other)} scored otherwise than by {by}", remade)
    return Finding(True, f"keyword search: scores equal those of {by} to the last bit")


def _gloss(settings: Settings, embedder: LlamaEmbedder) -> str:
    setting = f"RAG_GLOSS={settings.gloss}"
    if embedder.gloss:
        return f"Spanish: {embedder.name} reads an English gloss of it, version {embedder.gloss.digest} ({setting})"
    return f"Spanish: {embedder.name} reads it as it is, without a gloss ({setting})"


def _labels(engines: Engines) -> str:
    """Which scorer the relevance labels come from, and which has no fitted thresholds."""
    if engines.labels.by_rank:
        return "relevance labels: from the position in the list (RAG_LABELS=rank), not calibrated"
    source = f"from the judge model if the strategy uses one, otherwise from the {engines.scorer.name} ({MINILM})"
    embedder = engines.embedder
    if engines.labels.has("cosine", embedder.key):
        return f"relevance labels: {source}"
    return f"relevance labels: {source}; never from the cosine of {embedder.name}, which has no fitted thresholds"


def _roles(settings: Settings) -> Iterator[str]:
    for role, what in WORK.items():
        server = settings.server(role)
        if not settings.asks_provider(role):
            reason = "RAG_LLM=offline" if settings.llm == "offline" else "no key or base URL is set"
            yield f"{what}: offline engine, no language model ({reason})"
        elif server is not None:
            yield f"{what}: {settings.model(role)} at {server.address}"
