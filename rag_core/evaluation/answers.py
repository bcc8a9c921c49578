"""Answers to judged questions: ask, check, optionally judge, and export for RAGAS."""

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..catalog import StrategySpec, build_all
from ..documents.answer_set import AnswerSet, JudgedAnswer
from ..documents.benchmark import Benchmark, Question
from ..indexing import Progress, no_progress
from ..lab.lab import Lab
from ..pipeline.strategy import Strategy
from ..pipeline.stream import collect
from ..runtime.context import Context
from ..runtime.run import Run
from ..values.errors import (
    ConfigError,
    InputError,
    RagError,
    SettingsError,
    Stopped,
    attach_calls_to_errors,
    unwritable,
)
from ..values.message import NOTICE
from ..values.trace import Trace
from ..values.types import ModelCall
from ..values.visible import as_json
from .answer_scores import AnswerScores, CheckedAnswer, Outcome, check, judge
from .verdicts import BASELINES, answer_by, assess


@dataclass(frozen=True, slots=True)
class AnswerReport:
    """Outcomes by label and question id; after a stop `remaining` have none, `interrupted` has calls in progress."""

    judged: Benchmark
    outcomes: Mapping[str, Mapping[str, Outcome]]
    judging: bool = False
    remaining: int = 0
    interrupted: Mapping[str, Sequence[ModelCall]] = field(default_factory=dict)
    answer_set: AnswerSet | None = None

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        made = [call for rows in self.outcomes.values() for one in rows.values() for call in _all_calls(one)]
        return tuple(dict.fromkeys([*made, *(call for calls in self.interrupted.values() for call in calls)]))

    @property
    def scores(self) -> dict[str, AnswerScores]:
        unanswerable = {question.id for question in self.judged.unanswerable}
        return {
            label: AnswerScores.of(
                outcomes,
                unanswerable,
                judging=self.judging,
                interrupted=self.interrupted.get(label, ()),
                answer_set=self.answer_set,
            )
            for label, outcomes in self.outcomes.items()
        }

    def as_json(self) -> dict[str, Any]:
        return {
            "data": self.judged.name,
            "split": self.judged.split,
            "left": self.remaining,
            "answer_set": self.answer_set.checksum if self.answer_set else None,
            "strategies": {label: scores.as_json() for label, scores in self.scores.items()},
            "answers": {
                label: [_row_as_json(question, outcome) for question, outcome in self.assessed(label)]
                for label in self.outcomes
            },
        }

    def assessed(self, label: str) -> list[tuple[Question, Outcome]]:
        """The questions with a judged answer, in file order, and a strategy's outcomes."""
        outcomes, answers = self.outcomes[label], self.answer_set.answers if self.answer_set else {}
        return [
            (question, outcomes[question.id])
            for question in self.judged.questions
            if question.id in answers and question.id in outcomes
        ]


def check_answers(
    lab: Lab,
    judged: Benchmark,
    strategies: Mapping[str, StrategySpec],
    *,
    limit: int | None = None,
    judging: bool = False,
    answer_set: AnswerSet | None = None,
    progress: Progress = no_progress,
    stop: threading.Event | None = None,
) -> AnswerReport:
    """Ask the questions of a judged set, unanswerable ones included, and check every answer.

    A failed question keeps its reason and is excluded from the ratios. Setting `stop` ends the run with the questions
    answered so far. Raises ConfigError if a strategy is invalid or writes no answer, or the judge is offline.

    Args:
        limit: ask this many questions, evenly spaced; all by default.
        judging: have the judge model score each answer, at one extra call per answer.
        answer_set: judged answers, for verdicts; `judged` has its questions (`AnswerSet.extend`).
    """
    built = with_answers(strategies)
    stop = stop or threading.Event()
    if judging and lab.services().llms["judge"].offline:
        raise SettingsError(
            "The offline engine cannot judge answers.",
            "Set OPENAI_API_KEY or OPENAI_BASE_URL (and RAG_JUDGE_MODEL), or run without the judge.",
        )
    questions = evenly_spaced(judged.questions, limit)
    outcomes: dict[str, dict[str, Outcome]] = {label: {} for label in built}
    calls: list[ModelCall] = []
    with attach_calls_to_errors(calls):
        for done, question in enumerate(questions):
            progress("checking answers", done, len(questions))
            results = _ask(lab, question, list(built.values()), judging, stop)
            if answer_set and (expected := answer_set.answers.get(question.id)):
                relevant = {one for one, grade in judged.qrels[question.id].items() if grade > 0}
                results = [_assessed(outcome, expected, relevant) for outcome in results]
            calls += [call for outcome in results for call in _all_calls(outcome)]
            if any(isinstance(outcome, Stopped) for outcome in results):
                interrupted = {label: _all_calls(outcome) for label, outcome in zip(built, results, strict=True)}
                return AnswerReport(judged, outcomes, judging, len(questions) - done, interrupted, answer_set)
            for label, outcome in zip(built, results, strict=True):
                outcomes[label][question.id] = outcome
    progress("checking answers", len(questions), len(questions))
    return AnswerReport(judged, outcomes, judging, answer_set=answer_set)


def ragas_rows(report: AnswerReport) -> Iterator[dict[str, Any]]:
    """Yield one row per answered question and strategy, with the fields of RAGAS's SingleTurnSample (0.4).

    `EvaluationDataset.from_list` takes them. Both id lists name documents, as the judgements do; `strategy` and
    `question_id` are our additions. Abstentions and failures, which have no answer to score, are left out.
    """
    questions = {question.id: question for question in report.judged.questions}
    for label, outcomes in report.outcomes.items():
        for identity, outcome in outcomes.items():
            if isinstance(outcome, RagError) or outcome.abstained or outcome.trace.answer is None:
                continue
            passages = [hit.passage for hit in outcome.trace.ranking]
            grades = report.judged.qrels[identity]
            yield {
                "user_input": questions[identity].text,
                "response": outcome.trace.answer.written,
                "retrieved_contexts": [passage.text for passage in passages],
                "retrieved_context_ids": [passage.doc_id for passage in passages],
                "reference_context_ids": [document for document, grade in grades.items() if grade > 0],
                "strategy": label,
                "question_id": identity,
            }


def write_ragas(path: Path, report: AnswerReport) -> int:
    """Write the RAGAS rows and our notice as JSON lines; returns their number, or raises StorageError."""
    lines = [as_json({**row, "notice": NOTICE}, indent=None) + "\n" for row in ragas_rows(report)]
    try:
        path.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise unwritable(path, error, "Choose another file.") from error
    return len(lines)


def with_answers(strategies: Mapping[str, StrategySpec]) -> dict[str, Strategy]:
    """Build strategies by label; raises ConfigError if there is none, or one writes no answer."""
    built = build_all(strategies)
    for label, strategy in built.items():
        if strategy.stages[-1].kind != "answer":
            raise ConfigError(f"{label} writes no answer to check.", "Leave it out.")
    return built


def evenly_spaced(questions: tuple[Question, ...], limit: int | None) -> list[Question]:
    """Up to `limit` questions, evenly spaced over the set; all for None."""
    count = len(questions) if limit is None else min(limit, len(questions))
    return [questions[i * len(questions) // count] for i in range(count)]


def _ask(
    lab: Lab, question: Question, strategies: list[Strategy], judging: bool, stop: threading.Event
) -> list[Outcome]:
    try:
        results = collect(lab.stream(question.text, strategies, stop=stop))
    except InputError as error:
        return [error for _ in strategies]
    checked = [CheckedAnswer(one, check(one)) if isinstance(one, Trace) else one for one in results]
    if not judging or any(isinstance(result, Stopped) for result in results):
        return checked
    with attach_calls_to_errors([call for one in results for call in one.calls]):
        ctx = Context(lab.services(), Run(stop=stop))

    def with_judgement(outcome: Outcome) -> Outcome:
        if isinstance(outcome, RagError) or outcome.abstained:
            return outcome
        try:
            judgement, calls = judge(outcome.trace, ctx)
        except Stopped as stopped:
            return Stopped((*outcome.calls, *stopped.calls))
        return replace(outcome, judgement=judgement, judge_calls=calls)

    return ctx.map(with_judgement, checked)


def _row_as_json(question: Question, outcome: Outcome) -> dict[str, Any]:
    row = {name: getattr(question, name) for name in ("id", "language", "kind", "level")}
    row |= {"question": question.text}
    if isinstance(outcome, RagError):
        return row | {"verdict": None, "failure": str(outcome)}
    answer = {"answer": outcome.trace.answer.text if outcome.trace.answer else ""}
    return row | (outcome.assessment.as_json() if outcome.assessment else {}) | answer


def _assessed(outcome: Outcome, judged: JudgedAnswer, relevant: Collection[str]) -> Outcome:
    if isinstance(outcome, RagError):
        return outcome
    return replace(
        outcome,
        assessment=assess(judged, outcome.trace, relevant),
        baselines={name: assess(judged, answer_by(pick, outcome.trace), relevant) for name, pick in BASELINES.items()},
    )


def _all_calls(outcome: Outcome) -> tuple[ModelCall, ...]:
    return (*outcome.calls, *(outcome.judge_calls if isinstance(outcome, CheckedAnswer) else ()))
