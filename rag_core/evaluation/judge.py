"""An optional judge: a language model scores written answers; a failed call gives no score."""

from __future__ import annotations

from dataclasses import dataclass

from ..prompts.prompt import JUDGE_ANSWER, Block, Sources
from ..prompts.replies import read_object, read_score
from ..runtime.context import Context
from ..values.errors import RagError, Stopped
from ..values.trace import Trace
from ..values.types import ModelCall


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judge's scores of one answer, 0 to 100.

    Args:
        faithfulness: how far its sources support its statements.
        relevance: how well it answers the question.
    """

    faithfulness: float
    relevance: float


def judge(trace: Trace, ctx: Context) -> tuple[Judgement | RagError, tuple[ModelCall, ...]]:
    """Judge a trace's answer: the judgement, or the error that prevented it, and the model calls made.

    Each judgement starts with an unused run budget.

    Raises:
        Stopped: the user stopped the run; the error carries the judge's calls.
        ValueError: the trace has no answer.
    """
    if trace.answer is None:
        raise ValueError("the trace has no answer to judge")
    ctx = Context(ctx.services, ctx.run.with_new_budget())
    try:
        judgement = ctx.complete_parsed(
            JUDGE_ANSWER,
            parse,
            question=trace.question,
            sources=Sources(trace.ranking.hits),
            answer=Block(trace.answer.text),
        )
    except Stopped:
        raise Stopped(tuple(ctx.meter.calls)) from None
    except RagError as error:
        return error, tuple(ctx.meter.calls)
    return judgement, tuple(ctx.meter.calls)


def parse(reply: str) -> Judgement:
    """Parse the scores in a judge's reply.

    Raises:
        ValueError: the reply is not one JSON object, a score is missing or not a number from 0 to 100, or
            both look like numbers from 0 to 1.
    """
    values = read_object(reply)
    found = Judgement(read_score(values, "faithfulness"), read_score(values, "relevance"))
    if 0 < max(found.faithfulness, found.relevance) <= 1:  # one answer's scores cannot show their scale
        raise ValueError("both scores are at most 1; give them from 0 to 100")
    return found
