"""What the commands print about an answer's evidence."""

from dataclasses import replace

import pytest
from helpers.answers import answered, passage

from rag_core.cli import show
from rag_core.values.answers import Answer, Remark, Suggestion
from rag_core.values.trace import Trace


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
