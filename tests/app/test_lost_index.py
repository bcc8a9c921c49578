"""Every page survives an index lost while the app serves, says so, and works again without a restart."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.in_process import html, press, text
from helpers.small import ROOT
from helpers.source_files import without_corpus
from streamlit.testing.v1 import AppTest

from pages.frame.gate import PAGES
from pages.shared.engine import engine

SCRIPTS = [script for _, script, _ in PAGES]
REBUILD = "Rebuild the index"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One document in place of the built-in ones: it is indexed at once."""
    made = without_corpus(tmp_path_factory.mktemp("data"))
    shutil.copy(ROOT / "data" / "corpus" / "en" / "anti-d-rhesus.md", made / "corpus")
    return made


@pytest.fixture
def served(start: Callable[..., AppTest], data: Path, tmp_path: Path) -> AppTest:
    """The app on a state folder of its own, its index in order."""
    app = start(RAG_HOME=str(tmp_path / "home"), RAG_DATA=str(data)).run()
    assert "Not ready" not in html(app)
    return app


def assert_lost(app: AppTest, words: str) -> None:
    assert not app.exception
    assert "Not ready" in html(app)
    assert words in text(html(app))
    assert REBUILD in [button.label for button in app.button]


def test_every_page_says_that_the_index_is_lost_and_rebuilds_it(served, tmp_path):
    shutil.rmtree(tmp_path / "home")
    for script in SCRIPTS:
        assert_lost(served.switch_page(script).run(), "has no index. Run `rag doctor` to make it.")
    press(served, REBUILD)
    assert engine().wait().run("When is anti-D given?", "bm25").ranking.hits
    for script in SCRIPTS:
        served.switch_page(script).run()
        assert not served.exception, script
        assert "Not ready" not in html(served)
        assert REBUILD not in [button.label for button in served.button]


def test_a_damaged_index_is_told_by_what_is_damaged(served, tmp_path):
    (index,) = (one for one in (tmp_path / "home/corpora/obstetrics").iterdir() if "+" not in one.name)
    (manifest,) = index.glob("gen-*/manifest.json")
    whole = manifest.read_bytes()
    manifest.write_bytes(b"\xff\x00")
    assert_lost(served.run(), "manifest.json cannot be read")
    manifest.write_bytes(whole)
    (index / "CURRENT").write_text("gen-000099")
    assert_lost(served.run(), "CURRENT names")
