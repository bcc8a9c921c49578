"""Abbreviations and lay names are written out once, in the question's language."""

from pathlib import Path

import pytest

from rag_core.language.thesaurus import Thesaurus, WrittenOut

THESAURUS = Thesaurus.read(Path(__file__).parents[2] / "data" / "thesaurus.toml")


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("OASI follow-up", "obstetric anal sphincter injury (OASI) follow-up"),
        ("TXA dose, and TXA again?", "tranexamic acid (TXA) dose, and TXA again?"),
        ("my weak blood", "my anaemia (weak blood)"),
        (
            "manejo del OASI hoy en la paciente",
            "manejo del lesión obstétrica del esfínter anal (OASI) hoy en la paciente",
        ),
        ("Is tranexamic acid (TXA) given?", "Is tranexamic acid (TXA) given?"),  # named already
        ("When is the baby due?", "When is the baby due?"),
        # a lay name that is itself the question
        ("When should I go to the hospital if I bleed?", "When should I go to the hospital if I bleed?"),
    ],
)
def test_the_clinical_term_goes_in_front(typed, read):
    assert WrittenOut(THESAURUS, str).read(typed) == read


def test_the_spelling_is_corrected_first():
    reader = WrittenOut(THESAURUS, lambda question: question.replace("bloud", "blood"))
    assert reader.read("my weak bloud") == "my anaemia (weak blood)"
