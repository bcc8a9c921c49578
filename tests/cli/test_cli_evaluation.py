"""`rag eval`, `rag sweep`, `rag answers`, `rag results` as their users call them."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from helpers.behaviours import Hang, Status
from helpers.openai_server import SECONDS, OpenAIServer
from helpers.provider_lab import obliging
from helpers.small import DOCUMENTS

from rag_core.evaluation.tables import BEGIN, END
from rag_core.evaluation.verdicts import COVERED
from rag_core.models.same_model import PROBE


def test_eval_of_a_beir_folder(rag, beir, tmp_path):
    run_dir = tmp_path / "run"
    command = (
        "eval", "--data", str(beir), "--strategies", "bm25,plain=hybrid_rrf", "--set", "plain.mmr=false",
        "--depth", "10", "--metrics", "ndcg@10,recall@5", "--run-dir", str(run_dir),
    )  # fmt: skip
    ran = rag(*command, "--json")
    assert ran.code == 0, ran.err
    found = ran.json
    assert (found["data"], found["split"], found["queries"]) == ("animals", "test", 3)
    assert list(found["strategies"]) == ["bm25", "plain"]
    plain = found["strategies"]["plain"]
    assert (plain["controls"]["mmr"], plain["controls"]["k_final"]) == (False, 10)
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
        "plain: Hybrid RRF + MMR · MMR off",
        "Judged by the set's authors; see its documentation.",
        "Stage by stage",
        "longer list",
        "plain compared with bm25",
        "too few to conclude: 3 questions",
        str(run_dir),
    ):
        assert words in again.out

    other = rag(
        "eval", "--data", str(beir), "--strategies", "bm25", "--depth", "10", "--json",
        "--run-file", f"again={run_dir / 'runs' / 'bm25.trec'}",
    )  # fmt: skip
    assert other.code == 0, other.err
    rows = other.json["strategies"]
    assert rows["again"]["metrics"]["map"] == rows["bm25"]["metrics"]["map"]
    assert rows["again"]["seconds_per_query"] is None
    assert other.json["comparisons"][0]["difference"] == 0


@pytest.mark.parametrize(
    ("strategies", "arguments", "code", "says"),
    [
        ("nothing", (), 2, "There is no strategy 'nothing'"),
        ("bm25,bm25", (), 2, "The label 'bm25' is used twice"),
        ("bm25", ("--set", "hybrid_rrf.rrf_k=1"), 2, "does not match any chosen strategy"),
        ("bm25", ("--set", "bm25.k1=9"), 2, "k1 must be a number from 0 to 3"),
        ("bm25", ("--metrics", "ndgc@10"), 2, "There is no metric 'ndgc@10'"),
        ("bm25", ("--baseline", "x"), 2, "The baseline 'x' is not measured"),
        ("bm25", ("--run-file", "x"), 2, "is not LABEL=FILE"),
        ("bm25", ("--depth", "101"), 2, "from 1 to 100"),
        ("bm25", ("--split", "train"), 1, "train"),
        ("bm25", ("--run-file", "x=/nowhere.trec"), 1, "/nowhere.trec cannot be read"),
    ],
)
def test_wrong_usage_and_a_missing_file_are_one_line(rag, beir, strategies, arguments, code, says):
    ran = rag("eval", "--data", str(beir), "--strategies", strategies, *arguments)
    assert ran.code == code
    assert says in ran.err
    assert ran.err.count("\n") == 1


def test_sweep_of_a_beir_folder(rag, beir):
    command = (
        "sweep", "--data", str(beir), "--strategy", "hybrid_rrf", "--vary", "mmr_lambda=0:1:0.5",
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
    for words in (
        "best: Hybrid RRF + MMR · ",
        "default: Hybrid RRF + MMR · passages used 3",
        "Judged by",
        "Higher on the tuned split by",
        "same scores",
    ):
        assert words in told.out
    assert rag("sweep", "--strategy", "hybrid_rrf", "--vary", "x=1").code == 2


def test_answers_and_their_export(rag, beir, tmp_path):
    ran = rag("answers", "--data", str(beir), "--strategies", "bm25", "--ragas", str(tmp_path / "rows.jsonl"), "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    row = ran.json["strategies"]["bm25"]
    assert row["questions"] == 3
    assert row["answered"] + row["abstained"] == 3
    assert row["support_rate"] in (None, 1.0), "the offline engine quotes"
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert len(rows) == row["answered"]
    shown = rag("answers", "--data", str(beir), "--strategies", "bm25", "--limit", "1")
    assert "1 questions:" in shown.out


JUDGED_ANSWERS = """
[[question]]
id = "q1"
must = [{ says = "Cats purr", any = ["cat purr"], passages = ["a:0"] }]

[[question]]
id = "new"
text = "When do birds sing?"
language = "en"
kind = "clear"
must = [
  { says = "Birds sing", any = ["bird sing"], passages = ["c:0"] },
  { says = "Birds rest at noon", any = ["rest noon"], passages = ["c:0"] },
]
"""


def test_answers_have_verdicts_where_the_data_has_judged_answers(rag, beir):
    command = ("answers", "--data", str(beir), "--strategies", "bm25,b=hybrid_rrf")
    bare = rag(*command, "--json").json
    assert (bare["answer_set"], bare["strategies"]["bm25"]["verdicts"]) == (None, None)
    assert bare["answers"] == {"bm25": [], "b": []}
    refused = rag(*command, "--show-answers")
    assert refused.code == 2
    assert "no judged answers for split 'test'" in refused.err

    (beir / "answers").mkdir()
    (beir / "answers" / "test.toml").write_text(JUDGED_ANSWERS, encoding="utf-8")
    found = rag(*command, "--json").json
    assert found["strategies"]["bm25"]["questions"] == bare["strategies"]["bm25"]["questions"] + 1
    verdicts = found["strategies"]["bm25"]["verdicts"]
    assert verdicts["all"]["covered"]["n"] == 2
    assert sum(verdicts["all"]["covered"][name]["count"] for name in COVERED) == 2
    assert list(verdicts["languages"]) == ["en"]
    assert verdicts["kinds"]["clear"]["covered"]["n"] == 1
    assert list(found["strategies"]["bm25"]["baselines"]) == ["top section", "two sections"]
    for baseline in found["strategies"]["bm25"]["baselines"].values():
        assert baseline["all"]["covered"]["n"] == 2
    rows = found["answers"]["bm25"]
    assert [row["id"] for row in rows] == ["q1", "new"]
    assert all(row["verdict"] in COVERED and row["answer"] for row in rows)
    assert "Birds rest at noon" in rows[1]["missing"]

    shown = rag(*command, "--show-answers")
    assert shown.code == 0, shown.err
    for words in (
        "Verdicts on 2 answers",
        "acceptable",
        "new (en, clear): When do birds sing?",
        "missing: Birds rest at noon",
        rows[1]["answer"].strip("*").split()[0],
        "statements written by the set's authors",
    ):
        assert words in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    assert "abstained outside\n" in shown.out, "the summary is one line for each strategy"


@pytest.fixture
def server(server: OpenAIServer, beir: Path, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    """A provider in good order, which the environment names; `beir` would set it to none."""
    monkeypatch.setenv("RAG_LLM", "openai")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    return server


def test_nothing_billed_runs_without_a_yes(rag, beir, server):
    command = ("answers", "--data", str(beir), "--strategies", "bm25")
    refused = rag(*command)
    assert refused.code == 1
    assert "This run would cost at most about $" in refused.err
    assert "--yes" in refused.err
    judged = rag(*command, "--judge")
    assert "at most 3 answer, 6 judge calls" in judged.err, "each reply of the judge may be asked for again"
    retrieval = rag("eval", *command[1:], "--json")
    assert retrieval.code == 0, "retrieval alone costs nothing and asks nothing"
    assert not server.requests
    agreed = rag(*command, "--limit", "1", "--yes", "--json")
    assert agreed.code == 0, agreed.err
    assert len(server.requests) == 1


SWEEP = ("sweep", "--strategy", "multi_query", "--vary", "k_final=1,2", "--yes")
REWRITE = 100 * 0.50e-6 + 20 * 1.50e-6  # gpt-3.5-turbo


def test_a_command_that_fails_says_what_was_spent(rag, beir, server):
    def failing(body: dict[str, Any]) -> Any:
        return obliging(body) if len(server.requests) < 4 else Status(400, "no more")

    server.choose = failing
    ran = rag(*SWEEP, "--data", str(beir))
    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert f"Spent so far: ${4 * REWRITE:.6f} for 4 calls." in ran.err


@pytest.mark.parametrize("asked", [2, 5])
def test_a_command_that_is_interrupted_says_what_was_spent(rag, beir, server, asked):
    def interrupting(body: dict[str, Any]) -> Any:
        if len(server.requests) == asked:
            os.kill(os.getpid(), signal.SIGINT)
        return obliging(body)

    before = signal.getsignal(signal.SIGINT)
    server.choose = interrupting
    for command in (SWEEP, ("eval", "--strategies", "multi_query", "--yes")):
        server.requests.clear()
        ran = rag(*command, "--data", str(beir))
        assert ran.code == 130
        assert "The run was stopped." in ran.err
        assert "Spent so far: $" in ran.err
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(("options", "embedding"), [((), "openai:text-embedding-3-small"), (("--enrich",), "minilm")])
def test_ctrl_c_ends_indexing_while_the_server_is_silent(rag, beir, server, monkeypatch, options, embedding):
    def hanging(body: dict[str, Any]) -> Any:
        if not server.requests:  # contexts are asked for several at a time; a second Ctrl-C would end the tests
            os.kill(os.getpid(), signal.SIGINT)
        return Hang()

    server.choose = hanging
    monkeypatch.setenv("RAG_LLM", "openai")
    monkeypatch.setenv("RAG_EMBEDDING", embedding)
    monkeypatch.setenv("RAG_TIMEOUT", "3600")
    ran = rag("index", str(beir), "--corpus", "silent", "--yes", *options)
    assert ran.code == 130
    assert "Traceback" not in ran.err
    assert server.gone.wait(SECONDS), "the connection is cut, not left to its timeout"
    assert {request.path for request in server.requests} == {
        "/v1/embeddings" if not options else "/v1/chat/completions"
    }


def test_a_sweep_prints_its_whole_bill(rag, beir, server):
    ran = rag(*SWEEP, "--data", str(beir))
    assert ran.code == 0, ran.err
    assert f"Cost of the whole sweep: ${len(server.requests) * REWRITE:.6f}." in ran.out


TEXTS = [f"{one.title}\n{one.text}" for one in DOCUMENTS]
EMBEDDING = 0.02e-6  # text-embedding-3-small, a token


@pytest.mark.parametrize(
    "command",
    [
        ("eval", "--strategies", "simple_semantic"),
        ("sweep", "--strategy", "simple_semantic", "--vary", "k_final=1,2"),
        ("answers", "--strategies", "simple_semantic"),
    ],
)
def test_documents_are_embedded_by_a_paid_model_only_with_consent(rag, beir, server, monkeypatch, command):
    monkeypatch.setenv("RAG_LLM", "offline")
    monkeypatch.setenv("RAG_EMBEDDING", "openai:text-embedding-3-small")
    refused = rag(*command, "--data", str(beir))
    assert refused.code == 1
    assert "Embedding the documents would cost at most about $" in refused.err
    assert "for at most 2 embed calls" in refused.err
    assert "--yes" in refused.err
    assert "Spent" not in refused.err
    assert not server.requests
    agreed = rag(*command, "--data", str(beir), "--yes")
    assert agreed.code == 0, agreed.err
    probe, first = (request.body["input"] for request in server.requests[:2])
    assert probe == [PROBE]
    assert sorted(first) == sorted(text.replace("\n", " ") for text in TEXTS)
    words = sum(len(text.split()) for text in [PROBE, *TEXTS])  # the server's tokens
    assert f"Embedding the documents cost ${words * EMBEDDING:.6f}." in agreed.err
    sent = len(server.requests)
    again = rag(*command, "--data", str(beir))
    assert "Embedding" not in again.err, "the documents are known"
    assert again.code == 0 or "This run would cost at most about $" in again.err
    assert len(server.requests) == sent


def test_a_result_as_markdown(rag, beir, tmp_path):
    stored = tmp_path / "stored.json"
    ran = rag("eval", "--data", str(beir), "--strategies", "bm25,simple_semantic,wide=simple_semantic",
              "--set", "wide.k_final=8", "--json")  # fmt: skip
    stored.write_text(ran.out)
    assert "nDCG@10 " in rag("results", str(stored)).out
    shown = rag("results", str(stored), "--markdown")
    assert "\n`wide`: Simple semantic · passages used 8.\n" in shown.out
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
