"""The lab: one corpus, its models, and every strategy; what the app, the command line and programs use."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .catalog import Chosen, build_all
from .compare import Event, collect, stream
from .context import Context
from .errors import ConfigError, IndexBusy, IndexDamaged, MissingResource, RagError
from .indexing import CorpusIndex, CorpusStore, Progress, Report, read_path, silent
from .labels import LabelRules
from .models import LlamaEmbedder, LlamaLlm, load_embedder, load_llm
from .pricing import PriceList
from .questions import check_question
from .settings import Settings, read_settings
from .text import warm_up
from .trace import Trace

BUILTIN = "obstetrics"  # the corpus whose documents are in data/corpus
CORPUS_NAME = "letters, digits, '.', '_' and '-'"


@dataclass(frozen=True, slots=True)
class Engines:
    """The models of a lab, loaded."""

    embedder: LlamaEmbedder
    answer: LlamaLlm
    labels: LabelRules


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
    return Engines(embedder, load_llm(settings, settings.answer_model, prices, embedder), labels)


class Lab:
    """A corpus open for questions. Safe to share between threads and browser sessions.

    Attributes:
        warnings: what had to be mended when the corpus was opened.
    """

    def __init__(self, settings: Settings, corpus: str, engines: Engines, store: CorpusStore) -> None:
        self.settings = settings
        self.corpus = corpus
        self.warnings: list[str] = []
        self._engines = engines
        self._store = store
        self._lock = threading.Lock()
        self._index: CorpusIndex | None = None

    @property
    def engine(self) -> dict[str, str | None]:
        """Names of the models and the index, as traces carry them."""
        return self._engine(self.index)

    def _engine(self, index: CorpusIndex) -> dict[str, str | None]:
        return {
            "llm": self._engines.answer.name,
            "embedding": self._engines.embedder.name,
            "reranker": None,
            "index": index.name,
        }

    @property
    def index(self) -> CorpusIndex:
        """The current generation; opened again when another process wrote a new one."""
        with self._lock:
            if self._index is None or self._store.moved_on(self._index):
                index = self._store.open()
                if index is None:
                    raise MissingResource(
                        f"Corpus {self.corpus!r} has no index.",
                        f"Run `rag index PATH --corpus {self.corpus}`.",
                    )
                self._index = index
            return self._index

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
        ctx = Context(
            index=index,
            embedder=self._engines.embedder,
            llms={"answer": self._engines.answer},
            labels=self._engines.labels,
            stop=stop or threading.Event(),
        )
        return stream(asked, built, ctx, engine=self._engine(index), reuse=reuse)

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
    progress: Progress = silent,
) -> Lab:
    """Open a corpus: load the models, and build or mend the index where needed.

    The built-in corpus is brought up to date with its documents; another corpus must have been
    indexed before.

    Raises:
        RagError: what is missing, and the command that mends it.
    """
    settings = settings or read_settings()
    check_corpus_name(corpus)
    engines = load_engines(settings, lambda what: progress(what, 0, 1))
    store = CorpusStore(settings.home, corpus, engines.embedder, settings.data / "vectors")
    lab = Lab(settings, corpus, engines, store)
    progress("opening the index", 0, 1)
    try:
        damage = None
        store.open()
    except IndexDamaged as error:
        damage = error
    try:
        if corpus == BUILTIN:
            reading = read_path(settings.data / "corpus")
            reading.root, reading.owner = BUILTIN, True  # wherever the folder stands
            store.update(reading, progress)
        elif damage:
            _rebuild(store, damage, progress)
    except IndexBusy as busy:
        if damage or not store.exists:
            raise
        lab.warnings.append(f"{busy.message} Until it is done, questions go to the index in use.")
    if damage:
        lab.warnings.append(f"{damage.message} It has been rebuilt.")
    lab.index  # noqa: B018  # opens it
    progress("ready", 1, 1)
    return lab


def _rebuild(store: CorpusStore, damage: IndexDamaged, progress: Progress) -> None:
    try:
        store.rebuild(progress)
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
