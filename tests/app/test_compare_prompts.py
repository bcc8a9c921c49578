from html import unescape

from helpers.behaviours import Reply
from helpers.browser import ENGLISH
from helpers.in_process import ask, explain, html, text, visitor
from streamlit.testing.v1 import AppTest

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
