"""Questions that come with a person's documents: beside them or in their front matter, for the sections they name."""

from pathlib import Path

import pytest
from helpers.source_files import write

import rag_core
from rag_core.indexing import Upload
from rag_core.indexing.uploads import UPLOADS
from rag_core.lab.adding import add_files, remove_file
from rag_core.lab.asked import kept_questions, teach
from rag_core.lab.lab import Lab
from rag_core.lab.opening import open_lab
from rag_core.values.settings import Settings

VISITS = """# Visits

## Hours

{hours}

## Flowers

{flowers}
"""
TEXTS = {
    "hours": "Visiting hours on the ward are from two to eight in the afternoon. " * 12,
    "flowers": "Flowers are not allowed near newborn babies, because of pollen and water. " * 12,
}
MEALS = "---\nquestions:\n- Where do I eat?\n- ¿Dónde se come?\nkitchen: east\n---\n# Meals\n\nLunch is served at noon."


def table(*rows: tuple[str, str, str]) -> str:
    return "".join("\t".join(row) + "\n" for row in (("passage", "language", "question"), *rows))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home", llm="offline")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files: dict[str, bytes | str] = {
        "a/visits.md": VISITS.format(**TEXTS),
        "meals.md": MEALS,
        "a/asked.tsv": table(
            ("visits.md", "en", "When may people come?"),
            ("visits.md#flowers", "", "May I bring roses?"),
            ("visits.md#Dogs", "en", "May I bring a dog?"),
        ),
    }
    return write(tmp_path / "files", files)


@pytest.fixture(autouse=True)
def loaded(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_core.lab.opening.load_engines", lambda *_: lab.engines)


def known(settings: Settings, lab: Lab) -> dict[str, tuple[str, str, str]]:
    """Question -> document, heading and language of the passage that it finds."""
    ward = open_lab("ward", settings=settings, engines=lab.engines)
    assert ward.asked is not None
    found = {}
    for one in kept_questions(settings, "ward"):
        (hit,) = ward.asked.search(one.question, 1)
        found[one.question] = (hit.passage.doc_id, hit.passage.heading, one.language)
    return found


def test_they_are_read_when_the_corpus_is_indexed_and_follow_their_files(folder, settings, lab):
    report = rag_core.index(folder, "ward", settings=settings)
    assert report.failed == report.skipped == []
    assert known(settings, lab) == {
        "When may people come?": ("a/visits.md", "Hours", "en"),
        "May I bring roses?": ("a/visits.md", "Flowers", "en"),
        "Where do I eat?": ("meals.md", "", "en"),
        "¿Dónde se come?": ("meals.md", "", "es"),
    }
    assert any("(1), the first: a/visits.md#Dogs: May I bring a dog?" in note for note in report.notes)
    assert ("meals.md", "kitchen: east") in report.hidden
    ward = open_lab("ward", settings=settings, engines=lab.engines)
    assert "questions" not in next(one.text for one in ward.passages.values() if one.doc_id == "meals.md")

    teach(settings, "ward", next(iter(ward.passages)), "Who has taught this?")
    (folder / "a/asked.tsv").write_text(table(("visits.md", "en", "Who may come?")))
    (folder / "meals.md").unlink()
    assert rag_core.index(folder, "ward", settings=settings).unchanged == ["a/visits.md"]
    assert known(settings, lab).keys() == {"Who may come?", "Who has taught this?"}


def test_a_malformed_file_fails_alone_and_the_questions_stay(folder, settings, lab):
    rag_core.index(folder, "ward", settings=settings)
    before = known(settings, lab)
    (folder / "a/asked.tsv").write_text("When may people come?\n")
    (folder / "meals.md").write_text(
        MEALS.replace("questions:\n- Where do I eat?", "questions: 7\nrest:\n- 1")
    )
    failed = dict(rag_core.index(folder, "ward", settings=settings).failed)
    assert "asked.tsv, line 1: not a question of a passage" in failed["a/asked.tsv"]
    assert "questions must be a list of texts" in failed["meals.md"]
    assert known(settings, lab) == before


def test_they_are_uploaded_with_documents_and_go_with_them(settings, lab):
    questions = Upload("asked.tsv", table(("visits.md#Hours", "en", "When may people come?")).encode())
    (alone,) = add_files([questions], "ward", settings, lab.engines).files
    assert (alone.status, "upload them with it" in alone.reason) == ("failed", True)
    visits = Upload("visits.md", VISITS.format(**TEXTS).encode())
    added = add_files([questions, visits, Upload("meals.md", MEALS.encode())], "ward", settings, lab.engines)
    assert [one.status for one in added.files] == ["added"] * 3
    assert known(settings, lab)["When may people come?"] == ("visits.md", "Hours", "en")
    add_files([Upload("beds.txt", b"Beds are made at nine.")], "ward", settings, lab.engines)
    assert known(settings, lab).keys() == {"When may people come?", "Where do I eat?", "¿Dónde se come?"}
    remove_file("ward", UPLOADS, "visits.md", settings, lab.engines)
    assert known(settings, lab).keys() == {"Where do I eat?", "¿Dónde se come?"}


def test_questions_by_heading_in_front_matter(settings, lab, tmp_path):
    header = "---\nquestions:\n  Flowers: [May I bring roses?]\n---\n"
    folder = write(tmp_path / "files", {"visits.md": header + VISITS.format(**TEXTS)})
    rag_core.index(folder, "ward", settings=settings)
    assert known(settings, lab) == {"May I bring roses?": ("visits.md", "Flowers", "en")}
