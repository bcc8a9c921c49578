"""`rag eval`, `rag sweep`, `rag answers`, `rag results` as their users call them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import DOCUMENTS, Rag
from openai_server import serve

from rag_core.evaluation.tables import BEGIN, END

QUERIES = {"q1": "cats sleep", "q2": "dogs guard the house", "q3": "birds that swim"}
GRADES = [("q1", "a", 2), ("q1", "e", 1), ("q2", "b", 2), ("q3", "c", 1)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A BEIR folder of the test documents, with a dev and a test split."""
    monkeypatch.setenv("RAG_LLM", "offline")
    made = tmp_path / "animals"
    (made / "qrels").mkdir(parents=True)
    rows = [{"_id": one.id, "title": one.title, "text": one.text} for one in DOCUMENTS]
    (made / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = [{"_id": key, "text": text} for key, text in QUERIES.items()]
    (made / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    lines = "".join(f"{question}\t{document}\t{grade}\n" for question, document, grade in GRADES)
    for split in ("dev", "test"):
        (made / "qrels" / f"{split}.tsv").write_text("query-id\tcorpus-id\tscore\n" + lines)
    return made


def test_eval_of_a_beir_folder(rag: Rag, folder: Path, tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    command = (
        "eval", "--data", str(folder), "--strategies", "bm25,plain=hybrid_rrf", "--set", "plain.mmr_lambda=1",
        "--depth", "10", "--metrics", "ndcg@10,recall@5", "--run-dir", str(run_dir),
    )  # fmt: skip
    ran = rag(*command, "--json")
    assert ran.code == 0, ran.err
    found = ran.json
    assert (found["data"], found["split"], found["queries"]) == ("animals", "test", 3)
    assert list(found["strategies"]) == ["bm25", "plain"]
    plain = found["strategies"]["plain"]
    assert (plain["controls"]["mmr_lambda"], plain["controls"]["k_final"]) == (1.0, 10)
    assert set(plain["metrics"]) == {"ndcg@10", "recall@5"}
    # each question has its word in its document: everything relevant is found by either
    assert found["strategies"]["bm25"]["metrics"]["recall@5"]["mean"] == pytest.approx(1.0)
    assert sorted(path.name for path in run_dir.iterdir() if path.name != "LOCK") == [
        "manifest.json", "questions.jsonl", "records", "results.json", "runs",
    ]  # fmt: skip
    again = rag(*command, "--baseline", "bm25")
    assert again.code == 0, again.err
    for words in (
        "nDCG@10",
        "Stage by stage",
        "plain beside bm25",
        "too few to conclude: 3 questions",
        str(run_dir),
    ):
        assert words in again.out

    other = rag(
        "eval", "--data", str(folder), "--strategies", "bm25", "--depth", "10", "--json",
        "--run-file", f"again={run_dir / 'runs' / 'bm25.trec'}",
    )  # fmt: skip
    assert other.code == 0, other.err
    rows = other.json["strategies"]
    assert rows["again"]["metrics"]["map"] == rows["bm25"]["metrics"]["map"]
    assert rows["again"]["seconds_per_query"] is None
    assert other.json["comparisons"][0]["difference"] == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--strategies", "nothing"), "There is no strategy 'nothing'"),
        (("--strategies", "bm25,bm25"), "The label 'bm25' stands twice"),
        (("--strategies", "bm25", "--set", "hybrid_rrf.rrf_k=1"), "names none of the strategies"),
        (("--strategies", "bm25", "--set", "bm25.k1=9"), "k1 must be a number from 0 to 3"),
        (("--strategies", "bm25", "--metrics", "ndgc@10"), "There is no metric 'ndgc@10'"),
        (("--strategies", "bm25", "--baseline", "x"), "The baseline 'x' is not measured"),
        (("--strategies", "bm25", "--split", "train"), "train"),
        (("--strategies", "bm25", "--run-file", "x"), "is not LABEL=FILE"),
        (("--strategies", "bm25", "--run-file", "x=/nowhere.trec"), "/nowhere.trec cannot be read"),
        (("--strategies", "bm25", "--depth", "101"), "from 1 to 100"),
    ],
)
def test_a_mistake_is_one_line_before_any_model_is_loaded(
    rag: Rag,
    folder: Path,
    arguments: tuple[str, ...],
    says: str,
) -> None:
    ran = rag("eval", "--data", str(folder), *arguments)
    assert ran.code == 1
    assert says in ran.err
    assert ran.err.count("\n") == 1


def test_a_malformed_folder_is_named_with_its_line(rag: Rag, folder: Path) -> None:
    with (folder / "qrels" / "test.tsv").open("a") as file:
        file.write("q1\tz\t1\n")
    ran = rag("eval", "--data", str(folder), "--strategies", "bm25")
    assert ran.code == 1
    assert "test.tsv, line 6" in ran.err


def test_sweep_of_a_beir_folder(rag: Rag, folder: Path) -> None:
    command = (
        "sweep", "--data", str(folder), "--strategy", "hybrid_rrf", "--vary", "mmr_lambda=0:1:0.5",
        "--vary", "rrf_k=1,60", "--set", "k_final=3",
    )  # fmt: skip
    ran = rag(*command, "--json")
    assert ran.code == 0, ran.err
    # λ = 1 and both rrf_k are two; λ = 0 and 0.5 with both are four; the defaults (0.7, 60) one more
    assert len(ran.json["settings"]) == 7
    assert {row["controls"]["k_final"] for row in ran.json["settings"]} == {3}
    assert all(row["same"] for row in ran.json["finalists"])
    told = rag(*command, "--random", "2")
    assert told.code == 0, told.err
    for words in ("best:", "default:", "Tuned minus reported", "same scores"):
        assert words in told.out
    assert rag("sweep", "--strategy", "hybrid_rrf", "--vary", "x=1").code == 1


def test_answers_and_their_export(rag: Rag, folder: Path, tmp_path: Path) -> None:
    ran = rag("answers", "--data", str(folder), "--strategies", "bm25", "--ragas", str(tmp_path / "rows.jsonl"), "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    row = ran.json["strategies"]["bm25"]
    assert row["questions"] == 3
    assert row["answered"] + row["abstained"] == 3
    assert row["support_rate"] in (None, 1.0), "the offline engine quotes"
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert len(rows) == row["answered"]
    shown = rag("answers", "--data", str(folder), "--strategies", "bm25", "--limit", "1")
    assert "1 questions:" in shown.out
    judged = rag("answers", "--data", str(folder), "--strategies", "bm25", "--judge")
    assert judged.code == 1
    assert "cannot judge answers" in judged.err


def test_nothing_billed_runs_without_a_yes(
    rag: Rag,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serve() as server:
        monkeypatch.setenv("RAG_LLM", "openai")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        refused = rag("answers", "--data", str(folder), "--strategies", "bm25")
        assert refused.code == 1
        assert "This run would cost about $" in refused.err
        assert "--yes" in refused.err
        assert not server.requests
        judged = rag("answers", "--data", str(folder), "--strategies", "bm25", "--judge")
        assert "3 answer, 3 judge calls" in judged.err
        assert not server.requests
        retrieval = rag("eval", "--data", str(folder), "--strategies", "bm25", "--json")
        assert retrieval.code == 0, "retrieval alone costs nothing and asks nothing"
        assert not server.requests
        agreed = rag(
            "answers", "--data", str(folder), "--strategies", "bm25", "--limit", "1", "--yes", "--json"
        )
        assert agreed.code == 0, agreed.err
        assert len(server.requests) == 1


def test_a_result_as_markdown(rag: Rag, folder: Path, tmp_path: Path) -> None:
    stored = tmp_path / "stored.json"
    ran = rag("eval", "--data", str(folder), "--strategies", "bm25,simple_semantic", "--json")
    stored.write_text(ran.out)
    shown = rag("results", str(stored))
    assert "| strategy | nDCG@10 |" in shown.out
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{BEGIN}\nold\n{END}\n\nafter\n")
    assert rag("results", str(stored), "--into", str(page)).code == 0
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\n\nafter\n")
    assert "old" not in text
    assert "`simple_semantic`" in text
    page.write_text("no marks")
    refused = rag("results", str(stored), "--into", str(page))
    assert refused.code == 1
    assert "has no place for a table" in refused.err
    assert rag("results", str(tmp_path / "nothing.json")).code == 1
