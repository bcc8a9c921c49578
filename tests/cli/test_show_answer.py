from dataclasses import replace

import pytest
from helpers.answers import answered, passage

from rag_core.catalog import build
from rag_core.cli import show
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


def test_a_remark_follows_the_answer(capsys):
    remark = Remark("thin", "Thin evidence: [2] rests on a passage labelled Low.", (2,))
    lines = printed(Answer("Cats purr [1].", remarks=(remark,)), capsys)
    assert lines[1:3] == ["Cats purr [1].", remark.text]


def test_an_answer_that_is_thin_throughout_is_headed_by_it(capsys):
    remark = Remark("all_thin", "Thin evidence: every passage cited is labelled Low.", (1,))
    lines = printed(Answer("Cats purr [1].", remarks=(remark,)), capsys)
    assert lines[1:3] == [remark.text, "Cats purr [1]."]


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
