"""Signs of an emergency in passages, and sentences that say to get help."""

from __future__ import annotations

import pytest

from rag_core.language.urgency import asks_when_to_act, calls_for_help, is_lesser, signs_in


def test_a_passage_names_signs_in_either_language():
    assert signs_in("Green fluid or bleeding means going in at once.") == {"waters", "bleeding"}
    assert signs_in("El líquido verde o el sangrado exigen acudir ya.") == {"waters", "bleeding"}


@pytest.mark.parametrize(
    "sentence",
    [
        "Call your local emergency number.",
        "Chest pain needs assessment at once.",
        "Acuda de inmediato a urgencias.",
        "Llame al número local de emergencias.",
    ],
)
def test_calls_for_help(sentence):
    assert calls_for_help(sentence)


@pytest.mark.parametrize(
    "sentence",
    ["Mild nausea is common.", "Call the midwife for an appointment.", "Las náuseas son frecuentes."],
)
def test_ordinary_advice_is_no_call_for_help(sentence):
    assert not calls_for_help(sentence)


@pytest.mark.parametrize(
    "question", ["When should I call about bleeding?", "¿Cuándo hay que ir al hospital?"]
)
def test_asking_when_to_act(question):
    assert asks_when_to_act(question)


@pytest.mark.parametrize(
    "question", ["How long can a baby sleep without moving?", "¿Cuánto dura el sangrado?"]
)
def test_asking_how_long_is_not_asking_when_to_act(question):
    assert not asks_when_to_act(question)


def test_what_is_mild_or_can_wait_is_lesser():
    assert is_lesser("A mild headache is usually not pre-eclampsia.")
    assert is_lesser("Contar diez movimientos en dos horas.")
    assert not is_lesser("Go to the hospital at once.")
