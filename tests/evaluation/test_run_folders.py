"""Runs on disk: locked, killed, resumed, compared, and open to their owner alone."""

import dataclasses
import os
import signal
import stat
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from helpers.beir import beir_folder
from helpers.judged import JUDGED, finish, opened
from helpers.processes import open_store
from helpers.processes import run as in_another_process
from helpers.small import WordEmbedder

from rag_core import evaluation as ev
from rag_core.evaluation.run_folder import RunFolder
from rag_core.evaluation.tables import BEGIN, END
from rag_core.runtime.services import Services
from rag_core.values.errors import ConfigError, DataError, StorageError
from rag_core.values.labels import LabelRules
from rag_core.values.owner_only import write_atomically
from rag_core.values.settings import Settings


def test_another_run_in_the_same_folder_is_refused(tmp_path, services, strategies):
    opened(tmp_path / "run", strategies).close()
    other = ev.build_strategies({"bm25": ("bm25", {"k1": 2}), "hybrid": ("hybrid_rrf", {"mmr": False})})
    with pytest.raises(ConfigError, match="holds another run: different strategies"):
        opened(tmp_path / "run", other)
    changed = dataclasses.replace(JUDGED, checksum="x")
    with pytest.raises(ConfigError, match="different checksum"):
        opened(tmp_path / "run", strategies, changed)


def test_a_run_folder_is_let_go_however_its_use_ends(tmp_path, strategies):
    with pytest.raises(RuntimeError), opened(tmp_path / "run", strategies):
        raise RuntimeError("broken off")
    other = dataclasses.replace(JUDGED, checksum="x")
    with pytest.raises(ConfigError, match="holds another run") as refused:
        opened(tmp_path / "run", strategies, other)
    with opened(tmp_path / "run", strategies):
        assert refused.value, "while the refusal is still at hand"
    closer = opened(tmp_path / "run", strategies)
    thread = threading.Thread(target=closer.close)
    thread.start()
    thread.join()
    opened(tmp_path / "run", strategies).close()


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path, strategies):
    opened(tmp_path / "run", strategies).close()
    script = "import sys, time; from filelock import FileLock; held = FileLock(sys.argv[1]); held.acquire(); print('held', flush=True); time.sleep(60)"
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "run" / "LOCK")], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline().strip() == "held"
    with pytest.raises(StorageError, match="is being written by another run") as refused:
        opened(tmp_path / "run", strategies)
    assert "stop it where it was started" in refused.value.next_step
    holder.kill()
    holder.wait()
    assert (tmp_path / "run" / "LOCK").exists()
    opened(tmp_path / "run", strategies).close()


@pytest.mark.parametrize("label", ["a b", "a/b", "", "../x"])
def test_a_label_must_be_a_file_name(tmp_path, label):
    with pytest.raises(ConfigError, match="cannot be labelled"):
        opened(tmp_path / "run", ev.build_strategies({label: "bm25"}))


def test_a_broken_record_names_file_and_line(tmp_path, services, strategies):
    run = opened(tmp_path / "run", strategies)
    finish(run, strategies, services)
    path = run.folder / "records" / "bm25.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + '{"question": "q2"}\n' + lines[2])
    with pytest.raises(DataError, match=r"bm25\.jsonl, line 2: not a record"):
        RunFolder.open(tmp_path / "run")


def evaluate_until_killed(sender: Connection, home: Path, folder: Path, kill_after: int) -> None:
    """Evaluate the small collection in this process, which is killed after so many steps; never for -1."""
    embedder = WordEmbedder()
    index = open_store(home).open()
    services = Services(index=index, embedder=embedder, llms={}, labels=LabelRules({}))
    strategies = ev.build_strategies({"bm25": "bm25", "hybrid": ("hybrid_rrf", {"mmr": False})})
    run = opened(folder, strategies)
    for step in ev.evaluate(run, strategies, lambda: services):
        if step.done == kill_after:
            os.kill(os.getpid(), signal.SIGKILL)
    ev.conclude(run, ev.choose_metrics())


@pytest.mark.parametrize("killed_after", [0, 3, 6])
def test_a_killed_run_goes_on_and_ends_as_if_it_had_not_been(tmp_path, index, services, strategies, killed_after):
    arguments = (evaluate_until_killed, tmp_path / "home", tmp_path / "run")
    assert in_another_process(*arguments, killed_after) == (-signal.SIGKILL, None)
    assert not (tmp_path / "run" / "results.json").exists()
    held = RunFolder.open(tmp_path / "run")
    assert sum(map(len, held.records.values())) == killed_after
    for path in (tmp_path / "run" / "records").glob("*.jsonl"):  # and a write that was cut off
        with path.open("a") as file:
            file.write('{"question": "q9", "stag')
    assert in_another_process(*arguments, -1) == (0, None)
    straight = opened(tmp_path / "straight", strategies)
    finish(straight, strategies, services)
    resumed = RunFolder.open(tmp_path / "run")
    metric = ev.parse_metric("ndcg@10")
    assert ev.scores(resumed, metric) == ev.scores(straight, metric)
    results = ev.stored_results(resumed)
    assert results.queries == 3


def test_an_unfinished_run_is_continued_and_a_finished_one_is_not(tmp_path, services, strategies, monkeypatch):
    from rag_core.values.settings import read_settings

    settings = read_settings(home=tmp_path / "state")
    manifest = ev.describe_run(JUDGED, strategies, depth=None, engine={}, source="builtin")
    first = ev.folder_for(manifest, settings)
    assert first.name.endswith(manifest.identity)
    run = RunFolder.create(first, manifest, JUDGED)
    assert ev.folder_for(manifest, settings) == first
    finish(run, strategies, services)
    ev.conclude(run, ev.choose_metrics())
    assert ev.past_runs(settings) == [first]
    deeper = manifest.model_copy(update={"depth": 7})
    assert not ev.folder_for(deeper, settings).name.endswith(manifest.identity)
    assert ev.run_title(first).endswith("animals test · BM25 keywords, Hybrid RRF + MMR · MMR off")


def test_who_judged_is_in_manifest_and_results(tmp_path, services):
    chosen = ev.build_strategies({"bm25": "bm25"})
    judged = dataclasses.replace(JUDGED, judged_by="Two midwives judged.")
    with opened(tmp_path / "run", chosen, judged) as run:
        finish(run, chosen, services)
        assert ev.conclude(run, ev.choose_metrics()).judged_by == "Two midwives judged."
    assert RunFolder.open(tmp_path / "run").judged == judged


def test_differences_of_two_runs_are_named(tmp_path, strategies):
    one = opened(tmp_path / "one", strategies)
    other = opened(tmp_path / "two", strategies, dataclasses.replace(JUDGED, checksum="other"))
    assert ev.differences(one, one) == []
    (told,) = ev.differences(one, other)
    assert "judgements differ" in told


def test_titles_come_from_where_the_documents_are(tmp_path, strategies):
    folder = beir_folder(tmp_path / "beir", [])
    manifest = ev.describe_run(JUDGED, strategies, depth=None, engine={}, source=str(folder))
    run = RunFolder.create(tmp_path / "run", manifest, JUDGED)
    assert ev.document_titles(run, Settings())["a"] == "Cats"
    (folder / "corpus.jsonl").unlink()
    assert ev.document_titles(run, Settings()) == {}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def open_to_others(folder: Path) -> list[Path]:
    return [path for path in [folder, *folder.rglob("*")] if mode(path) & 0o077]


def test_a_run_and_its_results_are_private_whatever_the_umask(tmp_path, umask, services, strategies):
    run = opened(tmp_path / "new" / "runs" / "one", strategies)
    finish(run, strategies, services)
    ev.conclude(run, [ev.parse_metric("ndcg@10")])
    names = {path.name for path in (tmp_path / "new").rglob("*")}
    assert {"LOCK", "manifest.json", "questions.jsonl", "bm25.jsonl", "bm25.trec", "results.json"} <= names
    assert open_to_others(tmp_path / "new") == []


def test_an_open_run_becomes_private_when_it_is_resumed(tmp_path, services, strategies):
    tmp_path.chmod(0o755)
    run = opened(tmp_path / "run", strategies)
    finish(run, strategies, services)
    run.close()
    (record,) = (next(iter(records.values())) for label, records in run.records.items() if label == "bm25")
    for path in (tmp_path / "run").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    with opened(tmp_path / "run", strategies) as again:
        assert isinstance(again, RunFolder)
        again.append("bm25", record)
    assert mode(tmp_path / "run" / "records") == 0o700
    assert mode(tmp_path / "run" / "records" / "bm25.jsonl") == 0o600
    assert mode(tmp_path) == 0o755, "a folder that was there is the user's"


def test_what_is_written_atomically_is_private_and_so_are_new_folders(tmp_path, umask):
    write_atomically(tmp_path / "home" / "sweeps" / "one.json", "{}")
    assert open_to_others(tmp_path / "home") == []
    (tmp_path / "home" / "sweeps" / "one.json").chmod(0o644)
    write_atomically(tmp_path / "home" / "sweeps" / "one.json", "[]")
    assert open_to_others(tmp_path / "home") == []


def test_a_report_with_a_table_keeps_its_permissions(tmp_path):
    report = tmp_path / "report.md"
    report.write_text(f"Before\n{BEGIN}\n{END}\nAfter\n")
    report.chmod(0o644)
    ev.put_table(report, "| a |")
    assert mode(report) == 0o644
    assert report.read_text() == f"Before\n{BEGIN}\n| a |\n{END}\nAfter\n"
