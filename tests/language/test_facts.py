from pathlib import Path

from helpers.looping import for_each
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.language.facts import facts, lost_in_rewrite
from rag_core.language.quantities import NUMBER_WORDS, TENS, UNITS, plain_number
from rag_core.language.thesaurus import Thesaurus

DATA = Path(__file__).resolve().parents[2] / "data"
KEPT = [
    ("no fever at 34 weeks", "without fever at week 34"),
    ("no fever at thirty-four weeks", "no fever at 34 weeks"),
    ("no fever at 34 weeks", "absence of fever at thirty-four weeks"),
    ("I don't need aspirin at 34+2, do I?", "aspirin is not needed at 34 weeks and 2 days"),
    ("sin fiebre a las treinta y cuatro semanas", "no tiene fiebre, semana 34"),
    ("hemoglobina de 10,6 g/dl", "hemoglobina 10.6"),
    ("peso fetal de 4.700 g", "peso estimado 4700 g"),
    ("35-36 weeks or not before 38?", "never before 38 weeks, but 35 to 36"),
    ("vitamin B12 and omega-3", "cobalamin and fish oil"),
    ("one of the tests", "a test"),
    ("¿No puedo tomar ibuprofeno?", "ibuprofeno contraindicado"),
]
LOST = [
    ("no fever at 34 weeks", "fever at 34 weeks", ("no",)),
    ("no fever at 34 weeks", "no fever late in pregnancy", ("34 weeks",)),
    ("no fever at 34 weeks", "no fever for 34 days", ("34 weeks",)),
    ("no fever at 34 weeks", "fever at 34 weeks without a rash", ("no",)),
    ("I don't take aspirin at 34+2", "aspirin at 34 weeks", ("don't", "34+2")),
    ("sin fiebre a las treinta y cuatro semanas", "fiebre", ("sin", "treinta y cuatro semanas")),
    ("twenty-two or 23 mm", "23 mm", ("twenty-two",)),
    ("Is ibuprofen safe, and paracetamol?", "Is paracetamol safe?", ("ibuprofen",)),
    ("nunca tomé levotiroxina", "tomé un medicamento", ("nunca", "levotiroxina")),
    ("two boys, two girls", "boys and girls", ("two",)),
]


@for_each(("question", "rewrite"), KEPT)
def test_what_is_kept_in_other_words_is_not_lost(question, rewrite):
    assert lost_in_rewrite(question, rewrite) == ()


@for_each(("question", "rewrite", "lost"), LOST)
def test_what_a_rewrite_lost_is_named_in_the_questions_words(question, rewrite, lost):
    assert lost_in_rewrite(question, rewrite) == lost


def test_a_medicine_may_go_by_another_name_when_the_thesaurus_knows_it():
    thesaurus = Thesaurus.read(DATA / "thesaurus.toml")
    renamed = ("Is paracetamol safe?", "Is acetaminophen safe?")
    assert lost_in_rewrite(*renamed) == ("paracetamol",)
    assert lost_in_rewrite(*renamed, thesaurus) == ()
    assert lost_in_rewrite("Is paracetamol safe?", "Is ibuprofen safe?", thesaurus) == ("paracetamol",)


def test_numbers_in_words_up_to_ninety_nine_are_read():
    assert [fact.values for fact in facts("twelve, thirty and ninety-nine", "en")] == [
        ("12",),
        ("30",),
        ("99",),
    ]
    assert [fact.values for fact in facts("doce, treinta y noventa y nueve", "es")] == [
        ("12",),
        ("30",),
        ("99",),
    ]
    assert [fact.values for fact in facts("veintitrés mujeres", "es")] == [("23",)]


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_a_text_loses_nothing_to_itself(text):
    assert lost_in_rewrite(text, text) == ()


@given(st.integers(2, 45), st.sampled_from(["weeks", "semanas"]))
def test_a_week_that_is_not_repeated_is_lost(week, unit):
    question = f"bleeding at {week} weeks" if unit == "weeks" else f"tengo sangrado a las {week} semanas"
    assert lost_in_rewrite(question, "sangrado bleeding") == (f"{week} {unit}",)


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
