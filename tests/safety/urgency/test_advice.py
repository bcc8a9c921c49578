"""Signs of an emergency in passages, and sentences that say to get help."""

import pytest

from rag_core.safety.urgency.advice import calls_for_help, is_lesser
from rag_core.safety.urgency.signs import named, names_sign


@pytest.mark.parametrize(
    "text",
    ["Green fluid or bleeding means going in at once.", "El líquido verde o el sangrado exigen acudir ya."],
)
def test_a_passage_names_signs_in_either_language(text):
    assert {"waters", "bleeding"} <= named(text)
    assert names_sign(text)
    assert not names_sign("Call the clinic at once. Llame ya a la consulta.")


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


def test_what_is_mild_or_can_wait_is_lesser():
    assert is_lesser("A mild headache is usually not pre-eclampsia.")
    assert is_lesser("Contar diez movimientos en dos horas.")
    assert not is_lesser("Go to the hospital at once.")
