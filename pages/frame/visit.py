"""One visit of the app: page settings, the navigation, the page that is asked for."""

from __future__ import annotations

import streamlit as st

from pages.drawing.translate import settle, translated
from pages.frame.addresses import PAGES, UNLISTED
from pages.frame.frame import frame
from pages.shared import account, permalink
from pages.shared.engine import engine
from pages.shared.observing import start_log
from rag_core.values.translation import catalogue


def prepare() -> None:
    """Load what the first visit's page is drawn with; importing this module is most of it."""
    from pages.compare import compare  # noqa: F401  (Streamlit runs it as a script, with what this has loaded)

    start_log()
    catalogue("es")  # a notice on every page is in both languages


def draw() -> None:
    """Draw the page that the visitor asks for; the first begins to open the lab."""
    st.set_page_config(page_title="Obstetrics RAG lab", page_icon="🤰", layout="wide")
    settle()
    page = st.navigation(
        [
            st.Page(
                script,
                title=translated(title),
                url_path=path,
                default=not path,
                visibility="hidden" if path in UNLISTED else "visible",
            )
            for path, script, title in PAGES
        ],
        position="top",
    )
    permalink.enter(page.url_path)
    try:
        frame()
        if account.admitted():
            page.run()
    finally:
        engine().start()
