"""Writing the answer from the selected passages."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ..language.analysis import SHORT_QUESTION, detect_language, language_of
from ..prompts.prompt import ANSWER, NO_EVIDENCE, Fields, Sources, Template, Urgency, contexts_in
from ..prompts.replies import COMPLETE, TOO_LONG, unescaped
from ..runtime.context import COMPARED, Context
from ..safety.urgency.leading import leads_with_action
from ..values.answers import Answer, Citation, Grounded, Remark, Suggestion
from ..values.errors import ProviderError
from ..values.labels import EvidenceScore
from ..values.message import Message
from ..values.translation import language_name, translate, translate_plural
from ..values.triage import Triage
from ..values.types import Hit, Ranking, Relevance, Scorer, State
from .base import Flow, RerankStage, Stage, warn_if_unread
from .citations import MARKER, claims, evidence_hash, resolve_citations, shown_evidence, unmarked
from .remarks import abstention, not_enough, remarks_on, suggestions
from .rerank import LlmRerank, Rerank

WEIGHED = 5  # of each of them, by whose evidence a question is declined

# one score or None per passage; None instead of a list when time ran out
Measure = Callable[[Sequence[Hit]], Sequence[float | None]]


@dataclass(frozen=True)
class Generate(Stage):
    """Labels the passages (`labelled`), asks the model for an answer with citations, and checks the citations.

    With no passages, or with evidence too weak for an answer, it abstains without calling the model. The answer says
    where its evidence is thin or in another language, whether it was cut off, and which of its sentences the passages
    support; an abstention, which documents are near (`remarks`). A reply without a word to read is a failure. For an
    urgent question, the prompt asks for what to do now first. An abstention, or an answer of the offline engine that
    cannot, begins with our own notice; another model's answer that does not gets a remark.

    The fields of `template` are question, sources and, optionally, urgency.

    >>> from rag_core.stages import Bm25, Retrieve
    >>> from rag_core.testing import sample_context  # its model quotes the first source
    >>> ctx = sample_context()
    >>> found = Retrieve((Bm25(k=1),))(State.start("Do cats purr?"), ctx)
    >>> Generate()(found, ctx).answer.text
    'Cats sleep most of the day [1].'
    >>> Generate()(State.start("Do cats purr?"), ctx).answer.abstained  # no passage, no call
    True
    """

    template: Template = ANSWER
    kind: ClassVar[str] = "answer"
    fills: ClassVar[Fields] = Fields(("question", "sources"), ("urgency",))

    def __post_init__(self) -> None:
        self.fills.check(self.name, self.template)

    def flow(self, before: Flow) -> Flow:
        return replace(before, content="an answer")

    def __call__(self, state: State, ctx: Context) -> State:
        question = ctx.as_read(state.question.text)
        urgency = Urgency(state.triage, None if question == state.question.text else ctx.urgency(question))
        language, spoken = language_of(question), detect_language(question)
        hits = labelled(state, language, ctx)
        ranking = Ranking(state.question, hits)
        if not hits:
            reason = state.shortfall or translate(spoken, "No passage was found for this question.")
            near, _ = _rated(state.question.text, state.dropped, language, ctx)
            answer = _abstention(spoken, reason, suggestions(question, near))
        elif (weak := _too_weak(question, weighed(state, ctx), urgency.as_read, ctx)) is not None:
            answer = _abstention(spoken, not_enough(spoken, weak), suggestions(question, hits))
        else:
            answer = self._answer(ranking, urgency, ctx)
        return replace(state, rankings=(ranking,), answer=_led(answer, state.triage, ctx))

    def _answer(self, ranking: Ranking, urgency: Urgency, ctx: Context) -> Answer:
        warn_if_unread(self.template, ANSWER, ctx)
        question, read = ranking.query.text, ctx.as_read(ranking.query.text)
        prompt = self.template.fill(
            question=question, sources=Sources(ranking.hits, ctx.services.country), urgency=urgency
        )
        evidence = evidence_hash(contexts_in(prompt.render()))
        if evidence != shown_evidence(ranking.hits):
            raise RuntimeError("the contexts in the prompt are not the contexts of the result")
        written, finish = ctx.reply(prompt, ctx.run.emit)
        reply = unescaped(written).strip()
        if NO_EVIDENCE in reply:
            reason = reply.replace(NO_EVIDENCE, "").strip(" .:\n")
            spoken = detect_language(read)
            near = suggestions(read, ranking.hits)
            reason = reason or translate(spoken, "The model found no answer in the passages.")
            return _abstention(spoken, reason, near, evidence)
        text, citations, invalid = resolve_citations(reply, ranking.hits)
        if not re.search(r"\w", unmarked(text)):
            why = "" if finish == COMPLETE else Message(" (finish reason: {finish})", finish=finish)
            raise ProviderError(
                Message("the model's reply says nothing{why}.", why=why)
                if reply
                else Message("the model returned an empty reply{why}.", why=why),
                Message("Try again, or use another model."),
            )
        sentences = grounded(text, ranking.hits, ctx)
        citations = reconciled(text, citations, sentences)
        if not citations:
            ctx.warn(Message("The answer cites none of its passages."))
        if unsupported := sum(one.supported is False for one in citations):
            ctx.warn(
                Message("The citation points to a passage that does not support the sentence.")
                if len(citations) == 1
                else Message(
                    "{count} of {total} citations point to a passage that does not support the sentence.",
                    count=unsupported,
                    total=len(citations),
                )
            )
        remarks = (
            *remarks_on_reply(read, text, invalid, sentences, ctx),
            *remarks_on(read, text, ranking.hits, ctx.services.country),
        )
        if finish != COMPLETE:
            ctx.warn("The model's reply is incomplete (finish reason: {finish}).", finish=finish)
            text_of_cut = translate(detect_language(read), "This answer is incomplete: {why}.", why=why_cut(finish))
            remarks = (Remark("cut", text_of_cut, ()), *remarks)
        return Answer(
            text,
            citations,
            evidence=evidence,
            invalid_citations=invalid,
            remarks=remarks,
            sentences=sentences,
        )


def _led(answer: Answer, asked: Triage, ctx: Context) -> Answer:
    """The answer to an urgent question, led by our notice or with a remark if it says not first what to do."""
    if leads_with_action(unmarked(answer.text), asked):
        return answer
    if answer.abstained or ctx.services.llms["answer"].offline:
        notice = translate(
            asked.language,
            "Notice of this demonstration, not from the documents: {action}",
            action=asked.action,
        )
        near = () if asked.level == "emergency" else answer.suggestions  # no "perhaps you meant" in an emergency
        return replace(answer, text=f"{notice} {answer.text}", notice=notice, suggestions=near)
    buried = translate(asked.language, "This answer does not begin with what to do now.")
    return replace(answer, remarks=(Remark("buried", buried, ()), *answer.remarks))


def labelled(state: State, language: str, ctx: Context) -> tuple[Hit, ...]:
    """The hits of the single ranking, each labelled by the best scorer that rated it.

    Scorers in order: the judge model, a cross-encoder, the offline scorer, the cosine. Only scores for the
    question itself count, from models with fitted thresholds (`LabelRules.has`). Hits that no scorer rated get
    no label and a warning. The rule "rank" uses the position only.
    """
    hits, why = _rated(state.question.text, state.ranking.hits, language, ctx)
    if missing := sum(hit.relevance is None for hit in hits):
        ctx.warn(
            "{count} of {total} passages have no relevance label: {reason}.",
            count=missing,
            total=len(hits),
            reason=why,
        )
    return hits


def _rated(question: str, hits: Sequence[Hit], language: str, ctx: Context) -> tuple[tuple[Hit, ...], str]:
    """The hits with their labels, and why some have none."""
    rules = ctx.services.labels
    if rules.by_rank:
        by_position = rules.relevance("rank", [0.0] * len(hits), language, "")
        return tuple(replace(hit, relevance=label) for hit, label in zip(hits, by_position, strict=True)), ""
    found: dict[str, Relevance] = {}
    why = Message("{model} has no fitted thresholds", model=ctx.services.embedder.name)
    for scorer, model, measure in _scorers(question, ctx):
        if all(hit.id in found for hit in hits) or not rules.has(scorer, model):
            continue
        scores = measure(hits)  # the offline measure compares them all
        rated = {hit.id: score for hit, score in zip(hits, scores, strict=True) if score is not None}
        labels = rules.relevance(scorer, list(rated.values()), language, model)
        found = dict(zip(rated, labels, strict=True)) | found
    return tuple(replace(hit, relevance=found.get(hit.id)) for hit in hits), why


def _scorers(question: str, ctx: Context) -> Iterator[tuple[Scorer, str, Measure]]:
    """The available scorers, best first: kind of score, model, and scoring function."""

    def votes(stage: type[RerankStage]) -> Measure:
        return lambda hits: [
            next(
                (vote.score for vote in hit.votes if (vote.stage, vote.query) == (stage.__name__, question)),
                None,
            )
            for hit in hits
        ]

    services = ctx.services
    judge, reranker, assessor = services.llms.get("judge"), services.reranker, services.assessor
    if judge and not judge.offline:  # the offline engine judges with the offline scorer
        yield "judge", judge.name, votes(LlmRerank)
    if reranker and reranker.scale == "cross_encoder":
        yield "cross_encoder", reranker.name, votes(Rerank)
    if assessor:
        read = ctx.as_read(question)
        usual = ctx.usual_hits(question, COMPARED)
        yield "offline_scorer", assessor.name, lambda hits: assessor.chances(read, hits, usual)
    yield (
        "cosine",
        services.embedder.key,
        lambda hits: (ctx.passage_vectors(hits) @ ctx.embed((question,))[0]).tolist(),
    )


def weighed(state: State, ctx: Context) -> Sequence[Hit]:
    """The passages that decide whether a question is declined, the same in all columns.

    An urgent question is not declined where this strategy found what to do.
    """
    usual, hits = ctx.usual_hits(state.question.text, WEIGHED), state.ranking.hits
    return (*usual, *hits) if state.triage.urgent else usual or hits


def _too_weak(question: str, hits: Sequence[Hit], triage: Triage, ctx: Context) -> EvidenceScore | None:
    """These passages' evidence if it is not enough for an answer; None if it is, or nobody can tell."""
    evidence, asked = ctx.services.evidence, ctx.services.asked
    if evidence is None:
        return None
    if asked and asked.knows(question, [hit.id for hit in hits]):
        return None  # somebody has said which of them answers it
    if not evidence.fitted:
        ctx.warn(
            "{model} has no thresholds for abstention, so no question is declined for weak evidence.",
            model=evidence.model,
        )
        return None
    found = evidence.score(question, hits, triage, asked, offline=ctx.services.llm("answer").offline)
    return None if found.enough else found


def _abstention(language: str, reason: str, near: tuple[Suggestion, ...], evidence: str = "") -> Answer:
    return Answer(abstention(language), abstained=True, reason=reason, evidence=evidence, suggestions=near)


FEWEST_WORDS = 6  # of an answer whose language is compared with the question's


def grounded(text: str, hits: Sequence[Hit], ctx: Context) -> tuple[Grounded, ...]:
    """An answer's sentences, marked by the context's grounder, which may leave out the last; none without one."""
    grounder = ctx.services.grounder
    if grounder is None:
        return ()
    language = language_of(unmarked(text))
    return tuple(grounder.ground(claims(text), [hit.passage for hit in hits], language))


def reconciled(text: str, citations: Sequence[Citation], sentences: Sequence[Grounded]) -> tuple[Citation, ...]:
    """The citations, judged by the sentences that cite them instead of shared words; those of no sentence as they are.

    A citation is supported if its passage supports each of them, in doubt (None) if it comes close to one, else not.
    """
    places = [marker.start() for marker in MARKER.finditer(text)]

    def judged(citation: Citation) -> bool | None:
        citing = [one for place in citation.markers for one in sentences if one.start <= places[place] < one.end]
        if not citing:
            return citation.supported
        if all(one.support == "supported" and citation.n in one.by for one in citing):
            return True
        return None if any(citation.n in one.by for one in citing) else False

    return tuple(replace(one, supported=judged(one)) for one in citations)


def remarks_on_reply(
    question: str, text: str, invalid: int, sentences: Sequence[Grounded], ctx: Context
) -> Iterator[Remark]:
    """What is wrong with a reply as such: citations of nothing, the wrong language, too long to check."""
    spoken = detect_language(question)
    if invalid:
        removed = translate_plural(
            spoken,
            "1 citation pointed to no passage and was removed.",
            "{count} citations pointed to no passage and were removed.",
            invalid,
        )
        yield Remark("invalid", removed, ())
    written = unmarked(text)
    quotes = ctx.services.llm("answer").offline  # a remark says which passages are in another language
    sure = len(question.split()) > SHORT_QUESTION and len(written.split()) >= FEWEST_WORDS
    if sure and not quotes and (answered := detect_language(written)) != spoken:
        languages = translate(
            spoken,
            "The answer is in {answer}, the question in {question}.",
            answer=language_name(answered, spoken),
            question=language_name(spoken, spoken),
        )
        yield Remark("answer_language", languages, ())
    left = sentences and re.search(r"\w", unmarked(text[sentences[-1].end :]))
    if left and len(sentences) < (count := len(claims(text))):
        compared = translate(
            spoken,
            "Only the first {checked} of {count} sentences were compared with the passages.",
            checked=len(sentences),
            count=count,
        )
        yield Remark("unmarked", compared, ())


def why_cut(finish: str) -> Message:
    """Why a reply ends before its end."""
    match finish:
        case "length":
            return Message("the model reached its length limit")
        case "content_filter":
            return Message("the provider's content filter cut it off")
        case _ if finish == TOO_LONG:
            return Message("it was too long to read to its end")
    return Message("the provider stopped it ({finish})", finish=finish)
