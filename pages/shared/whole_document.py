"""One document in full, with the sentences that an answer quoted highlighted; text whose dashes are lists, as HTML."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st
from markupsafe import Markup

import rag_core
from pages.drawing import untrusted
from pages.drawing.fragments import render
from pages.drawing.translate import t
from pages.shared.engine import engine
from rag_core.documents.documents import BUILTIN
from rag_core.language.highlight import Segment, highlight
from rag_core.values.answers import ITEM, lines_as_html
from rag_core.values.prompt_injection import gives_orders

if TYPE_CHECKING:
    from rag_core.indexing import CorpusIndex
    from rag_core.lab.browsing import IndexedDocument


def draw(document: rag_core.Document) -> None:
    """Draw its text, after a remark if it gives orders to language models."""
    quotes = st.query_params.get_all("quote") if document.id == st.query_params.get("document") else []
    parts = _parts(document)
    part = _quoted_part(document, parts, quotes)
    if quotes:
        untrusted.draw(render("documents.to_quotes"))
    if len(parts) > 1:
        part = st.selectbox(
            t("This document is long; the part shown is"), range(len(parts)), index=part,
            key=f"whole.{document.id}",
            format_func=lambda place: t("{part:,} of {count:,}", part=place + 1, count=len(parts)),
        )  # fmt: skip
    untrusted.draw(_drawn(document, parts[part], quotes, Markup('id="quoted"')))


def at_quotes(document: rag_core.Document, quotes: Sequence[str]) -> Markup:
    """Its text as HTML; of a very long one, the part with the first quoted sentence."""
    parts = _parts(document)
    part = parts[_quoted_part(document, parts, quotes)]
    return _drawn(document, part, quotes, Markup('tabindex="-1"'))


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


def _drawn(document: rag_core.Document, part: str, quotes: Sequence[str], attribute: Markup) -> Markup:
    """A part of a document, its first quoted sentence with an attribute to be found by."""
    body = _body(document.title, part, document.language, tuple(quotes))
    body = body.replace("<mark>", Markup("<mark {}>").format(attribute), 1)
    ordered = _ordered(f"{document.id}\n{document.title}\n{document.text}")
    return (render("passages.orders") if ordered else Markup()) + body


_ordered = functools.lru_cache(maxsize=64)(gives_orders)  # a few milliseconds for a long text


def _quoted_part(document: rag_core.Document, parts: Sequence[str], quotes: Sequence[str]) -> int:
    if len(parts) < 2:
        return 0
    quoted = (
        place for place, part in enumerate(parts)
        if any(one.quoted for one in highlight(part, "", document.language, quotes))
    )  # fmt: skip
    return next(quoted, 0)


@functools.lru_cache(maxsize=64)  # what moves a slider draws the same drawers again
def _body(title: str, text: str, language: str, quotes: tuple[str, ...]) -> Markup:
    """A text with its headings and lists, and with quoted sentences highlighted; else as it was written."""
    text = text.removeprefix(f"# {title}").strip()
    drawn = Markup()
    for part in re.split(r"^(#{1,6} .*)$", text, flags=re.MULTILINE):
        if part.startswith("#"):
            drawn += Markup("<h4>{}</h4>").format(part.lstrip("# "))
        elif part.strip():
            segments = highlight(part.strip(), "", language, quotes)
            marked = [one._replace(matched=one.quoted, quoted=False) for one in segments]
            drawn += Markup('<div class="rl-text">{}</div>').format(with_lists(marked))
    return drawn


Line = list[Segment]


def with_lists(segments: Iterable[Segment]) -> Markup:
    """Segments of a text as HTML that keeps line breaks: <mark> on what matches, <u> on what is quoted."""
    return lines_as_html(map(_marked, _lines(segments)))


def _marked(line: Line) -> tuple[bool, Markup]:
    """Whether a line is an item, and its pieces without its dash, which a mark may begin in; marked."""
    found = ITEM.match("".join(piece.text for piece in line))
    left, drawn = found.end() if found else 0, Markup()
    for piece in line:
        if rest := piece.text[left:]:
            shown = Markup("<mark>{}</mark>").format(rest) if piece.matched else rest
            drawn += Markup("<u>{}</u>").format(shown) if piece.quoted else shown
        left = max(0, left - len(piece.text))
    return found is not None, drawn


def _lines(segments: Iterable[Segment]) -> list[Line]:
    lines: list[Line] = [[]]
    for segment in segments:
        first, *others = segment.text.split("\n")
        lines[-1].append(segment._replace(text=first))
        lines += [[segment._replace(text=text)] for text in others]
    return [[piece for piece in line if piece.text] for line in lines]
