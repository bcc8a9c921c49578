"""Compare with a model server: columns that fail, prompts that are edited, and questions with private data."""

import errno
import json
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from helpers.behaviours import Drop, Reply, Status
from helpers.browser import ENGLISH
from helpers.in_process import ask, explain, html, press, text, visitor
from helpers.openai_server import OpenAIServer, role_of
from streamlit.testing.v1 import AppTest

import rag_core
from pages.shared import wording
from rag_core.catalog.address import to_address


def test_a_column_on_a_model_of_its_own_names_it_and_what_it_was_sent(start, server):
    server.choose = lambda body: Status(404, "no such model") if role_of(body) == "answer" else Reply("anti-D weeks")
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

    assert shown.count('class="rl-prompt"') == 3 + 1 + 1  # the rewrites and the answer that failed; the other's answer
    failed = shown.partition("<h4>Answer: failed</h4>")[2].partition("</section>")[0]
    assert "failed: Model gpt-4o: the server does not have this model." in text(failed.partition("</summary>")[0])
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
    with pytest.raises(rag_core.ConfigError) as ours:
        rag_core.set_up("bm52")
    assert wording.unforeseen(ours.value) is ours.value
    failed = rag_core.RagError("bm25: stage Broken failed: RuntimeError: no such thing")
    failed.__cause__ = RuntimeError("no such thing")
    assert wording.reason(failed) == "Something unexpected went wrong: no such thing"


def test_the_fault_of_a_disk_or_of_other_code_is_not_called_a_bug():
    full = OSError(errno.ENOSPC, "No space left on device", "/x")
    assert str(wording.unforeseen(full)).startswith("/x cannot be used: No space left on device. Free disk space")
    with pytest.raises(ZeroDivisionError) as theirs:
        1 / 0  # noqa: B018
    assert "bug" in str(wording.unforeseen(KeyError("x")))
    where = f"{__name__} (test_failed_columns.py, line {theirs.value.__traceback__.tb_lineno})"
    told = wording.unforeseen(theirs.value)
    assert told.message == "Something unexpected went wrong: division by zero"
    assert told.next_step == f"The fault is in {where}, which is not part of the lab."
    failed = rag_core.StageError("mine", "Broken", full)
    failed.__cause__ = full
    assert wording.reason(failed) == "/x cannot be used: No space left on device."


MINE = "In one sentence: {question}\n\n{sources}"
ORIGINAL = "Question: {question}\n\n{urgency}Sources:\n{sources}\n\nAnswer with citations:"
BACK = "Back to the original"


def panel(app: AppTest) -> AppTest:
    """The app with the settings of the first column open."""
    return app.button(key="settings.0").click().run()


def message(app: AppTest):
    return next(one for one in app.text_area if one.label == "User message")


def labels(app: AppTest) -> list[str]:
    return [one.label for one in app.button]


def test_a_prompt_is_edited_checked_sent_and_read(start, server):
    server.choose = lambda body: Reply("It is given at 28 weeks [1].", usage=(900, 12))
    app = start(OPENAI_BASE_URL=server.url)
    app.query_params["s"] = ["bm25", "simple_semantic"]
    panel(app.run())
    assert message(app).value == ORIGINAL
    message(app).set_value("Say something about {question}").run()
    assert ["is missing {sources}" in one.value for one in app.error] == [True]
    assert "changed: answer prompt" not in html(app)
    message(app).set_value(MINE).run()
    assert not app.error
    assert BACK in labels(app)

    ask(app, ENGLISH)
    assert "changed: answer prompt" in html(app)
    sent = [request.messages[1][1] for request in server.requests]
    (edited,) = [one for one in sent if one.startswith(f"In one sentence: {ENGLISH}")]
    prompt = explain(app, 0, "Prompts").partition('class="rl-prompt"')[2]
    summary, _, messages = prompt.partition("</summary>")
    assert "900 tokens in, 12 out, counted by the provider" in text(summary)
    assert unescape(messages.split("<pre")[2].partition(">")[2].partition("</pre>")[0]) == edited
    address = dict(app.query_params)

    again = visitor()  # as after a reload
    for name, values in address.items():
        again.query_params[name] = values
    panel(again.run())
    assert f"Results for: {ENGLISH}" in text(html(again))
    assert message(again).value == MINE
    next(one for one in again.button if one.label == BACK).click().run()
    assert message(again).value == ORIGINAL
    assert BACK not in labels(again)


PRIVATE = "Ewa Nowak, b. 1986-04-30, tel. 07700 900854: severe headache and flashing lights at 39+6, is induction safe?"
REDACTED = "[name and date of birth], tel. [phone]: severe headache and flashing lights at 39+6, is induction safe?"
PENDING, URGENT = 'class="rl-pending"', "This may be an emergency."


@pytest.fixture
def external(start: Callable[..., AppTest], server: OpenAIServer) -> AppTest:
    """The app with a model at 0.0.0.0: this machine, but no loopback address, and so external."""
    server.choose = lambda body: Reply("Go in at once [1].")
    # a question declined on weak evidence would send nothing
    return start(OPENAI_BASE_URL=server.url.replace("127.0.0.1", "0.0.0.0"), RAG_ABSTAIN="off").run()


def sent(server: OpenAIServer) -> list[str]:
    return [json.dumps(request.body, ensure_ascii=False) for request in server.requests]


def test_the_person_chooses_before_anything_is_sent(external, server):
    assert "questions are sent to 0.0.0.0" in text(html(external))
    ask(external, PRIVATE)
    shown = html(external)
    held = shown.partition(PENDING)[2].partition("</div>")[0]
    assert PRIVATE in text(held)
    assert "<mark>Ewa Nowak, b. 1986-04-30</mark>" in held
    assert "<mark>07700 900854</mark>" in held
    assert held.count("<mark>") == 2
    assert "a name with a date of birth and a phone number" in text(held)
    assert URGENT in shown
    assert server.requests == []

    press(external, "Redact and run")
    shown = html(external)
    assert f"Results for: {REDACTED}" in text(shown)
    assert PENDING not in shown
    assert shown.count('role="alert"') == 1  # the drawers of documents repeat its words
    assert external.text_area(key="question").value == REDACTED
    assert len(sent(server)) == 6  # three answers, and the three rewrites of multi-query
    assert all(REDACTED in body and "Nowak" not in body and "07700" not in body for body in sent(server))

    server.requests.clear()
    ask(external, PRIVATE)
    assert PENDING in html(external)
    assert server.requests == []
    press(external, "Send as typed")
    assert f"Results for: {PRIVATE}" in text(html(external))
    assert len(sent(server)) == 6  # three answers, and the three rewrites of multi-query
    assert all("Ewa Nowak" in body for body in sent(server))
    ask(external, PRIVATE)  # its choice is known
    assert PENDING not in html(external)


def test_with_the_offline_engine_nothing_leaves_and_nobody_asks(drawn):
    assert "nothing you ask leaves this machine" in text(html(drawn.run()))
    ask(drawn, PRIVATE)
    assert f"Results for: {PRIVATE}" in text(html(drawn))
    assert PENDING not in html(drawn)
