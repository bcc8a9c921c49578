"""The app's frame: page settings and the list of pages."""

import streamlit as st

from pages.shared.frame import frame

st.set_page_config(page_title="Obstetrics RAG lab", page_icon="🤰", layout="wide")
page = st.navigation(
    [
        st.Page("pages/ask/compare.py", title="Compare", url_path="compare", default=True),
        st.Page("pages/ask/documents.py", title="Documents", url_path="documents"),
    ],
    position="top",
)
frame()
page.run()
