"""The app that `streamlit run app.py` serves: page settings, the list of pages, and one redirect."""

import streamlit as st
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route
from streamlit.runtime.pages_manager import PagesManager

from pages.shared.engine import engine
from pages.shared.frame import frame
from pages.shared.i18n import settle, t

if __name__ == "__main__":  # runs in every browser session
    st.set_page_config(page_title="Obstetrics RAG lab", page_icon="🤰", layout="wide")
    settle()
    page = st.navigation(
        [
            st.Page("pages/ask/compare.py", title=t("Compare"), url_path="", default=True),
            st.Page("pages/ask/tune.py", title=t("Tune"), url_path="tune"),
            st.Page("pages/ask/questions.py", title=t("Questions"), url_path="questions"),
            st.Page("pages/learn/guide.py", title=t("Strategies"), url_path="strategies"),
            st.Page("pages/ask/documents.py", title=t("Documents"), url_path="documents"),
            st.Page("pages/measure/run.py", title=t("Measure"), url_path="measure"),
            st.Page("pages/measure/results.py", title=t("Results"), url_path="results"),
            st.Page("pages/measure/sweep.py", title=t("Search settings"), url_path="search-settings"),
            st.Page("pages/measure/history.py", title=t("History"), url_path="history"),
        ],
        position="top",
    )
    try:
        frame()
        page.run()
    finally:
        engine().start()
else:  # imported once by the server, before the first session
    # st.navigation sets this too, but only while the first session runs: until then Streamlit looks for
    # a deep link's page directly in pages/ and opens a "Page not found" dialog over the right page.
    PagesManager.uses_pages_directory = False

    def compare(request: Request) -> RedirectResponse:
        """Redirect /compare to "/", the only address of the default page."""
        return RedirectResponse(f"./?{request.url.query}".removesuffix("?"))

    app = st.App(__file__, routes=[Route("/compare", compare)])
