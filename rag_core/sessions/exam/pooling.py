"""Pooling: what strategies find first for each question, without names, each text once (Sparck Jones and van Rijsbergen 1975)."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from ...documents.benchmark import Question
from ...indexing import Progress, no_progress
from ...lab.lab import Lab
from ...pipeline.strategy import Strategy
from ...runtime.run import Run, using
from ...runtime.spending import sent_once
from ...values.errors import ConfigError, Stopped, attach_calls_to_errors
from ...values.message import Message
from ...values.types import ModelCall
from .exam import Exam, ExamQuestion

if TYPE_CHECKING:
    from .store import Exams  # with its database library


def left_to_pool(
    questions: Iterable[ExamQuestion], strategies: Mapping[str, Strategy]
) -> list[tuple[list[Question], list[Strategy]]]:
    """Questions with the strategies that `pool` has yet to run on each of them, to estimate its cost."""
    found: dict[tuple[str, ...], tuple[list[Question], list[Strategy]]] = {}
    for one in questions:
        if left := _left(one, strategies):
            asked, _ = found.setdefault(tuple(left), ([], [*left.values()]))
            asked.append(Question(one.id, one.text, one.language, "", ""))
    return [*found.values()]


def pool(
    lab: Lab,
    exams: Exams,
    exam: Exam,
    strategies: Mapping[str, Strategy],
    *,
    progress: Progress = no_progress,
    stop: threading.Event | None = None,
) -> tuple[ModelCall, ...]:
    """Keep the first `exam.depth` passages of strategies without answers for each question; returns the calls made.

    Each question is kept when it is done: the same call goes on after a crash, and with other strategies it adds theirs.
    Raises ConfigError if the lab is over other documents, what a strategy raises, and Stopped, with the calls so far.
    """
    if lab.corpus != exam.corpus:
        what = Message("Exam {code} is about corpus {corpus!r}.", code=exam.code, corpus=exam.corpus)
        raise ConfigError(what, Message("Open that."))
    questions, calls = exams.judgements(exam.code).questions, list[ModelCall]()
    lab = lab.untaught([one.text for one in questions])
    with attach_calls_to_errors(calls), using(sent_once, True):
        for done, one in enumerate(questions):
            progress("finding passages", done, len(questions))
            if not (left := _left(one, strategies)):
                continue
            run = Run(stop=stop or threading.Event())
            traces = [strategy.run(one.text, lab.services(), run) for strategy in left.values()]
            calls += dict.fromkeys(call for trace in traces for call in trace.calls)
            found = [hit.passage for trace in traces for hit in islice(trace.ranking, exam.depth)]
            exams.add_found(
                exam.code, one.number, found, {strategy.fingerprint: label for label, strategy in left.items()}
            )
            if stop and stop.is_set():
                raise Stopped(tuple(calls))
    progress("finding passages", len(questions), len(questions))
    return tuple(calls)


def _left(question: ExamQuestion, strategies: Mapping[str, Strategy]) -> dict[str, Strategy]:
    return {label: one for label, one in strategies.items() if one.fingerprint not in question.pooled}
