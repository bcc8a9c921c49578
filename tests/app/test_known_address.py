"""Which comparison Compare shows when the browser's address names another than the server does."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import streamlit as st
from helpers.small import ROOT
from streamlit.testing.v1 import AppTest

import rag_core
from pages.shared.comparisons import comparisons
from pages.shared.live import Column, Comparison
from rag_core.values.errors import MissingResource


def compared(identity: str) -> Comparison:
    column = Column(rag_core.build("bm25"))
    return Comparison(identity, datetime.now(UTC), f"The question of {identity}?", [column])


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """Compare after a second comparison was begun: the browser has drawn the first alone, and sends its address."""

    def open_no_lab(**_: object) -> None:
        raise MissingResource("no models in this test.")

    monkeypatch.setattr("rag_core.open_lab", open_no_lab, raising=False)
    st.cache_resource.clear()
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    comparisons().keep(compared("first"))
    app.query_params["run"] = "first"
    app.run()
    assert shown(app) == "first"
    app.session_state["run"] = compared("second")
    app.query_params["run"] = "first"
    app.text_input(key="drawn").set_value("first")
    return app.run()


def shown(app: AppTest) -> str:
    """The comparison on screen, and in the address."""
    assert not app.exception
    identity = app.session_state["run"].id
    assert any(f"The question of {identity}?" in one.proto.body for one in app.get("html"))
    assert app.query_params["run"] in (identity, [identity])  # a string where the test itself has set it
    return identity


def test_an_address_from_before_the_comparison_was_drawn_does_not_undo_it(app: AppTest) -> None:
    assert shown(app) == "second"


def test_an_older_address_from_after_it_was_drawn_is_followed(app: AppTest) -> None:
    app.query_params["run"] = "first"
    assert app.text_input(key="drawn").value == "second"  # and so the browser sends it
    assert shown(app.run()) == "first"
