"""The HTML document of every page, with the style sheet in it.

Streamlit's own document is empty until its scripts have run, and a style sheet that arrives with the first elements
moves them after they are drawn. In the document, it is there before them. It stands in the body, because the styles of
Streamlit's elements come last in the head and would win ties.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.shared import palette

INDEX = Path(st.__file__).with_name("static") / "index.html"
STYLE = Path(__file__).with_name("style.css")
ROOT = '<div id="root">'


def document() -> str:
    """Streamlit's document with the app's colours and style sheet."""
    style = f"{palette.css()}<style>{STYLE.read_text(encoding='utf-8')}</style>"
    return INDEX.read_text(encoding="utf-8").replace(ROOT, f"{style}{ROOT}", 1)
