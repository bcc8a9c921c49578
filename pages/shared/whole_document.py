"""One document in full, with the sentences that an answer quoted highlighted."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

import rag_core
from pages.shared import foreign
from pages.shared.i18n import said, t


def draw(document: rag_core.Document) -> None:
    """Draw its text, after a remark if it gives orders to language models."""
    quotes = st.query_params.get_all("quote") if document.id == st.query_params.get("document") else []
    if quotes:
        foreign.draw(
            f'<p class="rl-note"><a href="#quoted">{t("Highlighted: the sentences that the answer rests on")}</a></p>'
        )
    if rag_core.gives_orders(f"{document.id}\n{document.title}\n{document.text}"):
        foreign.draw(f'<p class="rl-orders">{foreign.escape(said(rag_core.GIVES_ORDERS))}</p>')
    foreign.draw(_body(document, quotes))


def _body(document: rag_core.Document, quotes: Sequence[str]) -> str:
    """The text with its headings and with quoted sentences highlighted; everything else as it was written."""
    text = document.text.removeprefix(f"# {document.title}").strip()
    parts = []
    for part in re.split(r"^(#{1,6} .*)$", text, flags=re.MULTILINE):
        if part.startswith("#"):
            parts.append(f"<h4>{foreign.escape(part.lstrip('# '))}</h4>")
        elif part.strip():
            segments = rag_core.highlight(part.strip(), "", document.language, quotes)
            drawn = "".join(
                f"<mark>{foreign.escape(one.text)}</mark>" if one.quoted else foreign.escape(one.text)
                for one in segments
            )
            parts.append(f'<div class="rl-text">{drawn}</div>')
    return "".join(parts).replace("<mark>", '<mark id="quoted">', 1)
