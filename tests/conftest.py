"""A small index on disk, the real lab, and the command line, for every test."""

import functools
import gc
import importlib
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from filelock import FileLock
from helpers.beir import beir_folder
from helpers.browser import CHROMIUM
from helpers.fakes import MANY, WordReranker, talker
from helpers.openai_server import OpenAIServer, serve
from helpers.provider_lab import obliging
from helpers.small import DOCUMENTS, ENVIRONMENT, ROOT, Rag, Ran, WordEmbedder
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from rag_core.cli import main
from rag_core.documents.asked import Asked
from rag_core.documents.documents import BUILTIN
from rag_core.indexing import CorpusIndex, CorpusStore, OfflineEnricher, SourceFiles
from rag_core.jobs import Job
from rag_core.lab.corpora import corpus_names
from rag_core.lab.lab import Lab
from rag_core.lab.opening import open_lab
from rag_core.language.thesaurus import Thesaurus
from rag_core.models import LlamaEmbedder, load_embedder
from rag_core.offline.asked import AskedIndex
from rag_core.offline.loading import load_scorer
from rag_core.offline.scorer import OfflineScorer
from rag_core.runtime.context import Context
from rag_core.runtime.services import Services
from rag_core.testing import ScriptedLlm
from rag_core.values.labels import LabelRules, Thresholds
from rag_core.values.pricing import PriceList
from rag_core.values.settings import Settings

# A busy machine generates examples slowly; only what is found may fail a test. Every run draws others.
hypothesis.settings.register_profile(
    "busy", deadline=None, max_examples=30, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("busy")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests in a browser are skipped where there is none."""
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is on the path"))


# Look for garbage seldom: the libraries and tests that stay, half a million objects, are walked each time.
gc.set_threshold(100_000, 50, 50)


def pytest_collection_finish() -> None:
    gc.freeze()


# What a file holds -> what it loads, for the whole run: a Chromium and a server of each kind, torch, or vectors.
LOADED_ONCE = {
    "pytest.mark.browser": "browser",
    "helpers.tiny": "torch",
    "import torch": "torch",
    "hostile_home": "hostile documents",
}


class Sharing(LoadFileScheduling):
    """By file, but all files that load the same slow thing on one worker."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return next((thing for sign, thing in LOADED_ONCE.items() if sign in _source(file)), file)


@functools.cache
def _source(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Sharing:
    return Sharing(config, log)


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    """Writes stay in the system's cache: only a power cut could tell, and measuring waits for thousands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield


@pytest.fixture(scope="session")
def prices() -> PriceList:
    return PriceList.read(ROOT / "data" / "prices.toml")


@pytest.fixture(scope="session")
def minilm(prices: PriceList) -> LlamaEmbedder:
    return load_embedder(Settings(embedding="minilm"), prices)


@pytest.fixture(scope="session")
def scorer(minilm: LlamaEmbedder, prices: PriceList) -> OfflineScorer:
    return load_scorer(Settings(), minilm, prices)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting of the machine reaches a test, and no test writes into the repository."""
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))
    # where AppTest puts its script, which the processes of later tests would then run
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
def phase(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set once a job of this process asks for consent or ends."""
    reported, report = threading.Event(), Job.report

    def noted(job: Job, **changes: object) -> None:
        report(job, **changes)
        if "phase" in changes:
            reported.set()

    monkeypatch.setattr(Job, "report", noted)
    return reported


@pytest.fixture
def short_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second request follows a failed one at once: what comes of it is tested, not the wait."""
    monkeypatch.setattr("rag_core.models.openai.client.BACK_OFF", 0.01)


@pytest.fixture
def server(short_back_off: None) -> Iterator[OpenAIServer]:
    """A server that answers every kind of prompt."""
    with serve() as running:
        running.choose = obliging
        yield running


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The offline engine's, with an empty state folder."""
    return Settings(home=tmp_path / "home", llm="offline")


@pytest.fixture
def store(tmp_path: Path, embedder: WordEmbedder) -> CorpusStore:
    return CorpusStore(tmp_path / "home", "animals", embedder)


@pytest.fixture(scope="session")
def indexed_documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder in which DOCUMENTS are indexed, to be copied."""
    home = tmp_path_factory.mktemp("indexed") / "home"
    CorpusStore(home, "animals", WordEmbedder()).update(SourceFiles("test", list(DOCUMENTS)))
    return home


@pytest.fixture(scope="session")
def read_only_store(indexed_documents: Path) -> Iterator[CorpusStore]:
    """DOCUMENTS, indexed, of all tests: to be read only."""
    held = sorted((indexed_documents / "corpora").rglob("*"))
    yield CorpusStore(indexed_documents, "animals", WordEmbedder())
    assert sorted((indexed_documents / "corpora").rglob("*")) == held, "a test wrote to the index of all tests"


@pytest.fixture(scope="session")
def read_only_index(read_only_store: CorpusStore) -> CorpusIndex:
    """Opened once: to open an index takes longer than most tests of what is done with it."""
    return read_only_store.open()


@pytest.fixture
def index(store: CorpusStore, indexed_documents: Path, tmp_path: Path) -> CorpusIndex:
    """DOCUMENTS, indexed; a copy of its own."""
    shutil.copytree(indexed_documents, tmp_path / "home", dirs_exist_ok=True)
    return store.open()


@pytest.fixture
def labels() -> LabelRules:
    return LabelRules({("cosine", "words-1", "en"): Thresholds(0.6, 0.3)})


@pytest.fixture
def llm() -> ScriptedLlm:
    return ScriptedLlm("Cats purr [1]. They sleep [2].")


@pytest.fixture
def services(read_only_index: CorpusIndex, embedder: WordEmbedder, llm: ScriptedLlm, labels: LabelRules) -> Services:
    """DOCUMENTS indexed, with fakes for models."""
    return Services(index=read_only_index, embedder=embedder, llms={"answer": llm, "rewrite": llm}, labels=labels)


@pytest.fixture
def ctx(services: Services) -> Context:
    """What one stage sees of `services`."""
    return Context(services)


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[CorpusIndex, CorpusIndex]:
    """fakes.MANY indexed, plain and with contexts; for tests that do not write."""
    store = CorpusStore(tmp_path_factory.mktemp("many"), "many", WordEmbedder())
    store.update(SourceFiles("test", list(MANY)))
    plain = store.open()
    store.enriched.follow(plain, OfflineEnricher(Thesaurus(())))
    enriched = store.enriched.open()
    return plain, enriched


def known(index: CorpusIndex, embedder: WordEmbedder) -> AskedIndex:
    """A question for every passage: its first sentence."""
    rows = [Asked(one.id, one.language, one.text.partition(".")[0]) for one in index.passages.values()]
    vectors = embedder.embed([one.question for one in rows])[0]
    return AskedIndex(rows, lambda: [vectors], embedder, index.passages)


@pytest.fixture
def full(many: tuple[CorpusIndex, CorpusIndex], embedder: WordEmbedder, labels: LabelRules) -> Services:
    """Services every strategy runs on: fakes.MANY indexed, one model for every role, a reranker."""
    llm = talker()
    return Services(
        index=many[0],
        enriched=many[1],
        asked=known(many[0], embedder),
        embedder=embedder,
        llms={"answer": llm, "rewrite": llm, "judge": llm},
        labels=labels,
        reranker=WordReranker(),
    )


@pytest.fixture(scope="session")
def real_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder with the built-in index, shared by all tests that need the real models."""
    return tmp_path_factory.mktemp("real-home")


@pytest.fixture(scope="session")
def lab(real_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The real lab: bundled embedding model, built-in documents, offline engine.

    The first worker that needs it builds the index; the others get a copy.
    """
    settings = Settings(home=real_home, llm="offline")
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return open_lab(settings=settings)
    built = tmp_path_factory.getbasetemp().parent / "built"  # the parent is this run's
    with FileLock(f"{built}.lock"):
        if not built.is_dir():
            lab = open_lab(settings=settings)
            for name in ("vectors", "corpora"):
                shutil.copytree(real_home / name, built / name)
            return lab
    shutil.copytree(built, real_home, dirs_exist_ok=True)
    return open_lab(settings=settings)


@pytest.fixture
def ready(lab: Lab, real_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The real lab, its models loaded and its built-in corpus opened once for all tests; no other corpus stays."""
    for module in ("lab.doctor", "sessions"):  # commands load these late, and would keep what is patched here
        importlib.import_module(f"rag_core.{module}")
    monkeypatch.setenv("RAG_HOME", str(real_home))
    monkeypatch.setattr("rag_core.lab.opening.load_engines", lambda settings, tell=None: lab.engines)
    monkeypatch.setattr(
        "rag_core.open_lab",
        lambda corpus, **options: lab if corpus == lab.corpus else open_lab(corpus, **options),
    )
    yield real_home
    assert corpus_names(real_home) == [BUILTIN], "the corpora of real_home are every test's: index elsewhere"


@pytest.fixture(scope="session")
def hostile_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state folder of all tests that index the hostile suite's documents: the first embeds them."""
    return tmp_path_factory.mktemp("hostile-home")


ASKED = [
    ("q1", "cats sleep", {"a": 2, "e": 1}),
    ("q2", "dogs guard the house", {"b": 2}),
    ("q3", "birds that swim", {"c": 1}),
]


@pytest.fixture
def beir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A BEIR folder of DOCUMENTS, with a dev and a test split; measured without a provider."""
    monkeypatch.setenv("RAG_LLM", "offline")
    return beir_folder(tmp_path / "animals", ASKED)


@pytest.fixture
def rag(capsys: pytest.CaptureFixture[str]) -> Rag:
    """Runs the command in this process."""

    def run(*arguments: str) -> Ran:
        capsys.readouterr()
        try:
            main(arguments)
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
        printed = capsys.readouterr()
        return Ran(code, printed.out, printed.err)

    return run
