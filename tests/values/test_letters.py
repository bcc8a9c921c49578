"""Letters in another form are read as themselves; signs that mean something else stay."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.language.analysis import tokens
from rag_core.language.questions import check_question
from rag_core.values.letters import plain_letters, raised


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("o\ufb03ce, \ufb01ve, ba\ufb04e, \ufb02uid, sta\ufb00, fa\ufb05", "office, five, baffle, fluid, staff, fast"),
        ("\uff21\uff50\uff47\uff41\uff52 \uff11\uff10\uff05 \uff08\uff42\uff41\uff42\uff59\uff09", "Apgar 10% (baby)"),
        ("\U0001d401\U0001d428\U0001d425\U0001d41d 5 \u2113", "Bold 5 l"),
        ("5 \u338e, 2 \u3396, 3 \u338f", "5 mg, 2 ml, 3 kg"),
        ("grade \u2163", "grade IV"),
        ("cesa\u0301rea, an\u0303o", "cesárea, año"),
        ("\u212b and \u212a", "\xc5 and K"),
    ],
)  # fmt: skip
def test_letters_in_another_form_are_ordinary_ones(text, plain):
    assert plain_letters(text) == plain


@pytest.mark.parametrize(
    "text",
    ["10⁹/L, m², x₂", "1½ tablets", "5 \xb5g", "≥ 140, ≤ 90, 4 ± 1", "1.ª and 2.º", "25 °C", "wait …", "\u33a1", "„so“ – yes"],
)  # fmt: skip
def test_signs_that_mean_something_else_stay(text):
    assert plain_letters(text) == text.replace("\u33a1", "m²")


@given(st.text(max_size=30))
@settings(derandomize=True, deadline=None)
def test_once_is_enough(text):
    plain = plain_letters(text)
    assert plain_letters(plain) == plain
    assert unicodedata.is_normalized("NFC", plain)


@pytest.mark.parametrize(
    ("figures", "read"),
    [("9", "⁹"), ("-6", "⁻⁶"), ("+", "⁺"), ("st", "st"), ("1.5", "^1.5"), ("[12]", "[12]"), ("", "")],
)
def test_raised_figures_are_not_read_as_part_of_the_number_before(figures, read):
    assert raised(figures) == read


@pytest.mark.parametrize("typed", ["dif\ufb01cult \ufb01rst feed", "ｄｉｆｆｉｃｕｌｔ ｆｉｒｓｔ ｆｅｅｄ"])
def test_a_question_in_other_letters_has_the_words_of_the_plain_one(typed):
    typed = typed.replace("dif\ufb01cult", "di\ufb03cult")
    assert check_question(typed) == "difficult first feed"
    assert tokens(check_question(typed), "en") == tokens("difficult first feed", "en")
