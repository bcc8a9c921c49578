"""What people read: answers, bills and lines that fit the terminal."""

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.answers import answered, passage
from helpers.looping import for_each
from helpers.source_files import write
from rich.cells import cell_len

from rag_core.catalog import build
from rag_core.cli import show
from rag_core.cli.layout import say, width, wrapped
from rag_core.cli.show import show_bill
from rag_core.lab import builtin
from rag_core.values.answers import Answer, Remark, Suggestion
from rag_core.values.trace import Trace
from rag_core.values.types import ModelCall


def printed(answer: Answer, capsys: pytest.CaptureFixture[str]) -> list[str]:
    trace: Trace = replace(answered("", passage("Cats purr.")), engine={"llm": "offline"})
    (step,) = trace.steps
    show.trace(replace(trace, steps=(replace(step, after=replace(step.after, answer=answer)),)), details=False)
    return [line.strip() for line in capsys.readouterr().out.splitlines()]


def test_a_remark_follows_the_answer_unless_all_of_it_is_thin(capsys):
    for kind, lines in (("thin", ["Cats purr [1].", "Thin."]), ("all_thin", ["Thin.", "Cats purr [1]."])):
        remark = Remark(kind, "Thin.", (1,))
        assert printed(Answer("Cats purr [1].", remarks=(remark,)), capsys)[1:3] == lines


def test_an_abstention_lists_the_nearest_documents(capsys):
    near = (Suggestion("Cats › Sleep", "cats", "cats:0"), Suggestion("Dogs", "dogs", "dogs:0"))
    lines = printed(Answer("No answer.", abstained=True, reason="No.", suggestions=near), capsys)
    assert lines[1:6] == ["No answer.", "Why: No.", "Perhaps you meant:", "Cats › Sleep", "Dogs"]


def test_a_line_a_stage_their_total_and_the_price(full, capsys):
    trace = build("hybrid_rrf").run("Do cats sleep?", full)
    paid = ModelCall("answer", "gpt-4o", 1_000, 200, 0.0045, "provider")
    first, *between, last = trace.steps
    show_bill(replace(trace, steps=(replace(first, reused=True), *between, replace(last, seconds=0.25, calls=(paid,)))))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["Bm25", "∥", "Dense", "reused"]
    assert lines[0].endswith("  1 call reused, $0")
    assert [line.split()[0] for line in lines[1:3]] == ["bm25", "dense"]  # each search with its own time
    shown = " ".join(" ".join(lines).split())  # lines wrap
    assert "Generate 250.0 ms passages: 5 1 call, 1,000 → 200 tokens measured, $0.004500" in shown
    assert "ms 1 call, 1,000 → 200 tokens measured, $0.004500 reused calls cost nothing here" in shown
    assert "  reused calls cost nothing here; with nothing to reuse: $0.0045" in "\n".join(lines)
    assert lines[-1] == "  gpt-4o: $2.50 in, $10.00 out per million tokens, on 2025-06-01"


def test_a_line_is_cut_between_words_and_goes_on_further_in_unless_it_fits():
    assert wrapped("  one two three four", 11, hang=2) == ["  one two", "    three", "    four"]
    assert wrapped("  k_final      5    passages", 28) == ["  k_final      5    passages"]
    assert wrapped("", 80) == [""]


def test_a_line_break_inside_is_a_space_and_one_around_is_an_empty_line(capsys):
    say("\none\ntwo\r\n\nthree\n")
    assert capsys.readouterr().out == "\none two three\n\n"


def test_a_word_wider_than_the_line_is_cut_inside():
    assert wrapped("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]
    assert wrapped("  ab " + "x" * 12, 10, hang=2) == ["  ab", "    xxxxxx", "    xxxxxx"]


@for_each("text", ["孕妇什么时候去医院" * 9, "🤰👶 " * 40, "¿Qué es la cesárea? " * 9, "a" * 300])
@for_each("hang", [0, 2, 6])
def test_wide_characters_count_twice(text, hang):
    lines = wrapped(f"  {text}", 80, hang)
    assert max(map(cell_len, lines)) <= 80
    assert "".join("".join(lines).split()) == "".join(text.split())


@pytest.mark.parametrize(("columns", "used"), [("40", 80), ("80", 80), ("120", 120), ("", 80)])
def test_the_terminals_width_is_used_and_80_at_least(monkeypatch, capsys, columns, used):
    monkeypatch.setenv("COLUMNS", columns)
    assert width() == used  # without a terminal, as here, COLUMNS alone says it
    say("word " * 60)
    lines = capsys.readouterr().out.splitlines()
    assert used - len("word ") <= max(map(len, lines)) <= used


COMMANDS = (
    "strategies", "query", "compare", "index", "eval", "sweep", "answers", "results", "replay", "doctor",
)  # fmt: skip
ANTI_D = "When is anti-D given?"


def session(beir: Path, folder: Path, saved: Path, stored: Path) -> list[tuple[str, ...]]:
    """The README's commands for people, on data that is quick to measure."""
    data = ("--data", str(beir))
    return [
        ("strategies",),
        ("query", ANTI_D, "--show-details"),
        ("query", ANTI_D, "--strategy", "rag_msr", "--fates"),
        ("query", "孕妇什么时候去医院？🤰 " * 8 + "anti-D", "--strategy", "multi_query", "--show-details"),
        ("query", ANTI_D, "--search-type", "hybrid", "--vector-weight", "0.7", "--bm25-weight", "0.3", "--rerank"),
        ("compare", "¿Cuáles son los riesgos de la cesárea?", "--strategies", "multi_query,contextual,rag_msr"),
        ("compare", ANTI_D, "--strategies", "a=hybrid_rrf,b=hybrid_rrf", "--set", "b.rrf_k=5", "--show-details"),
        ("query", "swollen legs", "--strategy", "multi_query", "--set", "templates=standalone,synonyms,complications"),
        ("index", str(folder), "--corpus", folder.parent.parent.name, "--enrich"),
        ("index", "--check"),
        ("doctor",),
        ("eval", *data, "--strategies", "bm25,simple_semantic,hybrid_rrf"),
        ("eval", *data, "--strategies", "bm25,plain=hybrid_rrf", "--set", "plain.mmr=false", "--baseline", "bm25"),
        ("eval", *data, "--strategies", "rag_msr,raw=rag_msr@raw", "--pair", "rag_msr:raw"),
        ("sweep", *data, "--strategy", "hybrid_rrf", "--vary", "rrf_k=1:100:50", "--vary", "mmr_lambda=0:1:0.5"),
        ("answers", *data, "--strategies", "hybrid_rrf"),
        ("results", str(stored)),
        ("replay", str(saved)),
        ("--help",),
        *((command, "--help") for command in COMMANDS),
    ]  # fmt: skip


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a check of the built-in collection tells: tests/upkeep/test_builtin.py makes one."""
    kinds = {f"a kind of question {number}": number for number in range(20)}
    counts = {"documents": {"en": 212, "es": 213}, "words": 123_456, "kinds": kinds}
    monkeypatch.setattr(builtin, "check", lambda *collection: (counts, []))


@pytest.mark.usefixtures("checked")
def test_no_line_is_wider_than_the_terminal(ready, rag, beir, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))
    text = "# Visiting hours\n\nVisitors are welcome from two to eight."
    files = {"visiting hours.md": text, f"{'scan' * 20}.pdf": "no pdf", f"{'photo' * 20}.jpg": "no text"}
    folder = write(tmp_path / "a folder with a name that is a good deal longer than it need be" / "leaflets", files)
    saved, stored = tmp_path / "saved.json", tmp_path / "stored.json"
    saved.write_text(rag("query", ANTI_D, "--json").out.replace("anti-D", "anti-d"))
    stored.write_text(rag("eval", "--data", str(beir), "--strategies", "bm25,hyde", "--json").out)
    widest = 0
    for command in session(beir, folder, saved, stored):
        with monkeypatch.context() as own:
            if command == ("doctor",):
                own.setenv("RAG_HOME", str(ready))  # what it describes is the index of all tests
            ran = rag(*command)
        assert (ran.code, ran.err) == (0, ""), command
        for line in ran.out.splitlines():
            assert cell_len(line) <= 80, (command, line)
            widest = max(widest, cell_len(line))
    assert widest > 75
