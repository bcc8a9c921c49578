"""What an evaluation writes: only its owner can open it, and a report of the user's keeps its permissions."""

import stat
from pathlib import Path

from helpers.judged import finish, opened

from rag_core import evaluation as ev
from rag_core.evaluation.run_folder import RunFolder
from rag_core.evaluation.tables import BEGIN, END
from rag_core.values.owner_only import write_atomically


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
