"""The built-in documents are whole, well-formed and long enough to measure on."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.corpus import Document, check_collection, read_collection
from rag_core.errors import DataError

ROOT = Path(__file__).resolve().parents[1]
COLLECTION = ROOT / "data" / "corpus"

GOOD = """---
id: en-good
title: A good document
language: en
topic: labour
sources:
  - organisation: WHO
    title: Intrapartum care for a positive childbirth experience
    year: 2018
---

# A good document

## First
{words}

## Second
The woman and the midwife talk about the birth.

## Third
The baby is well and the mother is resting.
"""


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return read_collection(COLLECTION)


def test_the_checker_finds_nothing_to_mend() -> None:
    assert check_collection(COLLECTION) == []


def test_there_are_at_least_sixteen_english_and_eight_spanish_documents(documents: list[Document]) -> None:
    languages = [document.language for document in documents]
    assert languages.count("en") >= 16
    assert languages.count("es") >= 8


@pytest.mark.parametrize(
    ("topic", "word"),
    [
        ("contractions", "contractions"),
        ("preterm labour", "preterm"),
        ("gestational diabetes", "gestational"),
        ("caesarean", "caesarean"),
        ("epidural", "epidural"),
        ("antenatal care", "antenatal"),
        ("pre-eclampsia", "pre-eclampsia"),
        ("bleeding", "bleeding"),
        ("fetal movements", "movements"),
        ("anti-D", "anti-d"),
        ("breastfeeding", "breastfeeding"),
        ("postpartum care", "postpartum"),
    ],
)
def test_every_topic_of_the_seeds_has_a_document_named_after_it(
    documents: list[Document], topic: str, word: str
) -> None:
    assert any(word in document.id for document in documents), topic


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("id: en-good", "id: en-other", "not en-'good'"),
        ("language: en", "language: es", "does not fit the folder"),
        ("topic: labour", "topic: gardening", "topic 'gardening' is not one of"),
        ("year: 2018", "year: 1066", "is not well-formed"),
        ("year: 2018", "year: soon", "has a wrong one"),
        ("title: A good document", "title: Another", "does not begin with the title"),
        ("## Third\n", "", "fewer than three sections"),
        ("id: en-good\n", "", "lacks a field"),
        ("sources:", "sources: [", "cannot be read"),
    ],
)
def test_the_checker_names_what_is_wrong(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    text = GOOD.format(words="The midwife listens to the woman and to her partner. " * 45)
    folder = tmp_path / "en"
    folder.mkdir()
    (folder / "good.md").write_text(text, encoding="utf-8")
    assert check_collection(tmp_path) == []
    (folder / "good.md").write_text(text.replace(old, new), encoding="utf-8")
    assert any(complaint in problem for problem in check_collection(tmp_path))


def test_the_checker_finds_repeated_paragraphs_ids_and_wrong_lengths(tmp_path: Path) -> None:
    folder = tmp_path / "en"
    folder.mkdir()
    text = GOOD.format(words="The midwife listens to the woman and to her partner. " * 45)
    (folder / "good.md").write_text(text, encoding="utf-8")
    (folder / "twin.md").write_text(text, encoding="utf-8")
    (folder / "short.md").write_text(GOOD.format(words="Short."), encoding="utf-8")
    problems = "\n".join(check_collection(tmp_path))
    assert "is also used by" in problems
    assert "repeats a paragraph of" in problems
    assert "words, not 400 to 700" in problems


def test_an_empty_or_missing_collection_is_an_error(tmp_path: Path) -> None:
    assert check_collection(tmp_path) == [f"{tmp_path}: no document"]
    with pytest.raises(DataError, match="There is no document"):
        read_collection(tmp_path / "nowhere")
