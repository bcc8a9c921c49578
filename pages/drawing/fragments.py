"""HTML for `untrusted.draw`, as Markup: the macros of `pages/templates`, and the pieces that many of them share.

A text that is no Markup is escaped wherever it goes into Markup: in a template and by the methods of Markup itself.
"""

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from markupsafe import Markup

from pages.drawing.translate import LANGUAGES, in_words, plural, problem, t, translated, words_for
from rag_core.explain import query_title, stage_title
from rag_core.values.answers import bold_as_html
from rag_core.values.prompt_injection import GIVES_ORDERS
from rag_core.values.sources import age_note, home_pages

TEMPLATES = Path(__file__).parent.parent / "templates"
_BREAK = re.compile(r"\s*\n\s*")
_NUMBER = re.compile(r"(?<!\w)(\*?\d[\d -]+\d)(?!\w)")


def render(macro: str, /, **values: object) -> Markup:
    """What a macro of a template draws: "answer.support" is `support` of answer.html."""
    return _macro(macro)(**values)


def tagged(message: str, /, **fields: object) -> Markup:
    """A literal message with tags, in the language of the visit; its fields are escaped."""
    return Markup(t(message)).format(**fields)  # noqa: S704  # our own sentence


def note(text: str) -> Markup:
    """A line in quiet print; nothing for no text."""
    return Markup('<p class="rl-note">{}</p>').format(text) if text else Markup()


def tip(text: str, explanation: str, css: str, *, stop: bool = True) -> Markup:
    """A word that shows an explanation on hover and, at a tab stop, on focus; without one, it must stand elsewhere too."""
    return render("pieces.tip", text=text, explanation=explanation, css=css, stop=stop)


def dial(text: str) -> Markup:
    """Text with each phone number as a link that calls it."""
    link = Markup('<a href="tel:{}">{}</a>')
    return Markup().join(
        link.format(re.sub(r"[^0-9*]", "", piece), piece) if place % 2 else piece
        for place, piece in enumerate(_NUMBER.split(text))
    )


def opener(position: int, rank: int, text: str, css: str, name: str = "") -> Markup:
    """A button that opens a passage's card beside it; columns count from 0, `name` is for screen readers."""
    return render("pieces.opener", position=position, rank=rank, text=text, css=css, name=name)


def presser(key: str, text: str, name: str) -> Markup:
    """A button that presses Streamlit's hidden one with this key (letters, digits, "-"); see page.js."""
    button = Markup('<button type="button" class="rl-open" data-press="{}" aria-label="{}">{}</button>')
    return button.format(key, name, text)


def listed(heads: Sequence[str], rows: Iterable[Sequence[str]], css: str = "") -> Markup:
    """A table whose rows a phone shows as lists, each cell after its head; the first names the row; framed with `css`."""
    return render("pieces.listed", heads=heads, rows=rows, css=css)


class _JoinedLines(Extension):
    """Joins a template's lines: breaks and indentation are for whoever reads it, and no space on the page."""

    def filter_stream(self, stream: TokenStream) -> Iterable[Token]:
        for token in stream:
            joined = _BREAK.sub("", token.value) if token.type == "data" else token.value
            yield Token(token.lineno, token.type, joined)


@functools.cache
def _macro(macro: str) -> Callable[..., Markup]:
    file, _, name = macro.partition(".")
    found: Callable[..., Markup] = getattr(_environment().get_template(f"{file}.html").module, name)
    return found


@functools.cache
def _environment() -> Environment:
    made = Environment(
        autoescape=True, auto_reload=False, extensions=[_JoinedLines], loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
    )  # fmt: skip
    del made.filters["safe"]  # only Python makes Markup, where ruff finds it
    made.globals |= {
        "GIVES_ORDERS": GIVES_ORDERS, "LANGUAGES": LANGUAGES, "age_note": age_note, "bold": bold_as_html, "dial": dial,
        "home_pages": home_pages, "in_words": in_words, "note": note, "opener": opener, "plural": plural, "presser": presser,
        "problem": problem, "query_title": query_title, "stage_title": stage_title,
        "t": t, "tagged": tagged, "tip": tip, "translated": translated, "words_for": words_for,
    }  # fmt: skip
    return made


def load() -> None:
    """Compile all templates, before the first visit."""
    for file in TEMPLATES.glob("*.html"):
        _environment().get_template(file.name)
