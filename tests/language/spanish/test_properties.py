"""What no gloss may lose or do, on texts nobody wrote."""

import re

from helpers.looping import for_each
from helpers.small import ROOT
from helpers.unread import unread
from hypothesis import given
from hypothesis import strategies as st

from rag_core.language.facts import DRUGS
from rag_core.language.spanish import Gloss, read_entries
from rag_core.language.spanish.reader import _INSIDE, _is_inside
from rag_core.language.thesaurus import Thesaurus

LIST = ROOT / "data" / "gloss" / "es.tsv"
ENTRIES = read_entries(LIST)
GLOSS = Gloss(ENTRIES, Thesaurus.read(ROOT / "data" / "thesaurus.toml"))
NO_PHRASES = Gloss({form: english for form, english in ENTRIES.items() if " " not in form})
LONGEST = max(len(english.split()) for form, english in ENTRIES.items() if " " not in form)  # for one word

spanish = st.lists(st.sampled_from(sorted(ENTRIES)), max_size=8).map(" ".join)
NEGATIONS = {
    "no": "not", "sin": "without", "nunca": "never", "jamás": "never", "ni": "nor", "tampoco": "neither",
    "ningún": "no", "ninguna": "no", "nadie": "nobody",
}  # fmt: skip
UNITS = ("mg", "ml", "g", "kg", "cm", "mm", "mg/dl", "mmHg", "mcg", "%")


@given(st.text())
def test_any_text_is_read_and_always_the_same_way(text):
    read = GLOSS.english(text)
    assert read == GLOSS._read_text(text)  # past the cache
    assert isinstance(unread(GLOSS, text), list)


@given(st.text('aZé1,;)%-. \t\n"«(\u0301', max_size=12))
def test_a_word_is_inside_a_sentence_as_when_all_before_it_is_read(before):
    whole = f"{before}Madrid"
    assert _is_inside(whole, len(before)) == bool(_INSIDE.search(whole, 0, len(before)))


@given(spanish, st.decimals(0, 9999, places=1), st.sampled_from(UNITS), spanish)
def test_numbers_and_units_stay(before, number, unit, after):
    written = f"{number} {unit}".replace(".", ",")
    read = GLOSS.english(f"{before}, {written}, {after}")
    assert re.search(rf"(?<!\d){re.escape(written.lower())}", read.lower())


@given(st.integers(4, 42), st.sampled_from(["semanas", "semana", "sem"]))
def test_weeks_stay(week, unit):
    assert re.search(rf"\b{week}\b.*\bweeks?\b", GLOSS.english(f"Estoy de {week} {unit} y sangro."))
    assert GLOSS.english(f"a las {week} semanas") == f"at {week} weeks"


@given(spanish, st.sampled_from(sorted(NEGATIONS)), spanish)
def test_negations_stay(before, negation, after):
    assert f" {NEGATIONS[negation]} " in f" {NO_PHRASES.english(f'{before} {negation} {after}')} "


@for_each("drug", sorted(DRUGS))
def test_drug_names_stay(drug):
    """The English name is that of the drug: all but a few begin alike in both languages."""
    read = GLOSS.english(f"tomo {drug}").removeprefix("i take ")
    assert read in DRUGS or read[:3] == drug[:3] or read[-4:] == drug[-4:], read


@given(spanish)
def test_a_text_grows_by_no_more_than_its_words_allow(text):
    words = len(re.findall(r"\w+", text))
    assert len(NO_PHRASES.english(text).split()) <= LONGEST * words


@given(st.lists(st.sampled_from(["baby", "weeks", "bleeding", "Braxton", "Hicks", "34", "mg", "B12", "why"])))
def test_english_words_stay(words):
    text = " ".join(words)
    read = GLOSS.english(text)
    assert read.lower() == text.lower()
    assert GLOSS.english(read) == read
