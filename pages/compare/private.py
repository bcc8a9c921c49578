"""Private data in a question: the person decides before anything leaves this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import streamlit as st

from pages.drawing import untrusted
from pages.drawing.translate import language, t
from pages.drawing.untrusted import escape
from pages.shared import country
from pages.shared.engine import engine
from rag_core.safety import privacy


def cleared(question: str) -> str | None:
    """The question as it may be sent; None if the person has to choose first."""
    settings = engine().settings
    st.session_state.pop("pending", None)
    if settings is None or not engine().outside or settings.private == "send":
        return question
    if question == st.session_state.get("cleared") or not privacy.find_private(question, country.chosen()):
        return question
    if settings.private == "redact":
        return privacy.redact(question, country.chosen())
    st.session_state["pending"] = question
    return None


def chosen() -> str | None:
    """The question to run after a choice, once."""
    text: str | None = st.session_state.pop("chosen", None)
    return text


def pending() -> str | None:
    """The question that waits for a choice, if there is one."""
    question: str | None = st.session_state.get("pending")
    return question


def ask(question: str) -> None:
    """Show the question that waits, and its choices."""
    spans = privacy.find_private(question, country.chosen())
    untrusted.draw(_notice(question, spans, engine().outside))
    left, right, _ = st.columns([2, 2, 6])
    redacted = privacy.redact(question, country.chosen())
    left.button(t("Redact and run"), type="primary", width="stretch", on_click=_choose, args=(redacted,))
    right.button(t("Send as typed"), width="stretch", on_click=_choose, args=(question,))


def _choose(text: str) -> None:
    del st.session_state["pending"]
    st.session_state.update(question=text, cleared=text, chosen=text)


def _notice(question: str, spans: Sequence[privacy.PrivateSpan], hosts: Sequence[str]) -> str:
    return (
        '<div class="rl-pending" role="alert"><h3>' + t("This question has private data") + "</h3>"
        f"<p>{''.join(_pieces(question, spans))}</p><small>"
        + t(
            "Found: {kinds}. Nothing has been sent. The question would go to {hosts}. Check the rest: rules can "
            "miss private data, and find a name only beside a date of birth or after words such as “my name is”.",
            kinds=escape(privacy.kinds_in_words(spans, language())),
            hosts=escape(", ".join(hosts)),
        )
        + "</small></div>"
    )


def _pieces(question: str, spans: Sequence[privacy.PrivateSpan]) -> Iterator[str]:
    """The question as HTML, its private data marked."""
    at = 0
    for span in spans:
        yield f"{escape(question[at : span.start])}<mark>{escape(question[span.start : span.end])}</mark>"
        at = span.end
    yield escape(question[at:])
