"""A column of Compare that searches only passages with a value in their documents' metadata."""

from datetime import UTC, datetime

import pytest
from helpers.in_process import ask

import rag_core
from rag_core.catalog.address import from_address, to_address
from rag_core.sessions.history.record import Asked, AskedColumn, from_bytes, to_bytes
from rag_core.values.settings import Settings

BOX = "0.runs.where"
SECOND = '{"ward": ["2"]}'


def note(ward, state):
    text = f"The gloves lie in cupboard {ward}."
    return rag_core.Document(f"gloves{ward}", "Gloves", "en", text, metadata=(("ward", ward), ("state", state)))


@pytest.fixture
def wards(own_home):
    settings = Settings(llm="offline", home=own_home)
    notes = [note("1", "final"), note("2", "final")]
    rag_core.index(notes, "wards", settings=settings)
    yield "wards"
    rag_core.remove(notes, "wards", settings=settings)


def test_a_column_keeps_to_the_chosen_value_and_its_address_and_history_say_so(start, own_home, wards):
    app = start(RAG_HOME=str(own_home), RAG_HISTORY="on").run()
    app.button(key="settings.0").click().run()
    assert not [one for one in app.selectbox if one.key == BOX], "the built-in documents have no metadata"
    app.selectbox(key="corpus").set_value(wards).run()
    box = app.selectbox(key=BOX)
    assert box.options == ["All", "state: final", "ward: 1", "ward: 2"]
    box.set_value(SECOND).run()
    assert any("only ward: 2" in one.proto.body for one in app.get("html"))
    ask(app, "Where do the gloves lie?")
    first, second, *_ = app.session_state["run"].columns
    assert {hit.passage.doc_id for hit in first.trace.ranking} == {"gloves2"}
    assert {hit.passage.doc_id for hit in second.trace.ranking} == {"gloves1", "gloves2"}
    assert app.query_params["1.where"] == SECOND
    assert first.setup.where == SECOND
    again = start(RAG_HOME=str(own_home), RAG_HISTORY="on")
    again.query_params["run"] = app.query_params["run"]
    again.run()
    assert again.session_state["run"].columns[0].setup == first.setup
    assert again.session_state[BOX] == SECOND


def test_a_filter_in_an_address_is_read_back_and_a_wrong_one_is_named():
    column = rag_core.set_up("bm25", where={"ward!": ["1", "2"]})
    written = to_address([column])
    assert written["1.where"] == ['{"ward!": ["1", "2"]}']
    assert from_address(written, ["bm25"], 1).columns == (column,)
    wrong = from_address({"s": ["bm25"], "1.where": ["ward"]}, ["bm25"], 1)
    assert wrong.columns == (rag_core.set_up("bm25"),)
    assert "'ward' is no filter of metadata" in wrong.problems[0]
    asked = Asked("a", datetime(2026, 5, 4, tzinfo=UTC), "Why?", (AskedColumn("bm25", {}, where=SECOND),))
    assert from_bytes("a", asked.asked, to_bytes(asked)) == asked
