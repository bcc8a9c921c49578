"""The one gate to Streamlit: text from documents, models, servers, files and people is drawn as plain text.

Streamlit reads every label, message and caption as Markdown, fetches the images it names and draws HTML; Plotly reads
tags. So foreign text passes one of these functions, and tests find what does not: Markup for HTML (see `fragments`),
`label` for Markdown, `plain` for text that Streamlit shows as it is, `cells` for tables, `mark` for charts.
"""

import html
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NewType, TypeVar

import plotly.graph_objects as go
import streamlit as st
from markupsafe import Markup
from streamlit.delta_generator import DeltaGenerator

import rag_core
from pages.drawing.palette import colour
from pages.drawing.translate import problem
from rag_core.values.visible import as_cell, visible

T = TypeVar("T")
Label = NewType("Label", str)  # Markdown in which all foreign text is plain; tests find what else is drawn as Markdown
JOINER = "\u2060"  # takes no room; parts what Streamlit would replace in text, such as :smile:
_MARKUP = re.compile(
    r"[\\`*\[\]<>~$&|]|(?<![^\W_])_|_(?![^\W_])|^[-+#=]"
    r"|:(?=//)|(?<=[Ww]{3})\."  # a bare URL becomes a link that takes in the backslashes after it
)
_NUMBERED = re.compile(r"^(\d+)([.)])")
_REPLACED = re.compile(r":(?=[A-Za-z+_-])|(?<!\S)[<>~-](?=(?:[-=>]|->)(?!\S))")
_TAG = re.compile(r"<(?!br>|extra>|/extra>)")  # the tags our own charts use


def plain(text: object) -> str:
    """Text for a place that Streamlit shows as it is: options of a selectbox, a placeholder."""
    return visible(str(text))


def label(text: object) -> Label:
    """Text for Markdown, on one line: labels, titles, tabs, options of pills, tooltips."""
    parted = _REPLACED.sub(rf"\g<0>{JOINER}", " ".join(plain(text).split()))
    return Label(_NUMBERED.sub(r"\1\\\2", _MARKUP.sub(r"\\\g<0>", parted)))


def mark(text: object) -> str:
    """Text for a chart."""
    return html.escape(plain(text), quote=False).replace("%", "&#37;").replace("$", "&#36;")


def wrapped(text: str, width: int) -> str:
    """Text for a chart, on as many lines of at most `width` characters as it takes."""
    return "<br>".join(map(mark, textwrap.wrap(text, width) or [text]))


def say(text: str, draw: Callable[[str], object] = st.caption) -> None:
    """Draw text on one line, as a caption or in a box such as `st.warning`."""
    draw(label(text))


@contextmanager
def errors(draw: Callable[[str], object] = st.error) -> Iterator[None]:
    """Show a RagError of the block, or of the function that this decorates, where it happened, and go on after it."""
    try:
        yield
    except rag_core.RagError as error:
        say(problem(error), draw)


def choose(
    title: str,
    options: Sequence[T],
    words: Callable[[T], object],
    key: str,
    *,
    place: DeltaGenerator | None = None,
    **more: Any,
) -> T:
    """Draw a selectbox whose options stand in `words`; returns the chosen one; `more` is for Streamlit."""
    chosen: T = (place or st).selectbox(
        label(title), options, format_func=lambda one: plain(words(one)), key=key, **more
    )
    return chosen


def cells(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of a table; a text that a spreadsheet would run as a formula gets the apostrophe that stops it."""
    return [{plain(name): as_cell(value) for name, value in row.items()} for row in rows]


def draw(body: Markup, place: DeltaGenerator | None = None) -> DeltaGenerator:
    """Draw HTML, in `place` of an earlier drawing without a gap; what a screen would obey becomes a mark."""
    if not body:
        return st.empty()
    return (place or st).html(visible(body))


def chart(figure: go.Figure, key: str) -> None:
    """A chart in the colours of the theme; any tag but our own line breaks becomes text."""
    drawn = go.Figure(_without_tags(figure.to_dict()))
    words = {"color": colour("muted")}  # Streamlit's own are too faint to read
    drawn.update_layout(font=words, legend={"font": words})
    for axes in (drawn.update_xaxes, drawn.update_yaxes):
        axes(tickfont=words, title={"font": words}, gridcolor=colour("border"))
    st.plotly_chart(drawn, key=key, config={"displayModeBar": False})


def _without_tags(value: Any) -> Any:
    match value:
        case str():
            return _TAG.sub("&lt;", value)
        case dict():
            return {key: _without_tags(one) for key, one in value.items()}
        case list() | tuple():
            return [_without_tags(one) for one in value]
    return value
