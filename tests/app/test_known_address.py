"""Which comparison Compare shows when the browser's address names another than the server does."""

from datetime import UTC, datetime

import pytest
from streamlit.testing.v1 import AppTest

import rag_core
from pages.shared.history_sync import comparisons
from pages.shared.live import Column, Comparison


def compared(identity: str) -> Comparison:
    column = Column(rag_core.build("bm25"))
    return Comparison(identity, datetime.now(UTC), f"The question of {identity}?", [column])


@pytest.fixture
def app(without_models: AppTest) -> AppTest:
    """Compare after a second comparison was begun, of which the browser has not heard: it sends the first's address."""
    app = without_models
    comparisons().keep(compared("first"))
    app.query_params["run"] = "first"
    app.run()
    assert shown(app) == "first"
    app.session_state["run"] = compared("second")
    app.query_params["run"] = "first"
    return app


def shown(app: AppTest) -> str:
    """The comparison on screen, and in the address."""
    assert not app.exception
    identity = app.session_state["run"].id
    assert any(f"The question of {identity}?" in one.proto.body for one in app.get("html"))
    assert app.query_params["run"] in (identity, [identity])  # a string where the test itself has set it
    return identity


def test_an_address_from_before_the_comparison_was_drawn_does_not_undo_it(app):
    assert shown(app.run()) == "second"


def test_an_older_address_that_the_browser_went_back_to_is_followed(app, monkeypatch):
    monkeypatch.setattr("pages.shared.permalink.went_back", lambda: True)
    assert shown(app.run()) == "first"


def test_an_address_is_followed_on_arrival_from_another_page(app):
    assert shown(app.run()) == "second"
    app.switch_page("pages/documents/documents.py").run()
    app.switch_page("pages/compare/compare.py")
    app.query_params["run"] = "first"
    assert shown(app.run()) == "first"
