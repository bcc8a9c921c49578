import json
import re
from pathlib import Path

import pytest
from helpers.looping import for_each
from hypothesis import given
from hypothesis import strategies as st

from rag_core.lab.lab import Lab
from rag_core.language.facts import DRUGS, facts, lost_in_rewrite
from rag_core.language.quantities import NUMBER_WORDS, UNITS
from rag_core.language.spelling import _PHONE, RARE, Spelling, count_words, in_dictionary, is_medicine
from rag_core.language.thesaurus import Thesaurus, WrittenOut

DATA = Path(__file__).parents[2] / "data"
# 8 words of one sense each, twice in the collection
WORDS = ["gestational", "diabetes", "braxton", "hicks", "labor", "paracetamol", "fever", "pyrexia"]

SPANISH = ["gestacional", "diabetes", "cesárea", "placenta", "embarazada", "paracetamol"]


@pytest.fixture(scope="module")
def spelling() -> Spelling:
    return Spelling(lambda: {"en": dict.fromkeys(WORDS, RARE), "es": dict.fromkeys(SPANISH, RARE)})


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("gestashunal diabetis", "gestational diabetes"),  # by sound, 3 edits; by 1 edit
        ("a braxten or a Braxten kick", "a braxton or a Braxten kick"),  # a capital inside may be a name
        ("laber starts", "labor starts"),
        ("can I take parasetamol", "can I take paracetamol"),  # a medicine that sounds the same
        (
            "wat shud I do wen feverr starts",
            "what should I do when fever starts",
        ),  # "wat" is a word elsewhere
        ("Feaver at 39 weeks", "Fever at 39 weeks"),
        ("diabetis gestasional", "diabetis gestacional"),  # as near to Spanish; a variant of the dictionary's
        ("tengo gestasional y vacunarme", "tengo gestacional y vacunarme"),  # "vacunar" is a word
        ("¿Sesaria con plasenta baja?", "¿Cesárea con placenta baja?"),  # as it sounds, and one sound more
        (
            "estoy enbarasada y me dieron paracetanol",
            "estoy embarazada y me dieron paracetanol",
        ),  # a medicine
    ],
)
def test_a_misspelt_word_is_read_as_the_word_it_looks_or_sounds_like(spelling, typed, meant):
    assert spelling.read(typed) == meant


@for_each(
    "typed",
    [
        "apyrexia",  # would lose its negation
        "valsartan or paracetomolol",  # built like medicines, but not the sound of one
        "FEAVER",  # an abbreviation, for all we know
        "fevers",  # an ending, not a mistake
        "feve",  # short, and of another sound
        "don't, dont, isnt, 5mg, B12 and feaver@example.org",
        "tengo feaver",  # Spanish around it
    ],
)
def test_other_words_stay_as_typed(spelling, typed):
    assert spelling.read(typed) == typed


def test_a_word_of_one_passage_alone_corrects_nothing():
    once = count_words([("labor", "en")], [])
    assert Spelling(lambda: once).read("laber") == "laber"
    named = count_words([("labor", "en")], [("labor pain", "en")])
    assert Spelling(lambda: named).read("laber") == "labor"


_NEGATIONS = st.sampled_from(["no", "not", "never", "without", "dont", "can't", "nor"])
_NUMBERS = st.sampled_from([*map(str, range(0, 2000, 37)), *NUMBER_WORDS["en"], "5-1-1", "37+2", "0.4"])
_TYPOS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=12)


@given(
    st.lists(
        st.one_of(_NEGATIONS, _NUMBERS, st.sampled_from(sorted(UNITS)), st.sampled_from(sorted(DRUGS)), _TYPOS),
        min_size=1,
        max_size=9,
    )
)
def test_numbers_units_negations_and_medicines_survive(spelling, words):
    question = " ".join(words)
    read = spelling.read(question).split()
    assert len(read) == len(words)
    for typed, seen in zip(words, read, strict=True):
        if facts(typed, "en") or typed in UNITS or is_medicine(typed) or typed in DRUGS:
            assert seen == typed
        assert not facts(seen, "en") or seen == typed or is_medicine(seen)  # and none appears
    assert not [one for one in lost_in_rewrite(question, " ".join(read)) if not is_medicine(one)]


def _built_in(lab: Lab) -> Spelling:
    """What corrects questions to the built-in collection."""
    words = ((one.text, one.language) for one in lab.index.passages.values())
    counted = count_words(words, lab.engines.thesaurus.clinical_terms())
    return Spelling(lambda: counted)


def test_the_built_in_questions_that_are_spelt_well_stay_as_they_are(lab):
    """All kinds but those in which people mistype: `misspelt`, `emergency`, `hurried`, `lay`."""
    spelling = _built_in(lab)
    rows = [
        json.loads(line)
        for language in ("en", "es")
        for line in (DATA / "questions" / language / "queries.jsonl").read_text("utf-8").splitlines()
    ]
    careful = [row for row in rows if row["metadata"]["kind"] not in ("misspelt", "emergency", "hurried", "lay")]
    assert len(careful) > 300
    assert [row["_id"] for row in careful if spelling.read(row["text"]) != row["text"]] == []


def test_no_correction_of_a_built_in_question_changes_a_dictionary_word_or_a_fact(lab):
    spelling = _built_in(lab)
    for line in (DATA / "questions" / "en" / "queries.jsonl").read_text("utf-8").splitlines():
        text = json.loads(line)["text"]
        read = spelling.read(text)
        changed = [
            one
            for one, other in zip(re.findall(r"\w+", text), re.findall(r"\w+", read), strict=True)
            if one != other and one.lower() not in _PHONE  # "wat" is a word, and not the one meant
        ]
        assert not any(in_dictionary(word.lower(), "en") for word in changed), json.loads(line)["_id"]
        assert not [one for one in lost_in_rewrite(text, read) if not is_medicine(one)]


THESAURUS = Thesaurus.read(Path(__file__).parents[2] / "data" / "thesaurus.toml")


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("OASI follow-up", "OASI (obstetric anal sphincter injury) follow-up"),
        ("TXA dose, and TXA again?", "TXA (tranexamic acid) dose, and TXA again?"),
        (
            "manejo del OASI hoy en la paciente",
            "manejo del OASI (lesión obstétrica del esfínter anal) hoy en la paciente",
        ),
        ("Is tranexamic acid (TXA) given?", "Is tranexamic acid (TXA) given?"),  # named already
        ("When is the baby due?", "When is the baby due?"),
        ("my weak blood", "my weak blood"),  # a lay name
    ],
)
def test_the_clinical_term_follows_its_abbreviation(typed, read):
    assert WrittenOut(THESAURUS, str).read(typed) == read


def test_the_spelling_is_corrected_first():
    reader = WrittenOut(THESAURUS, lambda question: question.replace("dsoe", "dose"))
    assert reader.read("TXA dsoe") == "TXA (tranexamic acid) dose"
