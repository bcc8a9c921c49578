"""A process killed while it uploads or forgets: no text stays, and nothing that was served vanishes later."""

import os
import shutil
import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from helpers.processes import open_store, run, word_engines

from rag_core.indexing import Upload, UploadFolder, forget_corpus
from rag_core.lab.adding import Added, add_files, remove_corpus, remove_file
from rag_core.lab.opening import open_lab
from rag_core.values.errors import DataError, IndexDamaged
from rag_core.values.settings import Settings

WARD = "ward"
SECRET = "xyloquine"
VISITS = Upload("visits.md", f"# Visits\n\nThe ward has {SECRET}.".encode())
MEALS = Upload("meals.txt", b"Lunch is served at noon.")


def add(home: Path, upload: Upload, **options: object) -> Added:
    return add_files([upload], WARD, Settings(home=home), word_engines(), **options)  # type: ignore[arg-type]


def kill_at(sender: Connection, home: Path, step: str) -> None:
    """An upload that is killed at a step of indexing."""

    def progress(what: str, done: int, total: int) -> None:
        if what == step:
            os.kill(os.getpid(), signal.SIGKILL)

    add(home, VISITS, progress=progress)


def kill_at_switch(sender: Connection, home: Path, after: int) -> None:
    """An upload that is killed when its index is about to be switched to, or at the first event after that."""
    seen = 0

    def count(event: str, given: tuple[object, ...]) -> None:
        nonlocal seen
        if seen or (event == "os.rename" and str(given[1]).endswith("/CURRENT")):
            seen += 1  # first, as the kill is an event too
            if seen == after + 1:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    add(home, VISITS)


def documents(home: Path) -> set[str]:
    try:
        index = open_store(home, WARD).open()
    except IndexDamaged:  # a first generation that was never put in place
        return set()
    return set(index.manifest.documents) if index else set()


def held_uploads(home: Path) -> list[str]:
    found = [path for path in (home / "uploads").rglob("*") if path.is_file()]
    return [path.name for path in found if SECRET in path.read_text()]


@pytest.mark.parametrize("then", ["the next start", "the next upload", "rag forget"])
def test_what_a_killed_upload_staged_goes_at_the_next_start_upload_and_forgetting(tmp_path, then):
    code, _ = run(kill_at, tmp_path, "store")
    assert code == -signal.SIGKILL
    assert held_uploads(tmp_path) == ["visits.md"]
    data = tmp_path / "data" / "corpus"
    data.mkdir(parents=True)
    (data / "a.md").write_text("---\nid: a\ntitle: A\nlanguage: en\n---\n\nWash your hands.\n")
    match then:
        case "the next start":
            open_lab(settings=Settings(home=tmp_path, data=data.parent), engines=word_engines())
        case "the next upload":
            add(tmp_path, MEALS)
        case _:
            forget_corpus(tmp_path, WARD)
    assert held_uploads(tmp_path) == []
    assert not list((tmp_path / "uploads").glob(".new-*"))


def test_an_upload_under_way_in_another_corpus_is_left_alone(tmp_path):
    under_way = UploadFolder(tmp_path, "other")
    with under_way.changing(), under_way.staged([VISITS]) as stage:
        add(tmp_path, MEALS)
        assert (stage / "visits.md").is_file()


@pytest.mark.parametrize(("after", "served"), [(0, set()), (1, {"visits.md"})])
def test_what_is_served_after_a_kill_at_the_switch_stays_at_the_next_upload(tmp_path, after, served):
    code, _ = run(kill_at_switch, tmp_path, after)
    assert code == -signal.SIGKILL
    assert documents(tmp_path) == served
    add(tmp_path, MEALS)
    assert documents(tmp_path) == {"visits.md", "meals.txt"}
    assert UploadFolder(tmp_path, WARD).names == ["meals.txt", "visits.md"]


STEPS = ("os.rename", "os.remove", "os.rmdir")


def forget(home: Path, whole: bool) -> None:
    if whole:
        remove_corpus(WARD, Settings(home=home))
    else:
        remove_file(WARD, "uploads", "visits.md", Settings(home=home), word_engines())


def forget_until(sender: Connection, home: Path, whole: bool, step: int) -> None:
    """Killed when the step-th file or folder is about to be renamed or removed."""
    seen = 0

    def count(event: str, given: tuple[object, ...]) -> None:
        nonlocal seen
        if event in STEPS:
            seen += 1
            if seen == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    forget(home, whole)


def texts(home: Path) -> list[str]:
    return [
        str(path.relative_to(home))
        for path in home.rglob("*")
        if path.is_file() and SECRET.encode() in path.read_bytes()
    ]


@pytest.mark.parametrize("whole", [False, True])
def test_forgetting_that_was_killed_at_any_step_is_finished_by_a_second_call(tmp_path, whole):
    before = tmp_path / "before"
    add_files([VISITS, MEALS], WARD, Settings(home=before), word_engines())
    assert texts(before)
    code, step, left = -signal.SIGKILL, 0, {}
    while code == -signal.SIGKILL:
        step += 1
        home = shutil.copytree(before, tmp_path / str(step))
        code, _ = run(forget_until, home, whole, step)
        with suppress(DataError):  # it was already forgotten
            forget(home, whole)
        index = open_store(home, WARD).open()
        assert set(index.manifest.documents if index else ()) == (set() if whole else {"meals.txt"})
        left[step] = texts(home)
    assert code == 0
    assert step > 5
    assert {step: files for step, files in left.items() if files} == {}
