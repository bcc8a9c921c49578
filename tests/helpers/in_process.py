"""The app drawn in the test's own process, without a browser."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def html(app: AppTest) -> str:
    """Everything that the page wrote as HTML, in its order."""
    return "".join(one.proto.body for one in app.get("html"))


def ask(app: AppTest, question: str) -> None:
    """Type a question, press Run, and wait for its results."""
    app.text_area(key="question").set_value(question)
    next(one for one in app.button if one.label == "Run").click().run()
    assert not app.exception
