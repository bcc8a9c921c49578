import html
import re

from hypothesis import given
from hypothesis import strategies as st

from pages.shared.lists import with_lists
from rag_core.language.highlight import Segment, highlight
from rag_core.values.answers import lists_as_html


def test_lines_with_a_dash_are_items_and_the_others_stay_text():
    text = "Take with you:\n\n- your notes\n- a towel\n\nRing first."
    assert with_lists([Segment(text, matched=False, quoted=False)]) == (
        "Take with you:<ul><li>your notes</li><li>a towel</li></ul>Ring first."
    )


def test_a_text_that_is_drawn_already_has_the_same_lists():
    assert lists_as_html("Take:\n\n- <b>notes</b>\n- a towel\n\n-5 °C") == (
        "Take:<ul><li><b>notes</b></li><li>a towel</li></ul>-5 °C"
    )


def test_a_dash_inside_a_line_is_no_item():
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
