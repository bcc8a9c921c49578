import itertools
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import connect
from urllib.parse import urlsplit

import pytest
from helpers.behaviours import Hang
from helpers.browser import ANSWER_MS, ENGLISH, SPANISH
from helpers.in_process import ask, html, press, text, visitor
from helpers.openai_server import role_of
from helpers.postgres import binaries, postgres
from helpers.provider_lab import obliging
from helpers.relay import relayed
from playwright.sync_api import expect
from pydantic import SecretStr
from streamlit.testing.v1 import AppTest

from pages.shared import history_sync
from pages.shared.history_sync import comparisons
from rag_core.prompts.prompt import ANSWER
from rag_core.sessions.history.record import Asked, AskedColumn
from rag_core.sessions.history.store import History
from rag_core.values.answers import lists_as_html
from rag_core.values.settings import Settings

PRIVATE = "Ewa Nowak, b. 1986-04-30: when is anti-D given?"
REDACTED = "[name and date of birth]: when is anti-D given?"


@pytest.fixture
def database(tmp_path: Path) -> dict[str, str]:
    """The settings that name this test's own history."""
    return {"RAG_HISTORY": "on", "RAG_DATABASE_URL": f"sqlite:///{tmp_path / 'history.db'}"}


@pytest.fixture
def kept(database: dict[str, str]) -> History:
    return History.opened(Settings(database_url=SecretStr(database["RAG_DATABASE_URL"])))


def questions(app: AppTest) -> AppTest:
    app.switch_page("pages/history/history.py").run()
    assert not app.exception
    return app


def opened(app: AppTest, run: str) -> AppTest:
    app.query_params["run"] = run
    return app.run()


def shown(app: AppTest) -> list[str]:
    """What stands in the columns, but for the line that tells how long each stage took here."""
    return re.findall(r'<(?:div|ul|table|details|p) class="rl-(?:said|passages|rewrites|stages|table).*', html(app))


def test_a_question_is_opened_again_by_another_server_without_a_call(start, server, database):
    model = {"OPENAI_BASE_URL": server.url, **database}
    before = start(**model).run()
    ask(before, ENGLISH)
    run, calls = before.query_params["run"], len(server.requests)
    assert calls > 0
    after = opened(start(**model), run)
    assert ["Nothing was run again." in one.value for one in after.caption if "history" in one.value] == [True]
    assert len(shown(after)) > 0
    assert shown(after) == shown(before)
    assert html(after).count('class="rl-paid"') == html(before).count('class="rl-paid"') == 3
    assert len(server.requests) == calls
    assert after.text_area(key="question").value == ENGLISH


@pytest.mark.browser
def test_a_comparison_that_the_app_did_not_live_to_finish_is_kept_as_far_as_it_came(
    paid_visit, model, paid_home, start
):
    model.choose = lambda body: Hang(after=3) if role_of(body) == ANSWER.purpose else obliging(body)
    paid_visit.type(ENGLISH)
    paid_visit.run()
    expect(paid_visit.page.locator(".rl-live")).to_have_count(3, timeout=ANSWER_MS)
    paid_visit.page.wait_for_url("**/?*run=*")
    run, calls = paid_visit.page.url.partition("run=")[2], len(model.requests)
    after = opened(start(RAG_HOME=str(paid_home), RAG_HISTORY="on", OPENAI_BASE_URL=model.url), run.partition("&")[0])
    assert f"Results for: {ENGLISH}" in text(html(after))
    assert html(after).count("this strategy was still running, or the app ended first") == 3
    assert not next(one for one in after.button if one.label == "Run").disabled
    assert len(model.requests) == calls
    paid_visit.stop_button.click()


def test_questions_are_found_opened_and_deleted(start, database, kept):
    app = start(**database).run()
    ask(app, SPANISH)
    first = app.query_params["run"]
    ask(app, ENGLISH)
    rows = [one.label for one in questions(app).button]
    assert "They are stored in this server's database;" in app.caption[0].value  # no path, as all can read it
    assert rows.count("Open again") == 2
    app.text_input(key="questions.words").set_value("riesgos CESAREA").run()
    assert [one.label for one in app.button].count("Open again") == 1
    assert 'class="rl-answer"' not in html(app)  # nothing is read before somebody wants it
    app.session_state[f"answers.{first}"] = True
    answers = text(html(app.run()))
    record = kept.find(first)
    for column in record.columns:
        listed = lists_as_html(column.trace.answer.written.replace("**", ""))  # dashes are items
        assert text(listed) in answers
    press(app, "Open again")
    assert f"Results for: {SPANISH}" in text(html(app))
    assert app.query_params["run"] == first
    questions(app)
    app.text_input(key="questions.words").set_value("").run()
    assert "Delete" not in [one.label for one in app.button]  # it asks first
    press(app, "Delete it for good", -1)
    assert [one.question for one in kept.search()] == [ENGLISH]
    gone = opened(visitor(), first)  # nor does the server's memory have it
    assert ["no longer stored" in one.value for one in gone.info] == [True]
    questions(app)
    press(app, "Delete 1 question")
    assert kept.count() == 0
    assert [one.value for one in app.info] == ["No question has been asked yet."]


def test_a_damaged_record_says_so_and_leaves_the_list(start, database, kept, tmp_path):
    for name in ("whole", "bad"):
        kept.add(Asked(name, datetime.now(UTC), f"The {name} one?", (AskedColumn("bm25", {}, text="Yes."),)))
    with connect(tmp_path / "history.db") as connection:
        connection.execute("UPDATE rag_questions SET record = x'00' WHERE id = 'bad'")
    connection.close()
    app = questions(start(**database).run())
    for name in ("whole", "bad"):
        app.session_state[f"answers.{name}"] = True
    app.run()
    assert ["cannot be opened" in one.value for one in app.error] == [True]
    assert "A · BM25 keywords" in text(html(app))
    assert [one.label for one in app.button].count("Open again") == 2


def test_switched_off_it_keeps_nothing(start, database, kept):
    app = start(**database | {"RAG_HISTORY": "off"}).run()
    ask(app, ENGLISH)
    assert ["RAG_HISTORY is off" in one.value for one in questions(app).info] == [True]
    assert kept.count() == 0


def test_a_history_that_cannot_be_written_costs_a_warning_and_no_answer(start, tmp_path):
    (tmp_path / "blocked").write_text("not a folder")
    app = start(RAG_HISTORY="on", RAG_DATABASE_URL=f"sqlite:///{tmp_path}/blocked/history.db").run()
    ask(app, ENGLISH)
    (warning,) = app.warning
    assert "This question is not in the history." in warning.value
    assert "RAG_HISTORY=off" in warning.value
    assert html(app).count('class="rl-answer"') == 3
    (failure,) = questions(app).error
    assert "The history in the database of RAG_DATABASE_URL cannot be used" in failure.value
    assert not any(str(tmp_path) in one.value for one in (warning, failure))


@pytest.mark.skipif(binaries() is None, reason="no PostgreSQL server is installed")
def test_what_is_asked_while_the_database_is_away_is_kept_when_it_is_back_and_its_address_stays(start, monkeypatch):
    pytest.importorskip("psycopg", reason="psycopg, which connects to PostgreSQL, is not installed")
    monkeypatch.setattr(history_sync, "AGAIN_S", itertools.repeat(0.05))
    with postgres() as address, relayed(address) as relay:
        history = History.opened(Settings(database_url=SecretStr(address)))
        port = urlsplit(relay.address).port
        through = {
            "RAG_HISTORY": "on",
            "RAG_DATABASE_URL": f"postgresql+psycopg://owner@127.0.0.1:{port}/postgres",
        }
        app = start(**through).run()
        relay.cut()
        ask(app, ENGLISH)
        (warning,) = app.warning
        assert "This question is not in the history." in warning.value
        assert "127.0.0.1" not in warning.value
        run = app.query_params["run"]
        assert history.count() == 0
        relay.mend()
        asked = comparisons().find(run)
        while asked.unkept:  # until the test's time is over
            time.sleep(0.01)
        assert [one.finished for one in history.search()] == [3]
        relay.cut()
        after = opened(start(**through), run)
        assert [
            "The history in the database of RAG_DATABASE_URL cannot be used" in one.value for one in after.warning
        ] == [True]
        assert after.query_params["run"] in (run, [run])
        relay.mend()
        assert f"Results for: {ENGLISH}" in text(html(after.run()))


def test_a_private_question_is_kept_only_as_it_was_sent(start, database, kept, server):
    app = start(OPENAI_BASE_URL=server.url.replace("127.0.0.1", "0.0.0.0"), **database).run()
    ask(app, PRIVATE)
    assert 'class="rl-pending"' in html(app)
    assert kept.count() == 0
    press(app, "Redact and run")
    (entry,) = kept.search()
    assert entry.question == REDACTED
    record = kept.find(entry.id)
    assert record
    assert "Nowak" not in repr(record)
