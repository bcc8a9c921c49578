"""A column that fails says whose model failed, shows what was sent, and the status line names its model."""

from __future__ import annotations

from collections.abc import Callable

from helpers.behaviours import Reply, Status
from helpers.browser import ENGLISH
from helpers.in_process import ask, html, text
from helpers.openai_server import OpenAIServer, role_of
from streamlit.testing.v1 import AppTest

import rag_core


def test_a_column_on_a_model_of_its_own_names_it_and_what_it_was_sent(
    start: Callable[..., AppTest], server: OpenAIServer
) -> None:
    server.choose = lambda body: (
        Status(404, "no such model") if role_of(body) == "answer" else Reply("anti-D weeks")
    )
    app = start(OPENAI_BASE_URL=server.url, RAG_MODELS="no-such-model")
    columns = [rag_core.set_up("multi_query"), rag_core.set_up("bm25", model="no-such-model")]
    for name, values in rag_core.to_address(columns).items():
        app.query_params[name] = values
    ask(app.run(), ENGLISH)
    shown = html(app)
    assert "columns with a model of their own: no-such-model" in text(shown)
    first, second = (
        text("<p " + box.partition("</div>")[0]) for box in shown.split('<div class="rl-box rl-bad"')[1:]
    )
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
