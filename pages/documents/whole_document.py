"""One document in full, with the sentences that an answer quoted highlighted."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

import rag_core
from pages.frame import untrusted
from pages.frame.translate import said, t
from pages.shared.lists import with_lists


def draw(document: rag_core.Document) -> None:
    """Draw its text, after a remark if it gives orders to language models."""
    quotes = st.query_params.get_all("quote") if document.id == st.query_params.get("document") else []
    if quotes:
        untrusted.draw(
            f'<p class="rl-note"><a href="#quoted">{t("Highlighted: the sentences that the answer rests on")}</a></p>'
        )
    if rag_core.gives_orders(f"{document.id}\n{document.title}\n{document.text}"):
        untrusted.draw(f'<p class="rl-orders">{untrusted.escape(said(rag_core.GIVES_ORDERS))}</p>')
    untrusted.draw(_body(document, _part(document, quotes), quotes))


def _part(document: rag_core.Document, quotes: Sequence[str]) -> str:
    """The text, or the part of a very long one that is chosen: at first the one with a quoted sentence."""
    parts = rag_core.parts_of(document)
    if len(parts) < 2:
        return document.text
    quoted = (
        place for place, part in enumerate(parts)
        if any(one.quoted for one in rag_core.highlight(part, "", document.language, quotes))
    )  # fmt: skip
    chosen: int = st.selectbox(
        t("This document is long; the part shown is"), range(len(parts)), index=next(quoted, 0),
        key=f"whole.{document.id}",
        format_func=lambda place: t("{part:,} of {count:,}", part=place + 1, count=len(parts)),
    )  # fmt: skip
    return parts[chosen]


def _body(document: rag_core.Document, text: str, quotes: Sequence[str]) -> str:
    """A text with its headings and lists, and with quoted sentences highlighted; else as it was written."""
    text = text.removeprefix(f"# {document.title}").strip()
    parts = []
    for part in re.split(r"^(#{1,6} .*)$", text, flags=re.MULTILINE):
        if part.startswith("#"):
            parts.append(f"<h4>{untrusted.escape(part.lstrip('# '))}</h4>")
        elif part.strip():
            segments = rag_core.highlight(part.strip(), "", document.language, quotes)
            marked = [one._replace(matched=one.quoted, quoted=False) for one in segments]
            parts.append(f'<div class="rl-text">{with_lists(marked)}</div>')
    return "".join(parts).replace("<mark>", '<mark id="quoted">', 1)
