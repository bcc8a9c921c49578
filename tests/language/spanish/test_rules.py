"""Forms that no list contains: verbs with pronouns, diminutives, misspellings, learned words."""

import pytest
from helpers.looping import for_each
from helpers.unread import unread

from rag_core.language.spanish import Gloss

ENTRIES = {
    "tomar": "take", "dar": "give", "acostar": "lie down", "decir": "say", "llamar": "call", "acercar": "approach",
    "poder": "can", "pastilla": "pill", "bebé": "baby", "sangrado": "bleeding", "agua": "water", "poco": "little",
    "lento": "slow", "embarazada": "pregnant", "hospital": "hospital", "contracciones": "contractions",
    "niño": "child", "rompió": "broke", "hervir": "boil", "no": "not", "sin": "without", "nunca": "never",
    "ni": "nor", "tampoco": "neither", "se": "", "tener que": "have to", "hace # días": "# days ago", "TA": "blood pressure",
    "ta": "is", "fuerte": "strong", "vez": "time", "de": "of", "hepatitis": "hepatitis", "y": "and",
}  # fmt: skip


@pytest.fixture(scope="module")
def gloss() -> Gloss:
    return Gloss(ENTRIES)


@for_each(
    ("spanish", "english"),
    [
        ("tomármelo", "take it"), ("dárselo", "give it"), ("tomarlas", "take them"),
        ("acostarme", "lie down"), ("llámenos", "call"), ("acérquese", "approach"), ("tomelo", "take it"),
        ("tomándoselo", "take it"), ("podés", "can"), ("pastillitas", "pill"), ("bebito", "baby"),
        ("sangradito", "bleeding"), ("agüita", "water"), ("poquito", "little"), ("fuertísimo", "very strong"),
        ("lentamente", "slow"), ("veces", "time"), ("nino", "child"), ("rompio", "broke"),
        ("embarasada", "pregnant"), ("enbarazadas", "pregnant"), ("ospital", "hospital"),
        ("contraciones", "contractions"), ("contracsiones", "contractions"), ("hervirr", "boil"),
    ],
)  # fmt: skip
def test_a_form_is_read_by_rule(gloss, spanish, english):
    assert gloss.english(spanish) == english
    assert unread(gloss, spanish) == []


@for_each(
    ("spanish", "english"),
    [
        ("esplenomegalia", "splenomegaly"), ("laparoscopía", "laparoscopy"),
        ("colecistitis", "cholecystitis"), ("microcefalia", "microcephaly"), ("nefrología", "nephrology"),
        ("encefalopatía", "encephalopathy"), ("leucemia", "leukaemia"), ("eritromicina", "erythromycin"),
        ("ablación", "ablation"), ("toxicidad", "toxicity"), ("dermatólogo", "dermatologist"),
    ],
)  # fmt: skip
def test_a_learned_word_is_read_by_its_ending(gloss, spanish, english):
    assert gloss.english(spanish) == english


@pytest.mark.parametrize(
    ("spanish", "english"),
    [
        ("TA de 140", "blood pressure of 140"),
        ("ta fuerte", "is strong"),
        ("hace 3 días", "3 days ago"),
        ("se hervir.", "boil."),
        ("¿No, tomar?\n\n- TA", "not, take?\n\n- blood pressure"),
        ("hepatitis B y Apgar", "hepatitis B and Apgar"),
        ("Y no", "and not"),
    ],
)
def test_phrases_capitals_and_dropped_words(gloss, spanish, english):
    assert gloss.english(spanish) == english
