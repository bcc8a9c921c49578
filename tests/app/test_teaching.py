import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.in_process import ask, html, press, text
from streamlit.testing.v1 import AppTest

from rag_core.documents.documents import BUILTIN
from rag_core.lab.asked import kept_questions, teach
from rag_core.lab.lab import Lab
from rag_core.values.settings import Settings

QUESTION = "does my <b>umbrella</b> go in the delivery room?"
Start = Callable[..., AppTest]


@pytest.fixture
def settings(lab: Lab, real_home: Path, tmp_path: Path) -> Settings:
    """With a state folder to be changed."""
    return Settings(home=Path(shutil.copytree(real_home, tmp_path / "home")), llm="offline")


@pytest.fixture
def compare(start: Start, settings: Settings) -> AppTest:
    app = start(RAG_HOME=str(settings.home))
    app.query_params["s"] = ["question_index", "bm25"]
    return app.run()


def choose(app: AppTest, key: str, option: object) -> AppTest:
    box = next(one for one in app.selectbox if one.key and one.key.startswith(key))
    box.set_value(option).run()
    assert not app.exception
    return app


def test_a_taught_section_is_found_by_the_next_run_which_says_so(compare, lab, settings):
    passage = next(one for one in lab.passages.values() if one.doc_id == "en-hospital-bag")
    app = ask(compare, QUESTION)
    assert "taught" not in text(html(app))
    app.session_state["teach"] = True
    app.run()
    choose(app, "teach.passage", passage.id)
    press(app, "Keep the question as asked of it")
    (kept,) = kept_questions(settings, BUILTIN)
    assert (kept.passage, kept.question, kept.by) == (passage.id, QUESTION, "")
    assert any("Kept as asked of" in one.value for one in app.success)
    press(app, "Run")
    assert f"asked as: {QUESTION} (taught on {kept.taught[:10]})" in text(html(app))
    assert "<b>umbrella" not in html(app)
    first = app.session_state["run"].columns[0].trace.ranking.hits[0]
    assert first.id == passage.id


def test_visitors_who_do_not_operate_cannot_teach(compare, monkeypatch):
    monkeypatch.setattr("pages.shared.account.may_operate", lambda: False)
    app = ask(compare, QUESTION)
    assert "Another section answers this" not in [one.label for one in app.expander]


def test_documents_lists_what_was_taught_and_deletes_it(start, lab, settings):
    passage = next(iter(lab.passages))
    teach(settings, BUILTIN, passage, QUESTION, by="Ana")
    app = start(RAG_HOME=str(settings.home)).run().switch_page("pages/documents/documents.py").run()
    assert "1 question was taught" in [one.label for one in app.expander]
    assert f"{QUESTION}" in text(html(app))
    assert "Ana" in text(html(app))
    choose(app, "questions.gone.taught", 0)
    press(app, "Delete the question")
    assert kept_questions(settings, BUILTIN) == []
    assert "1 question was taught" not in [one.label for one in app.expander]


def test_documents_shows_a_sections_questions_and_takes_another(start, lab, settings):
    app = start(RAG_HOME=str(settings.home)).run().switch_page("pages/documents/documents.py")
    app.query_params["document"] = "en-hospital-bag"
    app.session_state["questions"] = True
    app.run()
    passage = next(one for one in lab.passages if one.startswith("en-hospital-bag:0:"))
    known = [one.question for one in lab.asked.of(passage)]
    assert len(known) >= 6
    assert all(" ".join(one.split()) in text(html(app)) for one in known)
    box = app.text_input(key="questions.typed")
    box.set_value("tel. 07700 900854: may I bring a pillow?")
    press(app, "Add the question")
    assert any("private data" in one.value for one in app.error)
    app.text_input(key="questions.typed").set_value("May I bring a pillow?")
    press(app, "Add the question")
    (kept,) = kept_questions(settings, BUILTIN)
    assert (kept.passage, kept.question) == (passage, "May I bring a pillow?")
    assert f"May I bring a pillow? (taught on {kept.taught[:10]})" in text(html(app))
    choose(app, "questions.gone.section", 0)
    press(app, "Delete the question")
    assert kept_questions(settings, BUILTIN) == []
