"""One document in full, with the sentences that an answer quoted highlighted; text whose dashes are lists, as HTML."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.translate import t, translated
from pages.drawing.untrusted import escape
from pages.shared.engine import engine
from rag_core.documents.documents import BUILTIN
from rag_core.language.highlight import Segment, highlight
from rag_core.values.answers import ITEM, lines_as_html
from rag_core.values.prompt_injection import GIVES_ORDERS, gives_orders

if TYPE_CHECKING:
    from rag_core.indexing import CorpusIndex
    from rag_core.lab.browsing import IndexedDocument


def draw(document: rag_core.Document) -> None:
    """Draw its text, after a remark if it gives orders to language models."""
    quotes = st.query_params.get_all("quote") if document.id == st.query_params.get("document") else []
    if quotes:
        untrusted.draw(
            f'<p class="rl-note"><a href="#quoted">{t("Highlighted: the sentences that the answer rests on")}</a></p>'
        )
    parts = _parts(document)
    part = _quoted_part(document, parts, quotes)
    if len(parts) > 1:
        part = st.selectbox(
            t("This document is long; the part shown is"), range(len(parts)), index=part,
            key=f"whole.{document.id}",
            format_func=lambda place: t("{part:,} of {count:,}", part=place + 1, count=len(parts)),
        )  # fmt: skip
    body = _body(document.title, parts[part], document.language, tuple(quotes))
    untrusted.draw(_orders(document) + body.replace("<mark>", '<mark id="quoted">', 1))


def at_quotes(document: rag_core.Document, quotes: Sequence[str]) -> str:
    """Its text as HTML; of a very long one, the part with the first quoted sentence."""
    parts = _parts(document)
    part = parts[_quoted_part(document, parts, quotes)]
    body = _body(document.title, part, document.language, tuple(quotes))
    return _orders(document) + body.replace("<mark>", '<mark tabindex="-1">', 1)


def find(corpus: str, name: str) -> rag_core.Document | None:
    """A document of a corpus that is open here; None if there is none."""
    opened = engine()
    lab = opened.lab if corpus == BUILTIN else opened.others.find(corpus)
    try:
        found = indexed(lab.index.name, lab.index).get(name) if lab else None
    except rag_core.RagError:  # it was deleted since
        return None
    return found.document if found else None


@st.cache_resource(show_spinner=False, max_entries=4)
def indexed(name: str, _index: CorpusIndex) -> Mapping[str, IndexedDocument]:
    """The documents of a corpus with their files, by id; `name` names the generation of its index."""
    from rag_core.lab.browsing import indexed_documents  # as in `_parts`

    return {one.document.id: one for one in indexed_documents(_index)}


def _parts(document: rag_core.Document) -> Sequence[str]:
    from rag_core.lab.browsing import parts_of  # with the indexes' code, which Compare is drawn without

    return parts_of(document) or ("",)


def _orders(document: rag_core.Document) -> str:
    if not gives_orders(f"{document.id}\n{document.title}\n{document.text}"):
        return ""
    return f'<p class="rl-orders">{escape(translated(GIVES_ORDERS))}</p>'


def _quoted_part(document: rag_core.Document, parts: Sequence[str], quotes: Sequence[str]) -> int:
    if len(parts) < 2:
        return 0
    quoted = (
        place for place, part in enumerate(parts)
        if any(one.quoted for one in highlight(part, "", document.language, quotes))
    )  # fmt: skip
    return next(quoted, 0)


@functools.lru_cache(maxsize=64)  # what moves a slider draws the same drawers again
def _body(title: str, text: str, language: str, quotes: tuple[str, ...]) -> str:
    """A text with its headings and lists, and with quoted sentences highlighted; else as it was written."""
    text = text.removeprefix(f"# {title}").strip()
    parts = []
    for part in re.split(r"^(#{1,6} .*)$", text, flags=re.MULTILINE):
        if part.startswith("#"):
            parts.append(f"<h4>{escape(part.lstrip('# '))}</h4>")
        elif part.strip():
            segments = highlight(part.strip(), "", language, quotes)
            marked = [one._replace(matched=one.quoted, quoted=False) for one in segments]
            parts.append(f'<div class="rl-text">{with_lists(marked)}</div>')
    return "".join(parts)


Line = list[Segment]


def with_lists(segments: Iterable[Segment]) -> str:
    """Segments of a text as HTML that keeps line breaks: <mark> on what matches, <u> on what is quoted."""
    return lines_as_html(map(_drawn, _lines(segments)))


def _drawn(line: Line) -> tuple[bool, str]:
    """Whether a line is an item, and its pieces without its dash, which a mark may begin in; escaped and marked."""
    found = ITEM.match("".join(piece.text for piece in line))
    left, drawn = found.end() if found else 0, ""
    for piece in line:
        if rest := piece.text[left:]:
            drawn += _piece(piece._replace(text=rest))
        left = max(0, left - len(piece.text))
    return found is not None, drawn


def _piece(segment: Segment) -> str:
    text = escape(segment.text)
    if segment.matched:
        text = f"<mark>{text}</mark>"
    return f"<u>{text}</u>" if segment.quoted else text


def _lines(segments: Iterable[Segment]) -> list[Line]:
    lines: list[Line] = [[]]
    for segment in segments:
        first, *others = segment.text.split("\n")
        lines[-1].append(segment._replace(text=first))
        lines += [[segment._replace(text=text)] for text in others]
    return [[piece for piece in line if piece.text] for line in lines]
