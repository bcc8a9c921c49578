"""A passage that loses the signs or the action of urgent advice is found, and ours lose none."""

import pytest

from rag_core.documents.documents import Document
from rag_core.indexing.cutting import cut
from rag_core.values.types import Passage
from upkeep.reading_alone import advice_problems, passage_problems

# The kinds of passages that cutting by size made: section, where it was cut, and what a reader then misses.
CUT_BADLY = {
    "signs | action": (
        "es",
        "Síntomas de parto prematuro",
        "Los síntomas de parto prematuro pueden ser discretos.\n\n- Contracciones regulares o presión en la pelvis.\n"
        "- Pérdida de líquido o de sangre.",
        "Con cualquiera de estos síntomas antes de las 37 semanas, acuda de inmediato a urgencias de maternidad.",
        "an urgent instruction without its signs",
    ),
    "signs | one more and action": (
        "es",
        "Salud mental después del parto",
        "La psicosis posparto causa confusión, euforia o ideas extrañas y es una emergencia.",
        "Ante esos síntomas, o ideas de hacerse daño, hay que llamar de inmediato al número local de emergencias.",
        "an urgent instruction without its signs",
    ),
    "list | its last item": (
        "es",
        "Llame al número local de emergencias",
        "Algunos síntomas ponen en peligro la vida.\n\n- Una convulsión necesita una ambulancia.",
        "- El cordón umbilical que asoma por la vagina necesita una ambulancia.\n\nNo se quede sola.",
        "a list without the sentence that leads in",
    ),
    "lead-in | list": (
        "en",
        "After an epidural",
        "An epidural rarely harms. Go to hospital at once if you have:",
        "- fever with back pain;\n- new weakness of the legs.",
        "a list without the sentence that leads in",
    ),
    "signs | action in English": (
        "en",
        "Danger signs",
        "Signs of danger are heavy bleeding and fainting.",
        "Call the emergency number at once for any of these signs.",
        "an urgent instruction without its signs",
    ),
    "bare action": (
        "en",
        "At home",
        "Heavy bleeding or chest pain is a danger sign.",
        "Go to the hospital at once, day or night.",
        "an urgent instruction without its signs",
    ),
    "condition | emergency": (
        "es",
        "Recuperación de la cesárea",
        "Los signos de alarma requieren acudir de inmediato a urgencias.\n\n- La herida está roja o abierta.",
        "Ante falta de aire, dolor de pecho o desmayo, llame al número local de emergencias.",
        "an urgent instruction apart from its section",
    ),
}  # fmt: skip


def passages(language: str, heading: str, texts: list[str]) -> list[Passage]:
    return [Passage(f"d:{n}:0", "d", "Guía", text, heading, language) for n, text in enumerate(texts)]


def document(language: str, heading: str, text: str) -> Document:
    return Document("d", "Guía", language, f"# Guía\n\n## {heading}\n{text}")


@pytest.mark.parametrize("kind", CUT_BADLY)
def test_a_passage_cut_badly_is_named_with_document_heading_and_sentence(kind):
    language, heading, first, second, problem = CUT_BADLY[kind]
    whole = document(language, heading, f"{first}\n\n{second}")
    found = list(passage_problems(whole, passages(language, heading, [first, second])))
    sentence = second.split("\n")[0].removeprefix("- ").rstrip(";")
    assert any(line.startswith(f"d: {heading}: {problem}: {sentence}") for line in found), found


@pytest.mark.parametrize("kind", CUT_BADLY)
def test_our_cutter_keeps_together_what_was_cut_badly(kind):
    language, heading, first, second, _ = CUT_BADLY[kind]
    text = f"{first}\n\n{second}"
    (only,) = cut(text, language, 200, lambda words: len(words.split()))
    assert list(passage_problems(document(language, heading, text), passages(language, heading, [only]))) == []


@pytest.mark.parametrize("kind", [kind for kind in CUT_BADLY if kind != "condition | emergency"])
def test_not_even_a_section_that_must_be_cut_loses_its_signs(kind):
    language, heading, first, second, _ = CUT_BADLY[kind]
    filler = "\n\n".join(["Las visitas siguen como siempre."] * 8)
    size = len(f"{first} {second}".split()) + 2
    parts = cut(f"{filler}\n\n{first}\n\n{second}\n\n{filler}", language, size, lambda text: len(text.split()))
    assert len(parts) > 1
    assert [line for part in parts for line in advice_problems(part, heading, language)] == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Warning signs are:\n\n- heavy bleeding;\n- chest pain.", "a list of signs without what to do: - heavy bleeding;"),
        ("Son signos de alarma:\n\n- sangrado abundante;\n- fiebre.", "a list of signs without what to do: - sangrado"),
        ("Rest helps. Go to hospital at once if you have:", "a lead-in without its list: Go to hospital at once"),
        ("Warning signs are:\n\n- heavy bleeding;\n- chest pain.\n\nCall the emergency number at once.", ""),
        ("Causes are:\n\n- heavy bleeding;\n- seizures.", ""),
        ("Jaundice in the first day needs a hospital at once.", ""),
        ("Go to hospital at once with any of these signs.\n\n- Fever.\n- Heavy bleeding.", ""),
    ],
)  # fmt: skip
def test_signs_need_an_action_and_a_lead_in_its_list(text, problem):
    language = "es" if text.startswith("Son") else "en"
    found = list(advice_problems(text, "Guide", language))
    assert [line[: len(problem)] for line in found[:1]] == ([problem] if problem else [])


def test_a_section_joined_to_another_is_not_a_whole_section():
    joined = passages("en", "Rest", ["Rest a lot.\n\nFood\n\nEat well."])
    two = Document("d", "Guía", "en", "# Guía\n\n## Rest\nRest a lot.\n\n## Food\nEat well.")
    assert list(passage_problems(two, joined)) == ["d: Rest: not one whole section: Rest a lot."]
