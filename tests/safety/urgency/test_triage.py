import json

import numpy as np
import pytest
from helpers.looping import for_each
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, softmax
from upkeep.checked import checked

import rag_core
from rag_core.documents.benchmark import read_builtin
from rag_core.safety.urgency import learned
from rag_core.safety.urgency.helplines import countries, helplines, urgent_notice
from rag_core.safety.urgency.learned import plain
from rag_core.safety.urgency.signs import signs
from rag_core.safety.urgency.triage import triage
from rag_core.values.errors import SettingsError
from rag_core.values.settings import Settings
from rag_core.values.triage import LEVELS, Triage

EXAMPLES = sorted((Settings().data / "urgency").glob("*.jsonl"))

# The urgent maternal warning signs of the CDC (Hear Her, 2020), and those of labour, of the baby and of violence:
# a question, and the sign in its language.
SIGNS = [
    ("34 weeks, the worst headache of my life and it won't go away", "severe headache or changed vision (possible pre-eclampsia)"),
    ("Since this morning I see flashing lights, I'm 36 weeks", "severe headache or changed vision (possible pre-eclampsia)"),
    ("veo lucecitas y me duele muchísimo la cabeza, 35 semanas", "dolor de cabeza intenso o cambios en la visión (posible preeclampsia)"),
    ("Se me nubla la vista y me duele la cabeza, 34 semanas", "dolor de cabeza intenso o cambios en la visión (posible preeclampsia)"),
    ("me mareo y se me nubla todo, 30 semanas", "desmayo o colapso"),
    ("I fainted twice today and I'm six months pregnant", "collapse or fainting"),
    ("me desmayé en la ducha, di a luz hace tres días", "desmayo o colapso"),
    ("I have a fever of 38.9 and I'm 24 weeks", "fever of 38 °C or more"),
    ("parí hace cinco días y tengo 39 de fiebre", "fiebre de 38 °C o más"),
    ("My face and hands are suddenly very swollen, 33 weeks", "sudden swelling of face or hands (possible pre-eclampsia)"),
    ("amanecí con la cara muy hinchada, tengo 34 semanas", "hinchazón súbita de cara o manos (posible preeclampsia)"),
    ("I can't breathe when I lie down since last night, ten days after the birth", "trouble breathing"),
    ("no puedo respirar bien y tuve a mi bebé hace una semana", "dificultad para respirar"),
    ("chest pain and a racing heart, 2 weeks postpartum", "chest pain"),
    ("tengo un dolor en el pecho que me aprieta, 30 semanas", "dolor de pecho"),
    ("I can't keep any water down since yesterday, 10 weeks", "vomiting without keeping fluids down"),
    ("severe constant pain in my belly, 31 weeks, hard as a board", "severe abdominal pain"),
    ("my baby has hardly moved since yesterday, 33 weeks", "baby moving less"),
    ("desde anoche casi no siento a mi bebé, 34 semanas", "el bebé se mueve menos"),
    ("bright red bleeding at 29 weeks right now", "bleeding in pregnancy or after birth"),
    ("estoy de 30 semanas y estoy sangrando mucho", "sangrado abundante"),
    ("I gave birth 3 days ago and soak a pad every half hour", "heavy bleeding"),
    ("my waters broke and they are green, 38 weeks", "waters breaking early, green or bloody"),
    ("se me rompió la fuente y tengo 33 semanas", "rotura de aguas temprana, verde o con sangre"),
    ("My left calf is swollen, hot and sore, 12 days after the birth", "one leg swollen, hot or painful (possible thrombosis)"),
    ("una pierna hinchada y caliente, me duele la pantorrilla, 20 semanas", "una pierna hinchada, caliente o dolorida (posible trombosis)"),
    ("I keep thinking about ending my life since the baby came", "thoughts of suicide or of harming the baby"),
    ("Desde que nació mi bebé lloro todo el día y no quiero vivir", "ideas de suicidio o de hacer daño al bebé"),
    ("my wife is having a seizure, 35 weeks pregnant", "a fit (possible eclampsia)"),
    ("mi esposa está convulsionando, embarazada de 8 meses", "una convulsión (posible eclampsia)"),
    ("acaba de nacer y está flácido, no respira", "un recién nacido que puede estar grave"),
    ("Just born, floppy, no cry, heart rate 60, what first?", "a newborn who may be gravely ill"),
    ("the cord is hanging out of my vagina", "cord at the vagina"),
    ("contractions every five minutes at 31 weeks", "labour before 37 weeks (preterm)"),
    ("contracciones cada cinco minutos, 32 semanas", "parto antes de las 37 semanas (prematuro)"),
    ("BP 172/114 at 36 weeks", "very high blood pressure"),
    ("our newborn's lips are blue", "a newborn who may be gravely ill"),
    ("mi recién nacido está morado y flácido", "un recién nacido que puede estar grave"),
    ("my husband choked me last night, I'm 20 weeks", "violence"),
    ("mi pareja me pegó en la barriga, tengo 5 meses", "violencia"),
    ("mi hermana está embarazada y su marido la golpea", "violencia"),
    ("my husband choked me last night, I'm 20 weeks", "strangling"),
    ("mi marido me ahorcó anoche, 20 semanas", "estrangulamiento"),
]  # fmt: skip

ROUTINE = [
    "In 2019 I had heavy bleeding after the birth. Will it happen again?",
    "I had an abruption two years ago, what are the chances this time?",
    "No bleeding, no pain, baby moving well, 30 weeks. When is my next scan?",
    "For my exam: what are the signs of placental abruption?",
    "Which drug is given first in eclampsia?",
    "What should I do if my waters break at the shops?",
    "How much folic acid do I need?",
    "My blood is weak",
    "Why does pre-eclampsia cause headaches?",
    "Can I eat soft cheese in pregnancy?",
    "Tengo la sangre débil",
    "Hace dos años tuve una hemorragia. ¿Dónde me conviene parir?",
    "Sin sangrado ni dolor, 31 semanas, ¿puedo viajar en avión?",
    "Para una charla: ¿cuáles son los signos de sepsis?",
    "¿Qué hago si rompo aguas en el trabajo?",
    "¿Cuánto ácido fólico debo tomar?",
    "¿Por qué se usa sulfato de magnesio en la eclampsia?",
]


@for_each(("question", "sign"), SIGNS)
def test_a_warning_sign_that_is_happening_now_is_found_and_named(question, sign):
    found = triage(question)
    assert found.urgent
    assert sign in found.signs
    assert found.action


@for_each("question", ROUTINE)
def test_what_is_past_denied_supposed_or_taught_is_routine(question):
    assert triage(question) == rag_core.Triage("routine", language=triage(question).language)


def test_the_json_has_the_keys_of_the_design():
    assert triage("BP 172/114 at 36 weeks").as_json() == {
        "level": "emergency",
        "signs": ["very high blood pressure"],
        "action": "Go to the maternity unit or hospital now, day or night; do not wait for an appointment.",
        "language": "en",
    }


def test_a_question_in_spanish_gets_a_spanish_action():
    found = triage("Se me rompió la fuente y veo el cordón colgando de la vagina")
    assert found.language == "es"
    assert found.action.startswith("Llame ahora")


def test_an_examination_today_is_less_than_an_emergency():
    assert triage("It burns when I pee, 18 weeks").level == "same_day"
    assert triage("me arde al orinar desde ayer, 18 semanas").level == "same_day"


@pytest.mark.parametrize(
    "question",
    [
        "My boyfriend keeps all my money and scares me since I got pregnant",
        "mi marido me quita todo el dinero y me da miedo",
        "he checks my phone and I'm afraid, 20 weeks",
        "mi marido me golpeó en la panza",
        "I got hit by my husband last night",
    ],
)
def test_control_with_fear_and_a_blow_by_the_partner_are_violence(question):
    assert triage(question).flags == ("violence",)


@pytest.mark.parametrize(
    "question",
    [
        "coughing up pink froth and I can't lie flat, 2 weeks after birth",
        "flat baby, HR 50 after 30s good vent, adrenaline dose?",
        "Is it normal for the baby to move less at 36 weeks?",
        "¿Es normal que el bebé se mueva menos a las 36 semanas?",
        "I feel an urge to hurt the baby",
    ],
)
def test_an_emergency_worded_like_a_question_is_caught(question):
    assert triage(question).level == "emergency"


def test_thoughts_of_suicide_and_violence_are_flagged():
    assert triage("I keep thinking about ending my life since the baby came").flags == ("self_harm",)
    assert "violence" in triage("mi pareja me pegó en la barriga, tengo 5 meses").flags


def test_the_library_offers_it_by_name():
    assert rag_core.triage("BP 172/114 at 36 weeks").urgent


def test_every_sign_has_a_name_and_an_action_in_both_languages():
    for sign in signs():
        assert sign.names["en"]
        assert sign.names["es"]
        assert sign.actions["en"]
        assert sign.actions["es"]
        assert sign.level in LEVELS
        assert sign.readings or checked(sign).advised
    for named in (lambda sign: sign.id, lambda sign: sign.names["en"], lambda sign: sign.names["es"]):
        assert len(set(map(named, signs()))) == len(signs())


@given(st.text(max_size=300))
def test_any_text_has_a_level(text):
    found = triage(text)
    assert found.level in LEVELS
    assert found.urgent == bool(found.action)
    assert found.urgent or not found.signs


@given(st.text(max_size=300))
def test_probabilities_are_those_of_the_fitted_scores(text):
    fitted = learned._fitted()
    row, folded = np.zeros(learned.BUCKETS), np.zeros(learned.SIGN_BUCKETS)
    buckets, values = learned.ngrams(plain(text))
    row[buckets] = values
    np.add.at(folded, buckets % learned.SIGN_BUCKETS, values)  # n-grams that share a bucket add up
    assert learned.urgency(plain(text)) == pytest.approx(expit(fitted.urgent @ row + fitted.urgent_bias))
    chances = softmax(fitted.signs @ folded + fitted.signs_bias)
    name, chance = learned.likeliest_sign(plain(text))
    assert chance == pytest.approx(max(chances[fitted.ids != learned.NONE]))
    assert chance == pytest.approx(chances[list(fitted.ids).index(name)])


def test_every_sign_that_is_learned_is_in_the_table():
    learnt = set(learned._fitted().ids) - {learned.NONE}
    assert len(learnt) > 20
    assert learnt <= {sign.id for sign in signs()}


@pytest.mark.parametrize(
    "text",
    [
        "Me sangran las encías con el embarazo, ¿es normal?",
        "My gums bleed when I brush, 20 weeks",
        "Bleeding gums",
    ],
)
def test_bleeding_gums_are_no_bleeding_of_pregnancy(text):
    assert not any("bleeding" in sign or "sangrado" in sign for sign in triage(text).signs)


def test_the_built_in_emergencies_are_found_and_few_others_escalated():
    """The rules were written with these questions at hand; README gives the figures on a fresh set."""
    questions = [one for split in ("dev", "test") for one in read_builtin(Settings().data, split).questions]
    found = {level: [triage(one.text).urgent for one in questions if one.level == level] for level in LEVELS}
    assert np.mean(found["emergency"]) >= 0.95
    assert np.mean(found["same_day"]) >= 0.85  # four of 32 are a contact with a rash or a plain choice of medicine
    assert np.mean(found["routine"]) <= 0.15


@for_each("path", EXAMPLES, ids=lambda path: path.stem)
def test_labelled_examples_are_well_formed(path):
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        assert set(row) - {"set"} == {"text", "level", "signs", "language"}
        assert row["level"] in LEVELS
        assert row["text"].strip()


def test_no_test_question_is_among_those_the_model_was_fitted_on():
    texts = {path.stem: {plain(json.loads(line)["text"]) for line in path.open(encoding="utf-8")} for path in EXAMPLES}
    assert texts["train"]
    assert not (texts["test"] | texts["dev"]) & texts["train"]


def test_questions_held_out_from_the_fit_are_rated_right():
    """53 of 54 urgent and 8 of 76 routine questions were rated urgent when the wording was fitted.

    Of the 50 emergencies 43 were called one, each with its sign; 1 routine question was.
    """
    path = Settings().data / "urgency" / "dev.jsonl"
    rows = [json.loads(line) for line in path.open(encoding="utf-8")]
    found = {level: [triage(row["text"]).level for row in rows if row["level"] == level] for level in LEVELS}
    assert np.mean([level != "routine" for level in found["emergency"] + found["same_day"]]) >= 0.95
    assert np.mean([level == "emergency" for level in found["emergency"]]) >= 0.8
    assert np.mean([level != "routine" for level in found["routine"]]) <= 0.12
    assert np.mean([level == "emergency" for level in found["routine"]]) <= 0.03


@for_each(
    "question",
    [
        "are intrusive thoughts normal after birth?",
        "¿Vivir cerca de una torre de alta tensión es malo en el embarazo?",
        "Is it bad to live near a torre de alta tensión?",
        "34F with Crohn's on adalimumab, planning pregnancy",
        "Mi hija de 16 años está embarazada y no come carne, ¿qué suplementos necesita?",
        "I cry over nothing since the little one arrived four days ago, then I'm fine again. Will it pass?",
        "Llevo años con pastillas para los nervios, ayer me enteré de que estoy de encargo",
        "Tengo endometriosis y la regla me deja en cama, ¿qué tratamientos existen?",
        "On which days is the newborn blood spot taken in Mexico and in Spain?",
        "Which hay fever tablet is safe at 10 weeks?",
        "numb hands at night at 30 weeks, I shake them and it goes",
        "se me duermen las manos, las sacudo y se pasa, 30 semanas",
        "I'm so scared of tearing, what helps?",
        "can paint fumes hurt the baby, 20 weeks",
        "when can he hear the baby's heart beat?",
        "mi marido se desmaya con las agujas, ¿puede entrar al parto?",
        "I've chosen to let the miscarriage happen naturally, how long do I wait?",
        "We have chosen a home birth, what do we need?",
        "the midwife demonstrated the latch, can I try it lying down?",
        "portadora de EGB alérgica a la penicilina con anafilaxia, ¿qué pongo en el parto?",
        "GBS positive and allergic to penicillin with anaphylaxis, which antibiotic in labour?",
        "Syphilis in a woman with documented penicillin anaphylaxis, how is she treated?",
    ],
)
def test_an_everyday_question_is_routine(question):
    assert triage(question).level == "routine"


def test_a_plan_or_a_wish_to_harm_is_an_emergency_whatever_it_is_called():
    assert triage("I have intrusive thoughts of hurting my baby").level == "emergency"
    assert triage("they say intrusive thoughts are normal but I want to die").level == "emergency"


@pytest.mark.parametrize(
    ("question", "sign"),
    [
        ("siento que no se mueve", "el bebé se mueve menos"),
        ("siento un cordón entre las piernas", "cordón en la vagina"),
        ("part of me wants to press the pillow on him", "thoughts of suicide or of harming the baby"),
        ("she swallowed rat poison, 5 months pregnant", "poisoning or overdose"),
        ("cnt catch my breth even sat still, 29w", "trouble breathing"),
        ("my sister gave birth last week and wants to die", "thoughts of suicide or of harming the baby"),
        ("He grabbed my windpipe until I saw black, 20 weeks", "violence"),  # only by its wording
    ],
)
def test_a_sign_in_unforeseen_words_is_named(question, sign):
    assert sign in triage(question).signs


@pytest.mark.parametrize("keywords", ["visiting hours", "jaundice first 24 hours", "ventosa o fórceps"])
def test_bare_keywords_without_a_sign_are_routine(keywords):
    assert triage(keywords).level == "routine"


def test_wording_without_a_sign_is_no_more_than_same_day():
    found = triage("feels like someone parked a lorry on my ribcage, had baby tuesday")
    assert (found.level, found.signs) == ("same_day", ())
    assert found.action.startswith("Phone the midwife or doctor today; if you feel it cannot wait")


@given(st.text(max_size=300))
def test_an_emergency_has_a_sign(text):
    assert triage(text).signs or triage(text).level != "emergency"


@pytest.mark.parametrize(
    ("question", "action"),
    [
        ("my sister has a baby and wants to die", "Stay with her, and do not leave her alone with the baby."),
        ("I want to die, my sister does not know", "do not stay on your own or alone with the baby."),
        (
            "patient 3 weeks postnatal, wants to die",
            "Stay with her, and do not leave her alone with the baby.",
        ),
        ("mi hermana tiene un bebé y quiere morirse", "Quédese con ella y no la deje a solas con el bebé."),
        ("my sister's boyfriend strangled her", "someone has squeezed her neck, call the emergency number"),
        ("mi pareja me ahorcó", "le han apretado el cuello, llame al número de emergencias"),
        (
            "my wife's mattress is soaked, she swears it isn't pee, 30 weeks",
            "Go, or take her, to the maternity",
        ),
        (
            "mi mujer tiene un dolor de cabeza insoportable, 34 semanas",
            "Acuda, o llévela, ahora a la maternidad",
        ),
        ("my waters broke at 30 weeks", "Go to the maternity unit or hospital now"),
        ("my 7 week old is 38.3 under the arm but smiling", "Take the baby to hospital now"),
        ("mi beba de 20 días tiene 38.2 pero come bien", "Lleve ahora al bebé al hospital"),
        ("my baby is 5 weeks old and I have a fever of 39", "Go to the maternity unit or hospital now"),
        (
            "the cord is hanging out of my vagina",
            "kneel with chest and head down and the bottom up",
        ),
    ],
)
def test_the_action_fits_who_is_ill_and_what_happened(question, action):
    assert action in triage(question).action


@pytest.mark.parametrize(
    "question",
    [
        "me caí y me golpeé la panza, 30 semanas",
        "I was kicked in the belly by my toddler, 30 weeks",
        "I fell down the stairs onto my belly, 30 weeks",
    ],
)
def test_a_fall_or_a_childs_kick_is_no_violence(question):
    assert triage(question).level == "emergency"
    assert triage(question).flags == ()


def test_a_fever_is_the_babys_or_the_mothers():
    assert triage("bebé de 3 semanas, 38,1, sin tos, come bien").action.startswith("Lleve ahora al bebé")
    assert triage("I have a fever of 39, my baby was born 5 days ago").action.startswith("Go to the maternity")


def test_yellow_fluid_from_an_eye_is_no_jaundice():
    text = "Mi bebé tiene tres semanas y le sale un líquido amarillo del ojo, ¿qué le pongo?"
    assert not any("recién nacido" in sign for sign in triage(text).signs)
    assert triage("my baby is five days old and looks more yellow").urgent


def test_a_sign_that_is_denied_is_not_named_by_the_wording():
    text = "Di a luz hace 3 semanas y me quema al orinar, no tengo fiebre, ni tiritona"
    assert triage(text).signs == ("ardor al orinar (posible infección de orina)",)


NO_WISH_TO_LIVE = "Desde que nació mi bebé lloro todo el día y no quiero vivir"


def test_a_country_is_chosen_by_its_code():
    spain = helplines("es")
    assert (spain.code, spain.emergency, spain.crisis, spain.violence) == ("ES", "112", "024", "016")
    assert countries("es")["ES"] == "España"


def test_no_country_has_no_numbers():
    assert helplines("") is None


def test_a_country_without_numbers_is_an_error_that_lists_the_others():
    with pytest.raises(SettingsError, match="RAG_COUNTRY") as error:
        helplines("XX")
    assert "ES" in error.value.next_step


def test_a_routine_question_has_no_notice():
    assert urgent_notice(Triage("routine"), None) is None


def test_thoughts_of_suicide_name_the_crisis_line_before_the_emergency_number():
    found = urgent_notice(triage(NO_WISH_TO_LIVE), helplines("ES"))
    assert found.title == "Puede ser una emergencia."
    assert found.numbers == ("Línea de crisis: 024.", "Emergencias en España: 112.")


def test_a_country_without_its_own_line_shows_its_emergency_number():
    found = urgent_notice(triage("mi pareja me pegó en la barriga, tengo 5 meses"), helplines("MX"))
    assert found.numbers == ("Emergencias en México: 911.",)


def test_an_urgent_wording_without_a_known_sign_says_so():
    found = urgent_notice(Triage("emergency", action="Go now.", language="en"), None)
    assert found.reason.startswith("No single sign was recognised")
