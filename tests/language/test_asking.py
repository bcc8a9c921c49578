"""What questions ask for, and what sentences give."""

from __future__ import annotations

import pytest
from helpers.looping import for_each

from rag_core.language.asking import asks, gives


@for_each(
    ("question", "kind"),
    [
        ("How much caffeine can I have?", "quantity"),
        ("¿Cuántas tazas de café puedo tomar?", "quantity"),
        ("EPDS cut-off", "quantity"),
        ("When is anti-D given?", "time"),
        ("How long does the bleeding last?", "time"),
        ("PPROM erythromycin duration", "time"),
        ("¿Hasta qué semana puedo volar?", "time"),
        ("¿Cada cuánto son los controles?", "time"),
        ("Can I take ibuprofen?", "permission"),
        ("Is it safe to eat sushi?", "permission"),
        ("plasenta previa is sex alowed", "permission"),
        ("¿Puedo teñirme el pelo?", "permission"),
        ("¿Qué alimentos debo evitar?", "avoid"),
        ("Which foods should I not eat?", "avoid"),
        ("¿Cómo se trata la preeclampsia?", "treatment"),
        ("My waters broke, what should I do?", "action"),
        ("Mi esposa se está sacudiendo, ¿qué hago?", "action"),
        ("What is placenta praevia?", "definition"),
        ("¿Qué es la diabetes gestacional?", "definition"),
        ("Why is anti-D given?", "cause"),
        ("¿Por qué me sangran las encías?", "cause"),
        ("How is gestational diabetes treated?", "treatment"),
        ("Acid comes up my throat. Anything I can take?", "treatment"),
        ("Is it normal that my gums bleed?", "reassurance"),
        ("Me sangran las encías, ¿es normal?", "reassurance"),
        ("What are the symptoms of pre-eclampsia?", "signs"),
        ("¿Cuáles son los riesgos de la cesárea?", "risk"),
        ("Which women need aspirin?", "who"),
        ("¿Dónde duele la preeclampsia?", "where"),
    ],
)
def test_what_a_question_asks_for(question, kind):
    assert kind in asks(question)


@pytest.mark.parametrize("question", ["swollen legs", "benznidazol embarazo", "I cry over nothing"])
def test_some_questions_ask_for_nothing_in_particular(question):
    assert asks(question) == frozenset()


def test_how_many_weeks_is_a_time_and_what_is_the_treatment_no_definition():
    assert "quantity" not in asks("How many weeks must I wait?")
    assert "definition" not in asks("What is the treatment of anaemia?")


@for_each(
    ("sentence", "kind"),
    [
        ("The limit is 200 mg of caffeine a day.", "quantity"),
        ("It happens in one in ten women.", "quantity"),
        ("La mitad de los casos se resuelve.", "quantity"),
        ("Anti-D is given within 72 hours.", "time"),
        ("It lasts for four to six weeks.", "time"),
        ("Se ofrece hacia las 28 semanas.", "time"),
        ("NSAIDs should not be taken after 20 weeks.", "permission"),
        ("El sushi no se aconseja.", "permission"),
        ("Raw shellfish is best avoided.", "avoid"),
        ("El hígado se evita.", "avoid"),
        ("Call the maternity unit at once.", "action"),
        ("Acuda de inmediato a urgencias.", "action"),
        ("It happens because hormones relax the valve.", "cause"),
        ("Se debe a las hormonas.", "cause"),
        ("Treatment begins with diet.", "treatment"),
        ("El tratamiento empieza por la dieta.", "treatment"),
        ("Bleeding gums are common and harmless.", "reassurance"),
        ("Es frecuente y desaparece después del parto.", "reassurance"),
    ],
)
def test_what_a_sentence_gives(sentence, kind):
    assert kind in gives(sentence)


def test_a_sentence_without_a_number_gives_no_quantity():
    assert not gives("Coffee is a pleasant drink.") & {"quantity", "time"}


def test_a_dose_is_more_than_a_number():
    assert "dose" in asks("loading dose of magnesium")
    assert "dose" in gives("NICE gives 4 g into a vein.")
    assert "dose" not in gives("It is repeated 4 times.")


def test_a_normal_result_is_no_reassurance():
    assert "reassurance" not in gives("A normal test points to the womb.")
    assert "reassurance" in gives("Light bleeding is normal.")
