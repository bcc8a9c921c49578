"""Foreign text on pages: every way to Streamlit passes one gate, and the gate lets only plain text through."""

import html
import re
import unicodedata

import plotly.graph_objects as go
import pytest
from helpers.looping import for_each
from helpers.past_the_gate import GATE, Reader
from helpers.small import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pages.drawing import untrusted
from pages.shared.whole_document import with_lists
from rag_core.language.highlight import Segment, highlight
from rag_core.values.answers import lists_as_html

PAGES = [ROOT / "app.py", *(ROOT / "pages").glob("**/*.py")]
SOURCES = {
    str(path.relative_to(ROOT)).removesuffix(".py").replace("/", "."): path.read_text(encoding="utf-8")
    for path in PAGES
}
CASES = st.text(
    st.one_of(st.characters(), st.sampled_from("\\`*_{}[]()<>#+-.!|~$:&=\"'\n\t 1)"), st.characters(categories=["Cs", "Cc", "Cf"])),
    max_size=40,
)  # fmt: skip
fuzzed = settings(derandomize=True, max_examples=150, deadline=None)


def test_no_foreign_text_reaches_streamlit_past_the_gate():
    assert GATE in SOURCES
    assert Reader(SOURCES).found() == []


HEAD = "import streamlit as st\nimport rag_core\nfrom pages.drawing import untrusted\nfrom pages.drawing.untrusted import escape, label\nfrom pages.drawing.translate import plural, t, translated\n"


@for_each(
    "body",
    [
        "st.markdown(document.text)",
        "st.markdown(t('{title} was read', title=document.title))",
        "st.markdown(t(document.title))",
        "st.markdown(t(f'{title} was read'))",
        "st.markdown(plural('{count} of {name}', '{count} of {name}', n, name=document.title))",
        "st.markdown(translated(recipe.title))",
        "st.pills('Topic', topics, format_func=translated)",
        "untrusted.draw(t('<b>{title}</b>', title=label(document.title)))",
        'st.markdown(f"**{title}**")',
        "st.caption(text if text else 'none')",
        "st.tabs([recipe.title for recipe in recipes])",
        "st.pills('Topic', topics)",
        "st.pills('Topic', topics, format_func=untrusted.plain)",
        "st.selectbox('Run', runs, format_func=lambda run: run.title)",
        "st.toggle('On', help=control.help)",
        "st.metric(label(name), value)",
        "st.progress(0.5, job.title)",
        "st.text_input('Name', template.name)",
        "st.text_area('Ask', placeholder=subject)",
        "st.dataframe(rows)",
        "st.html(body)",
        "place.html(f'<b>{text}</b>')",
        "untrusted.draw(f'<b>{document.title}</b>')",
        "untrusted.draw(f'<b>{label(document.title)}</b>')",
        "untrusted.draw('<b>' + document.title + '</b>')",
        "untrusted.draw(''.join(f'<li>{one}</li>' for one in found))",
        "st.markdown(escape(text))",
        "st.markdown('x', unsafe_allow_html=True)",
        "st.plotly_chart(figure)",
        "name = document.title\n    st.markdown(name)",
        "name = label(title)\n    name = title\n    st.markdown(name)",
        "shown = _inner(text)\n    st.markdown(shown)\n\ndef _inner(text):\n    return text.strip()",
        "untrusted.draw(_row(one))\n\ndef _row(one):\n    return f'<td>{one.title}</td>'",
        "parts = []\n    parts.append(text)\n    untrusted.draw(''.join(parts))",
        "_say(text)\n\ndef _say(what: str):\n    st.markdown(what)",
    ],
)
def test_a_text_past_the_gate_is_found(body):
    found = Reader({"pages.ask.mutant": f"{HEAD}\ndef main():\n    {body}\n"}).found()
    assert found != []


@for_each(
    "body",
    [
        "st.markdown(label(document.text))",
        'st.markdown(f"**{label(title)}**: {count:,} of {len(rows)}")',
        "st.pills('Topic', topics, format_func=label)",
        "st.selectbox('Run', runs, format_func=lambda run: untrusted.plain(run.title))",
        "untrusted.draw(f'<b>{escape(document.title)}</b>')",
        "untrusted.draw(''.join(f'<li>{escape(one)}</li>' for one in found))",
        "name = label(title) if title else 'none'\n    st.markdown(name)",
        "untrusted.draw(_row(one))\n\ndef _row(one):\n    return f'<td>{escape(one.title)}</td>'",
        "_say(label(text))\n\ndef _say(what: str):\n    st.markdown(what)",
        "st.dataframe(untrusted.cells(rows))",
        "st.markdown(t('{title} was read {count:,} times', title=label(document.title), count=found))",
        "st.markdown(label(translated(recipe.title)))",
        "st.pills('Show', ['yes', 'no'], format_func=translated)",
    ],
)
def test_what_passed_the_gate_is_not_reported(body):
    found = Reader({"pages.ask.fine": f"{HEAD}\ndef main():\n    {body}\n"}).found()
    assert found == []


def obeyed(text: str) -> list[str]:
    reordering = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    return [
        one for one in text
        if one in reordering or (unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") and one not in "\n\t")
    ]  # fmt: skip


@given(CASES)
@fuzzed
def test_html_shows_any_text_and_nothing_else(text):
    escaped = untrusted.escape(text)
    assert not set("<>\"'") & set(escaped)
    assert html.unescape(escaped) == untrusted.plain(text)
    assert obeyed(escaped) == []


@given(CASES)
@fuzzed
def test_markdown_shows_any_text_and_nothing_else(text):
    """Read by a CommonMark parser: one paragraph of plain text, the text itself."""
    written = untrusted.label(text)
    assert obeyed(written) == []
    assert "\n" not in written
    blocks = MarkdownIt().enable(["table", "strikethrough"]).parse(written)
    shown = " ".join(untrusted.plain(text).split())
    if not shown:
        assert blocks == []
        return
    assert [block.type for block in blocks] == ["paragraph_open", "inline", "paragraph_close"]
    parts = blocks[1].children or []
    assert {part.type for part in parts} <= {"text", "text_special"}
    joined = "".join(part.content for part in parts)
    assert joined.replace(untrusted.JOINER, "") == shown.replace(untrusted.JOINER, "")


@pytest.mark.parametrize("text", ["k_final", "Hybrid RRF + MMR · λ 0.3", "10:30, 2-3 mg (5 %)", "¿Qué es la RPM?"])
def test_everyday_text_is_left_as_it_is(text):
    assert untrusted.label(text) == untrusted.plain(text) == text
    assert untrusted.escape(text) == text


@given(CASES)
@fuzzed
def test_a_chart_shows_any_text_and_nothing_else(text):
    marked = untrusted.mark(text)
    assert not set("<>%$") & set(marked)
    assert html.unescape(marked) == untrusted.plain(text)
    assert obeyed(marked) == []


def test_a_chart_past_the_gate_loses_its_tags(monkeypatch):
    drawn = []
    monkeypatch.setattr(untrusted.st, "plotly_chart", lambda figure, **options: drawn.append(figure))
    figure = go.Figure(go.Bar(x=[1], y=["<b>bold</b><br>next"], name='<a href="http://x">x</a>'))
    untrusted.chart(figure.update_layout(title="<img src=x>"), "key")
    (figure,) = drawn
    assert figure.data[0].y[0] == "&lt;b>bold&lt;/b><br>next"
    assert figure.data[0].name.startswith("&lt;a")
    assert figure.layout.title.text == "&lt;img src=x>"


@given(CASES)
@fuzzed
def test_a_cell_is_text_that_no_spreadsheet_runs(text):
    ((name, cell),) = untrusted.cells([{text: text}])[0].items()
    assert obeyed(name + cell) == []
    assert not cell.startswith(("=", "+", "-", "@", "\t"))
    assert cell.removeprefix("'") == untrusted.plain(text).removeprefix("'")


def test_lines_with_a_dash_are_items_and_the_others_stay_text():
    text = "Take with you:\n\n- your notes\n- a towel\n\nRing first."
    assert with_lists([Segment(text, matched=False, quoted=False)]) == (
        "Take with you:<ul><li>your notes</li><li>a towel</li></ul>Ring first."
    )
    assert lists_as_html("Take:\n\n- <b>notes</b>\n- a towel\n\n-5 °C") == (
        "Take:<ul><li><b>notes</b></li><li>a towel</li></ul>-5 °C"
    )
    text = "Weeks 24 - 28\n-5 °C\n-"
    assert with_lists([Segment(text, matched=False, quoted=False)]) == text


def test_a_mark_over_several_items_marks_each():
    text = "Bring:\n- your notes\n- a towel"
    segments = highlight(text, "", "en", ["your notes\n- a towel"])
    assert [one.text for one in segments if one.quoted] == ["your notes\n- a towel"]
    assert with_lists(segments) == "Bring:<ul><li><u>your notes</u></li><li><u>a towel</u></li></ul>"


@given(st.lists(st.tuples(st.text("-* \n<&a"), st.booleans())))
def test_no_word_is_lost_and_no_tag_comes_from_the_text(pieces):
    text = "".join(piece for piece, _ in pieces)
    drawn = with_lists([Segment(piece, matched=False, quoted=quoted) for piece, quoted in pieces])
    left = re.sub("</?(?:ul|li|u)>", "", drawn)
    assert "<" not in left
    shown = html.unescape(left)
    words = re.sub(r"(?m)^[-*] +(?=\S)", "", text)
    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", words)
