"""Foreign text on pages: every way to Streamlit passes one gate, and the gate lets only plain text through.

That nothing but Markup is drawn as HTML is for mypy to say, and that nothing is made Markup by force for ruff (S704).
"""

import html
import re
import unicodedata
from types import SimpleNamespace

import plotly.graph_objects as go
import pytest
from helpers.looping import for_each
from helpers.small import ROOT
from helpers.unlabelled import GATE, Pages
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markupsafe import Markup

from pages.drawing import untrusted
from pages.drawing.fragments import render
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


def test_only_labelled_text_is_drawn_as_markdown():
    assert GATE in SOURCES
    assert Pages(SOURCES).unlabelled() == []


def test_only_literal_messages_may_have_tags():
    calls = re.findall(r"\btagged\((?!message: str)\s*(.)", "".join(SOURCES.values()))
    assert set(calls) == {'"'}


HEAD = (
    "import streamlit as st\nfrom pages.drawing import untrusted\nfrom pages.drawing.untrusted import Label, label\n"
    "from pages.drawing.translate import plural, t, translated\n"
)


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
        'st.markdown(f"**{title}**")',
        "st.markdown(Label(document.title))",
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
        "st.markdown('x', unsafe_allow_html=True)",
        "st.plotly_chart(figure)",
        "name = document.title\n    st.markdown(name)",
        "name = label(title)\n    name = title\n    st.markdown(name)",
        "st.markdown(_inner(text))\n\ndef _inner(text):\n    return text.strip()",
        "_say(text)\n\ndef _say(what: str):\n    st.markdown(what)",
    ],
)
def test_a_text_past_the_gate_is_found(body):
    assert Pages({"pages.ask.mutant": f"{HEAD}\ndef main():\n    {body}\n"}).unlabelled() != []


@for_each(
    "body",
    [
        "st.markdown(label(document.text))",
        'st.markdown(f"**{label(title)}**: {count:,} of {len(rows)}")',
        "st.pills('Topic', topics, format_func=label)",
        "st.selectbox('Run', runs, format_func=lambda run: untrusted.plain(run.title))",
        "name = label(title) if title else 'none'\n    st.markdown(name)",
        "_say(label(text))\n\ndef _say(what: Label):\n    st.markdown(what)",
        "st.markdown(_inner(text))\n\ndef _inner(text) -> Label:\n    return label(text)",
        "st.dataframe(untrusted.cells(rows))",
        "st.markdown(t('{title} was read {count:,} times', title=label(document.title), count=found))",
        "st.markdown(label(translated(recipe.title)))",
        "st.pills('Show', ['yes', 'no'], format_func=translated)",
    ],
)
def test_what_passed_the_gate_is_not_reported(body):
    assert Pages({"pages.ask.fine": f"{HEAD}\ndef main():\n    {body}\n"}).unlabelled() == []


def obeyed(text: str) -> list[str]:
    reordering = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    return [
        one for one in text
        if one in reordering or (unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") and one not in "\n\t")
    ]  # fmt: skip


def drawn_as_html(body: Markup) -> list[str]:
    drawn: list[str] = []
    untrusted.draw(body, SimpleNamespace(html=drawn.append))
    return drawn


@given(CASES)
@fuzzed
def test_html_shows_any_text_and_nothing_else(text):
    (drawn,) = drawn_as_html(render("room.line", words=text))
    before, after = '<p class="rl-room-line">', "</p>"
    escaped = drawn.removeprefix(before).removesuffix(after)
    assert f"{before}{escaped}{after}" == drawn
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
    assert lists_as_html(Markup("Take:\n\n- <b>notes</b>\n- a towel\n\n-5 °C")) == (
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
