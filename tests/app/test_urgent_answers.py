"""Urgent questions on Compare: what to do stands above the answers and leads each, or the answer is outlined in red."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from helpers.behaviours import Reply
from helpers.in_process import ask, html, text
from helpers.openai_server import OpenAIServer
from streamlit.testing.v1 import AppTest

import rag_core

DESPAIR = "Desde que nació mi bebé lloro todo el día y no quiero vivir"
BREATHING = "I am struggling to breathe at rest, 30 weeks"


def did_they_say(shown: str) -> list[str]:
    """The last cell of each row below "Did they say what to do now?"."""
    table = shown.partition("rl-safety")[2].partition("</table>")[0].partition("<tbody>")[2]
    return [text(row.rpartition("<td")[2].partition(">")[2]) for row in table.split("</tr>")[:-1]]


def test_an_offline_answer_to_an_emergency_stands_below_and_begins_with_what_to_do(drawn: AppTest) -> None:
    ask(drawn.run(), DESPAIR)
    shown = html(drawn)
    notice = re.search(r'class="rl-urgent[^>]*lang="es"', shown)
    assert notice
    assert "No está sola." in shown[notice.end() :]
    assert notice.start() < shown.index(" data-said")
    assert "rl-buried" not in shown
    assert len(did_they_say(shown)) == 3
    assert set(did_they_say(shown)) <= {"yes", "yes, by our notice"}
    for of_ours in shown.split('class="rl-notice"')[1:]:
        assert text("<p " + of_ours).startswith("Aviso de esta demostración")
    assert "lloran por" not in shown


def test_a_model_that_buries_the_action_is_outlined_and_counted(
    start: Callable[..., AppTest], server: OpenAIServer
) -> None:
    server.choose = lambda body: Reply("Breathlessness is common [1]. Call the emergency number now [1].")
    app = ask(start(OPENAI_BASE_URL=server.url).run(), BREATHING)
    shown = html(app)
    assert shown.count("rl-buried") == 3
    assert shown.count("This answer does not begin with what to do now.") == 3
    assert did_they_say(shown) == ["no"] * 3


def test_documents_about_another_subject_have_no_notice_above_the_results(
    drawn: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.shared.corpora.profile", lambda name: rag_core.Profile("bicycles"))
    ask(drawn.run(), BREATHING)
    assert "Results for:" in html(drawn)
    assert "rl-urgent" not in html(drawn)
