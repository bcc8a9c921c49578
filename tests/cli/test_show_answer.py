from dataclasses import replace

import pytest
from helpers.answers import answered, passage
from helpers.looping import for_each
from rich.cells import cell_len

from rag_core.catalog import build
from rag_core.cli import show
from rag_core.cli.layout import say, width, wrapped
from rag_core.cli.show import show_bill
from rag_core.values.answers import Answer, Remark, Suggestion
from rag_core.values.trace import Trace
from rag_core.values.types import ModelCall


def printed(answer: Answer, capsys: pytest.CaptureFixture[str]) -> list[str]:
    trace: Trace = replace(answered("", passage("Cats purr.")), engine={"llm": "offline"})
    (step,) = trace.steps
    show.trace(
        replace(trace, steps=(replace(step, after=replace(step.after, answer=answer)),)), details=False
    )
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
    show_bill(
        replace(
            trace, steps=(replace(first, reused=True), *between, replace(last, seconds=0.25, calls=(paid,)))
        )
    )
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
