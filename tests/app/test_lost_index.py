"""Every page survives an index lost while the app serves, says so, and works again without a restart."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st
from helpers.small import ROOT
from streamlit.testing.v1 import AppTest

import rag_core
from pages.shared.addresses import PAGES
from pages.shared.engine import engine
from rag_core.lab.lab import Lab

SCRIPTS = [script for _, script, _ in PAGES]
REBUILD = "Rebuild the index"


def plain_index(home: Path) -> Path:
    (folder,) = (one for one in (home / "corpora" / "obstetrics").iterdir() if "+" not in one.name)
    return folder


def delete_everything(home: Path) -> None:
    shutil.rmtree(home)


def point_to_nothing(home: Path) -> None:
    (plain_index(home) / "CURRENT").write_text("gen-000099")


def damage_generation(home: Path) -> None:
    (manifest,) = plain_index(home).glob("gen-*/manifest.json")
    manifest.write_bytes(b"\xff\x00")


def badge(app: AppTest) -> str:
    return " ".join(one.proto.body for one in app.get("html"))


@pytest.mark.parametrize(
    ("lose", "words"),
    [
        (delete_everything, "has no index. Run `rag doctor` to make it."),
        (point_to_nothing, "CURRENT names"),
        (damage_generation, "manifest.json cannot be read"),
    ],
)
def test_every_page_says_that_the_index_is_lost_and_rebuilds_it(
    lab: Lab,
    real_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    lose: Callable[[Path], None],
    words: str,
) -> None:
    home = tmp_path / "home"
    shutil.copytree(real_home, home)
    monkeypatch.setenv("RAG_LLM", "offline")
    monkeypatch.setattr("rag_core.lab.opening.load_engines", lambda settings, tell=None: lab.engines)
    st.cache_resource.clear()
    engine().wait()
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    assert "Not ready" not in badge(app)
    lose(home)
    for script in SCRIPTS:
        app.switch_page(script).run()
        assert not app.exception, script
        assert "Not ready" in badge(app)
        assert words in badge(app).replace("&#x27;", "'")
        assert REBUILD in [button.label for button in app.button]
    next(button for button in app.button if button.label == REBUILD).click().run()
    assert engine().wait().run("When is anti-D given?", "bm25").ranking.hits
    for script in SCRIPTS:
        app.switch_page(script).run()
        assert not app.exception, script
        assert "Not ready" not in badge(app)
        assert REBUILD not in [button.label for button in app.button]
    st.cache_resource.clear()


def test_an_open_lab_finds_an_index_that_another_process_made_again(
    lab: Lab, real_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    shutil.copytree(real_home, home)
    monkeypatch.setenv("RAG_HOME", str(home))
    monkeypatch.setattr("rag_core.lab.opening.load_engines", lambda settings, tell=None: lab.engines)
    served = rag_core.open_lab()
    assert served.run("When is anti-D given?", "hybrid_rrf").ranking.hits
    shutil.rmtree(home)
    with pytest.raises(rag_core.RagError, match="no index"):
        served.run("When is anti-D given?", "hybrid_rrf")
    shutil.copytree(real_home, home)  # the same names, other files
    assert served.run("When is anti-D given?", "hybrid_rrf").ranking.hits
