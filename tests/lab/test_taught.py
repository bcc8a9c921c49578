"""Questions that come with documents or that people teach: found by whoever asks them next, gone with their documents."""

import stat
from pathlib import Path

import pytest
from helpers.source_files import write

import rag_core
from rag_core.documents.asked import TAUGHT, asked_folder
from rag_core.indexing import Upload
from rag_core.indexing.uploads import UPLOADS
from rag_core.jobs.starting import _opened
from rag_core.lab.adding import add_files, remove_corpus, remove_file
from rag_core.lab.asked import delete_question, kept_questions, teach
from rag_core.lab.lab import Lab
from rag_core.lab.opening import open_lab
from rag_core.language.questions import MAX_QUESTION
from rag_core.values.errors import DataError, InputError
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
    (folder / "meals.md").write_text(MEALS.replace("questions:\n- Where do I eat?", "questions: 7\nrest:\n- 1"))
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


FILES = {
    "visits.md": "# Visits\n\nVisiting hours on the ward are from 2 to 8 in the afternoon.",
    "meals.md": "# Meals\n\nLunch is served at noon.",
}
QUESTION = "Where do I leave my umbrella?"


@pytest.fixture
def ward(lab: Lab, settings: Settings) -> Lab:
    add_files([Upload(name, text.encode()) for name, text in FILES.items()], "ward", settings, lab.engines)
    return open_lab("ward", settings=settings, engines=lab.engines)


def section(ward: Lab, document: str) -> str:
    return next(one.id for one in ward.passages.values() if one.doc_id == document)


def taught(ward: Lab, document: str = "meals.md", question: str = QUESTION, **more: str) -> str:
    passage = section(ward, document)
    teach(ward.settings, "ward", passage, question, **more)
    return passage


def first_by(ward: Lab, question: str = QUESTION) -> tuple[str, str] | None:
    """The passage that a corpus finds first by its known questions, and by which."""
    hits = ward.run(question, "question_index").ranking.hits
    return next(((hit.id, vote.note) for hit in hits for vote in hit.votes if vote.stage == "Asked"), None)


def test_the_next_run_finds_the_section_and_says_by_which_taught_question(ward):
    before = ward.engine
    assert "taught" not in before
    passage = taught(ward, by="Ana")
    (kept,) = kept_questions(ward.settings, "ward")
    assert (kept.passage, kept.language, kept.question, kept.by) == (passage, "en", QUESTION, "Ana")
    assert first_by(ward) == (passage, f"{QUESTION} (taught on {kept.taught[:10]})")
    assert ward.engine["taught"] == "1"
    assert ward.engine["asked"] != before["asked"]
    path = asked_folder(ward.settings.home, "ward") / TAUGHT
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_question_that_was_declined_is_answered_once_it_is_taught(ward):
    declined = ward.run(QUESTION, "question_index").answer
    assert declined.abstained
    passage = taught(ward)
    answered = ward.run(QUESTION, "question_index").answer
    assert not answered.abstained
    assert passage in [one.context_id for one in answered.citations]


def test_measurements_never_find_it(ward):
    before = ward.engine
    taught(ward)
    job = type("Job", (), {"report": lambda *_, **__: None, "status": type("Status", (), {"bill": None})})()
    for measured in (
        ward.untaught(),
        ward.untaught().with_engines(ward.engines),
        _opened(job, lambda _: ward),
    ):
        assert measured.engine == before
        assert first_by(measured) is None
    assert first_by(ward) is not None


def test_taught_again_it_moves_and_deleted_it_is_found_no_more(ward):
    taught(ward)
    there = taught(ward, "visits.md", QUESTION.upper())
    (kept,) = kept_questions(ward.settings, "ward")
    assert kept.passage == there
    assert (found := first_by(ward)) is not None
    assert found[0] == there
    delete_question(ward.settings, "ward", kept)
    assert kept_questions(ward.settings, "ward") == []
    assert first_by(ward) is None


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Call me on 07700 900854, when is lunch?", "private data"),
        ("w" * (MAX_QUESTION + 1), "the limit is"),
        (" \n", "empty"),
    ],
)
def test_what_cannot_be_taught_is_said(ward, question, said):
    with pytest.raises(InputError, match=said):
        taught(ward, question=question)
    assert kept_questions(ward.settings, "ward") == []


def test_a_corpus_is_taught_only_so_many(ward, monkeypatch):
    monkeypatch.setattr("rag_core.lab.asked.MOST_TAUGHT", 1)
    taught(ward)
    taught(ward, "visits.md")  # moves
    with pytest.raises(InputError, match="1 questions have been taught"):
        taught(ward, question="When is lunch?")


def test_tabs_and_lines_in_a_question_stay_one_row(ward):
    taught(ward, question="When\tis\nlunch?", by="A\tna")
    (kept,) = kept_questions(ward.settings, "ward")
    assert (kept.question, kept.by) == ("When is lunch?", "A na")


def test_it_goes_with_its_document_and_with_the_corpus(ward):
    settings = ward.settings
    taught(ward)
    taught(ward, "visits.md", "When may people visit me?")
    remove_file("ward", UPLOADS, "meals.md", settings, ward.engines)
    assert [one.document for one in kept_questions(settings, "ward")] == ["visits.md"]
    remove_corpus("ward", settings)
    assert not asked_folder(settings.home, "ward").exists()


def test_a_damaged_file_is_named(ward):
    taught(ward)
    (asked_folder(ward.settings.home, "ward") / TAUGHT).write_text("not a table\n")
    with pytest.raises(DataError, match=rf"{TAUGHT}, line 1"):
        teach(ward.settings, "ward", section(ward, "meals.md"), QUESTION)
