"""Whether a sentence fits the question's week of pregnancy and medicine."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.looping import for_each

from rag_core.language.thesaurus import Thesaurus
from rag_core.offline.compatible import Case, case_of, limits

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture(scope="module")
def thesaurus() -> Thesaurus:
    return Thesaurus.read(DATA / "thesaurus.toml")


@for_each(
    ("sentence", "expected"),
    [
        ("NSAIDs in the first 20 weeks are best avoided.", ((0, 19),)),
        ("Before 20 weeks, spotting needs a call.", ((0, 19),)),
        ("Antes de la semana 20 se consulta.", ((0, 19),)),
        ("It is avoided from 28 weeks.", ((28, 43),)),
        ("No se toman desde las 20 semanas.", ((20, 43),)),
        ("The scan is between 18 and 21 weeks.", ((18, 21),)),
        ("La prueba se hace entre las 24 y las 28 semanas.", ((24, 28),)),
        ("They are not taken in the last third of pregnancy.", ((28, 43),)),
        ("En el primer trimestre se evita.", ((0, 13),)),
        ("Bleeding lasts up to 6 weeks after the birth.", ()),
        ("Paracetamol is the first choice.", ()),
    ],
)
def test_limits(sentence, expected):
    assert limits(sentence) == expected


@pytest.mark.parametrize(
    ("question", "language"),
    [("May I take it at 33 weeks?", "en"), ("¿Puedo tomarlo a las 33 semanas?", "es")],
)
def test_a_rule_for_other_weeks_does_not_fit(question, language):
    case = case_of(question, language, None)
    assert case.weeks == (33,)
    assert not case.allows("It is avoided before 20 weeks.")
    assert case.allows("It is avoided from 28 weeks.")
    assert case.allows("It is best avoided.")
    assert not case.allows("It is best avoided.", heading="Before 20 weeks")


def test_one_of_several_weeks_is_enough_and_weeks_after_birth_are_none():
    assert case_of("Is it given at 18 weeks or at 24 weeks?", "en", None).allows(
        "It is given before 20 weeks."
    )
    assert case_of("My newborn is 6 weeks old", "en", None).weeks == ()


@pytest.mark.parametrize(
    ("question", "language"), [("Can I take ibuprofen?", "en"), ("¿Puedo tomar ibuprofeno?", "es")]
)
def test_a_medicine_is_named_by_itself_or_its_class(thesaurus, question, language):
    case = case_of(question, language, thesaurus)
    assert case.names_drug({"ibuprofen", "ibuprofeno"})
    assert case.names_drug({"nsaids"})
    assert not case.names_drug({"paracetamol"})


def test_a_question_without_medicine_fits_all():
    assert Case((), frozenset()).names_drug(())


def test_what_is_said_of_a_dose_by_mistake_is_no_permission():
    said = "A single dose by mistake is unlikely to do harm."
    assert not case_of("Can I take ibuprofen?", "en", None).allows(said)
    assert case_of("I took ibuprofen yesterday, is that bad?", "en", None).allows(said)
    assert not case_of("¿Puedo tomar ibuprofeno?", "es", None).allows("Una dosis por error no suele dañar.")


def test_while_breastfeeding_what_is_said_of_pregnancy_alone_is_no_answer() -> None:
    case = case_of("¿Puedo ponerme la vacuna de la gripe si doy el pecho?", "es", None)
    assert not case.is_her_time(
        "Flu vaccine is recommended in any trimester.", "Birth, breastfeeding and vaccines"
    )
    assert not case.is_her_time("La triple viral no se pone.", "Vacunas en el embarazo")
    assert case.is_her_time("Oseltamivir can be taken while breastfeeding.", "Flu in pregnancy")
    assert case.is_her_time("La vacuna inyectable no contiene virus vivos.", "Gripe")
    titles = "VIH y embarazo › Alimentación"
    assert case.is_her_time(
        "El consenso recomienda fórmula.", "Alimentación", titles, "La lactancia con VIH."
    )
    assert not case.is_her_time("El consenso recomienda fórmula.", "Alimentación", titles, "La carga viral.")
    pregnant = case_of("Can I have the flu vaccine at 20 weeks?", "en", None)
    assert pregnant.is_her_time("Flu vaccine is recommended in any trimester.", "Vaccines")


def test_a_born_baby_is_not_answered_with_what_is_for_the_mother() -> None:
    case = case_of("bebé de 3 semanas con estreñimiento, ¿le doy agua?", "es", None)
    assert not case.is_patient("Relief for constipation begins with fibre, water and movement.")
    assert not case.is_patient("Low fluid makes any change in the baby more important.")
    assert case.is_patient("A healthy baby on formula does not need extra water.")
    mother = case_of("My baby is 3 weeks old, can I take ibuprofen?", "en", None)
    assert mother.is_patient("Ibuprofen is avoided with a stomach ulcer.")


def test_a_medicine_given_for_an_operation_is_no_answer_to_a_pregnant_woman() -> None:
    case = case_of("doxycycline for acne i'm 6 weeks", "en", None)
    assert not case.allows("ACOG recommends doxycycline 200 mg one hour before surgery.")
    assert case.allows("Tetracyclines such as doxycycline are avoided.")


def test_a_limit_of_weeks_answers_whether_something_may_be_done_then_unless_it_is_a_medicine() -> None:
    limit = "RCOG advises flying before 37 weeks with one baby."
    assert case_of("Can I fly at 38 weeks?", "en", None).allows(limit)
    assert not case_of("flying 38 weeks", "en", None).allows(limit)
    assert not case_of("Can I take ibuprofen at 38 weeks?", "en", None).allows(
        "Before 30 weeks it can be used."
    )


@pytest.mark.parametrize(
    ("question", "sentence", "section", "title", "its_use"),
    [
        ("Can I have the flu vaccine?", "Oseltamivir treats flu.", "Feeding and vaccines", "Flu", False),
        ("Can I have the flu vaccine?", "It is given in any week.", "Vaccines", "Flu", True),
        ("Can I have the flu vaccine?", "Flu is prevented from week 1.", "Flu", "Vaccines in pregnancy", True),
        ("misoprostol dose to treat bleeding", "Give 600 micrograms.", "Preventing bleeding", "Birth", False),
        ("misoprostol dose to treat bleeding", "Give 800 micrograms.", "Misoprostol", "Birth", True),
        ("misoprostol dose to prevent bleeding", "Give 600 micrograms.", "Preventing bleeding", "Birth", True),
    ],
)  # fmt: skip
def test_a_vaccine_is_not_its_illness_and_a_treatment_not_a_prevention(
    question: str, sentence: str, section: str, title: str, its_use: bool
):
    case = case_of(question, "en", None)
    assert case.is_its_use(sentence, section, f"{title} › {section}") is its_use


@pytest.mark.parametrize(
    ("question", "sentence", "fits"),
    [
        ("Can I stop sertraline now that I'm pregnant?", "Sertraline is a choice in breastfeeding.", False),
        ("I take enalapril and I am 8 weeks pregnant", "After birth enalapril comes first.", False),
        ("I take enalapril and I am 8 weeks pregnant", "It is used in pregnancy and after birth.", True),
        ("Can I take enalapril after the birth?", "After birth enalapril comes first.", True),
    ],
)
def test_of_a_medicine_in_pregnancy_what_is_said_of_the_time_after_birth_is_no_answer(
    question: str, sentence: str, fits: bool
):
    assert case_of(question, "en", None).allows(sentence) is fits


def test_a_medicine_that_somebody_is_allergic_to_is_not_what_is_asked_for(thesaurus: Thesaurus):
    assert case_of("Which antibiotic if I am allergic to penicillin?", "en", thesaurus).drugs == frozenset()
    assert case_of("alternativa a la penicilina", "es", thesaurus).drugs == frozenset()
    assert "penicillin" in case_of("Is penicillin safe?", "en", thesaurus).drugs


def test_what_is_said_of_a_class_is_said_of_its_members_but_no_dose(thesaurus: Thesaurus):
    assert {"ssris", "antidepressants"} <= case_of("Is sertraline safe?", "en", thesaurus).drugs
    assert "antidepressants" not in case_of("sertraline dose", "en", thesaurus).drugs


def test_a_medicine_that_no_list_has_belongs_to_the_class_of_its_stem(thesaurus: Thesaurus):
    assert "ace-inhibitors" in case_of("I take lisinopril", "en", thesaurus).drugs


@pytest.mark.parametrize(
    ("sentence", "its_vaccine"),
    [
        ("MMR and varicella vaccines are given after birth.", False),
        ("Yellow fever vaccine is avoided.", False),
        ("The flu vaccine and the MMR vaccine are given then.", True),
        ("Nearly all vaccines are safe, but yellow fever vaccine needs advice.", True),
        ("It can be given in any week.", True),
    ],
)
def test_what_is_said_of_other_vaccines_is_no_answer(thesaurus: Thesaurus, sentence: str, its_vaccine: bool):
    case = case_of("Can I have the flu vaccine?", "en", thesaurus)
    concepts = frozenset(mention.concept.id for mention in thesaurus.find(sentence, "en"))
    assert case.is_its_vaccine(sentence, concepts) is its_vaccine


def test_what_offers_the_medicine_of_an_allergy_is_no_answer(thesaurus: Thesaurus):
    case = case_of("Which antibiotic if I am allergic to penicillin?", "en", thesaurus)
    assert not case.may_be_had("Penicillin is the first choice.", {"penicillin"})
    assert case.may_be_had("In penicillin allergy, cefazolin is used.", {"penicillin", "cefazolin"})
    assert case.may_be_had("Vancomycin is used.", {"vancomycin"})


@pytest.mark.parametrize(
    ("question", "language", "weeks"),
    [
        ("Mi bebé de 5 semanas tiene 38.2", "es", ()),
        ("My 5-week-old will not feed", "en", ()),
        ("Estoy de 5 semanas", "es", (5,)),
    ],
)
def test_the_age_of_a_baby_is_no_week_of_pregnancy(question, language, weeks):
    assert case_of(question, language, None).weeks == weeks
