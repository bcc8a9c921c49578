"""How a question gets into a comparison: its box, the demo questions that fill it, its start, and what is asked before private data leave."""

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import rag_core
from pages.drawing import untrusted
from pages.drawing.fragments import render
from pages.drawing.translate import language, problem, t, translated
from pages.shared import account, corpora, country, history_sync, question_header
from pages.shared.engine import engine
from pages.shared.live import Comparison, LiveRun
from rag_core.catalog.setup import SetupSpec
from rag_core.documents.documents import BUILTIN
from rag_core.language.questions import MAX_QUESTION, check_question
from rag_core.safety import privacy
from rag_core.values.places import DATA

NOW = "run.now"  # the question to run although Run was not pressed: another button asks for it


def row(run: Comparison | None, *, running: bool) -> tuple[bool, DeltaGenerator]:
    """The question with Run and Stop: whether Run was pressed, and the room beside it for what the page adds."""
    with st.container(key="ask"):
        left, right = st.columns([7, 5], gap="small")
        # in a form, because otherwise leaving the box reruns the page and swallows a click on a link to another page
        with (
            left,
            st.form("ask", border=False),
            st.container(horizontal=True, gap="small", key="question-row"),
        ):
            st.text_area(
                t("Question"), key="question", height=74, max_chars=MAX_QUESTION,
                placeholder=untrusted.plain(f"{_placeholder()}. {t('Enter runs, Shift+Enter breaks the line.')}"),
                label_visibility="collapsed", persist_state="session",
            )  # fmt: skip
            with st.container(width=96, gap="xsmall", key="run-buttons"):
                pressed = st.form_submit_button(t("Run"), type="primary", width="stretch")
                st.form_submit_button(
                    t("Stop"), width="stretch", disabled=not running, on_click=run.stop if run else None
                )
        return pressed, right.container(gap="xsmall")


def to_run(*, pressed: bool) -> str | None:
    """The question in the box if Run was pressed; else the one that another button asks for, once."""
    asked: str | None = st.session_state.pop(NOW, None)
    return st.session_state.get("question", "") if pressed else asked


def start(question: str, setups: Sequence[SetupSpec], earlier: Comparison | None) -> LiveRun | None:
    """Run setups on a question; stages that an earlier result of the question has are not run again.

    None, with the reason on screen, when the question is not valid or waits for a choice about private data. The
    earlier comparison then stays as it is; else it is stopped.
    """
    if gone := corpora.removed():
        untrusted.say(
            t("There are no documents {corpus} here. Choose others, then press Run.", corpus=repr(gone)),
            st.error,
        )
        return None
    settings = engine().settings
    try:
        checked = check_question(question)
        for one in setups:  # the history may have another model
            if settings:
                rag_core.set_up(one).models.check_offered(settings.choosable_models)
        payer = account.payer()
    except rag_core.RagError as error:
        untrusted.say(problem(error), st.error)
        return None
    st.session_state.pop("pending", None)
    if settings and not may_leave(checked):
        if settings.private != "redact":
            st.session_state["pending"] = checked
            return None
        checked = privacy.redact(checked, country.chosen())
    if earlier:
        earlier.stop()
    traces = earlier.traces if earlier else ()
    started = LiveRun(engine(), checked, setups, traces, country.chosen(), corpora.chosen(), payer)
    return history_sync.remember(started)


@st.cache_data
def demos() -> list[dict[str, Any]]:
    """The demo questions in order, as `data/demo.toml` has them."""
    entries: list[dict[str, Any]] = tomllib.loads((DATA / "demo.toml").read_text("utf-8"))["question"]
    return entries


def look_for(question: str, corpus: str) -> str:
    """What to look for in the answers to a demo question; empty for any other, and for one's own documents."""
    if corpus != BUILTIN:
        return ""
    return next((str(entry["look"]) for entry in demos() if entry["text"] == question), "")


def pick_demo() -> None:
    """Draw the demo questions and "Next", for the built-in documents; picking one does not run it."""
    if corpora.chosen() != BUILTIN:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center", wrap=False):
        st.selectbox(
            t("Demo questions"), range(len(demos())), index=None,
            format_func=lambda place: untrusted.plain(demos()[place]["label"]), placeholder=t("Demo questions"),
            key="demo", on_change=_take, label_visibility="collapsed",
        )  # fmt: skip
        st.button(t("Next"), key="demo.next", help=t("Fill in the next demo question."), on_click=take_next)


def _take() -> None:
    place = st.session_state["demo"]
    if isinstance(place, int):  # not words of the language before, just after a switch
        st.session_state["question"] = demos()[place]["text"]


def take_next() -> None:
    """Fill in the demo question after the one in the box; after any other, the first in the language of the visit."""
    texts = [entry["text"] for entry in demos()]
    current = st.session_state.get("question")
    if current in texts:
        _fill_in((texts.index(current) + 1) % len(texts))
    else:
        _fill_in([entry["language"] for entry in demos()].index(language()))


def _fill_in(place: int) -> None:
    st.session_state.update(question=demos()[place]["text"], demo=place)


def offer_demos() -> None:
    """The demo questions in the language of the visit, each a button that fills it in; for a page without results."""
    if corpora.chosen() != BUILTIN:
        return
    st.caption(t("Or choose one of the demo questions, then press Run:"))
    with st.container(horizontal=True, gap="small", key="offered"):
        for place, entry in enumerate(demos()):
            if entry["language"] == language():
                text = "" if entry["text"] == entry["label"] else untrusted.label(entry["text"])
                st.button(
                    f"**{untrusted.label(entry['label'])}** {text}", key=f"demo.{place}", width="stretch",
                    on_click=_fill_in, args=(place,),
                )  # fmt: skip


def _placeholder() -> str:
    known, most = corpora.profile(corpora.chosen()), MAX_QUESTION
    if not (known and known.subject):
        return t("Ask a question (up to {most:,} characters)", most=most)
    return t("Ask about {subject} (up to {most:,} characters)", subject=translated(known.subject), most=most)


def may_leave(question: str) -> bool:
    """Whether a question may be sent as it is: it has no private data, the person chose so, or it stays here."""
    settings = engine().settings
    if settings is None or not engine().outside or settings.private == "send":
        return True
    return question == st.session_state.get("cleared") or not privacy.find_private(question, country.chosen())


def ask_choice(searched: Iterable[str] = ("",)) -> None:
    """Show the question that waits for a choice, if any, its choices, and what to do at once about it."""
    question: str | None = st.session_state.get("pending")
    if not question:
        return
    question_header.draw_urgent(question, searched)
    spans = privacy.find_private(question, country.chosen())
    kinds, hosts = privacy.kinds_in_words(spans, language()), ", ".join(engine().outside)
    untrusted.draw(render("asking.pending", pieces=_pieces(question, spans), kinds=kinds, hosts=hosts))
    left, right, _ = st.columns([2, 2, 6])
    redacted = privacy.redact(question, country.chosen())
    left.button(t("Redact and run"), type="primary", width="stretch", on_click=_decide, args=(redacted,))
    right.button(t("Send as typed"), width="stretch", on_click=_decide, args=(question,))


def _decide(text: str) -> None:
    del st.session_state["pending"]
    st.session_state.update({"question": text, "cleared": text, NOW: text})


def _pieces(question: str, spans: Sequence[privacy.PrivateSpan]) -> Iterator[tuple[str, bool]]:
    """A question in pieces, each with whether it is private."""
    at = 0
    for span in spans:
        yield question[at : span.start], False
        yield question[span.start : span.end], True
        at = span.end
    yield question[at:], False
