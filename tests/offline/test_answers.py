"""Which sentences answer: by what is asked, the case, the emergency and the parts of the question."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.angles import Angles, hit, reply

from rag_core.language.thesaurus import Thesaurus
from rag_core.offline.engine import OfflineEngine
from rag_core.prompts.prompt import NO_EVIDENCE
from rag_core.values.types import Hit

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture(scope="module")
def thesaurus() -> Thesaurus:
    return Thesaurus.read(DATA / "thesaurus.toml")


def answer(
    question: str, hits: list[Hit], cosines: dict[str, float], thesaurus: Thesaurus | None = None
) -> str:
    """The answer when sentences have these cosines to the question and to each of its parts, others 0."""
    vectors: dict[str, list[float]] = {text: [1, 0, 0, 0] for text in (question, *question.split(", "))}
    for place, (text, cosine) in enumerate(cosines.items()):
        rest = (1 - cosine**2) ** 0.5
        vectors[text] = [cosine, *(rest if axis == place % 3 else 0 for axis in range(3))]
    return reply(OfflineEngine(Angles(vectors), thesaurus=thesaurus), question, hits)


@pytest.mark.parametrize(
    ("question", "near", "asked"),
    [
        (
            "How is gestational diabetes treated?",
            "Gestational diabetes comes from hormones of the placenta.",
            "Treatment of gestational diabetes begins with diet and exercise.",
        ),
        (
            "¿Cómo se trata la diabetes gestacional?",
            "La diabetes gestacional viene de las hormonas de la placenta.",
            "El tratamiento de la diabetes gestacional empieza por la dieta.",
        ),
        (
            "How long does lochia last?",
            "Lochia is the bleeding that follows a birth.",
            "Lochia lasts for four to six weeks.",
        ),
    ],
)
def test_an_answer_begins_with_what_is_asked(question, near, asked):
    language = "es" if "¿" in question else "en"
    hits = [hit("a", near, language), hit("b", asked, language)]
    assert answer(question, hits, {near: 0.70, asked: 0.68}).startswith(asked)


def test_the_kind_of_answer_asked_for_outweighs_a_closer_background():
    """By 0.32 − (0.90 − 0.76) = 0.18, more than the closer passage gains by its place and best sentence."""
    near = "Magnesium sulfate lowers the risk of a fit in labour."
    asked = "Magnesium sulfate is 4 g into a vein."
    hits = [hit("a", near), hit("b", asked)]
    assert answer("Magnesium sulfate dose?", hits, {near: 0.90, asked: 0.76}).startswith(asked)


@pytest.mark.parametrize(
    ("question", "wrong", "right"),
    [
        (
            "Can I take ibuprofen for a headache at 33 weeks?",
            "Ibuprofen before 20 weeks is best avoided unless a doctor advises it.",
            "Ibuprofen should not be taken from 28 weeks.",
        ),
        (
            "Can I take ibuprofen for a headache?",
            "Paracetamol is the first choice for a headache.",
            "Ibuprofen is avoided late in pregnancy.",
        ),
        (
            "¿Puedo tomar ibuprofeno con 33 semanas?",
            "El ibuprofeno antes de la semana 20 se toma solo con consejo médico.",
            "El ibuprofeno no se toma desde las 28 semanas.",
        ),
    ],
)
def test_a_rule_for_other_weeks_or_another_medicine_is_not_quoted(thesaurus, question, wrong, right):
    language = "es" if "¿" in question else "en"
    hits = [hit("a", f"{wrong} {right}", language)]
    assert answer(question, hits, {wrong: 0.9, right: 0.8}, thesaurus) == f"{right} [1]"
    assert answer(question, [hit("a", wrong, language)], {wrong: 0.9}, thesaurus).startswith(NO_EVIDENCE)


@pytest.mark.parametrize(
    ("question", "calm", "urgent"),
    [
        (
            "My waters broke and the fluid is green, what should I do?",
            "When the waters break, a pad shows the colour of the fluid.",
            "Green fluid means going to the hospital at once.",
        ),
        (
            "Rompí aguas y son verdes, ¿qué hago?",
            "Al romper aguas, una compresa muestra el color del líquido.",
            "El líquido verde obliga a acudir de inmediato al hospital.",
        ),
    ],
)
def test_the_urgent_action_opens_and_what_is_mild_stays_out(question, calm, urgent):
    mild = "Un goteo leve puede esperar." if "¿" in question else "A slight trickle can wait a little."
    language = "es" if "¿" in question else "en"
    said = answer(
        question, [hit("a", f"{calm} {mild} {urgent}", language)], {calm: 0.9, mild: 0.8, urgent: 0.6}
    )
    assert said.startswith(urgent)
    assert mild not in said


def test_a_question_in_general_is_no_alarm():
    what = "Eclampsia is the onset of fits in a woman with pre-eclampsia."
    urgent = "Eclampsia is an emergency, so call for help at once."
    said = answer("What is eclampsia?", [hit("a", f"{what} {urgent}")], {what: 0.8, urgent: 0.7})
    assert said.startswith(what)


def test_a_list_item_keeps_its_introduction():
    item, other = "The fever is 38 degrees or more.", "The rash is new and itches."
    text = f"Call the clinic in the following cases:\n\n- {other}\n- {item}"
    said = answer("When do I call the clinic about a fever?", [hit("a", text)], {item: 0.8, other: 0.1})
    assert said.startswith("Call the clinic in the following cases: [1]")
    assert f"{item} [1]" in said


def test_the_introduction_of_a_list_never_ends_an_answer():
    lead = "Call the clinic in the following cases:"
    text = f"{lead}\n\n- The fever is 38 degrees or more."
    said = answer("When do I call the clinic?", [hit("a", text)], {lead: 0.8})
    assert said == f"{lead} [1] The fever is 38 degrees or more. [1]"


def test_a_sentence_that_points_back_brings_the_one_before():
    before, after = "Lochia is red at first.", "It lasts for four to six weeks."
    assert answer("How long does lochia last?", [hit("a", f"{before} {after}")], {after: 0.9}) == (
        f"{before} [1] {after} [1]"
    )


def test_the_best_passage_is_quoted_though_it_is_in_the_other_language():
    far, near = "Cats sleep most of the day and night.", "La prueba de Chagas se hace una vez."
    hits = [hit("a", near, "es"), hit("b", far, "en")]
    assert answer("Should I be tested for Chagas disease?", hits, {far: 0.2, near: 0.8}) == f"{near} [1]"


def test_an_answer_in_one_language_ends_with_a_first_passage_that_is_in_the_other():
    here, there = "The test for Chagas is done once.", "La prueba de Chagas se hace una vez."
    question, cosines = "Should I be tested for Chagas disease?", {here: 0.75, there: 0.8}
    first, second = hit("a", there, "es"), hit("b", here, "en")
    assert answer(question, [first, second], cosines) == f"{here} [2] {there} [1]"
    assert answer(question, [second, first], cosines) == f"{here} [1]"
    assert answer(question, [first, second], {**cosines, there: 0.2}) == f"{here} [2]"


def test_what_to_eat_is_answered_with_food_or_not_at_all():
    other, food = "Most women with diabetes have healthy babies.", "Choose bread and fruit with little sugar."
    assert "do not answer" in answer("What can I eat with diabetes?", [hit("a", other)], {other: 0.9})
    said = answer("What can I eat with diabetes?", [hit("a", f"{other} {food}")], {other: 0.9, food: 0.6})
    assert food in said


@pytest.mark.parametrize("first", ["en", "es"])
def test_a_doubt_is_answered_first_by_a_call_for_help_in_its_own_language(first: str):
    calm, help_es = (
        "Each baby has its own pattern of movements.",
        "Si el bebé se mueve menos, vaya al hospital de inmediato.",
    )
    help_en = "A baby who moves less means going to the hospital at once."
    hits = [hit("a", f"{calm} {help_en}", "en"), hit("b", help_es, "es")]
    cosines = {calm: 0.95, help_en: 0.8, help_es: 0.6}
    said = answer("¿Es normal que el bebé se mueva menos?", hits if first == "en" else hits[::-1], cosines)
    assert said.startswith(help_es)


def test_each_part_of_a_question_is_answered():
    test, cure, more = (
        "Women from there are tested once.",
        "Most babies are cured with tablets.",
        "Tests are free there.",
    )
    question = "Should I be tested for Chagas, can the baby be cured?"
    vectors = {
        question: (0.7, 0.7, 0, 0), "Should I be tested for Chagas": (1, 0, 0, 0), "can the baby be cured?": (0, 1, 0, 0),
        test: (0.8, 0, 0.6, 0), more: (0.75, 0, 0, 0.66), cure: (0.1, 0.7, 0.7, 0),
    }  # fmt: skip
    said = reply(OfflineEngine(Angles(vectors)), question, [hit("a", f"{test} {more} {cure}")])
    assert said.startswith(test)
    assert cure in said


LISTED = [
    "The infection can reach the scar.",
    "Bleeding may need a transfusion.",
    "A clot may form in a leg.",
]
LEAD, END = "The risks are those of any operation.", "Any of these signs needs a call."
SECTION = "\n\n".join([LEAD, "\n".join(f"- {item}" for item in LISTED), END])


def test_a_list_is_quoted_whole_with_its_conclusion_when_its_introduction_answers_best():
    said = answer("What are the risks of a caesarean?", [hit("a", SECTION)], {LEAD: 0.9})
    assert said == " ".join(f"{text} [1]" for text in (LEAD, *LISTED, END))


def test_one_item_of_a_list_of_full_sentences_is_quoted_alone_when_it_answers_best():
    item = LISTED[1]
    said = answer("Will I need a transfusion?", [hit("a", SECTION)], {item: 0.9, LEAD: 0.3})
    assert said.startswith(f"{item} [1]")


@pytest.mark.parametrize(("items", "quoted"), [(5, 5), (8, 1)])  # 8 items and their introduction are too many
def test_a_list_whose_introduction_announces_all_of_it_is_quoted_whole_if_it_fits(items: int, quoted: int):
    lead, item = (
        "A swollen breast needs care in the following situations.",
        "There is pus or blood in the milk.",
    )
    others = [f"Reason number {place} is of another kind." for place in range(2, items + 1)]
    text = "\n\n".join([lead, "\n".join(f"- {one}" for one in (item, *others))])
    said = answer("Why is there pus in my milk?", [hit("a", text)], {item: 0.9})
    assert said == " ".join(f"{one} [1]" for one in (lead, item, *others[: quoted - 1]))


def test_an_answer_opens_with_its_best_sentence():
    flu, mask = "Mild flu is no reason for a caesarean.", "The paper mask suits every mother."
    after = "It cannot cause the flu."
    cosines = {flu: 0.6, mask: 0.9, after: 0.6}
    said = answer("Which mask is there?", [hit("a", f"{flu} {mask} {after}")], cosines)
    assert said == f"{mask} [1] {after} [1] {flu} [1]"
    cosines[flu] = 0.8  # nearly as good: the order of the passage stays
    said = answer("Which mask is there?", [hit("a", f"{flu} {mask} {after}")], cosines)
    assert said == f"{flu} [1] {mask} [1] {after} [1]"


def test_a_sentence_that_adds_to_another_does_not_open_an_answer():
    first, more = "Cold packs ease a swollen breast.", "Ibuprofen also helps the breast."
    said = answer("Which medicine is there?", [hit("a", f"{first} {more}")], {first: 0.65, more: 0.95})
    assert said == f"{first} [1] {more} [1]"


def test_a_list_quoted_whole_repeats_no_item():
    item = LISTED[1]
    said = answer(
        "What are the risks, will I need a transfusion?", [hit("a", SECTION)], {LEAD: 0.9, item: 0.9}
    )
    assert said.count(item) == 1


def test_a_medicine_in_an_urgent_question_does_not_hide_what_to_do_now(thesaurus):
    question = "My newborn is hot, 38.4 under the arm. Paracetamol?"
    urgent = "A newborn with a fever of 38 degrees or more needs hospital at once."
    assert answer(question, [hit("a", urgent)], {urgent: 0.8}, thesaurus).startswith(urgent)


def test_whoever_takes_a_sign_for_ordinary_is_told_first_what_to_do():
    usual = "Babies move in a pattern of their own."
    act = "A baby who moves less needs a call to the maternity unit at once."
    question = "Is it normal to feel fewer movements on some days?"
    said = answer(question, [hit("a", f"{usual} {act}")], {usual: 0.9, act: 0.6})
    assert said.startswith(act)


def test_what_eases_the_ordinary_is_left_out_when_the_sign_may_be_worse():
    cramp = "Massage eases a cramp of the leg."
    clot = "A swollen, painful calf may hold a clot and needs hospital at once."
    question = "Can I massage a calf when it is a bit swollen?"
    said = answer(question, [hit("a", f"{cramp} {clot}")], {cramp: 0.9, clot: 0.8})
    assert clot in said
    assert cramp not in said


def test_another_medicine_is_left_out_but_what_forbids_its_base_is_kept(thesaurus: Thesaurus):
    other = "NSAIDs are limited after 20 weeks."
    base = "Ergometrine is contraindicated in hypertension."
    own = "Methylergometrine is given into a muscle."
    hits = [hit("a", f"{other} {base} {own}")]
    said = answer("methylergometrine hypertension", hits, {other: 0.9, base: 0.8, own: 0.7}, thesaurus)
    assert base in said
    assert own in said
    assert other not in said
