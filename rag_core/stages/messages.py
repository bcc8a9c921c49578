"""Messages of the stages: abstentions and remarks in the language of the question, and warnings."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..language.analysis import detect_language
from ..prompts.replies import COMPLETE, TOO_LONG, excerpt
from ..values.evidence import EvidenceScore
from ..values.jurisdictions import name_of
from ..values.message import Message
from ..values.sources import difference, listed
from ..values.translation import language_name, translate, translate_plural
from ..values.types import Passage


def abstention(language: str) -> str:
    """The text of an answer that abstains."""
    return translate(language, "There is not enough evidence in this collection to answer the question.")


def none_found(language: str) -> str:
    """Why an answer abstains: the search found nothing."""
    return translate(language, "No passage was found for this question.")


def none_answers(language: str) -> str:
    """Why an answer abstains: the model said so and gave no reason."""
    return translate(language, "The model found no answer in the passages.")


def not_enough(language: str, found: EvidenceScore) -> str:
    """Why an answer abstains: the question is beyond the passages, or their evidence too weak.

    The score is rounded down, so never to what is needed.
    """
    match found.scope:
        case "another_patient":
            return translate(
                language, "The question seems to be about somebody whom these documents do not cover."
            )
        case "another_matter":
            return translate(
                language,
                "The question asks for something, such as a price, a product or papers, that none of these passages "
                "mentions.",
            )
        case "continuation":
            return translate(
                language,
                "This seems to continue another question, but each is answered by itself. What is it about? "
                "Ask it whole.",
            )
    return translate(
        language,
        "The evidence in these passages scores {score:.2f}; an answer needs at least {needed:.2f}.",
        score=math.floor(100 * found.score) / 100,
        needed=found.needed,
    )


def below_threshold(language: str, best: float, theta: float) -> str:
    """Why a threshold dropped every passage."""
    return translate(
        language,
        "The best passage reaches {best:.3f}, which is below the threshold θ = {theta:g}.",
        best=best,
        theta=theta,
    )


def thin(language: str, citations: Sequence[int]) -> str:
    """Remark: sentences rest only on passages labelled Low."""
    return translate_plural(
        language,
        "Thin evidence: {n} rests on a passage labelled Low.",
        "Thin evidence: {n} rest on passages labelled Low.",
        len(citations),
        n=_markers(language, citations),
    )


def all_thin(language: str) -> str:
    """Remark: every cited sentence does."""
    return translate(language, "Thin evidence: every passage cited is labelled Low.")


def other_language(language: str, citations: Sequence[int], of_passages: str, best: bool) -> str:
    """Remark: cited passages are in another language.

    Args:
        best: no passage in the question's language is cited or better.
    """
    text = translate_plural(
        language,
        "{n} is in {language}",
        "{n} are in {language}",
        len(citations),
        n=_markers(language, citations),
        language=language_name(of_passages, language),
    )
    if best:
        text += translate(
            language,
            "; there is no better passage in {language}",
            language=language_name(language, language),
        )
    return f"{text}."


def cut(language: str, finish: str) -> str:
    """Remark: the answer ends before its end."""
    return translate(language, "This answer is incomplete: {why}.", why=_why_cut(finish))


def _why_cut(finish: str) -> Message:
    match finish:
        case "length":
            return Message("the model reached its length limit")
        case "content_filter":
            return Message("the provider's content filter cut it off")
        case _ if finish == TOO_LONG:
            return Message("it was too long to read to its end")
    return Message("the provider stopped it ({finish})", finish=finish)


def buried(language: str) -> str:
    """Remark: an answer to an urgent question begins with something else."""
    return translate(language, "This answer does not begin with what to do now.")


def notice(language: str, action: str) -> str:
    """The beginning of an answer when no passage says what to do now."""
    return translate(
        language, "Notice of this demonstration, not from the documents: {action}", action=action
    )


def invalid_citations(language: str, count: int) -> str:
    """Remark: citations without a passage."""
    return translate_plural(
        language,
        "1 citation pointed to no passage and was removed.",
        "{count} citations pointed to no passage and were removed.",
        count,
    )


def answer_language(asked: str, answered: str) -> str:
    """Remark: the answer is in another language than the question."""
    return translate(
        asked,
        "The answer is in {answer}, the question in {question}.",
        answer=language_name(answered, asked),
        question=language_name(asked, asked),
    )


def unmarked(language: str, checked: int, count: int) -> str:
    """Remark: the answer has more sentences than are compared with the passages."""
    return translate(
        language,
        "Only the first {checked} of {count} sentences were compared with the passages.",
        checked=checked,
        count=count,
    )


def differs(language: str, citations: Sequence[int], passage: Passage, country: str) -> str:
    """Remark: guidance in cited passages differs; and which side leads in the chosen country, if one does."""
    text = f"{_markers(language, citations)} {difference(passage.agreeing, passage.differs_from, language)}"
    ours = passage.leading(country)
    if not ours:
        return text
    named = dict.fromkeys(f"{source.organisation} {source.year}" for source in ours)
    applies = translate_plural(
        language,
        "For the country you chose ({country}), {names} applies.",
        "For the country you chose ({country}), {names} apply.",
        len(named),
        country=name_of(ours[0].jurisdiction, language),
        names=listed(named, language),
    )
    return f"{text} {applies}"


def perhaps_you_meant(question: str) -> str:
    """The introduction to an abstention's suggestions, in the question's language."""
    return translate(detect_language(question), "Perhaps you meant")


def _markers(language: str, citations: Sequence[int]) -> str:
    """Numbers as markers, such as "[1], [2] and [3]"."""
    return listed((f"[{n}]" for n in citations), language)


def incomplete(finish: str) -> str:
    """Warning: the answer ends before its end."""
    if finish == COMPLETE:
        return Message("The model's reply is incomplete.")
    return Message("The model's reply is incomplete (finish reason: {finish}).", finish=finish)


def says_nothing(reply: str, finish: str) -> str:
    """Error: a reply with nothing to read."""
    if not reply:
        return Message("the model returned an empty reply{why}.", why=_because(finish))
    return Message("the model's reply says nothing{why}.", why=_because(finish))


def _because(finish: str) -> str:
    return "" if finish == COMPLETE else Message(" (finish reason: {finish})", finish=finish)


NO_CITATIONS = Message("The answer cites none of its passages.")


def unsupported_citations(count: int, total: int) -> str:
    """Warning: citations whose passage seems to be about something else."""
    return (
        Message(
            "{count} of {total} citations point to a passage that does not support the sentence.",
            count=count,
            total=total,
        )
        if total > 1
        else Message("The citation points to a passage that does not support the sentence.")
    )


def unlabelled(count: int, total: int, reason: str) -> str:
    """Warning: passages without a relevance label."""
    return Message(
        "{count} of {total} passages have no relevance label: {reason}.",
        count=count,
        total=total,
        reason=reason,
    )


def no_thresholds(model: str) -> str:
    """Reason for a missing label: no scorer of this run has fitted thresholds."""
    return Message("{model} has no fitted thresholds", model=model)


OUT_OF_TIME = Message("rating them took too long; the next run will be faster")


EVIDENCE_OUT_OF_TIME = Message(
    "Weighing the evidence took too long, so the question was answered without; the next run will be faster."
)


def never_declined(model: str) -> str:
    """Warning: no evidence is too weak for an answer."""
    return Message(
        "{model} has no thresholds for abstention, so no question is declined for weak evidence.", model=model
    )


def not_judged(count: int, total: int, reason: str) -> str:
    """Warning: passages that the judge model could not score."""
    return Message(
        "{count} of {total} passages could not be judged and were left out: {reason}",
        count=count,
        total=total,
        reason=reason,
    )


SCALE_TO_1 = Message("The judge scored from 0 to 1 instead of 0 to 100; its scores were read on that scale.")


def scale_unclear(top: float) -> str:
    """Warning: a judge's scores fit two scales, and the prompt's was used."""
    return Message(
        "The judge gave only the scores 0 and 1; they were read on the prompt's scale, 0 to {top:g}.", top=top
    )


def scales_mixed(count: int, total: int) -> str:
    """Warning: some of a judge's scores look like another scale than the others."""
    return Message(
        "{count} of {total} of the judge's scores are 1 or less and others are not; all were read from 0 to 100.",
        count=count,
        total=total,
    )


def prompt_unread(name: str) -> str:
    """Warning: the offline engine ignored a prompt's text."""
    return Message(
        "The offline engine cannot read your prompt {name!r} and used its own rules instead.", name=name
    )


def template_unread(name: str, rule: str) -> str:
    """Warning: the offline engine applied a rule instead of a template's text."""
    return Message(
        "The offline engine cannot read your template {name!r} and used {rule} instead.", name=name, rule=rule
    )


def analysis_failed(reason: str) -> str:
    """Warning: rules replaced the model's query analysis."""
    return Message(
        "Query analysis by the model failed, so rules were used instead ({reason}).",
        reason=reason.rstrip("."),
    )


def rewrite_failed(name: str, reason: object) -> str:
    """Warning: a rewrite is missing."""
    return Message("Rewrite {name!r} failed and was left out: {reason}", name=name, reason=reason)


def malformed(error: ValueError, reply: str) -> str:
    """Why a reply was not used."""
    return f"the reply was malformed: {error}; it was {excerpt(reply)}"


def not_one_question(error: ValueError, reply: str) -> str:
    """Why a rewrite was not used."""
    return Message("the reply is not one question ({reason}): {reply}", reason=error, reply=excerpt(reply))


def rewrite_listed(name: str, count: int) -> str:
    """Warning: a reply had several rewrites."""
    return Message(
        "Rewrite {name!r}: the model wrote {count} questions instead of one; the first was used.",
        name=name,
        count=count,
    )


def hypotheses_failed(made: int, wanted: int, reason: object) -> str:
    """Warning: hypothetical passages are missing."""
    return Message(
        "{made} of {wanted} hypotheses: the others failed and were left out: {reason}",
        made=made,
        wanted=wanted,
        reason=reason,
    )


def rewrite_repeated(name: str, same: str) -> str:
    """Warning: a rewrite repeats an earlier one."""
    return Message("Rewrite {name!r} is the same as {same!r} and was left out.", name=name, same=same)


def rewrite_lost(name: str, note: str) -> str:
    """Warning: a rewrite lost facts of the question, listed in `note`."""
    return Message("Rewrite {name!r} {note}.", name=name, note=note)
