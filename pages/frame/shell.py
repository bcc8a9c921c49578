"""The HTML document of every page, with our style sheet and script in it.

Streamlit's own document is empty until its scripts have run, and a style sheet that arrives with the first elements
moves them after they are drawn. In the document, it is there before them. It stands in the body, because the styles of
Streamlit's elements come last in the head and would win ties. The live region is in it for a like reason: a screen reader
speaks only what is added to a region that it has seen empty.
"""

from pathlib import Path

import streamlit as st

from pages.drawing import palette
from pages.drawing.translate import declared, preferred
from pages.drawing.untrusted import escape
from rag_core.values.translation import translated

INDEX = Path(st.__file__).with_name("static") / "index.html"
STYLE = Path(__file__).with_name("style.css")
SCRIPT = Path(__file__).with_name("page.js")
LIVE = '<div id="rl-heard" class="rl-unseen" role="log" aria-live="polite"></div>'
ROOT = '<div id="root">'
MISSING = declared("There is no such page"), declared("Check its address, or go to Compare.")


def document() -> str:
    """Streamlit's document with the app's colours, style sheet and script."""
    style = f"{palette.css()}<style>{STYLE.read_text(encoding='utf-8')}</style>"
    script = f"<script>{SCRIPT.read_text(encoding='utf-8')}</script>"
    return INDEX.read_text(encoding="utf-8").replace(ROOT, f"{style}{LIVE}{script}{ROOT}", 1)


def no_page(home: str, languages: str) -> str:
    """The document at an address without a page, with a link home, in a language of Accept-Language."""
    code = preferred(languages)
    title, link = (escape(translated(code, words)) for words in MISSING)
    return (
        f'<!doctype html><html lang="{code}"><meta name="viewport" content="width=device-width"><title>{title}</title>'
        f'{palette.css()}<style>{STYLE.read_text(encoding="utf-8")}</style><body class="stApp rl-no-page">'
        f'<main><h1>{title}</h1><a href="{escape(home)}">{link}</a></main>'
    )
