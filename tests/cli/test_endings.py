import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.small import ROOT, Ran, python
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag_core.cli.interrupt import interruptible

INTERRUPTED = """
import os, signal, sys

class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background of a shell ignores it
sys.meta_path.insert(0, CtrlC())
from rag_core.cli import main
main(sys.argv[2:])
"""
MEASURED = ROOT / "data" / "results.json"


def assert_one_line(ran: Ran, *words: str, code: int = 1) -> None:
    assert (ran.code, ran.err.count("\n")) == (code, 1), ran
    assert ran.err.startswith("rag: ")
    assert [word for word in words if word not in ran.err] == []


@pytest.mark.parametrize("module", ["typer", "rag_core.catalog", "onnxruntime"])
def test_ctrl_c_during_an_import_ends_the_command_without_a_traceback(module, tmp_path):
    arguments = ("-c", INTERRUPTED, module, "query", "When is anti-D given?")
    ran = python(*arguments, RAG_HOME=str(tmp_path / "home"), RAG_LLM="offline")
    assert (ran.code, ran.out) == (130, "")
    assert "Traceback" not in ran.err


def shell(line: str) -> Ran:
    command = line.replace("rag ", f'"{sys.executable}" -m rag_core ')
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", ["strategies", "strategies --json", "--help"])
def test_a_full_device_is_one_line_and_a_failure(command):
    assert_one_line(shell(f"rag {command} > /dev/full"), "output cannot be written", "No space left")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_device_for_both_outputs_is_a_failure_in_silence():
    ran = shell("rag strategies > /dev/full 2>&1")
    assert (ran.code, ran.out, ran.err) == (1, "", "")


def test_a_pipe_that_closes_ends_the_command_in_silence():
    ran = shell("rag strategies --json | head -1; exit ${PIPESTATUS[0]}")
    assert ran.code in (0, 1, 141)  # the pipe may take everything before it closes
    assert (ran.out, ran.err) == ("[\n", "")
    closed = shell("rag strategies | true; exit ${PIPESTATUS[0]}")
    assert (closed.code, closed.err) == (1, "")


def test_an_export_into_a_file_is_one_line(lab, rag, tmp_path, monkeypatch):
    monkeypatch.setattr("rag_core.lab.engines.load_engines", lambda settings, tell=None: lab.engines)
    (tmp_path / "file").write_text("kept")
    assert_one_line(rag("index", "--export", str(tmp_path / "file")), str(tmp_path / "file"), "File exists")
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize("arguments", [["query", "q", "--corpus"], ["index", ".", "--corpus"]])
@pytest.mark.parametrize("letter", ["a", "ñ"])
def test_a_corpus_name_of_300_characters_is_wrong_usage(rag, arguments, letter):
    ran = rag(*arguments, letter * 300)
    assert_one_line(ran, "too long", "100", code=2)
    assert len(ran.err) < 200


def test_a_state_folder_that_is_not_utf_8_is_one_line():
    ran = python("-m", "rag_core", "query", "q", RAG_HOME=os.fsdecode(b"/tmp/\xff"))
    assert_one_line(ran, "RAG_HOME", "valid UTF-8")


def test_a_state_folder_with_a_name_too_long_is_one_line(ready, rag, monkeypatch):
    monkeypatch.setenv("RAG_HOME", "/tmp/" + "x" * 300)
    assert_one_line(rag("query", "q", "--corpus", "notes"), "name too long")


@pytest.mark.parametrize("arguments", [["index", "", "--corpus", "c"], ["index", " ", "--corpus", "c"],
                                       ["index", "--export", ""], ["results", ""], ["replay", ""]])  # fmt: skip
def test_an_empty_path_is_refused_and_not_the_working_directory(rag, arguments):
    ran = rag(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "path is empty" in " ".join(ran.err.split())


@pytest.mark.parametrize("strategies", ["", " , "])
@pytest.mark.parametrize("command", ["eval", "answers", "compare q"])
def test_no_strategy_is_wrong_usage(ready, rag, command, strategies):
    assert_one_line(rag(*command.split(), "--strategies", strategies), "No strategy was chosen", code=2)


def test_a_run_in_which_every_file_failed_has_failed(lab, rag, tmp_path, monkeypatch):
    monkeypatch.setattr("rag_core.lab.opening.load_engines", lambda settings, tell=None: lab.engines)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "broken.pdf").write_bytes(b"no pdf")
    index = ("index", str(tmp_path / "notes"), "--corpus", "notes")
    ran = rag(*index)
    assert ran.code == 1
    assert "1 failed" in ran.out
    assert rag(*index, "--json").code == 1
    (tmp_path / "notes" / "good.md").write_text("# Tides\n\nThe tide rises.")
    assert rag(*index).code == 0
    assert rag(*index).code == 0


@pytest.mark.parametrize("options", [[], ["--markdown"]])
def test_results_whose_parts_do_not_fit_together_are_one_line(rag, tmp_path, options):
    (tmp_path / "odd.json").write_text(json.dumps({**RESULTS, "primary": "odd"}))
    assert_one_line(rag("results", str(tmp_path / "odd.json"), *options), "a strategy has no odd")
    fewer = dict(list(RESULTS["strategies"].items())[1:])
    (tmp_path / "odd.json").write_text(json.dumps({**RESULTS, "strategies": fewer}))
    assert_one_line(rag("results", str(tmp_path / "odd.json"), *options), "odd.json")


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inside for place in places(item, (*path, key)))]


def of_few(row: dict[str, Any]) -> dict[str, Any]:
    """A part of the stored results with the strategies of FEW alone."""
    return {
        **row,
        "strategies": {label: row["strategies"][label] for label in sorted(FEW)},
        "comparisons": [pair for pair in row["comparisons"] if {pair["a"], pair["b"]} <= FEW],
    }


FEW = {"dense_8", "multi_query"}  # a pair, one of them with rewrites; all strategies take a tenth of a second
ALL = json.loads(MEASURED.read_text(encoding="utf-8"))
RESULTS = of_few(ALL) | {
    "groups": {name: {group: of_few(row) for group, row in rows.items()} for name, rows in ALL["groups"].items()},
    "rewrites": {"multi_query": ALL["rewrites"]["multi_query"]},
    "manifest": ALL["manifest"]
    | {
        "strategies": {label: ALL["manifest"]["strategies"][label] for label in sorted(FEW)},
        "pairs": [["multi_query", "dense_8"]],
    },
    "run_files": {label: ALL["run_files"][label] for label in sorted(FEW)},
}
PLACES = [place for place in places(RESULTS) if place]
ODD = (
    st.none()
    | st.booleans()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | st.text(max_size=5)
    | st.just([])
    | st.just({})
)


@settings(
    derandomize=True,
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    place=st.sampled_from(PLACES),
    value=ODD,
    remove=st.booleans(),
    options=st.sampled_from([(), ("--markdown",)]),
)
def test_results_with_one_odd_part_are_printed_or_one_line(rag, tmp_path, place, value, remove, options):
    changed = json.loads(json.dumps(RESULTS))
    parent = changed
    for key in place[:-1]:
        parent = parent[key]
    if remove:
        del parent[place[-1]]
    else:
        parent[place[-1]] = value
    (tmp_path / "odd.json").write_text(json.dumps(changed), encoding="utf-8")
    ran = rag("results", str(tmp_path / "odd.json"), *options)
    if ran.code:
        assert_one_line(ran, "odd.json")


def test_ctrl_c_is_heard_while_the_main_thread_waits_and_another_takes_the_signal():
    with interruptible() as interrupt:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            os.kill(os.getpid(), signal.SIGINT)
            assert interrupt.wait(60)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
