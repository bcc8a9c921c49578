"""Every page in a real browser: its address, the first visit of a fresh server, a lab without documents."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.browser import ANSWER_MS, CHROMIUM, Visit, serving, tab
from helpers.small import ROOT
from playwright.sync_api import Browser, Page, expect

from pages.shared.addresses import PAGES
from rag_core.lab.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]
SCRIPTS = {path: script for path, script, _ in PAGES}


def test_the_first_visit_of_a_fresh_server_may_be_to_any_page(
    browser: Browser, lab: Lab, real_home: Path
) -> None:
    """The first on a server of its own, while the models load; the others on the same one."""
    errors: list[tuple[str, str]] = []

    def look(page: Page, link: str, heading: str) -> None:
        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible(timeout=ANSWER_MS)
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert page.url == link

    with serving(RAG_HOME=str(real_home), RAG_LLM="offline") as address:
        for path, script in reversed(SCRIPTS.items()):
            text = (ROOT / script).read_text(encoding="utf-8")
            heading = re.search(r'st\.header\((?:label\(|t\()*"([^"]+)"', text)[1]
            page = browser.new_page()
            page.on(
                "console",
                lambda line: (
                    errors.append((line.text, line.location["url"])) if line.type == "error" else None
                ),
            )
            page.goto(f"{address}/{path}")
            look(page, f"{address}/{path}", heading)
            page.reload()
            look(page, f"{address}/{path}", heading)
            page.close()
    # below another path than "/" Streamlit's page first asks that path for the server, and is told 404
    assert [error for error in errors if "/_stcore/" not in error[1]] == []


def test_compare_by_its_name_is_the_page_with_its_tab(browser: Browser, app: str) -> None:
    visit = Visit(browser, f"{app}/compare")
    expect(visit.page).to_have_url(f"{app}/")
    expect(tab(visit.page, "Compare")).to_have_attribute("aria-current", "page")
    visit.assert_clean()
    visit.context.close()


@pytest.mark.parametrize("data", ["nowhere", "empty"])
def test_a_lab_without_documents_says_so_on_every_page_and_what_to_do(
    browser: Browser, tmp_path: Path, data: str
) -> None:
    (tmp_path / "empty" / "corpus").mkdir(parents=True)
    with serving(RAG_HOME=str(tmp_path), RAG_DATA=str(tmp_path / data)) as address:
        context = browser.new_context()
        page = context.new_page()
        for path in ("/", "/documents"):
            page.goto(address + path)
            told = page.get_by_role("alert").filter(has_text="Not ready.")
            expect(told).to_contain_text(str(tmp_path / data / "corpus"), timeout=60_000)
            expect(told).to_contain_text("set RAG_DATA to a folder whose corpus/ has documents")
        context.close()


def test_the_documents_page_shows_a_document_and_its_guidance(browser: Browser, app: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{app}/documents")
    expect(page.get_by_text("Guidance cited by this document")).to_be_visible(timeout=60_000)
    context.close()
