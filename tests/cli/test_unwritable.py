"""A state folder that cannot be written still answers: on a read-only disk, on a full one, without permission."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from helpers.processes import held_by_each_part, open_store, run
from helpers.small import DOCUMENTS, ROOT

from rag_core.documents.documents import Document
from rag_core.indexing import SourceFiles, stores
from rag_core.indexing.temporary import PREFIX, temporary_folder
from rag_core.lab.lab import Lab
from rag_core.values.errors import RagError

FILES = {document.id for document in DOCUMENTS}
# a file system of its own, in a namespace that ends with the process
MOUNT = 'mount -t tmpfs -o size="$1" tmpfs "$2" && cp -r "$3/." "$2" && cd "$4" && exec "$5" -c "$6" "$2"'
READ_ONLY = 'mount -o remount,ro "$0"'
FULL = 'mount -o remount,rw "$0" && ! dd if=/dev/zero of="$0/fill" bs=4096 2>/dev/null'
EXAMINED = f"""
import json, subprocess, sys
from rag_core.cli import main
for state in {[READ_ONLY, FULL]!r}:
    subprocess.run(["sh", "-c", state, sys.argv[1]], check=True)
    try:
        main(["doctor", "--json"])
    except SystemExit as ended:
        assert not ended.code
"""
NAMESPACE = ["unshare", "--mount"] + (["--user", "--map-root-user"] if os.geteuid() else [])


def can_mount(folder: Path) -> bool:
    if not shutil.which("unshare"):
        return False
    mounted = [*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", str(folder)]
    return subprocess.run(mounted, capture_output=True, check=False).returncode == 0


def test_a_disk_that_cannot_be_written_serves_a_current_index_and_doctor_says_so(
    lab: Lab, real_home: Path, tmp_path: Path
) -> None:
    if not can_mount(tmp_path):
        pytest.skip("this user cannot mount a file system")
    used = sum(path.stat().st_size for path in real_home.rglob("*") if path.is_file())
    done = subprocess.run(
        [*NAMESPACE, "sh", "-c", MOUNT, "sh",
         str(used + 2**23), str(tmp_path), str(real_home), str(ROOT), sys.executable, EXAMINED],
        env={**os.environ, "RAG_HOME": str(tmp_path), "RAG_LLM": "offline"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    read_only, rest = json.JSONDecoder().raw_decode(done.stdout)
    full = json.loads(done.stdout[rest:])
    for report, reason in ((read_only, "Read-only file system"), (full, "No space left on device")):
        assert report["can_answer"] is True
        (note,) = [line for line in report["findings"] if "cannot be written" in line["what"]]
        assert reason in note["what"]
        assert note["ok"] is None
        assert "RAG_HOME" in note["mend"]
        assert not any("rebuilt" in line["what"] for line in report["findings"])


@pytest.fixture(params=[stores.EXACT, 0], ids=["mapped", "chroma"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A state folder with an index, in files or in Chroma, which its owner has made read-only."""
    made = tmp_path / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores, "EXACT", request.param)
        open_store(made).update(SourceFiles("test", list(DOCUMENTS)))
    paths = [made, *made.rglob("*")]
    for path in paths:
        path.chmod(0o500 if path.is_dir() else 0o400)
    yield made
    for path in paths:
        path.chmod(0o700)


def obey_permissions() -> None:
    """Give up root's power to ignore them: every capability."""
    if os.geteuid() == 0:
        header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        assert ctypes.CDLL(None).capset(header, none) == 0


def answer_as_an_ordinary_user(sender: Connection, home: Path, documents: list[Document]) -> None:
    obey_permissions()
    try:
        store = open_store(home)
        report = store.update(SourceFiles("test", documents))
        index = store.open()
        assert index is not None
        hits = [hit.passage.doc_id for hit in index.lexical("purr", 9, 1.5, 0.75)]
        sender.send((len(report.unchanged), held_by_each_part(index), hits))
    except RagError as error:
        sender.send((type(error).__name__, str(error)))


def test_an_index_in_a_folder_without_permission_to_write_answers(home: Path) -> None:
    before = sorted(home.rglob("*"))
    assert run(answer_as_an_ordinary_user, home, list(DOCUMENTS)) == (
        0,
        (len(DOCUMENTS), [FILES] * 3, ["a"]),
    )
    assert sorted(home.rglob("*")) == before


def serve_until_killed(sender: Connection, home: Path, place: Path) -> None:
    obey_permissions()
    tempfile.tempdir = str(place)
    index = open_store(home).open()
    assert index is not None
    sender.send([path.name for path in place.iterdir()])
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("home", [0], indirect=True, ids=["chroma"])
def test_the_copy_of_a_killed_process_goes_at_the_next_start_and_nothing_else_does(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    code, (copy,) = run(serve_until_killed, home, place)
    assert (code, os.listdir(place)) == (-signal.SIGKILL, [copy])
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    (place / f"{PREFIX}link").symlink_to(tmp_path / "mine")
    (place / f"{PREFIX}new").mkdir()  # not locked yet
    (place / "other").mkdir()
    (place / "other" / "file").touch()
    with ExitStack() as served:
        (temporary_folder(place, served) / "file").touch()
        assert open_store(home).open() is not None
        left = {path.name for path in place.iterdir() if path.is_dir()} - {"other"}
        assert copy not in left
        assert {f"{PREFIX}link", f"{PREFIX}new"} < left
        assert (
            len([name for name in left if (place / name / "file").exists()]) == 2
        )  # the link's, and the served
    assert (place / "other" / "file").exists()


def test_an_index_opens_where_no_temporary_folder_can_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    open_store(tmp_path).update(SourceFiles("test", list(DOCUMENTS)))
    monkeypatch.setattr(tempfile, "gettempdir", none)
    assert open_store(tmp_path).open() is not None


def test_a_change_that_cannot_be_written_is_one_line_and_nothing_is_lost(home: Path) -> None:
    code, (kind, said) = run(answer_as_an_ordinary_user, home, list(DOCUMENTS[1:]))
    assert (code, kind) == (0, "StorageError")
    assert "RAG_HOME" in said
    assert "\n" not in said
    assert run(answer_as_an_ordinary_user, home, list(DOCUMENTS))[1][1] == [FILES] * 3
