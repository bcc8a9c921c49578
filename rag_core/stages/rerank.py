"""Rescoring passages: by a reranker, by a judging model, and by RAG-MSR's blend of both scores."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ..prompts.prompt import JUDGE_PASSAGE, Fields, Sources, Template
from ..prompts.replies import read_object, read_score
from ..runtime.context import Context
from ..values.errors import ConfigError, ProviderError, RagError
from ..values.message import Message
from ..values.types import Hit, Ranking, Term
from .base import Flow, RerankStage, warn_if_unread


@dataclass(frozen=True)
class Rerank(RerankStage):
    """Scores by the reranker: a cross-encoder if one is set up, otherwise the offline scorer.

    RAG-MSR (README, Step 2) reranks the hits of each query against that query with ms-marco-MiniLM-L-6-v2; Query System
    with Contextual Retrieval (Reranking) the fused list with mxbai-rerank-large-v1. The hits' scale names the scorer.

    >>> from rag_core.testing import ranking_of, sample_context  # its reranker counts shared words
    >>> found = ranking_of({"cats purr": 0.9, "cats purr at night": 0.8}, query="Do cats purr at night?")
    >>> [(hit.id, hit.score, hit.scale) for hit in Rerank().rerank(found, sample_context())]
    [('cats purr', 2.0, 'cross_encoder'), ('cats purr at night', 4.0, 'cross_encoder')]
    """

    def rerank(self, ranking: Ranking, ctx: Context) -> Iterable[Hit]:
        scores, scale = ctx.rerank(ranking.query.text, ranking.hits)
        return [hit.with_score(float(score), scale) for hit, score in zip(ranking, scores, strict=True)]


@dataclass(frozen=True)
class RerankByQuestions(RerankStage):
    """Adds to each score how like the question is to those that the passage is known to answer.

    score = z + weight · likeness, weight >= 0 and z the score so far, standardised over the list. A passage without
    known questions gets the mean of the others; in a corpus without any, every hit keeps its score. The first AMONG get
    weight · `AskedQuestions.words_among` them more: among sections on one subject, other words tell which is meant.

    >>> from rag_core.testing import ranking_of, sample_context  # no questions are known of these passages
    >>> found = ranking_of({"cats": 3.0, "dogs": 1.0}, query="Do cats purr?")
    >>> [(hit.id, hit.score) for hit in RerankByQuestions().rerank(found, sample_context())]
    [('cats', 1.0), ('dogs', -1.0)]
    """

    weight: float = 15.0
    scale: ClassVar[str] = "known_questions"
    AMONG: ClassVar[int] = 10  # of 230 dev questions, a passage of grade 2 is first for 0.84 with 10, for 0.78 with 0

    def __post_init__(self) -> None:
        if self.weight < 0:
            raise ConfigError(f"RerankByQuestions: weight must be at least 0, not {self.weight}.")

    def rerank(self, ranking: Ranking, ctx: Context) -> Iterable[Hit]:
        asked = ctx.services.asked
        if asked is None:
            return ranking.hits
        question, ids = ctx.as_read(ranking.query.text), [hit.id for hit in ranking]
        scores = [hit.score for hit in ranking]
        mean, spread = statistics.fmean(scores), statistics.pstdev(scores)
        terms: list[tuple[Term, ...]] = [
            (
                Term("standardised", (score - mean) / spread if spread else 0.0, 1.0),
                Term("known questions", like, self.weight),
            )
            for score, like in zip(scores, _with_mean(asked.likeness(question, ids)), strict=True)
        ]
        first = sorted(range(len(ids)), key=lambda i: -_total(terms[i]))[: self.AMONG]
        words = _with_mean(asked.words_among(question, [ids[i] for i in first]))
        for i, told in zip(first, words, strict=True):
            terms[i] += (Term("their words", told, self.weight),)
        return [
            hit.with_score(_total(own), "known_questions", terms=own) for hit, own in zip(ranking, terms, strict=True)
        ]


def _total(terms: Iterable[Term]) -> float:
    return math.fsum(term.weight * term.value for term in terms)


def _with_mean(values: Sequence[float | None]) -> list[float]:
    """The values, and their mean where there is none; 0 where all are missing."""
    known = [one for one in values if one is not None]
    usual = math.fsum(known) / len(known) if known else 0.0
    return [usual if one is None else one for one in values]


@dataclass(frozen=True)
class LlmRerank(RerankStage):
    """Scores by the judging model (S_LLM of RAG-MSR, README, Step 3): one call per passage, all at the same time.

    The model answers 0 to 100, scaled to 0 to 1, with a reason, which becomes the vote's note. Scores of which
    all are from 0 to 1 and some are fractions are read on that scale, with a warning; where all scores leave
    the scale open, the prompt decides. A malformed reply is requested once more. A passage without a score is
    left out, with a warning: a failure is not a score of 0.

    The fields of `template` are question and sources, and optionally refused: why the last reply was refused.

    >>> from rag_core.testing import ranking_of, sample_context  # its model: share of the question's words
    >>> found = ranking_of({"cats purr": 0.9, "cats purr at night": 0.8}, query="Do cats purr at night?")
    >>> [(hit.id, hit.score) for hit in LlmRerank().rerank(found, sample_context())]
    [('cats purr', 0.4), ('cats purr at night', 0.8)]
    """

    template: Template = JUDGE_PASSAGE
    scale: ClassVar[str] = "judge"
    fills: ClassVar[Fields] = Fields(("question", "sources"), ("refused",))

    def __post_init__(self) -> None:
        self.fills.check(self.name, self.template)

    def rerank(self, ranking: Ranking, ctx: Context) -> Iterable[Hit]:
        """The hits that got a score; raises ProviderError if none got one."""
        warn_if_unread(self.template, JUDGE_PASSAGE, ctx)
        replies = ctx.map_or_error(lambda hit: self._judged(ranking.query.text, hit, ctx), ranking.hits)
        judged, missing = [], []
        for reply in replies:
            if isinstance(reply, RagError):
                missing.append(reply)
            else:
                judged.append(reply)
        if missing and not judged:
            what = Message("no passage could be judged: {reason}", reason=missing[0].message)
            raise ProviderError(what, missing[0].next_step)
        if missing:
            ctx.warn(
                "{count} of {total} passages could not be judged and were left out: {reason}",
                count=len(missing),
                total=len(replies),
                reason=missing[0].message,
            )
        top, remark = _scale([hit.score for hit in judged], self.template)
        if remark:
            ctx.warn(remark)
        return [replace(hit, score=hit.score / top) for hit in judged]

    def _judged(self, question: str, hit: Hit, ctx: Context) -> Hit:
        score, reason = ctx.complete_parsed(
            self.template, _score_and_reason, question=question, sources=Sources((hit,))
        )
        return hit.with_score(score, "judge", reason)


def _score_and_reason(reply: str) -> tuple[float, str]:
    values = read_object(reply)
    return read_score(values, "score"), " ".join(str(values.get("reason", "")).split())


def _scale(scores: Sequence[float], template: Template) -> tuple[float, str]:
    """The top of the scale of a judge's scores, and a remark if it is not evident."""
    small = [score for score in scores if 0 < score <= 1]
    fractions = any(score < 1 for score in small)
    if not small or (max(scores) > 1 and not fractions):
        return 100.0, ""
    if max(scores) > 1:
        return 100.0, Message(
            "{count} of {total} of the judge's scores are 1 or less and others are not; all were read from 0 to 100.",
            count=len(small),
            total=len(scores),
        )
    if fractions:
        return 1.0, Message("The judge scored from 0 to 1 instead of 0 to 100; its scores were read on that scale.")
    top = 100.0 if "100" in template.system + template.text else 1.0
    return top, Message(
        "The judge gave only the scores 0 and 1; they were read on the prompt's scale, 0 to {top:g}.", top=top
    )


@dataclass(frozen=True)
class Blend(RerankStage):
    """S_final = α · S_cos + (1 − α) · S_LLM, S_cos the cosine of passage and question.

    RAG-MSR, README, Step 3: Inter-Query Scoring & Filtering; α = 0.4 is the default of its code (scoring.py). S_cos
    gets its own vote; the vote of S_final shows both terms with their weights. α is 0 to 1; 1 needs no judge before it.

    >>> from rag_core.testing import ranking_of, sample_context
    >>> ctx, found = sample_context(), ranking_of({"cats purr": 0.9}, query="cats")
    >>> judged = Ranking.sort(found.query, LlmRerank().rerank(found, ctx), "LlmRerank")
    >>> (hit,) = Blend(alpha=0.4).rerank(judged, ctx)
    >>> [(term.name, round(term.value, 2), term.weight) for term in hit.terms]
    [('cosine', 0.71, 0.4), ('judge', 1.0, 0.6)]
    >>> round(hit.score, 2)  # 0.4 · 0.71 + 0.6 · 1
    0.88
    """

    scale: ClassVar[str] = "s_final"
    alpha: float = 0.4

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise ConfigError(f"Blend: alpha must be from 0 to 1, not {self.alpha}.")

    def flow(self, before: Flow) -> Flow:
        """Raises ConfigError if no judge comes before it."""
        if self.alpha < 1 and LlmRerank.__name__ not in before.stages:
            raise ConfigError(
                f"Blend weighs the judge's scores by {1 - self.alpha:g}, but no LlmRerank comes before it.",
                "Put LlmRerank before it, or set alpha to 1.",
            )
        return super().flow(before)

    def rerank(self, ranking: Ranking, ctx: Context) -> Iterable[Hit]:
        question = ctx.embed((ranking.query.text,))[0]
        cosines = ctx.passage_vectors(ranking.hits) @ question
        measured = [hit.with_score(float(cosine), "cosine") for hit, cosine in zip(ranking, cosines, strict=True)]
        return [self._blended(hit) for hit in Ranking.sort(ranking.query, measured, self.name)]

    def _blended(self, hit: Hit) -> Hit:
        terms: tuple[Term, ...] = (Term("cosine", hit.score, self.alpha),)
        if self.alpha < 1:
            vote = hit.vote(LlmRerank.__name__)
            if vote is None:
                raise ConfigError(
                    "Blend: the passages have no judge's score.",
                    "Put LlmRerank before it, or set alpha to 1.",
                )
            terms += (Term("judge", vote.score, 1 - self.alpha),)
        return hit.with_score(sum(term.weight * term.value for term in terms), "s_final", terms=terms)
