"""The measuring pages in a real browser: empty, running, done, on a phone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import DOCUMENTS
from playwright.sync_api import Browser, Page, expect
from test_app import CHROMIUM, browser, serving  # noqa: F401  # a fixture

from rag_core.lab import Lab

MEASURED_MS = 120_000  # the machine may be busy
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small BEIR folder: measuring it takes no time."""
    made = tmp_path_factory.mktemp("sets") / "animals"
    (made / "qrels").mkdir(parents=True)
    rows = [{"_id": one.id, "title": one.title, "text": one.text} for one in DOCUMENTS]
    (made / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = [line.strip() for one in DOCUMENTS for line in one.text.split(".") if line.strip()]
    queries = [(f"q{i}", text, DOCUMENTS[i % len(DOCUMENTS)].id) for i, text in enumerate(words * 2)]
    (made / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": key, "text": text}) + "\n" for key, text, _ in queries)
    )
    for split in ("dev", "test"):
        lines = "".join(f"{key}\t{document}\t1\n" for key, _, document in queries)
        (made / "qrels" / f"{split}.tsv").write_text("query-id\tcorpus-id\tscore\n" + lines)
    return made


@pytest.fixture(scope="module")
def app(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on a state folder of its own, where nothing has been measured."""
    with serving(RAG_HOME=str(tmp_path_factory.mktemp("measuring")), RAG_LLM="offline") as address:
        yield address


def page_at(browser: Browser, address: str, width: int = 1440) -> tuple[Page, list[str]]:  # noqa: F811
    page = browser.new_context(viewport={"width": width, "height": 1000}).new_page()
    errors: list[str] = []
    # below another path than "/" Streamlit first asks that path for its server, and is told 404
    page.on(
        "console",
        lambda line: (
            errors.append(line.text)
            if line.type == "error" and "/_stcore/" not in line.location["url"]
            else None
        ),
    )
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    return page, errors


def choose_folder(page: Page, folder: Path) -> None:
    page.get_by_role("button", name="A BEIR folder").or_(page.get_by_role("radio", name="A BEIR folder")).first.click()  # fmt: skip
    box = page.get_by_role("textbox", name="Folder")
    box.fill(str(folder))
    box.press("Enter")


def test_measuring_from_nothing_to_single_questions(browser: Browser, app: str, folder: Path) -> None:  # noqa: F811
    page, errors = page_at(browser, f"{app}/results")
    expect(page.get_by_text("Nothing has been measured yet.")).to_be_visible(timeout=MEASURED_MS)
    page.get_by_role("link", name="Measure strategies").click()
    expect(page.get_by_role("heading", name="Measure strategies on judged questions")).to_be_visible()

    choose_folder(page, folder / "missing")
    page.get_by_role("button", name="Measure", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="missing")).to_be_visible()

    choose_folder(page, folder)
    page.get_by_role("button", name="Measure", exact=True).click()
    expect(page.get_by_text("done.")).to_be_visible(timeout=MEASURED_MS)
    page.get_by_role("link", name="See the results").click()
    expect(page.get_by_role("heading", name="Results")).to_be_visible()
    expect(page.get_by_text("16 questions", exact=False)).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(4)  # intervals, pairs, by language, front
    expect(page.get_by_text("wins", exact=False).first).to_be_visible()

    page.get_by_role("tab", name="Stage by stage").click()
    shown = page.get_by_role("tabpanel", name="Stage by stage").get_by_test_id("stDataFrame")
    expect(shown).to_have_count(3)  # one a strategy
    page.get_by_role("tab", name="Question by question").click()
    for verdict in ("better", "different", "same"):
        page.get_by_test_id("stButtonGroup").get_by_text(verdict, exact=False).first.click()
    table = page.get_by_test_id("stDataFrame").last
    expect(table).to_be_visible()
    table.click(position={"x": 15, "y": 55})  # the box before the first question
    expect(page.locator(".rl-stage").first).to_be_visible()
    expect(page.locator(".rl-label", has_text="grade").first).to_be_visible()
    assert errors == []

    page.get_by_role("link", name="History").click()
    expect(page.get_by_role("heading", name="History of runs")).to_be_visible()
    history = page.get_by_test_id("stDataFrame").first
    expect(history).to_be_visible()
    history.click(position={"x": 15, "y": 55})
    expect(page.get_by_role("button", name="See its results")).to_be_visible()
    assert errors == []
    page.context.close()


def test_tuning_ends_in_the_compare_page(browser: Browser, app: str, folder: Path) -> None:  # noqa: F811
    page, errors = page_at(browser, f"{app}/tune")
    expect(page.get_by_text("Nothing has been tuned yet.")).to_be_visible(timeout=MEASURED_MS)
    choose_folder(page, folder)
    page.get_by_role("combobox", name="At most").click()
    page.get_by_role("option", name="100 settings").click()
    page.get_by_role("button", name="Tune:").click()
    expect(page.get_by_text("Winner:")).to_be_visible(timeout=MEASURED_MS)
    expect(page.get_by_text("gave exactly the scores of the sweep")).to_contain_text("9 of 9")
    expect(page.locator(".js-plotly-plot")).to_have_count(3)
    winner = page.get_by_test_id("stMarkdownContainer").filter(has_text="Winner:").inner_text()
    wanted = re.search(r"mmr_lambda ([\d.]*\d)", winner)
    assert wanted
    page.get_by_role("button", name="Open the winner in Compare").click()
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_visible()
    page.get_by_role("button", name="Settings").first.click()
    slider = page.get_by_role("slider", name="mmr_lambda")
    expect(slider).to_have_value(f"{float(wanted[1]):g}")
    assert errors == []
    page.context.close()


@pytest.mark.parametrize("path", ["measure", "results", "tune", "history"])
def test_a_phone_does_not_scroll_sideways(browser: Browser, app: str, path: str) -> None:  # noqa: F811
    page, errors = page_at(browser, f"{app}/{path}", width=390)
    expect(page.get_by_role("heading").first).to_be_visible(timeout=MEASURED_MS)
    page.wait_for_timeout(1500)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert errors == []
    page.context.close()
