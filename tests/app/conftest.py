"""A browser, and the app it visits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from helpers.browser import CHROMIUM, LEAN, Visit, serving
from playwright.sync_api import Browser, expect, sync_playwright

from rag_core.lab.lab import Lab

SOON_MS = 60_000  # for what is drawn without a model; the machine may be busy


@pytest.fixture(autouse=True)
def patient() -> Iterator[None]:
    expect.set_options(timeout=SOON_MS)
    yield
    expect.set_options(timeout=5_000)


_opened = ExitStack()
_browsers: list[Browser] = []


@pytest.fixture
def browser() -> Iterator[Browser]:
    """The Chromium of all files: it makes visitors' contexts, which share nothing, and none outlives its test."""
    if not _browsers:
        playwright = _opened.enter_context(sync_playwright())
        _browsers.append(
            playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage", *LEAN]
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


@pytest.fixture
def visit(browser: Browser, app: str) -> Iterator[Visit]:
    visit = Visit(browser, app)
    yield visit
    visit.context.close()
