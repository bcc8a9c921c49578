"""The cookie of a visitor: only what this server signed names anybody."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages.shared import cookie


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("RAG_HOME", str(tmp_path))
    cookie._key.cache_clear()
    yield tmp_path
    cookie._key.cache_clear()


def test_thirty_invented_cookies_are_nobody(home):
    given = cookie.new_value()
    name, _, signature = given.partition(".")
    invented = [f"guest-{place}" for place in range(30)]
    for value in (*invented, f"{name}x.{signature}", name, f"{name}.", f".{signature}", "é.é", ""):
        assert cookie.visitor_of({cookie.COOKIE: value}) == "", value
    assert cookie.visitor_of({}) == ""
    assert cookie.visitor_of({cookie.COOKIE: given}) == name != cookie.visitor_of({cookie.COOKIE: cookie.new_value()})


def test_the_apps_of_one_state_folder_and_a_restart_know_it(home):
    given = cookie.new_value()
    assert stat.S_IMODE((home / cookie.KEY_FILE).stat().st_mode) == 0o600
    cookie._key.cache_clear()  # as in another process
    assert cookie.visitor_of({cookie.COOKIE: given})
    (home / cookie.KEY_FILE).unlink()
    cookie._key.cache_clear()
    assert not cookie.visitor_of({cookie.COOKIE: given})


def test_where_no_key_can_be_kept_it_holds_for_the_process(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "file" / "home"))
    assert cookie.visitor_of({cookie.COOKIE: cookie.new_value()})
