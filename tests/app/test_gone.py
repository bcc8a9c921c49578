"""What an address or a setting names and is no longer here is said, and nothing else takes its place unsaid."""

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from helpers.browser import ANSWER_MS, ENGLISH, Visit
from helpers.in_process import ask, fresh, html, press, text, visitor
from helpers.source_files import write
from playwright.sync_api import expect
from streamlit.testing.v1 import AppTest

from pages.shared.engine import engine
from rag_core import Settings
from rag_core.indexing import CorpusStore, forget_corpus, read_path
from rag_core.lab.adding import remove_corpus
from rag_core.sessions.history.record import Asked, AskedColumn
from rag_core.sessions.history.store import History

QUESTION = "What are the visiting hours on the ward"
HOURS = "from 2 to 8 in the afternoon"


@pytest.mark.parametrize(
    ("page", "named", "told"),
    [
        ("compare/compare", {"run": "gone"}, "no longer stored on this server"),
        ("compare/tune", {"run": "gone"}, "no longer stored on this server"),
        (
            "compare/tune",
            {"q": "a", "s": "bm25", "corpus": "nowhere"},
            "There are no documents 'nowhere' here",
        ),
        ("compare/tune", {"s": ["bm25", "hyde"]}, "2 strategies are named; only the first is used."),
        ("documents/documents", {"document": "none"}, "There is no document 'none' here."),
        ("documents/documents", {"corpus": "nowhere"}, "There is no collection 'nowhere' here."),
        ("evaluate/evaluate", {"view": "results", "run": "gone"}, "There is no measured run 'gone' here."),
        ("evaluate/evaluate", {"view": "search-settings", "sweep": "gone"}, "There is no sweep 'gone' here."),
    ],
)
def test_an_address_that_names_what_is_not_here_is_told_so(drawn, page, named, told):
    drawn.run().switch_page(f"pages/{page}.py")
    for name, value in named.items():
        drawn.query_params[name] = value
    for _ in range(2):  # also when the page is drawn again, as when the models are loaded
        drawn.run()
        assert not drawn.exception
        assert [one for one in (*drawn.info, *drawn.warning, *drawn.error) if told in one.value]


@pytest.mark.browser
def test_the_browser_goes_back_to_the_setting_before_and_a_typed_question_survives_a_move(browser, app):
    visit = Visit(browser, f"{app}/tune")
    page = visit.page
    visit.type(ENGLISH)
    visit.run()
    expect(page.locator(".rl-changes")).to_be_visible(timeout=ANSWER_MS)
    slider = page.get_by_role("slider", name="mmr_lambda")
    for value in ("0.65", "0.6"):
        slider.press("ArrowLeft")
        page.wait_for_url(re.compile(f"mmr_lambda={value}&"))
    page.go_back()
    expect(slider).to_have_value("0.65")
    expect(page.locator(".rl-changes")).to_be_visible()
    page.go_forward()
    expect(slider).to_have_value("0.6")

    draft = "¿Y después? A & B"
    visit.type(draft)
    slider.press("ArrowLeft")
    page.wait_for_url(re.compile("mmr_lambda=0.55"))
    visit.wait_for_draft(draft)
    page.reload()
    expect(page.get_by_label("Question", exact=True)).to_have_value(draft)
    expect(slider).to_have_value("0.55")
    visit.assert_clean()
    visit.context.close()


def test_documents_deleted_elsewhere_are_missed_by_name(lab, real_home, tmp_path, monkeypatch):
    home = Path(shutil.copytree(real_home, tmp_path / "own"))
    files = write(tmp_path / "files", {"visits.md": f"# Visits\n\nVisiting hours on the ward are {HOURS}."})
    CorpusStore(home, "ward", lab.engines.embedder).update(read_path(files))
    monkeypatch.setenv("RAG_HOME", str(home))
    monkeypatch.setenv("RAG_LLM", "offline")
    monkeypatch.setattr("rag_core.lab.opening.load_engines", lambda settings, tell=None: lab.engines)
    fresh()
    engine().wait()

    def asked(page: str, **parameters: str | list[str]) -> AppTest:
        app = visitor()
        app.run().switch_page(f"pages/{page}.py")
        for name, value in parameters.items():
            app.query_params[name.replace("_", ".")] = value
        ask(app.run(), QUESTION)
        assert HOURS in html(app)
        return app

    column = asked("compare/compare", s=["bm25", "bm25"], **{"1_corpus": "ward"})
    whole = asked("compare/compare", s=["bm25", "simple_semantic"], corpus="ward")
    tune = asked("compare/tune", s="hybrid_rrf", corpus="ward")
    assert "Documents to search" in [one.label for one in whole.selectbox]
    remove_corpus("ward", Settings(home=home, llm="offline"))
    assert "Documents to search" not in [one.label for one in visitor().run().selectbox]  # of one

    ask(column, QUESTION)
    assert "Corpus 'ward' has no index." in text(html(column))
    ask(whole, QUESTION)
    assert [one.value for one in whole.error] == ["There are no documents 'ward' here. Choose others, then press Run."]
    assert HOURS in html(whole)  # from the history, which has not been told
    tune.slider(key="tune.hybrid_rrf.mmr_lambda").set_value(0.65).run()
    assert not tune.exception
    assert [one.value for one in tune.info] == ["This collection was deleted, and its answers with it."]
    assert HOURS not in html(tune)
    fresh()


def test_deleting_on_the_page_takes_the_questions_with_the_text_out_of_the_history(lab, real_home, tmp_path, start):
    home = tmp_path / "own"
    shutil.copytree(real_home / "corpora", home / "corpora")
    files = write(
        tmp_path / "files",
        {
            "visits.md": f"# Visits\n\nVisiting hours on the ward are {HOURS}.",
            "meals.txt": "Lunch is at noon.",
        },
    )
    CorpusStore(home, "ward", lab.engines.embedder).update(read_path(files))
    app = start(RAG_HOME=str(home), RAG_HISTORY="on")
    history = History.opened(Settings(home=home))
    for identity, words in (("visits", "visiting"), ("meals", "lunch")):
        trace = engine().wait("ward").run(words, "bm25")
        assert {hit.passage.doc_id for hit in trace.ranking} == {
            f"{identity}.{'md' if identity == 'visits' else 'txt'}"
        }
        asked = Asked(identity, datetime.now(UTC), words, (AskedColumn("bm25", {}, trace=trace),), corpus="ward")
        history.add(asked)
    app.query_params["corpus"] = "ward"
    app.run().switch_page("pages/documents/documents.py").run()
    for left in ({"meals"}, set()):
        if left:
            app.query_params["document"] = "visits.md"
            press(app.run(), "Delete it for good")
        else:
            app.query_params["view"] = "delete"
            app.run().text_input(key="own.sure").set_value("ward").run()
            press(app, "Delete the collection for good")
        assert {one.id for one in history.search()} == left
        assert ["Questions with its text deleted from the history: 1." in one.value for one in app.info].count(
            True
        ) == 1


@pytest.mark.parametrize("where", ["on the page", "by rag forget, which tells the app through its folder"])
def test_what_a_deleted_collection_answered_is_shown_to_nobody(lab, real_home, tmp_path, start, where):
    """Without a history: the app's memory is all that has it."""
    home = tmp_path / "own"
    shutil.copytree(real_home / "corpora", home / "corpora")
    for name, words in (("ward", f"Visiting hours on the ward are {HOURS}."), ("meals", "Lunch is at noon.")):
        files = write(tmp_path / name, {f"{name}.md": f"# Rules\n\n{words}", "doors.md": "Doors are locked."})
        CorpusStore(home, name, lab.engines.embedder).update(read_path(files))
    asking = start(RAG_HOME=str(home))
    asking.query_params.update(s=["bm25", "bm25"], **{"1.corpus": "ward"})
    ask(asking.run(), QUESTION)
    address = {name: asking.query_params[name] for name in asking.query_params}
    assert "ward" in address["1.corpus"]

    def opened() -> AppTest:
        app = visitor()
        app.query_params.update(address)
        return app.run()

    def delete(**named: str) -> None:
        app = visitor()
        app.query_params.update(named)
        app.run().switch_page("pages/documents/documents.py").run()
        if "document" in named:
            press(app, "Delete it for good")
        else:
            app.segmented_control(key="view").set_value("delete").run()
            [box] = [one for one in app.text_input if one.key == "own.sure"]
            box.set_value(named["corpus"]).run()
            press(app, "Delete the collection for good")

    assert HOURS in html(opened())
    delete(corpus="meals")
    delete(corpus="ward", document="doors.md")
    assert HOURS in html(opened())  # it has nothing from there
    if where == "on the page":
        delete(corpus="ward")
    else:
        forget_corpus(home, "ward")
    for app in (opened(), asking.run()):
        assert not app.exception
        assert HOURS not in html(app)
        assert "This collection was deleted, and its answers with it." in [one.value for one in app.info]


def test_a_view_in_the_words_of_another_language_leaves_the_page_as_it_is():
    """The browser sends the words that a choice was made in; just after a switch of language none fits them."""

    def page() -> None:
        import streamlit as st

        from pages.shared import question_header

        st.write(question_header.choose_view({"read": "Read", "map": "Map"}, "view"))

    app = AppTest.from_function(page)
    app.query_params["view"] = "map"
    app.run()
    app.segmented_control(key="view").set_value(None)
    assert [one.value for one in app.run().markdown] == ["map"]
    assert not app.exception
