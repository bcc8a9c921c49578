from contextlib import suppress

import pytest
from helpers.looping import for_each
from hypothesis import given
from hypothesis import strategies as st

from rag_core.language.patterns import Pattern, readings, terms_of
from rag_core.values.errors import DataError

WORDS = st.sampled_from(["hospital", "bleeding", "contractions", "movements", "sangrado", "útero", "niño", "dolor"])
NUMBERS = st.integers(2, 99_999)


def found(pattern: str, sentence: str) -> bool:
    return Pattern.parse(pattern).matches(terms_of(sentence))


@for_each(
    ("pattern", "sentence"),
    [
        ("hospital now|once|immediately", "Go to the hospital at once."),
        ("once hospital", "Go to the HOSPITAL at once."),  # any order, any case
        ("contraction", "Your contractions are strong."),
        ("contracciones", "Una contracción cada cinco minutos."),
        ("utero", "El útero está duro."),
        ("útero", "El utero esta duro."),
        ("hospital inmediat*|ya", "Vaya inmediatamente al hospital."),
        ("anti-D", "Anti-D is given."),
        ("24+0", "from 24+0 weeks"),
        ("120/80", "a pressure of 120/80"),
        ("0.5", "Tome 0,5 mg."),
        ("0,50", "Take 0.5 mg."),
        ("1500", "Tome 1.500 mg."),
        ("1,500", "Tome 1500 mg."),
        ("20 mg", "Take 20mg."),
        ("B12", "vitamin B12"),
        ("5%", "a risk of 5 %"),
        ("not go", "Don't go."),
        ("not", "You cannot."),
        ("not", "You can't."),
        ("don't|never", "Do not go."),
    ],
)
def test_what_matches(pattern, sentence):
    assert found(pattern, sentence)


@for_each(
    ("pattern", "sentence"),
    [
        ("hospital now", "Go to the hospital."),
        ("24", "Take 240 mg."),
        ("2", "Take 2.5 mg."),
        ("15", "Tome 1.500 mg."),
        ("12", "vitamin B12"),
        ("900", "at 9:00"),
        ("anti-D", "Vitamin D and anti inflammatory."),  # adjacent
        ("inmediat*", "mediato"),
        ("not", "Se nota un dolor."),  # equal Spanish stems, but a stop word
        ("ano", "El año pasado."),
        ("hospital", ""),
    ],
)
def test_what_does_not_match(pattern, sentence):
    assert not found(pattern, sentence)


@for_each("bad", ["", "  ", "a||b", "hos*pital", '"now"', "a*", "24*", "(now)", "now,", "|", "*"])
def test_what_is_not_a_pattern(bad):
    with pytest.raises(DataError, match="pattern"):
        Pattern.parse(bad)


@given(st.lists(WORDS, min_size=1, max_size=6), st.randoms())
def test_a_sentence_matches_its_own_words_in_any_order_and_case(words, random):
    assert found(" ".join(random.sample(words, len(words))), " ".join(words).upper() + ".")


@given(st.lists(WORDS, min_size=1, max_size=6), st.lists(WORDS, min_size=1, max_size=3), WORDS)
def test_more_words_match_less_and_more_alternatives_match_more(sentence, pattern, extra):
    text, written = " ".join(sentence), " ".join(pattern)
    if found(f"{written} {extra}", text):
        assert found(written, text)
    if found(written, text):
        assert found(f"{written}|{extra}", text)
        assert found(written, f"{text} {extra}")


@given(NUMBERS, NUMBERS)
def test_numbers_match_by_value_only(one, other):
    for written in (f"{one}", f"{one:,}", f"{one:,}".replace(",", ".")):
        assert found(str(one), f"Take {written} mg.")
        assert found(str(other), f"Take {written} mg.") == (one == other)


@given(st.text(max_size=40))
def test_any_text_is_read_without_error(text):
    for sentence in readings(text, "en"):
        terms_of(sentence)
    with suppress(DataError):
        Pattern.parse(text)


def test_a_list_item_is_read_with_its_lead_in():
    text = "Rest at home. Call 999 if:\n\n- you bleed\n- you faint. Do not drive.\n\nDrink water."
    assert readings(text, "en") == [
        "Rest at home.",
        "Call 999 if:",
        "Call 999 if: you bleed",
        "Call 999 if: you faint.",
        "Call 999 if: Do not drive.",
        "Drink water.",
    ]


def test_items_without_a_lead_in_are_sentences():
    assert readings("Signs.\n1. Pain\n2) Fever", "en") == ["Signs.", "Pain", "Fever"]
