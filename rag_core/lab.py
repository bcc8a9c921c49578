"""The lab: one corpus, its models, and every strategy; what the app, the command line and programs use."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .catalog import Chosen, build_all
from .compare import Event, collect, stream
from .context import Context
from .corpus import BUILTIN
from .errors import (
    ConfigError,
    DataError,
    IndexBusy,
    IndexDamaged,
    InputError,
    MissingResource,
    RagError,
)
from .indexing import CorpusIndex, CorpusStore, Progress, Reading, Report, read_path, silent
from .labels import LabelRules
from .models import (
    LlamaEmbedder,
    LlamaLlm,
    RehearsedEmbedder,
    RehearsedLlm,
    load_embedder,
    load_llm,
    load_offline,
)
from .pricing import PriceList
from .questions import check_question
from .settings import Settings, read_settings
from .text import warm_up
from .trace import Trace

FAILED_TOLD = 3  # files named in a warning; `rag index` lists them all
CORPUS_NAME = "letters, digits, '.', '_' and '-'"


@dataclass(frozen=True, slots=True)
class Engines:
    """The models of a lab, loaded.

    Args:
        judge: None with the offline engine, which cannot judge an answer.
    """

    embedder: LlamaEmbedder
    answer: LlamaLlm
    labels: LabelRules
    judge: LlamaLlm | None = None


def load_engines(settings: Settings, tell: Callable[[str], None] = lambda what: None) -> Engines:
    """Load the models the settings name; `tell` hears what is being loaded.

    Raises:
        RagError: a model, key or data file is missing.
    """
    prices = PriceList.read(settings.data / "prices.toml")
    labels = LabelRules.read(settings.data / "labels.toml", settings.labels)
    tell("loading the embedding model")
    embedder = load_embedder(settings, prices)
    tell("loading the language tools")
    warm_up()
    tell("loading the answer engine")
    answer = load_llm(settings, settings.answer_model, prices, embedder)
    judge = load_llm(settings, settings.judge_model, prices, embedder) if settings.uses_openai else None
    return Engines(embedder, answer, labels, judge)


class Lab:
    """A corpus open for questions. Safe to share between threads and browser sessions.

    Attributes:
        engines: its models; another lab can share them.
        warnings: what had to be mended when the corpus was opened.
    """

    def __init__(self, settings: Settings, corpus: str, engines: Engines, store: CorpusStore) -> None:
        self.settings = settings
        self.corpus = corpus
        self.warnings: list[str] = []
        self.engines = engines
        self._store = store
        self._lock = threading.Lock()

    @property
    def engine(self) -> dict[str, str | None]:
        """Names of the models and the index, as traces carry them."""
        return self._engine(self.index)

    def _engine(self, index: CorpusIndex) -> dict[str, str | None]:
        return {
            "llm": self.engines.answer.name,
            "embedding": self.engines.embedder.name,
            "reranker": None,
            "index": index.name,
        }

    @property
    def index(self) -> CorpusIndex:
        """The current generation; opened again when another process wrote a new one."""
        with self._lock:
            index = self._store.open()
        if index is None:
            raise MissingResource(
                f"Corpus {self.corpus!r} has no index.", f"Run `rag index PATH --corpus {self.corpus}`."
            )
        return index

    def stream(
        self,
        question: str,
        strategies: Sequence[Chosen],
        *,
        reuse: Sequence[Trace] = (),
        stop: threading.Event | None = None,
    ) -> Iterator[Event]:
        """Events of strategies running on a question at the same time.

        Args:
            strategies: names, (name, control values), or Strategy values.
            reuse: earlier traces of this question; stages that have not changed since are taken over.
            stop: set it to stop the run.

        Raises:
            InputError: the question cannot be asked.
            ConfigError: a strategy, control or value is wrong.
        """
        asked = check_question(question)
        built = build_all(strategies)
        index = self.index
        ctx = self._context(index, stop)
        return stream(asked, built, ctx, engine=self._engine(index), reuse=reuse)

    def context(self, stop: threading.Event | None = None) -> Context:
        """What one question's stages touch: for running a Strategy without the event stream."""
        return self._context(self.index, stop)

    def rehearsal(self) -> Context:
        """A context in which every billed model is replaced by a stand-in that sends nothing."""
        index = self.index
        ctx = self._context(index, None)
        prices = PriceList.read(self.settings.data / "prices.toml")
        embedder = self.engines.embedder
        rehearsed = (
            embedder if embedder.local else RehearsedEmbedder(embedder, index.manifest.dimensions, prices)
        )
        offline = load_offline(prices, rehearsed)
        llms = {
            purpose: RehearsedLlm(llm.name, prices, offline) if self.settings.uses_openai else llm
            for purpose, llm in ctx.llms.items()
        }
        return replace(ctx, embedder=rehearsed, llms=llms)

    def _context(self, index: CorpusIndex, stop: threading.Event | None) -> Context:
        engines = self.engines
        return Context(
            index=index,
            embedder=engines.embedder,
            llms={"answer": engines.answer} | ({"judge": engines.judge} if engines.judge else {}),
            labels=engines.labels,
            stop=stop or threading.Event(),
        )

    def run(self, question: str, strategy: Chosen, **controls: object) -> Trace:
        """One strategy on one question.

        Raises:
            RagError: what went wrong; see `stream`.
        """
        (settled,) = collect(self.stream(question, [_with(strategy, controls)]))
        return _trace(settled)

    def compare(self, question: str, strategies: Sequence[Chosen]) -> list[Trace]:
        """Several strategies on one question at the same time.

        Raises:
            RagError: the first column's failure, when any failed; `stream` gives each its own.
        """
        return [_trace(settled) for settled in collect(self.stream(question, strategies))]

    def what_if(self, trace: Trace, **controls: object) -> Trace:
        """The same question and strategy with other control values.

        Only the stages from the first changed one on run again.
        """
        changed = (trace.strategy, {**trace.controls, **controls})
        (settled,) = collect(self.stream(trace.question, [changed], reuse=[trace]))
        return _trace(settled)


def open_lab(
    corpus: str = BUILTIN,
    *,
    settings: Settings | None = None,
    documents: Path | None = None,
    engines: Engines | None = None,
    progress: Progress = silent,
) -> Lab:
    """Open a corpus: load the models, and build or mend the index where needed.

    The built-in corpus is brought up to date with its documents; another corpus must have been
    indexed before, or is brought up to date with the files in `documents`.

    Raises:
        RagError: what is missing, and the command that mends it.
    """
    settings = settings or read_settings()
    check_corpus_name(corpus)
    reading = _reading(settings, corpus, documents)  # before the models, which take much longer
    engines = engines or load_engines(settings, lambda what: progress(what, 0, 1))
    store = CorpusStore(settings.home, corpus, engines.embedder, settings.data / "vectors")
    lab = Lab(settings, corpus, engines, store)
    progress("opening the index", 0, 1)
    try:
        damage = None
        store.open()
    except IndexDamaged as error:
        damage = error
    report = Report(corpus)
    try:
        if reading:
            report = store.update(reading, progress)
        elif damage:
            report = _rebuild(store, damage, progress)
    except IndexBusy as busy:
        if damage or not store.exists:
            raise
        lab.warnings.append(f"{busy.message} Until it is done, questions go to the index in use.")
    if damage:
        lab.warnings.append(f"{damage.message} It has been rebuilt.")
    if report.failed:
        told = "; ".join(f"{file}: {reason.rstrip('.')}" for file, reason in report.failed[:FAILED_TOLD])
        lab.warnings.append(f"Not in corpus {corpus!r} ({len(report.failed)}): {told}.")
    lab.index  # noqa: B018  # opens it
    progress("ready", 1, 1)
    return lab


def _reading(settings: Settings, corpus: str, documents: Path | None) -> Reading | None:
    """What a corpus is brought up to date with; None when it stays as it was indexed."""
    if corpus != BUILTIN:
        return read_path(documents) if documents else None
    try:
        reading = read_path(settings.data / "corpus")
    except InputError as error:
        raise DataError(
            f"The built-in documents are not there: {error.message}",
            "Restore that folder, or set RAG_DATA to a folder whose corpus/ holds documents.",
        ) from error
    reading.root, reading.owner = BUILTIN, True  # wherever the folder stands
    return reading


def _rebuild(store: CorpusStore, damage: IndexDamaged, progress: Progress) -> Report:
    try:
        return store.rebuild(progress)
    except IndexDamaged as lost:
        raise IndexDamaged(f"{damage.message} {lost.message}", lost.next_step) from damage


def index_path(
    path: Path, corpus: str, *, settings: Settings | None = None, progress: Progress = silent
) -> Report:
    """Index files into a corpus: a file, a folder, or a BEIR folder.

    Raises:
        RagError: the path cannot be used, the index is busy, or the disk is full; nothing is lost.
    """
    settings = settings or read_settings()
    check_corpus_name(corpus)
    progress("reading files", 0, 1)
    reading = read_path(path)
    engines = load_engines(settings, lambda what: progress(what, 0, 1))
    return CorpusStore(settings.home, corpus, engines.embedder).update(reading, progress)


def check_corpus_name(corpus: str) -> None:
    """Raise ConfigError for a name that cannot be a folder's."""
    if not corpus or corpus.startswith(".") or not all(char.isalnum() or char in "._-" for char in corpus):
        raise ConfigError(f"A corpus cannot be called {corpus!r}.", f"Use {CORPUS_NAME}.")


def _with(strategy: Chosen, controls: Mapping[str, object]) -> Chosen:
    if not controls:
        return strategy
    if isinstance(strategy, str):
        return (strategy, controls)
    if isinstance(strategy, tuple):
        return (strategy[0], {**strategy[1], **controls})
    raise ConfigError(
        f"{strategy.name} is built already; its controls cannot be set.", "Pass its name instead."
    )


def _trace(settled: Trace | RagError) -> Trace:
    if isinstance(settled, RagError):
        raise settled
    return settled
