from dataclasses import replace

import pytest
from helpers.angles import Angles, Fixed, hit, reply

from rag_core.offline.engine import OfflineEngine
from rag_core.offline.quotable import read_sources
from rag_core.offline.urgent import Urgent
from rag_core.prompts.prompt import NO_EVIDENCE, Sources
from rag_core.safety.urgency.triage import triage
from rag_core.values.types import Hit

DESPAIR = "Desde que nació mi bebé lloro todo el día y no quiero vivir"
CRYING = hit("a", "Los bebés lloran por hambre, sueño o gases. El llanto aumenta hasta las seis semanas.", "es")


def answer(question: str, hits: list[Hit]) -> str:
    """The answer when all sentences are equally close to the question, and none to another."""
    vectors: dict[str, list[float]] = {question: [1, 0, 0, 0]}
    for place, candidate in enumerate(read_sources(Sources(hits))):
        vectors[candidate.text] = [0.6, *(0.8 if axis == place else 0 for axis in range(3))]
    return reply(OfflineEngine(Angles(vectors), Fixed(**{one.id: 0.9 for one in hits})), question, hits)


def rank(question: str, *hits: Hit) -> int | None:
    return Urgent(question, triage(question)).rank_in(read_sources(Sources(hits)))


def test_despair_is_never_answered_with_why_newborns_cry():
    assert answer(DESPAIR, [CRYING]).startswith(NO_EVIDENCE)


def test_about_a_mind_in_distress_only_a_section_on_it_is_quoted_whole():
    call, more = (
        "Pensar en hacerse daño exige llamar de inmediato al número de emergencias.",
        "Duerma la siesta.",
    )
    beside = hit("b", f"{call} {more}", "es", title="El sueño")
    assert answer(DESPAIR, [CRYING, beside]) == f"**{call}** [2]"
    here = hit("b", f"{call} {more}", "es", title="Ideas de hacerse daño")
    assert answer(DESPAIR, [CRYING, here]) == f"**{call}** {more} [2]"


def test_the_action_is_quoted_in_the_language_of_the_question_if_a_passage_has_it():
    question = "Desde anoche casi no siento a mi bebé, 34 semanas"
    english = hit("a", "If the baby moves less, call the maternity unit at once.")
    spanish = hit("b", "Si el bebé se mueve menos, acuda de inmediato a la maternidad.", "es")
    assert answer(question, [english, spanish]) == f"**{spanish.passage.text}** [2]"
    assert answer(question, [english]) == f"**{english.passage.text}** [1]"


@pytest.mark.parametrize("question", ["My 5 week old has a temperature of 38.2", "my 3-week-old has a temp of 38.5"])
def test_a_baby_may_be_named_by_its_age_alone(question):
    fever = "A temperature of 38 °C or more under three months needs hospital at once."
    assert rank(question, hit("a", fever)) == 1


def test_what_to_do_now_is_marked_wherever_it_stands_in_its_section():
    call = "When shoulder dystocia is declared, staff call for help at once."
    cure = "Delivery of the posterior arm comes next."
    question = "shoulders stuck now, McR + SPP tried, next? fundal ok?"
    assert answer(question, [hit("a", f"{cure} {call}")]) == f"{cure} **{call}** [1]"


def test_what_to_do_is_marked_where_it_names_the_fewest_other_signs():
    fever = "A fever of 38 °C or more needs hospital at once."
    also = "Fever with a fit, heavy bleeding or chest pain needs hospital at once."
    worse = "Fever with chest pain needs hospital at once."
    for text in (f"{also} {fever} {worse}", f"{worse} {also} {fever}"):
        assert f"**{fever}**" in answer("20 weeks pregnant with a fever of 39", [hit("a", text)])
    assert f"**{worse}**" in answer("20 weeks pregnant with a fever of 39", [hit("a", f"{also} {worse}")])


def test_of_a_second_source_one_item_of_a_list_is_quoted_as_such():
    question = "Had the baby five days ago and I've soaked three thick pads in two hours"
    call = "Call the emergency number at once if the bleeding soaks a pad in an hour."
    lead, item = "Call the emergency number for any of these.", "The bleeding soaks a pad in an hour."
    listed = hit("b", f"The blood is red for some days.\n\n{lead}\n\n- {item}\n- You have a fit.")
    first = hit("a", call, title="Heavy bleeding after birth")
    assert answer(question, [first, listed]) == f"**{call}** [1]\n\n{lead}\n\n- **{item}** [2]"


def test_a_section_that_says_what_to_do_now_comes_before_one_that_only_names_the_sign():
    soaked = "Had the baby five days ago and I've soaked three thick pads in two hours"
    usual = "The bleeding is red for some days, then pink, and can last up to about six weeks."
    call = "Bleeding that becomes heavier again needs hospital at once."
    assert answer(soaked, [hit("a", usual), hit("b", call)]).startswith(f"**{call}** [2]")


def test_a_pregnant_woman_is_told_nothing_of_a_section_on_after_the_birth():
    call = "Heavy bleeding in pregnancy means calling the emergency number at once."
    under = hit("b", "In hospital with heavy bleeding press the call bell.", title="Bleeding after birth")
    said = answer("I am 30 weeks and bleeding heavily", [hit("a", call), under])
    assert said == f"**{call}** [1]"


@pytest.mark.parametrize(
    "question", ["My 5 week old has a temperature of 38.2", "Mi bebé de un mes tiene 38,3 de fiebre"]
)
def test_a_baby_gets_nothing_from_a_section_that_names_no_baby(question):
    adult = "Paracetamol is the first choice for a fever; at most 4 g in 24 hours."
    baby = "A baby with a fever of 38 °C or more needs hospital at once."
    assert answer(question, [hit("a", adult), hit("b", baby)]) == f"**{baby}** [2]"
    assert answer(question, [hit("a", adult)]).startswith(NO_EVIDENCE)


def test_a_document_may_say_whose_it_is_where_its_words_do_not():
    fever = hit("a", "A fever of 38 °C or more needs hospital at once.")
    of_a_baby = replace(fever, passage=replace(fever.passage, patient="baby"))
    assert rank("I am 30 weeks, fever of 39", fever) == 1
    assert rank("I am 30 weeks, fever of 39", of_a_baby) is None
    umbilical = "Mi bebita de seis días tiene el ombligo colorado con materia"
    navel = hit("a", "La infección del ombligo exige ir hoy mismo al hospital.", "es")
    assert rank(umbilical, navel) is None
    assert rank(umbilical, replace(navel, passage=replace(navel.passage, patient="baby"))) == 1


def test_who_has_lost_no_baby_is_not_answered_from_what_bereaved_parents_read():
    milk = hit("a", "Milk usually comes in after two to four days, which can be very distressing.")
    of_a_loss = replace(milk, passage=replace(milk.passage, patient="bereaved"))
    for question in ("When will my milk come in?", "¿Cuándo sube la leche?"):
        assert answer(question, [milk]).endswith("[1]")
        assert answer(question, [of_a_loss]).startswith(NO_EVIDENCE)
    assert answer("After my stillbirth, when will milk come in?", [of_a_loss]).endswith("[1]")


def test_a_clinician_gets_no_treatment_of_something_milder_where_no_source_says_what_to_do_now():
    question = (
        "Secundigesta de 24 semanas con 39 °C, tiritona y puñopercusión renal derecha positiva. ¿Fosfomicina y a casa?"
    )
    cystitis = hit("a", "La cistitis se trata con fosfomicina, 3 g por boca en dosis única.", "es")
    assert "fosfomicina" not in answer(question, [cystitis]).lower()


def test_a_clinician_gets_the_treatment_where_a_mother_gets_whom_to_call():
    bag = "A mask and a bag give the newborn who is not breathing the first breaths at once."
    call = "If a newborn is not breathing, call your local emergency number at once."
    sources = [hit("a", bag), hit("b", call)]
    assert answer("Our newborn is not breathing, how do I give the first breaths?", sources) == f"**{call}** [2]"
    clinician = "newborn not breathing, HR 50, SpO2 60, how are the first breaths given?"
    assert answer(clinician, sources).startswith(f"**{bag}** [1]")


@pytest.mark.parametrize(
    ("question", "text", "language"),
    [
        ("I am struggling to breathe at rest, 30 weeks", "Trouble breathing needs hospital at once.", "en"),
        ("I am struggling to breathe at rest, 30 weeks", "Call the emergency number for:\n\n- sudden itching;\n- trouble breathing.", "en"),
        ("Sharp pain over my caesarean scar in labour", "Pain over the scar may mean rupture.\n\nCall the midwife at once for any of these.", "en"),
        ("Tengo fiebre de 39 y estoy de 30 semanas", "La fiebre de 38 °C o más exige ir de inmediato al hospital.", "es"),
    ],
)  # fmt: skip
def test_a_passage_that_calls_for_help_for_the_sign_is_found(question, text, language):
    assert rank(question, hit("a", "Cats sleep most of the day."), hit("b", text, language)) == 2


@pytest.mark.parametrize(
    ("question", "text", "language"),
    [
        ("I am struggling to breathe at rest, 30 weeks", "Breathlessness is common in pregnancy.", "en"),
        ("I am struggling to breathe at rest, 30 weeks", "Heavy bleeding needs hospital at once.", "en"),
        ("I am struggling to breathe at rest, 30 weeks", "Mild breathlessness: phone the midwife on the same day.", "en"),
        ("Fever of 39 and mottled skin, day 3 postpartum", "A newborn with a fever needs hospital at once.", "en"),
        ("burning when I wee, 20 weeks, no fever", "Burning on passing urine with a fever needs hospital at once.", "en"),
        ("Tengo fiebre de 39 y estoy de 30 semanas", "Un recién nacido con fiebre va de inmediato a urgencias.", "es"),
    ],
)  # fmt: skip
def test_help_for_another_sign_or_another_patient_is_not_it(question, text, language):
    assert rank(question, hit("a", text, language)) is None
