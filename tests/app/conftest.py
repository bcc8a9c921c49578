from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from threading import Semaphore

import pytest
from helpers.browser import CHROMIUM, PLAIN, Visit, serving
from helpers.in_process import fresh, visitor
from helpers.openai_server import OpenAIServer, serve
from helpers.provider_lab import obliging
from helpers.source_files import write
from playwright.sync_api import Browser, expect, sync_playwright
from streamlit.testing.v1 import AppTest

from pages.shared.engine import engine
from rag_core.indexing import CorpusStore, read_path
from rag_core.lab.engines import Engines, PaidModels
from rag_core.lab.lab import Lab
from rag_core.values.errors import MissingResource
from rag_core.values.settings import Settings

SOON_MS = 60_000  # for what is drawn without a model; the machine may be busy


@pytest.fixture(autouse=True)
def patient() -> Iterator[None]:
    expect.set_options(timeout=SOON_MS)
    yield
    expect.set_options(timeout=5_000)


@pytest.fixture(scope="session", autouse=True)
def no_components_of_others() -> Iterator[None]:
    """AppTest would look through every installed package for components, at every run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamlit.components.v2.manifest_scanner.scan_component_manifests", list)
        yield


_opened = ExitStack()
_browsers: list[Browser] = []


@pytest.fixture
def browser() -> Iterator[Browser]:
    """The Chromium of all files: it makes visitors' contexts, which share nothing, and none outlives its test."""
    if not _browsers:
        playwright = _opened.enter_context(sync_playwright())
        _browsers.append(
            playwright.chromium.launch(
                executable_path=CHROMIUM,
                # the second compiler of scripts pays only in pages that stay open
                args=["--no-sandbox", "--disable-dev-shm-usage", "--js-flags=--no-opt"],
            )
        )
        _opened.callback(_browsers.clear)
        _opened.callback(_browsers[0].close)
    yield _browsers[0]
    for left in _browsers[0].contexts:
        left.close()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Close Chromium before a test without it: Playwright's event loop runs as long, and others start their own."""
    if nextitem is None or not nextitem.get_closest_marker("browser"):
        _opened.close()


@pytest.fixture(scope="package")
def app(lab: Lab, real_home: Path) -> Iterator[str]:
    """The app with the offline engine, on the index that the `lab` fixture built; one server for all files."""
    with serving(RAG_HOME=str(real_home), RAG_LLM="offline") as address:
        yield address


@pytest.fixture(scope="package")
def own_home(lab: Lab, real_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state folder of `own`, in which the built-in index is ready."""
    return Path(copytree(real_home, tmp_path_factory.mktemp("own") / "home"))


@pytest.fixture(scope="package")
def own(own_home: Path) -> Iterator[str]:
    """The app with the offline engine, for tests that add documents or measure; one server for all files."""
    with serving(RAG_HOME=str(own_home), RAG_LLM="offline") as address:
        yield address


@pytest.fixture
def visit(browser: Browser, app: str) -> Iterator[Visit]:
    visit = Visit(browser, app)
    yield visit
    visit.context.close()


@pytest.fixture(scope="package")
def paid_home(lab: Lab, real_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder with the built-in documents, and with rules of a ward as a second collection."""
    home = Path(copytree(real_home, tmp_path_factory.mktemp("paid") / "home"))
    rules = "# Ward rules\n\nAnti-D is given in room 4 by the ward midwife, after the blood group is checked."
    files = write(tmp_path_factory.mktemp("ward"), {"rules.md": rules})
    CorpusStore(home, "ward", lab.engines.embedder).update(read_path(files))
    return home


@pytest.fixture(scope="package")
def provider() -> Iterator[OpenAIServer]:
    """The provider behind `paid`; a test takes it as `model`."""
    with serve() as running:
        yield running


@pytest.fixture(scope="package")
def paid(paid_home: Path, provider: OpenAIServer) -> Iterator[str]:
    """The app with a provider's models; one server for all files."""
    settings = {
        "OPENAI_BASE_URL": provider.url,
        "OPENAI_API_KEY": "test",
        "RAG_MODELS": "gpt-4o-mini, my-local-model",
    }
    with serving(RAG_HOME=str(paid_home), RAG_TIMEOUT="300", **settings) as address:
        yield address


@pytest.fixture
def model(provider: OpenAIServer) -> OpenAIServer:
    """The provider behind `paid`, which has been asked nothing yet and answers every kind of prompt."""
    provider.requests.clear()
    provider.gone.clear()
    provider.answered = Semaphore(0)
    provider.choose = obliging
    return provider


@pytest.fixture
def paid_visit(browser: Browser, paid: str, model: OpenAIServer) -> Iterator[Visit]:
    visit = Visit(browser, f"{paid}/{PLAIN}")
    yield visit
    visit.context.close()


Start = Callable[..., AppTest]


@pytest.fixture
def start(lab: Lab, real_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts the app in this process as a new server with these settings would; no model is loaded again.

    Without the address of a provider among them it has the offline engine.
    """

    def engines(settings: Settings, tell: object = None) -> Engines:
        models = PaidModels(settings, lab.engines.prices)
        abstaining = lab.engines.thresholds if settings.abstain == "auto" else None
        return replace(lab.engines, paid=models.of_settings(), models=models, thresholds=abstaining)

    def started(**environment: str) -> AppTest:
        given = {"OPENAI_API_KEY": "test"} if "OPENAI_BASE_URL" in environment else {"RAG_LLM": "offline"}
        for name, value in {"RAG_HOME": str(real_home), "RAG_HISTORY": "off", **given, **environment}.items():
            monkeypatch.setenv(name, value)
        fresh()
        engine().wait()
        return visitor()

    monkeypatch.setattr("rag_core.lab.opening.load_engines", engines)
    monkeypatch.setattr("rag_core.lab.opening.warm_up", lambda *_: None)
    yield started
    fresh()


@pytest.fixture
def without_models(monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """A visitor of an app whose engine cannot be opened, which no page may mind; a test calls its `run`."""

    def open_no_lab(**_: object) -> None:
        raise MissingResource("no models in this test.")

    monkeypatch.setattr("rag_core.open_lab", open_no_lab, raising=False)
    fresh()
    return visitor()


@pytest.fixture
def drawn(lab: Lab, real_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppTest]:
    """The app in this process, its offline engine ready; a test calls its `run`."""
    monkeypatch.setenv("RAG_HOME", str(real_home))
    monkeypatch.setenv("RAG_LLM", "offline")
    monkeypatch.setattr("rag_core.open_lab", lambda **_: lab, raising=False)
    monkeypatch.setattr("rag_core.lab.opening.warm_up", lambda *_: None)
    monkeypatch.setattr(lab, "others", lab.others)  # the engine sets it
    fresh()
    engine().wait()
    yield visitor()
    fresh()
