import json
from collections.abc import Callable

import pytest
from helpers.behaviours import Reply
from helpers.in_process import ask, html, press, text
from helpers.openai_server import OpenAIServer
from streamlit.testing.v1 import AppTest

PRIVATE = "Ewa Nowak, b. 1986-04-30, tel. 07700 900854: severe headache and flashing lights at 39+6, is induction safe?"
REDACTED = (
    "[name and date of birth], tel. [phone]: severe headache and flashing lights at 39+6, is induction safe?"
)
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
