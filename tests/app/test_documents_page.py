"""The Documents page shows every document that can be read, and names the others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import streamlit
from helpers.hostile_files import alias_bomb, front_matter
from helpers.small import ROOT
from helpers.source_files import write
from streamlit.testing.v1 import AppTest


def test_malformed_files_of_the_collection_leave_the_others_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"good.md": front_matter(), "bad.md": "no front matter", "bomb.md": alias_bomb()}
    write(tmp_path / "corpus", files)
    (tmp_path / "corpus" / "endless.md").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "corpus" / "pipe.md")
    monkeypatch.setenv("RAG_DATA", str(tmp_path))
    streamlit.cache_data.clear()  # pages drawn by other tests of this process
    streamlit.cache_resource.clear()
    page = AppTest.from_file(str(ROOT / "pages" / "ask" / "documents.py"), default_timeout=60).run()
    assert not page.exception
    assert "1 documents" in page.caption[0].value
    assert [name for name in ("bad.md", "bomb.md") if any(name in one.value for one in page.warning)] == [
        "bad.md",
        "bomb.md",
    ]
