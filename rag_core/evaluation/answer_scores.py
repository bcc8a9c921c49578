"""Scores of one strategy's answers: citations, support, abstention and the judge."""

import operator
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any, Self

from ..documents.answer_set import AnswerSet
from ..prompts.prompt import JUDGE_ANSWER, Block, Sources
from ..prompts.replies import read_object, read_score
from ..runtime.context import Context
from ..stages.citations import MARKER
from ..values.errors import RagError, Stopped
from ..values.trace import Trace
from ..values.types import Cost, ModelCall
from .statistics import Interval, interval, wilson
from .verdicts import BASELINES, Assessment, VerdictScores


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judge's scores of one answer, 0 to 100: do its sources support it, does it answer the question?"""

    faithfulness: float
    relevance: float


def judge(trace: Trace, ctx: Context) -> tuple[Judgement | RagError, tuple[ModelCall, ...]]:
    """Judge a trace's answer: the judgement, or the error that prevented it, and the model calls made.

    Each has an unused budget. Raises Stopped, with the judge's calls, and ValueError if the trace has no answer.
    """
    if trace.answer is None:
        raise ValueError("the trace has no answer to judge")
    ctx = Context(ctx.services, ctx.run.with_new_budget())
    try:
        judgement = ctx.complete_parsed(
            JUDGE_ANSWER,
            parse_judgement,
            question=trace.question,
            sources=Sources(trace.ranking.hits),
            answer=Block(trace.answer.text),
        )
    except Stopped:
        raise Stopped(tuple(ctx.meter.calls)) from None
    except RagError as error:
        return error, tuple(ctx.meter.calls)
    return judgement, tuple(ctx.meter.calls)


def parse_judgement(reply: str) -> Judgement:
    """Parse a judge's reply, a JSON object with scores of 0 to 100; raises ValueError for others, and for 0 to 1."""
    values = read_object(reply)
    found = Judgement(read_score(values, "faithfulness"), read_score(values, "relevance"))
    if 0 < max(found.faithfulness, found.relevance) <= 1:  # one answer's scores cannot show their scale
        raise ValueError("both scores are at most 1; give them from 0 to 100")
    return found


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    """Sentences of answers by support, and citations, valid if of a passage shown; all zero for an abstention."""

    supported: int = 0
    weak: int = 0
    unsupported: int = 0
    citations: int = 0
    valid_citations: int = 0

    @property
    def sentences(self) -> int:
        return self.supported + self.weak + self.unsupported

    @property
    def support_rate(self) -> float | None:
        """Share of the sentences that a passage supports; None without one."""
        return self.supported / self.sentences if self.sentences else None

    @property
    def citation_validity(self) -> float | None:
        """Share of the citations that name a passage; None without one."""
        return self.valid_citations / self.citations if self.citations else None

    def __add__(self, other: Self) -> Self:
        return type(self)(*map(operator.add, astuple(self), astuple(other)))


def check(trace: Trace) -> AnswerCheck:
    """Count the sentences and citations of a trace's answer; raises ValueError if the trace has no answer."""
    answer = trace.answer
    if answer is None:
        raise ValueError("the trace has no answer to check")
    if answer.abstained:
        return AnswerCheck()
    found = Counter(one.support for one in answer.sentences)
    valid = len(MARKER.findall(answer.text))
    return AnswerCheck(found["supported"], found["weak"], found["unsupported"], valid + answer.invalid_citations, valid)


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """One answer, checked; where it is judged, with its `assessment`, and those of `verdicts.BASELINES`."""

    trace: Trace
    check: AnswerCheck
    judgement: Judgement | RagError | None = None
    judge_calls: tuple[ModelCall, ...] = ()
    assessment: Assessment | None = None
    baselines: Mapping[str, Assessment] = field(default_factory=dict)

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """The model calls that wrote the answer, without the judge's."""
        return self.trace.calls

    @property
    def abstained(self) -> bool:
        return self.trace.answer is not None and self.trace.answer.abstained


Outcome = CheckedAnswer | RagError  # an error: this question failed and is excluded from every ratio


@dataclass(frozen=True, slots=True)
class AbstentionFigures:
    """Declining as a classifier of outside questions, by (outside, declined); shares with 95 % Wilson intervals."""

    counts: Mapping[tuple[bool, bool], int]

    @property
    def precision(self) -> Interval | None:
        """The share of the declined questions that are outside the collection."""
        outside, inside = (self.counts.get((side, True), 0) for side in (True, False))
        return wilson(outside, outside + inside)

    @property
    def recall(self) -> Interval | None:
        """The share of the outside questions that were declined."""
        return self._share(outside=True, declined=True)

    @property
    def wrongly_declined(self) -> Interval | None:
        return self._share(outside=False, declined=True)

    @property
    def answered(self) -> Interval | None:
        return self._share(outside=False, declined=False)

    def _share(self, *, outside: bool, declined: bool) -> Interval | None:
        count, others = (self.counts.get((outside, one), 0) for one in (declined, not declined))
        return wilson(count, count + others)

    def as_json(self) -> dict[str, Any]:
        return {
            **_flat("precision", self.precision),
            **_flat("recall", self.recall),
            **_flat("answered", self.answered),
        }


@dataclass(frozen=True, slots=True)
class JudgeScores:
    """Means, 0 to 100, with bootstrap intervals, None without scores; `failures` by question id; US dollars if known."""

    judged: int
    failures: Mapping[str, str]
    faithfulness: Interval | None
    relevance: Interval | None
    cost_usd: float | None

    @classmethod
    def of(cls, outcomes: Mapping[str, Outcome]) -> Self:
        checked = {q: one for q, one in outcomes.items() if isinstance(one, CheckedAnswer)}
        judgements = {q: one.judgement for q, one in checked.items()}
        scores = [one for one in judgements.values() if isinstance(one, Judgement)]
        return cls(
            judged=len(scores),
            failures={q: str(one) for q, one in judgements.items() if isinstance(one, RagError)},
            faithfulness=interval([one.faithfulness for one in scores]) if scores else None,
            relevance=interval([one.relevance for one in scores]) if scores else None,
            cost_usd=Cost.of(call for one in checked.values() for call in one.judge_calls).usd,
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "n": self.judged,
            "failed": len(self.failures),
            "failures": dict(self.failures),
            **_flat("faithfulness", self.faithfulness),
            **_flat("relevance", self.relevance),
            "cost_usd": self.cost_usd,
        }


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """Scores of one strategy's answers; failed and declined questions are not `answered`.

    `baselines`: the verdicts on each baseline's answers; empty without judged answers. `cost_usd`: of all answers,
    failed and interrupted ones included, without the judge; None when a price is unknown.
    """

    answered: int
    abstained: int
    failures: Mapping[str, str]
    check: AnswerCheck
    abstention: AbstentionFigures
    judge: JudgeScores | None
    verdicts: VerdictScores | None
    baselines: Mapping[str, VerdictScores]
    cost_usd: float | None

    @classmethod
    def of(
        cls,
        outcomes: Mapping[str, Outcome],
        unanswerable: Collection[str],
        *,
        judging: bool = False,
        interrupted: Sequence[ModelCall] = (),
        answer_set: AnswerSet | None = None,
    ) -> Self:
        """Score outcomes by question id, `interrupted` calls billed too; `unanswerable` ones have no relevant document."""
        checked = [outcome for outcome in outcomes.values() if isinstance(outcome, CheckedAnswer)]
        abstained = sum(outcome.abstained for outcome in checked)
        calls = [*(call for outcome in outcomes.values() for call in outcome.calls), *interrupted]
        return cls(
            answered=len(checked) - abstained,
            abstained=abstained,
            failures={q: str(outcome) for q, outcome in outcomes.items() if isinstance(outcome, RagError)},
            check=sum((outcome.check for outcome in checked), AnswerCheck()),
            abstention=AbstentionFigures(
                Counter(
                    (identity in unanswerable, outcome.abstained)
                    for identity, outcome in outcomes.items()
                    if isinstance(outcome, CheckedAnswer)
                )
            ),
            judge=JudgeScores.of(outcomes) if judging else None,
            verdicts=_verdicts(outcomes, answer_set) if answer_set else None,
            baselines={name: _verdicts(outcomes, answer_set, name) for name in BASELINES} if answer_set else {},
            cost_usd=Cost.of(calls).usd,
        )

    @property
    def questions(self) -> int:
        return self.answered + self.abstained + len(self.failures)

    def as_json(self) -> dict[str, Any]:
        return {
            "questions": self.questions,
            "answered": self.answered,
            "abstained": self.abstained,
            "failed": len(self.failures),
            "failures": dict(self.failures),
            "sentences": self.check.sentences,
            "supported": self.check.supported,
            "weak": self.check.weak,
            "unsupported": self.check.unsupported,
            "support_rate": self.check.support_rate,
            "citations": self.check.citations,
            "valid_citations": self.check.valid_citations,
            "citation_validity": self.check.citation_validity,
            "abstention": self.abstention.as_json(),
            "judge": self.judge.as_json() if self.judge else None,
            "verdicts": self.verdicts.as_json() if self.verdicts else None,
            "baselines": {name: verdicts.as_json() for name, verdicts in self.baselines.items()},
            "cost_usd": self.cost_usd,
        }


def _verdicts(outcomes: Mapping[str, Outcome], answer_set: AnswerSet, baseline: str = "") -> VerdictScores:
    """The verdicts on the outcomes of questions with a judged answer, or on those of a baseline."""

    def assessed(outcome: Outcome) -> Assessment | RagError | None:
        if isinstance(outcome, RagError):
            return outcome
        return outcome.baselines.get(baseline) if baseline else outcome.assessment

    found = {identity: assessed(outcome) for identity, outcome in outcomes.items()}
    rows = {identity: one for identity, one in found.items() if one and identity in answer_set.answers}
    return VerdictScores.of(rows, answer_set)


def _flat(name: str, share: Interval | None) -> dict[str, Any]:
    mean, low, high, n = (share.mean, share.low, share.high, share.n) if share else (None, None, None, 0)
    return {name: mean, f"{name}_low": low, f"{name}_high": high, f"{name}_n": n}
