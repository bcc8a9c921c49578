"""Writing the answer from the passages that were kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ..context import Context
from ..errors import ProviderError
from ..grounding import evidence_hash, resolve_citations, shown_evidence
from ..prompts import ANSWER, NO_EVIDENCE, Sources, contexts_in
from ..text import language_of
from ..types import Answer, Hit, Ranking, State
from .base import Stage
from .rerank import Judge

ABSTENTION = {
    "en": "There is not enough evidence in this collection to answer the question.",
    "es": "No hay evidencia suficiente en esta colección para responder a la pregunta.",
}

NONE_FOUND = {
    "en": "No passage was found for this question.",
    "es": "No se encontró ningún pasaje para esta pregunta.",
}

NONE_ANSWERS = {
    "en": "The model found no answer in the passages.",
    "es": "El modelo no encontró ninguna respuesta en los pasajes.",
}


@dataclass(frozen=True)
class Write(Stage):
    """Label the passages, ask the model for a cited answer, and check what it cites.

    Labels come from the judge's scores where the run has them and thresholds were fitted for that judge;
    otherwise from the assessor, the offline engine's judge; without one from the cosine of each passage to
    the question; or from the position, if the label rules say so. Without a passage there is no model call: the answer is an abstention.
    """

    kind: ClassVar[str] = "answer"

    def __call__(self, state: State, ctx: Context) -> State:
        language = language_of(state.question.text)
        hits = labelled(state, language, ctx)
        ranking = Ranking(state.question, hits)
        if not hits:
            reason = state.shortfall or NONE_FOUND.get(language, NONE_FOUND["en"])
            answer = _abstention(language, reason)
        else:
            answer = self._answer(ranking, language, ctx)
        return replace(state, rankings=(ranking,), answer=answer)

    def _answer(self, ranking: Ranking, language: str, ctx: Context) -> Answer:
        prompt = ANSWER.fill(question=ranking.query.text, sources=Sources(ranking.hits))
        evidence = evidence_hash(contexts_in(prompt.render()))
        if evidence != shown_evidence(ranking.hits):
            raise RuntimeError("the contexts in the prompt are not the contexts of the result")
        reply = ctx.complete(prompt, ctx.emit).strip()
        if not reply:
            raise ProviderError("the model returned an empty reply.", "Try again, or with another model.")
        if NO_EVIDENCE in reply:
            reason = reply.replace(NO_EVIDENCE, "").strip(" .:\n")
            return _abstention(language, reason or NONE_ANSWERS.get(language, NONE_ANSWERS["en"]), evidence)
        text, citations, invalid = resolve_citations(reply, ranking.hits)
        if invalid:
            ctx.warn(f"{invalid} citation(s) named a source that does not exist and were taken out.")
        if not citations:
            ctx.warn("The answer cites none of its passages.")
        return Answer(text, citations, evidence=evidence, invalid_citations=invalid)


def labelled(state: State, language: str, ctx: Context) -> tuple[Hit, ...]:
    """The hits of the one ranking, each with its relevance."""
    ranking = state.ranking
    if not ranking.hits:
        return ()
    judge, assessor = ctx.llms.get("judge"), ctx.assessor
    judged = [vote.score for hit in ranking if (vote := hit.vote(Judge.__name__))]
    if judge and len(judged) == len(ranking) and ctx.labels.has("judge", judge.name):
        labels = ctx.labels.relevance("judge", judged, language, judge.name)
    elif assessor and ctx.labels.has("judge", assessor.name):
        values = assessor.relevance(state.question.text, ranking.hits)
        labels = ctx.labels.relevance("judge", values, language, assessor.name)
    else:
        question = ctx.embed((state.question.text,))[0]
        cosines = ctx.index.vectors([hit.id for hit in ranking]) @ question
        labels = ctx.labels.relevance("cosine", [float(cosine) for cosine in cosines], language)
    return tuple(replace(hit, relevance=label) for hit, label in zip(ranking, labels, strict=True))


def _abstention(language: str, reason: str, evidence: str = "") -> Answer:
    text = ABSTENTION.get(language, ABSTENTION["en"])
    return Answer(text, abstained=True, reason=reason, evidence=evidence)
