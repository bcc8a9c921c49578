from helpers.looping import for_each

from rag_core.language.quantities import NUMBER_WORDS, TENS, UNITS, plain_number


@for_each(
    ("written", "plain"),
    [
        ("34", "34"), ("0,5", "0.5"), ("0.500", "0.500"), ("1,500", "1500"), ("1.500", "1500"),
        ("1 500", "1500"), ("12.345.678", "12345678"), ("2.25", "2.25"),
    ],
)  # fmt: skip
def test_a_number_has_one_plain_form(written, plain):
    assert plain_number(written) == plain


def test_number_words_and_units_have_their_values():
    assert (NUMBER_WORDS["en"]["nineteen"], NUMBER_WORDS["es"]["veintinueve"]) == (19, 29)
    assert (TENS["en"]["twenty"], TENS["es"]["treinta"], TENS["es"]["noventa"]) == (20, 30, 90)
    assert UNITS["horas"] == UNITS["hours"] == "h"
