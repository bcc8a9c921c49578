import threading
from collections.abc import Callable

import streamlit as st
from helpers.small import ROOT
from streamlit.testing.v1 import AppTest

import rag_core
from pages.shared.live import LiveRun
from rag_core.values.errors import MissingResource


def test_stop_is_off_after_a_run_that_ended_between_its_button_and_its_results(monkeypatch):
    ending, shown = threading.Event(), list[LiveRun]()

    def open_no_lab(**_: object) -> None:
        assert ending.wait(60)
        raise MissingResource("no models in this test.")

    def triage_while_the_run_ends(subject: str) -> Callable[[str], rag_core.Triage]:
        """Called after the buttons are drawn and before the results."""
        ending.set()
        assert shown[-1].wait(60)
        return lambda question: rag_core.Triage("routine")

    class Seen(LiveRun):
        def __init__(self, *given: object) -> None:
            super().__init__(*given)  # type: ignore[arg-type]
            shown.append(self)

    monkeypatch.setattr("rag_core.open_lab", open_no_lab, raising=False)
    monkeypatch.setattr("rag_core.safety.urgency.triage_for", triage_while_the_run_ends)
    monkeypatch.setattr("pages.compare.asking.LiveRun", Seen)
    st.cache_resource.clear()
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    app.text_area(key="question").set_value("How much folic acid do I need?")
    next(one for one in app.button if one.label == "Run").click().run()
    assert len(shown) == 1
    assert not app.exception
    assert next(one for one in app.button if one.label == "Stop").disabled
