import os
import shutil
import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from helpers.processes import open_store, run, word_engines

from rag_core.indexing import Upload
from rag_core.lab.adding import add_files, remove_corpus, remove_file
from rag_core.values.errors import DataError
from rag_core.values.settings import Settings

WARD = "ward"
SECRET = "xyloquine"
VISITS = Upload("visits.md", f"# Visits\n\nThe ward has {SECRET}.".encode())
MEALS = Upload("meals.txt", b"Lunch is served at noon.")
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
