"""Columns that fail: one banner says whose model failed and offers two ways on; each shows what was sent."""

from collections.abc import Callable
from typing import Any

from helpers.behaviours import Drop, Reply, Status
from helpers.browser import ENGLISH
from helpers.in_process import ask, html, press, text
from helpers.openai_server import OpenAIServer, role_of
from streamlit.testing.v1 import AppTest

import rag_core
from pages.shared import wording
from rag_core.catalog.address import to_address


def test_a_column_on_a_model_of_its_own_names_it_and_what_it_was_sent(start, server):
    server.choose = lambda body: (
        Status(404, "no such model") if role_of(body) == "answer" else Reply("anti-D weeks")
    )
    app = start(OPENAI_BASE_URL=server.url, RAG_MODELS="no-such-model")
    columns = [rag_core.set_up("multi_query"), rag_core.set_up("bm25", model="no-such-model")]
    for name, values in to_address(columns).items():
        app.query_params[name] = values
    ask(app.run(), ENGLISH)
    shown = html(app)
    assert "columns with a model of their own: no-such-model" in text(shown)
    assert shown.count('class="rl-box rl-bad"') == 1
    banner = shown.partition('class="rl-box rl-bad"')[2].partition("</div>")[0]
    first, second = (text(reason) for reason in banner.split("<p>")[1:])
    assert first.startswith("A ")
    assert second.startswith("B ")
    assert "Model gpt-4o: the server does not have this model." in first
    assert "Check RAG_ANSWER_MODEL, RAG_JUDGE_MODEL." in first
    assert "Model no-such-model: the server does not have this model." in second
    assert "Check its name where it was chosen: in the column's settings" in second
    assert "RAG_ANSWER_MODEL" not in second

    summaries = [one.partition("</summary>")[0] for one in shown.split('<details class="rl-passage')[1:]]
    assert len(summaries) > 5
    assert all("rl-unlabelled" in one and "this one has written none" in one for one in summaries)

    assert (
        shown.count('class="rl-prompt"') == 3 + 1 + 1
    )  # the rewrites and the answer that failed; the other's answer
    failed = shown.partition("<h4>Answer: failed</h4>")[2].partition("</section>")[0]
    assert "failed: Model gpt-4o: the server does not have this model." in text(
        failed.partition("</summary>")[0]
    )
    assert ENGLISH in failed.partition("</summary>")[2]


ONE_CALL = ["simple_semantic", "bm25", "hybrid_rrf"]  # each asks a model for nothing but the answer


def answering(body: dict[str, Any]) -> Reply:
    return Reply("Anti-D is offered at about 28 weeks [1].")


def lost(start: Callable[..., AppTest], server: OpenAIServer) -> AppTest:
    """Compare after the model server has dropped the connection of all three columns."""
    server.choose = lambda body: Drop(after=0)
    app = start(OPENAI_BASE_URL=server.url)
    app.query_params["s"] = ONE_CALL
    ask(app.run(), ENGLISH)
    shown = text(html(app))
    assert html(app).count('class="rl-box rl-bad"') == 1
    assert "No answerA, B, C Model gpt-4o: the connection was lost. Try again." in shown
    assert shown.count("No answer: see above.") == 3
    assert "Error" not in shown
    return app


def test_retry_asks_the_server_again(start, server):
    app = lost(start, server)
    server.choose, asked = answering, len(server.requests)
    shown = html(press(app, "Retry"))
    assert shown.count("Anti-D is offered at about 28 weeks") >= 3
    assert "rl-bad" not in shown
    assert len(server.requests) == asked + 3  # one answer a column


def test_answering_offline_leaves_the_server_alone(start, server):
    app = lost(start, server)
    asked = len(server.requests)
    shown = html(press(app, "Answer offline"))
    assert len(app.session_state["run"].traces) == 3
    assert "rl-bad" not in shown
    assert len(server.requests) == asked
    assert shown.count("model: offline engine") >= 3  # each column says what it runs on


def test_only_the_column_that_failed_leaves_the_server(start, server):
    server.script = [Drop(after=0)]
    server.choose = answering
    app = start(OPENAI_BASE_URL=server.url)
    app.query_params["s"] = ONE_CALL
    ask(app.run(), ENGLISH)
    assert "Some columns have no answer" in text(html(app))
    assert html(app).count("No answer: see above.") == 1
    asked = len(server.requests)
    press(app, "Answer offline")
    run = app.session_state["run"]
    assert len(run.traces) == 3
    assert sum(column.models.model == "offline" for column in run.columns) == 1
    assert len(server.requests) == asked  # the answers that were there are kept


def test_an_unexpected_error_is_told_without_its_class_and_logged(caplog):
    told = wording.unforeseen(KeyError("weights"))
    assert str(told).startswith("Something unexpected went wrong: 'weights'")
    assert "KeyError" in caplog.text
    assert str(wording.unforeseen(RuntimeError()).message) == "Something unexpected went wrong."
    failed = rag_core.RagError("bm25: stage Broken failed: RuntimeError: no such thing")
    failed.__cause__ = RuntimeError("no such thing")
    assert wording.reason(failed) == "Something unexpected went wrong: no such thing"
