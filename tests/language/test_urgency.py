"""Signs of an emergency in questions, and sentences that say to get help."""

from __future__ import annotations

import pytest

from rag_core.language.urgency import asks_when_to_act, calls_for_help, is_lesser, signs_in, urgent_signs


@pytest.mark.parametrize(
    ("question", "sign"),
    [
        ("Heavy bleeding at 30 weeks, soaking a pad in an hour", "bleeding"),
        ("Sangro mucho y tengo 30 semanas", "bleeding"),
        ("My waters broke and the fluid is green", "waters"),
        ("Rompí aguas y son verdes, ¿qué hago?", "waters"),
        ("The baby has not moved since yesterday", "movements"),
        ("Desde anoche casi no siento a la bebé", "movements"),
        ("She is having a fit, what do I do?", "seizure"),
        ("Mi esposa se está sacudiendo toda", "seizure"),
        ("I have thoughts of ending my life", "self-harm"),
        ("No quiero vivir desde que nació", "self-harm"),
        ("Estarían todos mejor si yo no viviera", "self-harm"),
        ("The cord is hanging out of me, help!", "cord"),
        ("Severe headache and flashing lights at 36 weeks", "headache"),
        ("Me duele la cabeza y veo luces", "headache"),
        ("Chest pain two weeks after my caesarean", "chest"),
        ("My newborn has a fever of 38.5, what should I do?", "fever"),
        ("Mi bebé de seis días tiene fiebre", "fever"),
    ],
)
def test_signs_that_are_happening(question, sign):
    assert sign in urgent_signs(question)


@pytest.mark.parametrize(
    "question",
    [
        "What is placenta praevia?",
        "How is postpartum haemorrhage treated?",
        "¿Cómo se trata la hemorragia posparto?",
        "¿Qué es la eclampsia?",
        "Which women get a fever after birth?",
        "I have a mild headache since I gave up coffee",
        "Hard lump in my breast, no fever",
        "Tengo una bolita dura, no tengo fiebre",
        "My last fit was in 2015, may I come off my tablets?",
        "Tuve una convulsión hace diez años",
        "Can I dye my hair while pregnant?",
    ],
)
def test_general_denied_slight_or_past_ones_are_no_alarm(question):
    assert urgent_signs(question) == frozenset()


def test_signs_are_read_the_same_way_in_a_passage():
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
