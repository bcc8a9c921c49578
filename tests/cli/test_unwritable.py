"""A state folder that cannot be written still answers: on a read-only disk, on a full one, without permission."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from helpers.processes import held_by_each_part, open_store, run
from helpers.small import DOCUMENTS, ROOT

from rag_core.documents.documents import Document
from rag_core.indexing import SourceFiles
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


def test_a_disk_that_cannot_be_written_serves_a_current_index_and_doctor_says_so(lab, real_home, tmp_path):
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


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A state folder with an index, which its owner has made read-only."""
    made = tmp_path / "home"
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
        hits = [hit.passage.doc_id for hit in index.lexical("purr", 9, 1.5, 0.75)]
        sender.send((len(report.unchanged), held_by_each_part(index), hits))
    except RagError as error:
        sender.send((type(error).__name__, str(error)))


def test_an_index_in_a_folder_without_permission_to_write_answers(home):
    before = sorted(home.rglob("*"))
    assert run(answer_as_an_ordinary_user, home, list(DOCUMENTS)) == (0, (len(DOCUMENTS), [FILES] * 3, ["a"]))
    assert sorted(home.rglob("*")) == before
