"""Answers to judged questions: citations, support, abstention; an optional judge; a RAGAS export."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from ..catalog import RECIPES, StrategySpec, build
from ..data.benchmark import Benchmark, Question
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
    StorageError,
    attach_calls_to_errors,
)
from ..values.trace import Trace
from ..values.types import Cost, ModelCall
from .judge import Judgement, judge
from .statistics import Interval, interval
from .support import AnswerCheck, check


@dataclass(frozen=True, slots=True)
class Checked:
    """One question answered by one strategy.

    Args:
        judgement: the judge's scores or why there are none; None when it was not asked.
        judge_calls: the judge's bills.
    """

    trace: Trace
    check: AnswerCheck
    judgement: Judgement | RagError | None = None
    judge_calls: tuple[ModelCall, ...] = ()

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """The answer's, without the judge's."""
        return self.trace.calls

    @property
    def abstained(self) -> bool:
        """Whether the answer was that there is none."""
        return self.trace.answer is not None and self.trace.answer.abstained


Outcome = Checked | RagError  # an error: this question failed, and is in no ratio


@dataclass(frozen=True, slots=True)
class Abstentions:
    """Abstaining as a classifier of questions that the collection cannot answer.

    A ratio without cases is None. Intervals are Wilson's, 95 %.

    Args:
        precision: share of the abstentions that were on questions without a relevant document.
        recall: share of the questions without a relevant document that were abstained on.
        answered: share of the other questions that got an answer.
    """

    precision: Interval | None
    recall: Interval | None
    answered: Interval | None


@dataclass(frozen=True, slots=True)
class AnswerReport:
    """Answers of strategies to judged questions.

    Args:
        outcomes: label -> question id -> outcome.
        judging: whether answers were judged.
        left: questions that were not asked because the run was stopped.
        broken_off: label -> what the question cost that was under way then; it is among those left.
    """

    judged: Benchmark
    outcomes: Mapping[str, Mapping[str, Outcome]]
    judging: bool = False
    left: int = 0
    broken_off: Mapping[str, Sequence[ModelCall]] = field(default_factory=dict)

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """Every call that was made, those of the judge and of the question broken off included."""
        made = [call for rows in self.outcomes.values() for one in rows.values() for call in _all_calls(one)]
        return tuple(dict.fromkeys([*made, *(call for calls in self.broken_off.values() for call in calls)]))

    def as_json(self) -> dict[str, Any]:
        """Plain values, by strategy; a ratio without cases is null, a failure is in no ratio.

        `support_rate` is over the sentences that can be checked, and a lexical proxy; `cost_usd` holds the
        calls of every question that was asked, of failed ones too.
        """
        unanswerable = {question.id for question in self.judged.unanswerable}
        return {
            "data": self.judged.name,
            "split": self.judged.split,
            "left": self.left,
            "strategies": {
                label: _summary(outcomes, unanswerable, self.judging, self.broken_off.get(label, ()))
                for label, outcomes in self.outcomes.items()
            },
        }


def check_answers(
    lab: Lab,
    judged: Benchmark,
    strategies: Mapping[str, StrategySpec],
    *,
    limit: int | None = None,
    judging: bool = False,
    progress: Progress = no_progress,
    stop: threading.Event | None = None,
) -> AnswerReport:
    """Ask the questions of a judged set, those without a relevant document too, and check every answer.

    A question that fails is kept with its reason and is in no ratio. Setting `stop` ends the run;
    the questions answered till then are the report.

    Args:
        strategies: by label.
        limit: ask this many questions, spread evenly over the set; all by default.
        judging: have each answer judged by the judge model, one call more an answer.

    Raises:
        ConfigError: a strategy is wrong or writes no answer, or there is no model to judge with.
    """
    built = with_answers(strategies)
    stop = stop or threading.Event()
    if judging and lab.services().llms["judge"].offline:
        raise SettingsError(
            "The offline engine cannot judge answers.",
            "Set OPENAI_API_KEY or OPENAI_BASE_URL (and RAG_JUDGE_MODEL), or leave the judge out.",
        )
    questions = evenly_spaced(judged.questions, limit)
    outcomes: dict[str, dict[str, Outcome]] = {label: {} for label in built}
    calls: list[ModelCall] = []
    with attach_calls_to_errors(calls):
        for done, question in enumerate(questions):
            progress("checking answers", done, len(questions))
            settled = _ask(lab, question, list(built.values()), judging, stop)
            calls += [call for outcome in settled for call in _all_calls(outcome)]
            if any(isinstance(outcome, Stopped) for outcome in settled):
                broken_off = {
                    label: _all_calls(outcome) for label, outcome in zip(built, settled, strict=True)
                }
                return AnswerReport(judged, outcomes, judging, len(questions) - done, broken_off)
            for label, outcome in zip(built, settled, strict=True):
                outcomes[label][question.id] = outcome
    progress("checking answers", len(questions), len(questions))
    return AnswerReport(judged, outcomes, judging)


def abstentions(outcomes: Mapping[str, Outcome], unanswerable: Collection[str]) -> Abstentions:
    """Precision and recall of abstaining, over the questions that did not fail.

    Args:
        outcomes: by question id.
        unanswerable: ids of the questions without a relevant document.
    """
    abstained = {q: outcome.abstained for q, outcome in outcomes.items() if isinstance(outcome, Checked)}
    outside = [abstained[q] for q in abstained if q in unanswerable]
    inside = [abstained[q] for q in abstained if q not in unanswerable]
    return Abstentions(
        precision=wilson(sum(outside), sum(outside) + sum(inside)),
        recall=wilson(sum(outside), len(outside)),
        answered=wilson(len(inside) - sum(inside), len(inside)),
    )


def wilson(successes: int, n: int) -> Interval | None:
    """A share and its 95 % interval (Wilson 1927, JASA 22, page 209); None for n = 0."""
    if n == 0:
        return None
    bounds = binomtest(successes, n).proportion_ci(0.95, "wilson")
    return Interval(successes / n, float(bounds.low), float(bounds.high), n)


def ragas_rows(report: AnswerReport) -> Iterator[dict[str, Any]]:
    """One row an answered question and strategy, with the fields of RAGAS's SingleTurnSample (0.4).

    `EvaluationDataset.from_list` takes them. Ids are of documents, in both lists, since those are
    what the judgements name; `strategy` and `question_id` are ours. Abstentions and failures are
    left out: they have no answer to score.
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
                "response": outcome.trace.answer.text,
                "retrieved_contexts": [passage.text for passage in passages],
                "retrieved_context_ids": [passage.doc_id for passage in passages],
                "reference_context_ids": [document for document, grade in grades.items() if grade > 0],
                "strategy": label,
                "question_id": identity,
            }


def write_ragas(path: Path, report: AnswerReport) -> int:
    """Write the rows as JSON lines; how many there are.

    Raises:
        StorageError: the file cannot be written.
    """
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in ragas_rows(report)]
    try:
        path.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error}.", "Name another file.") from error
    return len(lines)


def with_answers(strategies: Mapping[str, StrategySpec]) -> dict[str, Strategy]:
    """Strategies by label, each of which writes answers.

    Raises:
        ConfigError: a strategy is wrong or writes no answer.
    """
    if not strategies:
        raise ConfigError("No strategy was chosen.", f"Strategies: {', '.join(RECIPES)}.")
    built = {label: build(chosen) for label, chosen in strategies.items()}
    for label, strategy in built.items():
        if strategy.stages[-1].kind != "answer":
            raise ConfigError(f"{label} writes no answer to check.", "Leave it out.")
    return built


def evenly_spaced(questions: tuple[Question, ...], limit: int | None) -> list[Question]:
    """At most so many questions, spread evenly over the set."""
    count = len(questions) if limit is None else min(limit, len(questions))
    return [questions[i * len(questions) // count] for i in range(count)]


def _ask(
    lab: Lab, question: Question, strategies: list[Strategy], judging: bool, stop: threading.Event
) -> list[Outcome]:
    """What became of each strategy's answer; when one is Stopped, the question was not done."""
    try:
        settled = collect(lab.stream(question.text, strategies, stop=stop))
    except InputError as error:
        return [error for _ in strategies]
    checked = [Checked(one, check(one)) if isinstance(one, Trace) else one for one in settled]
    if not judging or any(isinstance(outcome, Stopped) for outcome in settled):
        return checked
    with attach_calls_to_errors([call for one in settled for call in one.calls]):
        ctx = Context(lab.services(), Run(stop=stop))

    def with_score(outcome: Outcome) -> Outcome:
        if isinstance(outcome, RagError) or outcome.abstained:
            return outcome
        try:
            judgement, calls = judge(outcome.trace, ctx)
        except Stopped as stopped:
            return Stopped((*outcome.calls, *stopped.calls))
        return replace(outcome, judgement=judgement, judge_calls=calls)

    return ctx.map(with_score, checked)


def _all_calls(outcome: Outcome) -> tuple[ModelCall, ...]:
    """The answer's, and its judge's."""
    return (*outcome.calls, *(outcome.judge_calls if isinstance(outcome, Checked) else ()))


def _summary(
    outcomes: Mapping[str, Outcome],
    unanswerable: Collection[str],
    judging: bool,
    broken_off: Sequence[ModelCall],
) -> dict[str, Any]:
    checked = [outcome for outcome in outcomes.values() if isinstance(outcome, Checked)]
    failed = {q: str(outcome) for q, outcome in outcomes.items() if isinstance(outcome, RagError)}
    checks = [outcome.check for outcome in checked]
    supported = sum(one.supported for one in checks)
    unsupported = sum(len(one.unsupported) for one in checks)
    citations, valid = sum(one.citations for one in checks), sum(one.valid_citations for one in checks)
    abstained = sum(outcome.abstained for outcome in checked)
    shares = abstentions(outcomes, unanswerable)
    return {
        "questions": len(outcomes),
        "answered": len(checked) - abstained,
        "abstained": abstained,
        "failed": len(failed),
        "failures": failed,
        "sentences": sum(one.sentences for one in checks),
        "supported": supported,
        "unchecked": sum(one.unchecked for one in checks),
        "support_rate": _ratio(supported, supported + unsupported),
        "citations": citations,
        "valid_citations": valid,
        "citation_validity": _ratio(valid, citations),
        "abstention": {
            **_flat("precision", shares.precision),
            **_flat("recall", shares.recall),
            **_flat("answered", shares.answered),
        },
        "judge": _judge_summary(outcomes) if judging else None,
        "cost_usd": Cost.of(
            [*(call for outcome in outcomes.values() for call in outcome.calls), *broken_off]
        ).usd,
    }


def _judge_summary(outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
    asked = {q: one for q, one in outcomes.items() if isinstance(one, Checked) and one.judgement is not None}
    scores = [one.judgement for one in asked.values() if isinstance(one.judgement, Judgement)]
    failures = {q: str(one.judgement) for q, one in asked.items() if isinstance(one.judgement, RagError)}
    return {
        "n": len(scores),
        "failed": len(failures),
        "failures": failures,
        **_flat("faithfulness", interval([one.faithfulness for one in scores]) if scores else None),
        **_flat("relevance", interval([one.relevance for one in scores]) if scores else None),
        "cost_usd": Cost.of(call for one in asked.values() for call in one.judge_calls).usd,
    }


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _flat(name: str, share: Interval | None) -> dict[str, Any]:
    mean, low, high, n = (share.mean, share.low, share.high, share.n) if share else (None, None, None, 0)
    return {name: mean, f"{name}_low": low, f"{name}_high": high, f"{name}_n": n}
