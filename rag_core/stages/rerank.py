"""Scoring passages anew: by the reranker, by a judging model, and the two scores of seed 004 together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..context import Context
from ..errors import ConfigError, LimitReached, ProviderError, RagError, Stopped
from ..prompts import JUDGE_PASSAGE, Sources
from ..replies import read_object, read_score
from ..types import Hit, Ranking
from .base import Rerank

ATTEMPTS = 2  # a malformed reply is asked for once more


@dataclass(frozen=True)
class Rescore(Rerank):
    """Scores by the reranker: a cross-encoder where one is set up, otherwise the offline scorer.

    Seed 004 reranks the hits of each query against that query with ms-marco-MiniLM-L-6-v2; seed 003 the
    fused list with mxbai-rerank-large-v1. The hits' scale says whose scores they are.
    """

    def rescored(self, ranking: Ranking, ctx: Context) -> Iterable[Hit]:
        """Every hit with the reranker's score."""
        scores, scale = ctx.rerank(ranking.query.text, ranking.hits)
        return [
            replace(hit, score=float(score), scale=scale) for hit, score in zip(ranking, scores, strict=True)
        ]


@dataclass(frozen=True)
class Judge(Rerank):
    """Scores by the judging model (S_LLM of seed 004), each passage asked for by itself, all at the same time.

    The model answers 0 to 100, scaled to 0 to 1. A malformed reply is asked for once more. A passage
    without a score is left out, with a warning: a failure is not a score of 0.
    """

    def rescored(self, ranking: Ranking, ctx: Context) -> Iterable[Hit]:
        """The hits that got a score.

        Raises:
            ProviderError: no hit got one.
        """
        replies = ctx.map(lambda hit: self._score(ranking.query.text, hit, ctx), ranking.hits)
        judged, missing = [], []
        for hit, reply in zip(ranking, replies, strict=True):
            if isinstance(reply, RagError):
                missing.append(reply)
            else:
                judged.append(replace(hit, score=reply, scale="judge"))
        if missing and not judged:
            raise ProviderError(f"no passage could be judged: {missing[0].message}", missing[0].next_step)
        if missing:
            ctx.warn(
                f"{len(missing)} of {len(replies)} passages could not be judged and were left out: "
                f"{missing[0].message}"
            )
        return judged

    @staticmethod
    def _score(question: str, hit: Hit, ctx: Context) -> float | RagError:
        reason = ""
        for _ in range(ATTEMPTS):
            refused = f"Your last reply was refused: {reason}.\n" if reason else ""
            prompt = JUDGE_PASSAGE.fill(question=question, sources=Sources((hit,)), refused=refused)
            try:
                return read_score(read_object(ctx.complete(prompt)), "score") / 100
            except ValueError as error:
                reason = str(error)
            except (Stopped, LimitReached):
                raise
            except RagError as error:
                return error
        return ProviderError(f"the judge's reply was malformed {ATTEMPTS} times: {reason}.")


@dataclass(frozen=True)
class Blend(Rerank):
    """S_final = α · S_cos + (1 − α) · S_LLM (seed 004), S_cos the cosine of passage and question.

    Args:
        alpha: 0 to 1; 1 needs no judge before it.
    """

    alpha: float = 0.4

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise ConfigError(f"Blend: alpha must be from 0 to 1, not {self.alpha}.")

    def rescored(self, ranking: Ranking, ctx: Context) -> Iterable[Hit]:
        """Every hit with its S_final."""
        question = ctx.embed((ranking.query.text,))[0]
        cosines = ctx.index.vectors([hit.id for hit in ranking]) @ question
        return [
            replace(
                hit, score=self.alpha * float(cosine) + (1 - self.alpha) * self._judged(hit), scale="s_final"
            )
            for hit, cosine in zip(ranking, cosines, strict=True)
        ]

    def _judged(self, hit: Hit) -> float:
        vote = hit.vote(Judge.__name__)
        if vote is not None:
            return vote.score
        if self.alpha == 1:
            return 0.0  # has no weight
        raise ConfigError(
            "Blend: the passages have no judge's score.", "Put Judge before it, or set alpha to 1."
        )
