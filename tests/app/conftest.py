"""A browser, and the app it visits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.browser import CHROMIUM, Visit, serving
from playwright.sync_api import Browser, expect, sync_playwright

from rag_core.lab.lab import Lab

SOON_MS = 60_000  # for what is drawn without a model; the machine may be busy


@pytest.fixture(autouse=True)
def patient() -> Iterator[None]:
    expect.set_options(timeout=SOON_MS)
    yield
    expect.set_options(timeout=5_000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield opened
        opened.close()


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
