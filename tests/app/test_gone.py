"""What an address or a setting names and is no longer here is said, and nothing else takes its place unsaid."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.browser import ANSWER_MS, CHROMIUM, ENGLISH, Visit, serving, wait_for_models
from helpers.source_files import write
from playwright.sync_api import Browser, Locator, Page, expect

from rag_core import Settings, remove_corpus
from rag_core.lab.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]
ASKED = "What+are+the+visiting+hours+on+the+ward"
HOURS = "from 2 to 8 in the afternoon"


@pytest.fixture(scope="module")
def home(lab: Lab, real_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder of its own, in which the built-in index is ready."""
    return Path(shutil.copytree(real_home, tmp_path_factory.mktemp("gone") / "home"))


@pytest.fixture(scope="module")
def app(home: Path) -> Iterator[str]:
    with serving(RAG_HOME=str(home), RAG_LLM="offline") as address:
        yield address


def opened(browser: Browser, address: str) -> Page:
    page = browser.new_context(viewport={"width": 1440, "height": 1000}, locale="en-GB").new_page()
    page.set_default_timeout(60_000)
    page.goto(address)
    wait_for_models(page)
    return page


def run(page: Page) -> None:
    page.get_by_role("button", name="Run", exact=True).click()


def alert(page: Page) -> Locator:
    return page.get_by_test_id("stAlert")


def test_an_address_that_names_what_is_not_here_is_told_so(browser: Browser, app: str) -> None:
    page = opened(browser, app)
    for path, told in (
        ("tune?run=gone", "no longer stored on this server"),
        ("tune?q=a&s=bm25&corpus=nowhere", "There are no documents 'nowhere' here"),
        ("tune?s=bm25&s=hyde", "2 strategies are named; only the first is used."),
        ("documents?document=none", "There is no document 'none' here."),
        ("documents?corpus=nowhere", "There is no collection 'nowhere' here."),
        ("results?run=gone", "There is no measured run 'gone' here."),
        ("search-settings?sweep=gone", "There is no sweep 'gone' here."),
    ):
        page.goto(f"{app}/{path}")
        expect(alert(page).filter(has_text=told)).to_be_visible(timeout=ANSWER_MS)
        wait_for_models(page)
        expect(alert(page).filter(has_text=told)).to_be_visible()
    page.context.close()


def test_the_browser_goes_back_to_the_setting_before(browser: Browser, app: str) -> None:
    visit = Visit(browser, f"{app}/tune")
    page = visit.page
    visit.type(ENGLISH)
    visit.run()
    expect(page.locator(".rl-changes")).to_be_visible(timeout=ANSWER_MS)
    slider = page.get_by_role("slider", name="mmr_lambda")
    for value in ("0.65", "0.6"):
        slider.press("ArrowLeft")
        page.wait_for_url(re.compile(f"mmr_lambda={value}"))
    page.wait_for_timeout(1500)  # by then what the browser says of its address is taken for its user's will
    page.go_back()
    expect(slider).to_have_value("0.65")
    expect(page.locator(".rl-changes")).to_be_visible()
    page.go_forward()
    expect(slider).to_have_value("0.6")
    # below another path than "/" Streamlit's page first asks that path for the server, and is told 404
    visit.errors = [error for error in visit.errors if "404" not in error]
    visit.assert_clean()
    visit.context.close()


def test_documents_deleted_elsewhere_are_missed_by_name(
    browser: Browser, app: str, home: Path, tmp_path: Path
) -> None:
    files = write(tmp_path / "files", {"visits.md": f"# Visits\n\nVisiting hours on the ward are {HOURS}."})
    adding = opened(browser, f"{app}/documents?view=add")
    name = adding.get_by_role("combobox", name="Name of the collection")
    name.fill("ward")
    name.press("Enter")
    adding.locator("input[type=file]").set_input_files(sorted(files.iterdir()))
    expect(adding.get_by_role("button", name="Remove visits.md")).to_be_visible()
    adding.get_by_role("button", name="Add documents").click()
    expect(adding.get_by_text("1 added.")).to_be_visible(timeout=ANSWER_MS)

    column = opened(browser, f"{app}/?q={ASKED}&s=bm25&s=bm25&1.corpus=ward")
    whole = opened(browser, f"{app}/?q={ASKED}&s=bm25&s=simple_semantic&corpus=ward")
    tune = opened(browser, f"{app}/tune?q={ASKED}&s=hybrid_rrf&corpus=ward")
    for page in (column, whole, tune):
        run(page)
        expect(page.locator(".rl-answer").first).to_contain_text(HOURS, timeout=ANSWER_MS)
    remove_corpus("ward", Settings(home=home, llm="offline"))

    run(column)
    expect(column.locator(".rl-box.rl-bad")).to_contain_text("Corpus 'ward' has no index.", timeout=ANSWER_MS)
    run(whole)
    expect(alert(whole)).to_contain_text("There are no documents 'ward' here. Choose others, then press Run.")
    expect(whole.locator(".rl-answer").first).to_contain_text(HOURS)  # still the comparison before
    tune.get_by_role("slider", name="mmr_lambda").press("ArrowLeft")
    expect(alert(tune)).to_contain_text("Corpus 'ward' has no index.")
    for page in (adding, column, whole, tune):
        expect(page.get_by_test_id("stException")).to_have_count(0)
        page.context.close()
