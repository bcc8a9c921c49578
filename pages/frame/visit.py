"""One visit of the app: page settings, the navigation, the page that is asked for."""

from typing import Literal

import streamlit as st
from markupsafe import Markup

import rag_core
from pages.drawing import fragments, untrusted
from pages.drawing.fragments import render
from pages.drawing.translate import language, settle, switch, t, translated
from pages.frame.gate import PAGES, UNLISTED
from pages.shared import account, corpora, country, permalink, setups, wording
from pages.shared.engine import Engine, engine
from pages.shared.observing import start_log
from rag_core.safety.urgency.helplines import Helplines, countries
from rag_core.values import translation
from rag_core.values.translation import catalogue


def prepare() -> None:
    """Load what the first visit's page is drawn with; importing this module is most of it."""
    from pages.compare import compare  # noqa: F401  (Streamlit runs it as a script, with what this has loaded)

    fragments.load()
    start_log()
    catalogue("es")  # a notice on every page is in both languages


def draw() -> None:
    """Draw the page that the visitor asks for; the first begins to open the lab."""
    st.set_page_config(page_title="Obstetrics RAG lab", page_icon="🤰", layout="wide")
    settle()
    pages = []
    for path, script, title in PAGES:
        seen: Literal["hidden", "visible"] = "hidden" if path in UNLISTED else "visible"
        pages.append(st.Page(script, title=translated(title), url_path=path, default=not path, visibility=seen))
    page = st.navigation(pages, position="top")
    permalink.enter(page.url_path)
    try:
        frame()
        if account.admitted():
            page.run()
    finally:
        engine().start()


def frame() -> None:
    """Draw the frame; while the engine starts, its status line refreshes every second."""
    with st.container(key="languages"):
        switch()
    account.draw()
    with st.container(key="framing"):
        untrusted.draw(_framing(country.numbers()))
    opening = engine()
    if not opening.settled.is_set():
        with st.container(key="status"):
            _warming()
        return
    with st.container(key="status"):
        failure = _badge(opening)
    if failure and st.button(t("Rebuild the index") if opening.lab else t("Try again")):
        engine.clear()  # opening the built-in documents again builds what is missing
        st.rerun()
    for warning in opening.lab.warnings if opening.lab else ():
        untrusted.say(translated(warning), st.warning)


@st.fragment(run_every=1.0)
def _warming() -> None:
    opening = engine()
    _badge(opening)
    if opening.settled.is_set():
        st.rerun()  # the whole page, without this clock


def _badge(opening: Engine) -> rag_core.RagError | None:
    """Draw which models answer, and where questions go; returns why none can be answered, such as an index that was deleted."""
    models, failure = None, opening.error
    if opening.lab:
        try:
            models = opening.lab.engine
        except rag_core.RagError as error:
            failure = error
    if failure:
        why = translated(failure.sentence)  # with the folder that whoever runs the server must mend
        untrusted.draw(render("frame.failed", why=why))
    elif models is None:
        run = st.session_state.get("run")
        waiting = run is not None and not run.over  # its columns show the engine's state
        untrusted.draw(render("frame.warming", state=wording.step(t("one moment") if waiting else opening.state)))
    else:
        model = str(models["llm"])
        ready = render(
            "frame.ready", answers=t("offline engine (no language model)") if model.startswith("offline") else model,
            others=", ".join(setups.other_models()), embeddings=models["embedding"], index=corpora.index_name(),
            hosts=", ".join(opening.outside),
        )  # fmt: skip
        untrusted.draw(ready)
    return failure


def _framing(lines: Helplines | None) -> Markup:
    """That this is not medical advice, and whom to call instead; always on screen."""
    spanish = language() == "es"
    return render(
        "frame.framing", notice=rag_core.NOTICE, number=lines.emergency if lines else "",
        country=countries(language())[lines.code] if lines else "",
        other=rag_core.NOTICE if spanish else translation.translated("es", rag_core.NOTICE),
        other_language="en" if spanish else "es",
    )  # fmt: skip
