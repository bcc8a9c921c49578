"""Whether a sentence gets help as urgently as needed, and whether an answer begins with it; who asks."""

import pytest
from helpers.looping import for_each

from rag_core.safety.urgency.advice import calls_for_help
from rag_core.safety.urgency.leading import calls_for, leads_with_action
from rag_core.safety.urgency.signs import actions, named, names_sign, signs
from rag_core.safety.urgency.triage import triage
from rag_core.values.triage import Triage

BREATHING = triage("I am struggling to breathe at rest, 30 weeks")
MOVEMENTS = triage("Desde anoche casi no siento a mi bebé, 34 semanas")
URINE = triage("It burns when I pee, 18 weeks")
DESPAIR = triage("I keep thinking about ending my life since the baby came")


@for_each(
    ("answer", "asked"),
    [
        ("Call 911 now. Breathlessness has many causes [1].", BREATHING),
        ("Trouble breathing needs hospital at once. [1] It may be a clot.", BREATHING),
        ("This may be an emergency. Go to the hospital immediately [1].", BREATHING),
        ("Si el bebé se mueve menos, acuda de inmediato a urgencias [2].", MOVEMENTS),
        ("Llame ahora al número de emergencias.", MOVEMENTS),
        ("Vaya ya a la maternidad. No espere a la cita.", MOVEMENTS),
        ("Phone your midwife today for a urine test [1].", URINE),
        ("Go to the emergency department now.", URINE),
        ("You are not alone. Call a crisis line now.", DESPAIR),
        ("I'm so sorry you feel this way. Call 988 now.", DESPAIR),
        ("Folic acid is taken before conception [1].", triage("How much folic acid do I need?")),
    ],
)
def test_an_answer_that_begins_with_help_at_least_as_urgent_as_needed_leads(answer, asked):
    assert leads_with_action(answer, asked)


@for_each(
    ("answer", "asked"),
    [
        ("Breathlessness is common in pregnancy [1]. Call 911 now.", BREATHING),
        ("Phone your midwife today [1].", BREATHING),
        ("You do not need to call an ambulance.", BREATHING),
        ("Rest, and call the hospital at once if it gets worse.", BREATHING),
        ("If there is heavy bleeding, go to hospital at once [1].", BREATHING),
        ("Los bebés duermen de 20 a 40 minutos [1]. Acuda de inmediato a urgencias.", MOVEMENTS),
        ("No hace falta que acuda a urgencias.", MOVEMENTS),
        ("Llame a la matrona hoy.", MOVEMENTS),
        ("Si sangra, acuda de inmediato a urgencias.", MOVEMENTS),
        ("If the baby moves less, go to the maternity unit at once.", MOVEMENTS),
        ("Drink plenty of water.", URINE),
        ("You are not alone. Many mothers feel low. Call a crisis line now.", DESPAIR),
        ("", BREATHING),
    ],
)
def test_help_that_is_late_less_urgent_denied_foreign_or_for_something_else_does_not_lead(answer, asked):
    assert not leads_with_action(answer, asked)


@pytest.mark.parametrize("language", ["en", "es"])
def test_every_action_of_triage_leads(language):
    for sign in (sign for sign in signs() if sign.readings):
        for led in (sign.actions, sign.others):
            asked = Triage(sign.level, (sign.names[language],), led[language], language)
            assert leads_with_action(asked.action, asked), asked
    team = Triage("emergency", (), actions("team")[language], language, (), True)
    assert leads_with_action(team.action, team)
    for key in ("unsure", "unsure_team"):
        asked = Triage("same_day", (), actions(key)[language], language)
        assert leads_with_action(asked.action, asked), asked


@pytest.mark.parametrize(
    "question",
    [
        "?AFE, 5 min post SVD, sats 80, oozing everywhere - order of things",
        "flat baby, HR 50 after 30s good vent - ratio, adren dose, O2 up?",
        "TA 178/112 puérpera d4, hidralazina bolo e intervalo, tope",
        "PCR 30s, RCP en curso: desplazar útero, cesárea min?",
        "She is fitting in bed 4, BP 172/114, 34 weeks. What do I give first and how much?",
        "anaphylaxis after cefazolin at LSCS, BP 60 - adrenaline IM dose, interval",  # IM is not "I'm"
        "Está convulsionando, TA 172/114, 34 semanas. ¿Qué le doy primero y cuánto?",
    ],
)
def test_a_clinician_is_known_by_shorthand_and_gets_an_action_for_the_bedside(question):
    found = triage(question)
    assert found.clinician
    assert found.action.startswith(("Call for help now:", "Pida ayuda ahora:"))


@pytest.mark.parametrize(
    "question",
    [
        "My wife is 34 weeks, she's jerking all over and doesn't answer me. What do I do right now?",
        "BP 172/114 at home, head is pounding, 36 weeks",
        "hands n feet so itchy rn, 33 weeks pregnant",
        "Mi bebita de seis días tiene el ombligo colorado y no quiere agarrar el pecho",
        "TA 170/112, 36 semanas",
        "34 weeks and bleeding so much, what do I do?",
    ],
)
def test_a_mother_or_her_family_is_not_taken_for_a_clinician(question):
    assert not triage(question).clinician


@pytest.mark.parametrize(
    "question",
    [
        "My waters broke an hour ago and I can see a loop of cord",
        "Rompí aguas hace una hora y veo un asa de cordón",
    ],
)
def test_only_help_for_the_gravest_sign_is_help(question):
    assert calls_for("If you see or feel the cord in the vagina, call your local emergency number.", triage(question))
    assert not calls_for("Waters breaking means going to the maternity unit at once.", triage(question))


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
