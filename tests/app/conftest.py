"""A browser, and the app it visits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.browser import CHROMIUM, Visit, serving
from playwright.sync_api import Browser, sync_playwright

from rag_core.lab.lab import Lab


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def app(lab: Lab, real_home: Path) -> Iterator[str]:
    """The app with the offline engine, on the index that the `lab` fixture built."""
    with serving(RAG_HOME=str(real_home), RAG_LLM="offline") as address:
        yield address


@pytest.fixture
def visit(browser: Browser, app: str) -> Iterator[Visit]:
    visit = Visit(browser, app)
    yield visit
    visit.context.close()
