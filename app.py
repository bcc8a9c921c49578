"""The app's frame: page settings and the list of pages; and what `streamlit run app.py` serves."""

import streamlit as st
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route
from streamlit.runtime.pages_manager import PagesManager

from pages.shared.frame import frame

if __name__ == "__main__":  # a run of a browser session
    st.set_page_config(page_title="Obstetrics RAG lab", page_icon="🤰", layout="wide")
    page = st.navigation(
        [
            st.Page("pages/ask/compare.py", title="Compare", url_path="", default=True),
            st.Page("pages/learn/guide.py", title="Strategies", url_path="strategies"),
            st.Page("pages/ask/documents.py", title="Documents", url_path="documents"),
            st.Page("pages/measure/run.py", title="Measure", url_path="measure"),
            st.Page("pages/measure/results.py", title="Results", url_path="results"),
            st.Page("pages/measure/sweep.py", title="Tune", url_path="tune"),
            st.Page("pages/measure/history.py", title="History", url_path="history"),
        ],
        position="top",
    )
    frame()
    page.run()
else:  # imported once, before the first session
    # st.navigation sets this too, but only while the first session runs: until then Streamlit looks for
    # a deep link's page directly in pages/ and opens a "Page not found" dialog over the right page.
    PagesManager.uses_pages_directory = False

    def compare(request: Request) -> RedirectResponse:
        """The default page answers at "/" alone; what is asked of it by its name is sent there."""
        return RedirectResponse(f"./?{request.url.query}".removesuffix("?"))

    app = st.App(__file__, routes=[Route("/compare", compare)])
