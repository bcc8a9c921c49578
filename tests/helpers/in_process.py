"""The app drawn in the test's own process, without a browser."""

import re
from html import unescape

import streamlit as st
from streamlit.testing.v1 import AppTest

from rag_core.values.errors import StorageError
from rag_core.values.message import Message

from .small import ROOT


def fresh() -> None:
    """Forget what pages of this process have kept, as a new server."""
    st.cache_resource.clear()
    st.cache_data.clear()


def visitor() -> AppTest:
    """A new visitor of the app; a test calls its `run`."""
    return AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)


def html(app: AppTest) -> str:
    """Everything that the page wrote as HTML, in its order."""
    return "".join(one.proto.body for one in app.get("html"))


def text(html: str) -> str:
    """The words of a piece of HTML, on one line."""
    return " ".join(unescape(re.sub("<[^>]*>", "", html)).split())


def ask(app: AppTest, question: str) -> AppTest:
    """Type a question, press Run, and wait for its results."""
    app.text_area(key="question").set_value(question)
    return press(app, "Run")


def press(app: AppTest, label: str, place: int = 0) -> AppTest:
    """Press the button with this label, the first unless told, and wait for what it leads to."""
    [one for one in app.button if one.label == label][place].click().run()
    assert not app.exception
    return app


def fail(*_: object) -> None:
    """In place of what stores."""
    raise StorageError(Message("The disk is full."), Message("Free some of it."))


def explain(app: AppTest, column: int, part: str) -> str:
    """Open "How it got here" of a column at this part; what the page then wrote as HTML."""
    key = f"{app.session_state['run'].id}.{column}"
    app.session_state[f"how.{key}"] = True
    app.session_state[f"how.part.{key}"] = part
    app.run()
    assert not app.exception
    return html(app)
