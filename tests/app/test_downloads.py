"""Files that Compare saves: opened where they will be opened, without the app and without a network."""

import csv
import io
import json
import zipfile
from pathlib import Path

import pytest
from helpers.browser import SPANISH, Visit
from playwright.sync_api import expect

from rag_core.sessions.saved import read_session

pytestmark = pytest.mark.browser


@pytest.fixture
def saved(visit: Visit, tmp_path: Path) -> dict[str, Path]:
    """Every file of the menu, by the first word of its title, after one comparison."""
    visit.pick(SPANISH)
    visit.run()
    visit.wait_until_done()
    visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.page.get_by_role("button", name="Copy link").click()
    expect(visit.page.get_by_role("button", name="Copied")).to_be_visible()
    assert visit.page.evaluate("navigator.clipboard.readText()") == visit.page.url
    visit.page.get_by_role("button", name="Download").click()
    files = {}
    for title in ("Report", "Session", "Passages", "Rankings"):
        with visit.page.expect_download() as download:
            visit.page.get_by_role("button", name=title).click()
        files[title] = tmp_path / download.value.suggested_filename
        download.value.save_as(files[title])
    visit.assert_clean()
    return files


def test_every_file_has_the_comparison(saved, browser):
    traces = read_session(saved["Session"])
    ids = [one.id for trace in traces for one in trace.contexts]
    assert len(traces) == 3
    assert json.loads(saved["Session"].read_text())["question"] == SPANISH
    rows = list(csv.DictReader(io.StringIO(saved["Passages"].read_text("utf-8-sig"))))
    assert [row["passage"] for row in rows] == ids
    with zipfile.ZipFile(saved["Rankings"]) as archive:
        runs = [archive.read(name).decode() for name in archive.namelist()]
    assert [line.split()[2] for run in runs for line in run.splitlines()] == ids

    context = browser.new_context(offline=True, viewport={"width": 390, "height": 844})
    page, asked, said = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda line: said.append(line.text))
    page.goto(saved["Report"].as_uri())
    expect(page.get_by_role("heading", level=1)).to_have_text(SPANISH)
    assert page.get_by_role("article").count() == len(ids)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator(".answer .cite").first.click()
    expect(page.locator("article:target")).to_be_in_viewport()
    assert [one for one in asked if not one.startswith("file:")] == []
    assert said == []
    context.close()
