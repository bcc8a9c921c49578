"""The `rag` command: its JSON, its exit codes, and one line for every mistake."""

import json
from pathlib import Path

import pytest
from helpers.small import Ran
from helpers.source_files import write

from rag_core.catalog import RECIPES
from rag_core.cli import main
from rag_core.documents.benchmark import read_builtin
from rag_core.values.answers import without_bold

QUESTION = "When is anti-D given?"

QUERY_KEYS = {
    "question", "strategy", "controls", "fingerprint", "queries", "contexts", "answer", "steps", "metrics",
    "seconds", "warnings", "engine", "triage", "country", "notice", "models",
}  # fmt: skip


def assert_one_line(ran: Ran, *words: str, code: int = 1) -> None:
    assert ran.code == code
    assert ran.out == ""
    assert ran.err.startswith("rag: ")
    assert ran.err.count("\n") == 1
    assert ran.err.endswith("\n")
    for word in words:
        assert word in ran.err


def test_strategies_as_json_are_the_catalog(rag):
    listed = rag("strategies", "--json").json
    assert listed == json.loads(json.dumps([recipe.as_json() for recipe in RECIPES.values()]))


def test_strategies_for_people_name_every_strategy_and_control(rag):
    out = rag("strategies").out
    for recipe in RECIPES.values():
        assert f"{recipe.name}: {recipe.title}" in out
        assert all(control.name in out for control in recipe.controls)


@pytest.mark.parametrize("strategy", list(RECIPES))
def test_query_as_json_has_exactly_the_promised_fields(ready, rag, strategy):
    ran = rag("query", QUESTION, "--strategy", strategy, "--set", "k_final=3", "--json")
    assert (ran.code, ran.err) == (0, "")
    trace = ran.json
    assert set(trace) == QUERY_KEYS
    assert (trace["question"], trace["strategy"]) == (QUESTION, strategy)
    assert set(trace["controls"]) == {control.name for control in RECIPES[strategy].controls}
    assert trace["controls"]["k_final"] == 3
    assert [context["rank"] for context in trace["contexts"]] == [1, 2, 3]
    assert {context["label"] for context in trace["contexts"]} <= {"High", "Medium", "Low"}
    ids = [context["id"] for context in trace["contexts"]]
    for cited in trace["answer"]["citations"]:
        assert ids[cited["n"] - 1] == cited["context_id"]
    assert set(trace["engine"]) >= {"llm", "embedding", "reranker", "index"}


def test_compare_as_json_gives_the_traces_in_the_order_asked(ready, rag):
    ran = rag(
        "compare", QUESTION, "--strategies", "bm25, simple_semantic", "--json",
        "--set", "bm25.k1=0.9", "--set", "bm25.k_final=2", "--set", "simple_semantic.k_final=1",
    )  # fmt: skip
    assert (ran.code, ran.err) == (0, "")
    assert set(ran.json) == {"notice", "question", "traces"}
    bm25, semantic = ran.json["traces"]
    assert set(bm25) == set(semantic) == QUERY_KEYS | {"label"}
    assert (bm25["label"], semantic["label"]) == ("bm25", "simple_semantic")
    assert (bm25["strategy"], bm25["controls"]["k1"], len(bm25["contexts"])) == ("bm25", 0.9, 2)
    assert (semantic["strategy"], len(semantic["contexts"])) == ("simple_semantic", 1)


def test_compare_sets_one_strategy_beside_itself_under_labels(ready, rag):
    command = ("compare", QUESTION, "--strategies", "a=bm25,b=bm25", "--set", "b.b=0", "--set", "b.k_final=2")
    a, b = rag(*command, "--json").json["traces"]
    assert [(one["label"], one["strategy"], one["controls"]["b"]) for one in (a, b)] == [
        ("a", "bm25", 0.75), ("b", "bm25", 0.0),
    ]  # fmt: skip
    assert (len(a["contexts"]), len(b["contexts"])) == (5, 2)
    headings = [line for line in rag(*command).out.splitlines() if "[offline-extractive]" in line]
    assert [line.partition("  [")[0] for line in headings] == ["a = bm25", "b = bm25, b=0, k_final=2"]


def test_query_for_people_shows_answer_sources_and_that_it_is_no_advice(ready, rag):
    ran = rag("query", QUESTION, "--strategy", "bm25", "--show-details")
    assert (ran.code, ran.err) == (0, "")
    trace = rag("query", QUESTION, "--strategy", "bm25", "--json").json
    assert " ".join(without_bold(trace["answer"]["text"]).split()) in " ".join(ran.out.split())
    assert all(context["id"] in ran.out for context in trace["contexts"])
    assert all(step["stage"] in ran.out for step in trace["steps"])
    assert "not medical advice" in ran.out


@pytest.mark.parametrize(("question", "words"), [(" \n", "question is empty"), ("what\udcff now", "question")])
def test_a_question_that_cannot_be_asked_is_one_line(ready, rag, question, words):
    for command in (["query", "--json"], ["compare", "--strategies", "bm25,hybrid_rrf"], ["triage"]):
        assert_one_line(rag(*command, "--", question), words, code=2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["query", "q", "--strategy", "magic"], ["no strategy 'magic'", *RECIPES]),
        (["query", "q", "--strategy", "bm25", "--set", "rrf_k=3"], ["no control 'rrf_k'", "k1"]),
        (["query", "q", "--set", "k_final=0"], ["k_final", "1 to 100", "'0'"]),
        (["compare", "q", "--strategies", "bm25,magic"], ["no strategy 'magic'"]),
        (["compare", "q", "--strategies", "bm25", "--set", "k1=1"], ["LABEL.CONTROL=VALUE", "bm25"]),
        (["compare", "q", "--strategies", "bm25,bm25"], ["label 'bm25' is used twice", "LABEL=STRATEGY"]),
        (["compare", "q", "--strategies", "=bm25"], ["'=bm25' has no label"]),
        (["compare", "q", "--strategies", "rag_msr@rare"], ["no preset 'rare'", "raw"]),
        (["compare", "q", "--strategies", "bm25", "--set", "hybrid_rrf.k_final=1"], ["hybrid_rrf.k_final"]),
        (["index", ".", "--corpus", "../notes"], ["'../notes' is not a valid corpus name"]),
        (["query", "q", "--corpus", "a/b"], ["'a/b' is not a valid corpus name"]),
        (["query", "q", "--set", "k_final"], ["--set k_final is not NAME=VALUE"]),
        (["query", "q", "--where", "=3"], ["--where =3 is not NAME=VALUE"]),
    ],
)
def test_an_unknown_name_or_a_value_out_of_range_is_wrong_usage_in_one_line_that_says_what_is_allowed(
    ready, rag, arguments, words
):
    assert_one_line(rag(*arguments), *words, code=2)


@pytest.mark.parametrize(
    "arguments",
    [
        ["query"],
        ["query", "q", "--unknown"],
        ["compare", "q"],
        ["index", "folder"],
        ["unknown"],
    ],
)
def test_wrong_usage_ends_with_2_and_says_how_it_is_used(rag, arguments):
    ran = rag(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "Usage" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("RAG_DATA", "/nowhere/data", ["/nowhere/data"]),
        ("RAG_EMBEDDING", "openai:", ["RAG_EMBEDDING"]),
        ("RAG_EMBEDDING", "openai:text-embedding-3-small", ["OPENAI_API_KEY"]),
        ("RAG_LLM", "openai", ["OPENAI_API_KEY"]),
    ],
)
def test_a_wrong_setting_is_one_line(lab, rag, monkeypatch, name, value, words):
    monkeypatch.setenv(name, value)
    assert_one_line(rag("query", QUESTION), *words)


def test_a_corpus_that_was_never_indexed_names_the_command_that_makes_it(ready, rag):
    assert_one_line(rag("query", QUESTION, "--corpus", "nothere"), "'nothere'", "rag index PATH --corpus nothere")
    assert not (ready / "corpora" / "nothere").exists()


@pytest.fixture
def notes(ready: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one document, to index in a state folder of its own."""
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))
    text = "# Tides\n\nThe tide at Saint-Malo rises twelve metres in six hours."
    return write(tmp_path / "notes", {"tides.md": text})


def test_files_are_indexed_and_then_answer_questions(notes, rag):
    (notes / "broken.pdf").write_bytes(b"no pdf")
    (notes / "photo.jpg").write_bytes(b"no text")
    first = rag("index", str(notes), "--corpus", "tides", "--json")
    assert first.code == 0
    assert {key: first.json[key] for key in ("added", "changed", "removed", "unchanged")} == {
        "added": ["tides.md"], "changed": [], "removed": [], "unchanged": [],
    }  # fmt: skip
    assert [row["file"] for row in first.json["failed"]] == ["broken.pdf"]
    assert first.json["skipped"] == [{"file": "photo.jpg", "reason": ".jpg is not supported"}]
    again = rag("index", str(notes), "--corpus", "tides")
    assert "skipped photo.jpg: .jpg is not supported" in again.out
    assert "0 added, 0 changed, 0 removed, 1 unchanged, 1 failed" in again.out
    assert "broken.pdf" in again.out
    trace = rag("query", "How far does the tide rise?", "--corpus", "tides", "--json").json
    assert [context["doc_id"] for context in trace["contexts"]] == ["tides.md"]
    assert "twelve metres" in trace["answer"]["text"]
    (notes / "tides.md").unlink()
    (notes / "moon.md").write_text("The moon pulls the sea.")
    changed = rag("index", str(notes), "--corpus", "tides", "--json").json
    assert (changed["added"], changed["removed"]) == (["moon.md"], ["tides.md"])


def test_a_corpus_gets_its_profile_from_options_or_from_the_file_beside_its_documents(notes, rag):
    index = ("index", str(notes), "--corpus", "tides")

    def profile(*options: str) -> dict[str, object]:
        return dict(rag(*index, *options, "--json").json["profile"])

    assert profile() == {"subject": "", "audience": "", "languages": ["en"]}
    assert profile("--subject", "tides") == {"subject": "tides", "audience": "", "languages": ["en"]}
    (notes / "profile.toml").write_text('subject = "the sea"\naudience = "sailors"\n')
    assert profile() == {"subject": "the sea", "audience": "sailors", "languages": ["en"]}
    given = {"subject": "the sea", "audience": "sailors", "languages": ["fr", "en"]}
    assert profile("--languages", "fr, en") == given
    (notes / "profile.toml").unlink()
    assert profile() == given
    said = rag(*index).out
    assert "about the sea; in French and English" in said
    assert "questions are not read for urgent signs" in said
    (notes / "profile.toml").write_text('subject = "the sea"\ntopic = "tides"\n')
    assert_one_line(rag(*index), "profile.toml, line 2: topic is not a profile key.", "subject, audience")
    assert "English" in rag(*index, "--languages", "English").err
    assert rag("index", "--check", "--subject", "x").code == 2


def test_doctor_says_which_engines_answer(ready, rag):
    ran = rag("doctor", "--json")
    assert (ran.code, ran.err) == (0, "")
    report = ran.json
    assert set(report) == {"notice", "can_answer", "engine", "versions", "findings"}
    assert report["can_answer"] is True
    assert report["engine"]["embedding"] == "all-MiniLM-L6-v2"
    assert {"python", "chromadb", "streamlit"} <= set(report["versions"])
    assert not [line for line in report["findings"] if line["ok"] is False]
    assert "equal those of rank_bm25 0.2.2 on 10 questions to the last bit" in ran.out
    assert "no language model" in rag("doctor").out


def test_doctor_shows_the_server_of_each_role_and_no_secret(ready, lab, rag, monkeypatch):
    monkeypatch.setattr("rag_core.lab.doctor.open_lab", lambda corpus, **options: lab)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-common-0123456789")
    monkeypatch.setenv("RAG_REWRITER_BASE_URL", "http://me:hunter2@localhost:11434/v1?api_key=hidden")
    monkeypatch.setenv("RAG_REWRITER_API_KEY", "sk-own-0123456789")
    monkeypatch.setenv("RAG_REWRITER_MODEL", "llama3")
    for ran in (rag("doctor"), rag("doctor", "--json")):
        assert "answers: gpt-4o at openai" in ran.out
        assert "rewrites: llama3 at http://localhost:11434/v1" in ran.out
        assert "judgements: gpt-4o at openai" in ran.out
        assert not [secret for secret in ("sk-", "hunter2", "hidden") if secret in ran.out + ran.err]


def test_doctor_ends_with_1_and_a_command_when_no_question_can_be_answered(rag, monkeypatch):
    monkeypatch.setenv("RAG_DATA", "/nowhere/data")
    ran = rag("doctor", "--json")
    assert ran.code == 1
    assert ran.json["can_answer"] is False
    (missing,) = [line for line in ran.json["findings"] if line["ok"] is False]
    assert missing["mend"]
    assert "MISSING" in rag("doctor").out


def test_help_lists_the_commands_and_says_it_is_no_advice(rag):
    shown, bare = rag("--help"), rag()
    assert all(command in shown.out for command in ("query", "compare", "index", "eval", "doctor"))
    assert "not medical advice" in shown.out
    assert "Usage" in bare.out + bare.err


def test_a_judged_question_shows_its_metrics_with_details(ready, rag, lab):
    judged = read_builtin(lab.settings.data, "test")
    question = judged.measured[0]
    ran = rag("query", f" {question.text.upper()}", "--strategy", "bm25", "--show-details")
    trace = lab.run(question.text.upper(), "bm25")
    ranked = list(dict.fromkeys(hit.passage.doc_id for hit in trace.ranking))
    grades = judged.qrels[question.id]
    relevant = [rank for rank, name in enumerate(ranked, start=1) if grades.get(name, 0) > 0]
    all_relevant = sum(grade > 0 for grade in grades.values())
    shown = " ".join(ran.out.split())
    assert f"Recall@5 {len(relevant) / all_relevant:.3f}, Precision@5 {len(relevant) / 5:.3f}" in shown
    assert f"MRR@5 {1 / relevant[0] if relevant else 0:.3f}, nDCG@5 " in shown
    assert "Recall@5" not in rag("query", question.text, "--strategy", "bm25").out
    (quality,) = {
        json.dumps(one["quality"])
        for one in (
            rag("query", question.text, "--strategy", "bm25", "--json").json,
            rag("compare", question.text, "--strategies", "bm25", "--json").json["traces"][0],
        )
    }
    values = json.loads(quality)
    assert list(values) == ["recall@5", "precision@5", "mrr@5", "ndcg@5"]
    assert values["recall@5"] == len(relevant) / all_relevant


def test_a_question_without_judgements_says_so_with_details(ready, rag):
    command = ("query", QUESTION, "--strategy", "bm25")
    assert "metrics: none, because this is not one of" in rag(*command, "--show-details").out
    assert "metrics:" not in rag(*command).out
    assert "quality" not in rag(*command, "--json").json


def test_a_broken_file_leaves_no_line_of_a_library(ready, tmp_path, capfd, monkeypatch):
    """Neither of this process nor of the one that reads files."""
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))
    broken = {"broken.pdf": "%PDF-1.4\nnothing\n%%EOF", "broken.docx": "no word document", "broken.xlsx": "no workbook"}
    notes = write(tmp_path / "notes", {**broken, "tides.md": "# Tides\n\nThe tide rises twelve metres."})
    with pytest.raises(SystemExit) as ended:
        main(["index", str(notes), "--corpus", "tides"])
    printed = capfd.readouterr()
    assert (ended.value.code or 0, printed.err) == (0, "")
    first, *others = printed.out.splitlines()
    assert first.startswith("tides: 1 added")
    assert [line.split()[:2] for line in others if line.startswith("  failed")] == [
        ["failed", "broken.docx:"], ["failed", "broken.pdf:"], ["failed", "broken.xlsx:"],
    ]  # fmt: skip
