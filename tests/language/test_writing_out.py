"""Abbreviations are written out once, in the question's language."""

from pathlib import Path

import pytest

from rag_core.language.thesaurus import Thesaurus, WrittenOut

THESAURUS = Thesaurus.read(Path(__file__).parents[2] / "data" / "thesaurus.toml")


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("OASI follow-up", "OASI (obstetric anal sphincter injury) follow-up"),
        ("TXA dose, and TXA again?", "TXA (tranexamic acid) dose, and TXA again?"),
        (
            "manejo del OASI hoy en la paciente",
            "manejo del OASI (lesión obstétrica del esfínter anal) hoy en la paciente",
        ),
        ("Is tranexamic acid (TXA) given?", "Is tranexamic acid (TXA) given?"),  # named already
        ("When is the baby due?", "When is the baby due?"),
        ("my weak blood", "my weak blood"),  # a lay name
    ],
)
def test_the_clinical_term_follows_its_abbreviation(typed, read):
    assert WrittenOut(THESAURUS, str).read(typed) == read


def test_the_spelling_is_corrected_first():
    reader = WrittenOut(THESAURUS, lambda question: question.replace("dsoe", "dose"))
    assert reader.read("TXA dsoe") == "TXA (tranexamic acid) dose"
