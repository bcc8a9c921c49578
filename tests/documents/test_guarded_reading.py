"""Whatever a file contains, it is read within limits, and the files beside it are read too."""

import contextlib
import os
import select
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.hostile_files import FILES, GOOD, SKIPPED, front_matter, hostile_folder, zip_bomb
from helpers.small import ROOT
from helpers.source_files import failures, pdf, write

from rag_core.documents.documents import read_document, readable_documents
from rag_core.documents.files import list_files
from rag_core.documents.limits import MAX_TITLE, READING, ReadingLimits
from rag_core.documents.reading import guard
from rag_core.documents.reading.guard import GuardedReader
from rag_core.indexing import SourceFiles, read_path
from rag_core.lab.opening import open_lab
from rag_core.values.errors import DataError, InputError, Stopped
from rag_core.values.settings import Settings


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The processes for reading that are started."""
    processes: list[object] = []

    class Counted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            processes.append(self)
            super().__init__(*arguments, **options)

    monkeypatch.setattr(guard.subprocess, "Popen", Counted)
    return processes


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> SourceFiles:
    return read_path(hostile_folder(tmp_path_factory.mktemp("hostile")))


@pytest.mark.parametrize("name", [name for name, (_, reason) in FILES.items() if reason])
def test_a_hostile_file_is_one_failed_line_with_its_reason(hostile, name):
    (told,) = [reason for file, reason in hostile.failed if file == name]
    assert FILES[name][1] in told
    assert len(told) <= 300
    assert "\n" not in told


def test_all_other_files_of_a_hostile_folder_are_read(hostile):
    good = {f"good-{number}.txt" for number in range(GOOD)} | {"cross/a.txt", "crossed/b.txt"}
    odd = {name for name, (_, reason) in FILES.items() if not reason}
    assert {document.id for document in hostile.documents} == good | odd
    assert set(failures(hostile)) == {name for name, (_, reason) in FILES.items() if reason} | {r"caf\xe9.txt"}
    assert "not UTF-8" in failures(hostile)[r"caf\xe9.txt"]


def test_links_pipes_and_second_names_are_named_and_skipped(hostile):
    assert dict(hostile.skipped) == SKIPPED


def test_deep_html_keeps_its_words(hostile):
    (deep,) = [document for document in hostile.documents if document.id == "deep.html"]
    assert deep.text.strip() == "Deep words."


def test_a_title_is_cut_and_the_text_is_not(hostile):
    (long,) = [document for document in hostile.documents if document.id == "long-title.md"]
    assert len(long.title) <= MAX_TITLE
    assert long.title.endswith("…")
    assert len(long.text) > 500_000


@pytest.mark.parametrize(
    ("name", "content", "limit", "reason"),
    [
        ("slow.html", lambda: "<p>word <b>word</b></p>" * 200_000, {"seconds": 1}, "longer than 1 seconds"),
        ("slow.docx", lambda: zip_bomb("word/document.xml", 190), {"memory": 150_000_000}, "more than 150 MB of memory"),
    ],
    ids=["time", "memory"],
)  # fmt: skip
def test_a_file_that_takes_too_much_fails_and_the_next_one_is_read(tmp_path, name, content, limit, reason):
    write(tmp_path, {"a.txt": "Good words.", name: content(), "z.txt": "More words."})
    reading = read_path(tmp_path, limits=replace(READING, **limit))
    assert [document.id for document in reading.documents] == ["a.txt", "z.txt"]
    assert failures(reading) == {name: f"reading it takes {reason}"}


def test_one_process_reads_many_files_and_is_replaced_when_it_is_killed(tmp_path):
    write(tmp_path, {f"{number}.txt": f"Words {number}." for number in range(5)})
    with GuardedReader() as reader:
        pids = []
        for number in range(5):
            documents, reason = reader.read(tmp_path / f"{number}.txt", str(number))
            assert ([document.text for document in documents], reason) == ([f"Words {number}."], "")
            assert reader.pid
            pids.append(reader.pid)
            if number == 2:
                os.kill(reader.pid, signal.SIGKILL)
                os.waitid(os.P_PID, reader.pid, os.WEXITED | os.WNOWAIT)
    assert len({*pids[:3]}) == len({*pids[3:]}) == 1
    assert pids[2] != pids[3]
    assert not _alive(pids[0])
    assert not _alive(pids[4])


def test_a_process_killed_while_it_reads_fails_that_file_only(tmp_path):
    write(tmp_path, {"slow.html": "<p>word <b>word</b></p>" * 400_000, "z.txt": "More words."})

    def kill() -> None:
        if reader.pid and not killed:
            killed.append(reader.pid)
            os.kill(reader.pid, signal.SIGKILL)

    killed: list[int] = []
    with GuardedReader() as reader:
        reader.read(tmp_path / "z.txt", "z")  # so that the process has started
        reader._waiting = kill
        assert reader.read(tmp_path / "slow.html", "slow") == ([], "the process that read it ended (SIGKILL)")
        documents, reason = reader.read(tmp_path / "z.txt", "z")
    assert ([document.text for document in documents], reason) == (["More words."], "")
    assert killed


def test_stopping_ends_the_process_too(tmp_path):
    write(tmp_path, {"slow.html": "<p>word <b>word</b></p>" * 400_000})
    before = _children()
    calls = 0

    def stop(what: str, done: int, total: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise Stopped

    with pytest.raises(Stopped):
        read_path(tmp_path, stop)
    assert _children() == before


def test_the_process_ends_with_the_one_that_started_it(tmp_path):
    write(tmp_path, {"a.txt": "Words."})
    script = (
        "import os, sys; from pathlib import Path; from rag_core.documents.reading.guard import GuardedReader\n"
        "reader = GuardedReader(); reader.read(Path(sys.argv[1]), 'a'); print(reader.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "a.txt")], capture_output=True, text=True, cwd=ROOT
    )
    pid = int(done.stdout)
    with contextlib.suppress(ProcessLookupError):  # it has ended already
        ended = os.pidfd_open(pid)
        waiting = select.poll()  # select() takes no descriptor above 1,023
        waiting.register(ended)
        assert waiting.poll(60_000), "the process that reads is still there"
        os.close(ended)


def test_reading_works_in_threads_and_in_a_script_without_a_main_guard(tmp_path):
    write(tmp_path / "in", {"a.txt": "Words.", "b.pdf": pdf("Rest.")})
    script = (
        "import threading, sys; from pathlib import Path; from rag_core.indexing import read_path\n"
        "found = []\n"
        "threads = [threading.Thread(target=lambda: found.append(read_path(Path(sys.argv[1])))) for _ in range(3)]\n"
        "[thread.start() for thread in threads]; [thread.join() for thread in threads]\n"
        "print([[document.id for document in reading.documents] for reading in found])"
    )
    (tmp_path / "script.py").write_text(script)
    (tmp_path / "yaml.py").write_text("raise SystemExit('a module of the current folder was imported')")
    done = subprocess.run(
        [sys.executable, "-P", str(tmp_path / "script.py"), str(tmp_path / "in")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.strip() == str([["a.txt", "b.pdf"]] * 3), done.stderr


def test_the_process_loads_no_model_and_sees_no_key(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    write(tmp_path, {"a.md": front_matter(), "b.html": "<p>Words.", "c.pdf": pdf("Rest.")})
    with GuardedReader() as reader:
        for file in sorted(tmp_path.iterdir()):
            assert reader.read(file, file.name)[1] == ""
        state = Path(f"/proc/{reader.pid}")
        if not state.exists():
            pytest.skip("needs /proc")
        loaded = state.joinpath("maps").read_text()
        assert b"sk-secret" not in state.joinpath("environ").read_bytes()
    assert not [name for name in ("torch", "chromadb", "numpy", "pydantic") if f"/{name}" in loaded]


@pytest.mark.parametrize("target", ["/dev/zero", "pipe"])
def test_a_path_that_is_no_file_or_folder_is_refused(tmp_path, target):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="has no files that can be indexed"):
        read_path(tmp_path / target)


def test_a_folder_or_file_whose_name_is_not_utf8_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"caf\\xe9 is not UTF-8"):
        read_path(tmp_path / os.fsdecode(b"caf\xe9"))


def test_a_link_to_a_hidden_folder_inside_is_followed_once(tmp_path):
    write(tmp_path, {".store/a.txt": "Words.", "b.txt": "More words."})
    (tmp_path / "one").symlink_to(".store")
    (tmp_path / "two").symlink_to(".store")
    found = list_files(tmp_path)
    assert [name for name, _ in found.files] == ["two/a.txt", "b.txt"]
    assert found.skipped == [("one", "a link to two")]


def test_folders_beyond_the_depth_limit_fail_and_keep_what_was_indexed(tmp_path):
    write(tmp_path, {"a.txt": "Words.", "b/c/d.txt": "Deep words."})
    found = list_files(tmp_path, ReadingLimits(depth=1))
    assert [name for name, _ in found.files] == ["a.txt"]
    assert found.failed == [("b/c/", "more than 1 folders deep")]


def test_a_corpus_that_links_outside_its_beir_folder_is_refused(tmp_path):
    write(tmp_path, {"corpus.jsonl": '{"_id": "1", "text": "words"}'})
    (tmp_path / "beir").mkdir()
    (tmp_path / "beir" / "corpus.jsonl").symlink_to(tmp_path / "corpus.jsonl")
    with pytest.raises(DataError, match="leads outside the folder"):
        read_path(tmp_path / "beir")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f'{{"_id": "1", "text": {"[" * 100_000}', "line 2: lists or objects are nested too deeply"),
        (f'{{"_id": {"9" * 5_000}, "text": "a"}}', "line 2: a number has more than 4,300 digits"),
        (f'{{"_id": "{"i" * 5_000}", "text": "a"}}', "line 2: _id is longer than 500"),
        (f'{{"_id": ["{"i" * 5_000}"], "text": "a"}}', "line 2: _id is"),
        (f'{{"_id": "1", "text": "{"a" * 10_000_000}"}}', "line 2: longer than 10,000,000"),
    ],
    ids=["brackets", "digits", "long id", "odd id", "long line"],
)
def test_a_hostile_beir_line_is_refused_by_file_and_line(tmp_path, line, reason):
    write(tmp_path, {"corpus.jsonl": f'{{"_id": "0", "text": "a"}}\n{line}\n'})
    with pytest.raises(DataError, match=reason) as refused:
        read_path(tmp_path)
    assert "corpus.jsonl" in str(refused.value)
    assert len(str(refused.value)) < 1_000


@pytest.mark.parametrize("content", [f"a = {'[' * 50_000}", f"a = {'9' * 5_000}"])
def test_a_hostile_profile_is_refused_by_file(tmp_path, content):
    write(tmp_path, {"profile.toml": content, "a.txt": "Words."})
    with pytest.raises(DataError, match=r"profile\.toml"):
        read_path(tmp_path)


def test_our_own_files_are_read_in_this_process_with_the_same_documents_and_faults(tmp_path, started):
    files: dict[str, str | bytes] = {
        "good.md": front_matter(),
        "bad.md": "---\nid: [\nsources: []\n---\nWords.",
    }
    files |= {"rows.jsonl": '{"_id": 1, "text": "One."}\n{', "odd.txt": b"\xff", "empty.txt": " "}
    write(tmp_path, files | {"broken.pdf": b"%PDF-1.4", "spanish.txt": "La matrona mide la presión arterial."})
    ours = read_path(tmp_path, trusted=True)
    assert started == []
    assert read_path(tmp_path) == ours
    assert len(started) == 1
    assert set(failures(ours)) == {"bad.md", "rows.jsonl", "odd.txt", "empty.txt", "broken.pdf"}
    assert {document.id: document.language for document in ours.documents}["spanish.txt"] == "es"


def test_opening_the_built_in_corpus_starts_no_process_and_another_folder_of_data_does(lab, tmp_path, started):
    assert open_lab(settings=lab.settings, engines=lab.engines).index.manifest.documents
    assert started == []
    write(tmp_path / "data" / "corpus", {"a.txt": "Words."})
    other = Settings(home=tmp_path / "home", data=tmp_path / "data", llm="offline")
    assert set(open_lab(settings=other, engines=lab.engines).index.manifest.documents) == {"a.txt"}
    assert len(started) == 1


def test_a_malformed_document_of_the_collection_leaves_the_others(tmp_path):
    write(tmp_path / "corpus", {"good.md": front_matter(), "bad.md": "no front matter"})
    (tmp_path / "corpus" / "outside.md").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "corpus" / "pipe.md")
    documents, (fault,) = readable_documents(tmp_path / "corpus")
    assert documents == [read_document(tmp_path / "corpus" / "good.md")]
    assert "bad.md" in str(fault)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")


def _children() -> set[str]:
    return set(Path("/proc/self/task").joinpath(str(os.getpid()), "children").read_text().split())
