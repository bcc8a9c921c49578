"""An optional judge of written answers: a language model's scores, never invented ones."""

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
    """Scores of one answer, 0 to 100.

    Args:
        faithfulness: how far its statements are those of the sources it was written from.
        relevance: how far it answers the question.
    """

    faithfulness: float
    relevance: float


def judge(trace: Trace, ctx: Context) -> tuple[Judgement | RagError, tuple[ModelCall, ...]]:
    """A judgement of a trace's answer, or why there is none, and the calls it took.

    It has the limits of a run to itself.

    Raises:
        Stopped: the user stopped the run; it carries the judge's calls.
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
    """The scores in a judge's reply: one JSON object.

    Raises:
        ValueError: it is not one, or a score is missing, no number or not from 0 to 100.
    """
    values = read_object(reply)
    return Judgement(read_score(values, "faithfulness"), read_score(values, "relevance"))
