"""Messages of the stages: abstentions and remarks in English and Spanish (other languages get English), and warnings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..language.analysis import detect_language
from ..prompts.replies import COMPLETE, TOO_LONG, excerpt
from ..values.evidence import EvidenceScore, Scope
from ..values.jurisdictions import name_of
from ..values.message import Message
from ..values.profile import LANGUAGE_NAMES
from ..values.sources import difference, listed
from ..values.types import Passage

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
NOT_ENOUGH = {
    "en": "The evidence in these passages scores {score:.2f}; an answer needs at least {needed:.2f}.",
    "es": "La evidencia de estos pasajes alcanza {score:.2f}; una respuesta necesita al menos {needed:.2f}.",
}
BEYOND: Mapping[Scope, Mapping[str, str]] = {
    "another_patient": {
        "en": "The question seems to be about somebody whom these documents do not cover.",
        "es": "La pregunta parece ser sobre alguien de quien no tratan estos documentos.",
    },
    "another_matter": {
        "en": "The question asks for something, such as a price, a product or papers, that none of these passages mentions.",
        "es": "La pregunta pide algo, como un precio, un producto o un trámite, que ninguno de estos pasajes menciona.",
    },
    "continuation": {
        "en": "This seems to continue another question, but each is answered by itself. What is it about? Ask it whole.",
        "es": "Parece la continuación de otra pregunta, pero cada una se responde por separado. ¿De qué trata? Escríbala completa.",
    },
}
BELOW_THRESHOLD = {
    "en": "The best passage reaches {best:.3f}, which is below the threshold θ = {theta:g}.",
    "es": "El mejor pasaje alcanza {best:.3f}, por debajo del umbral θ = {theta:g}.",
}

THIN = {
    "en": (
        "Thin evidence: {n} rests on a passage labelled Low.",
        "Thin evidence: {n} rest on passages labelled Low.",
    ),
    "es": (
        "Evidencia débil: {n} se apoya en un pasaje de relevancia baja (Low).",
        "Evidencia débil: {n} se apoyan en pasajes de relevancia baja (Low).",
    ),
}
ALL_THIN = {
    "en": "Thin evidence: every passage cited is labelled Low.",
    "es": "Evidencia débil: todos los pasajes citados son de relevancia baja (Low).",
}
OTHER_LANGUAGE = {
    "en": ("{n} is in {language}", "{n} are in {language}"),
    "es": ("{n} está en {language}", "{n} están en {language}"),
}
NO_BETTER = {
    "en": "; there is no better passage in {language}",
    "es": "; no hay un pasaje mejor en {language}",
}
CUT = {
    "en": "This answer is incomplete: {why}.",
    "es": "Esta respuesta está incompleta: {why}.",
}
WHY_CUT = {
    "length": {
        "en": "the model reached its length limit",
        "es": "el modelo alcanzó su límite de longitud",
    },
    "content_filter": {
        "en": "the provider's content filter cut it off",
        "es": "el filtro de contenido del proveedor la interrumpió",
    },
    TOO_LONG: {
        "en": "it was too long to read to its end",
        "es": "era demasiado larga para leerla hasta el final",
    },
}
OTHERWISE_CUT = {"en": "the provider stopped it ({finish})", "es": "el proveedor la detuvo ({finish})"}
BURIED = {
    "en": "This answer does not begin with what to do now.",
    "es": "Esta respuesta no empieza por lo que hay que hacer ahora.",
}
NOTICE = {
    "en": "Notice of this demonstration, not from the documents: {action}",
    "es": "Aviso de esta demostración, no procede de los documentos: {action}",
}
PERHAPS = {"en": "Perhaps you meant", "es": "Quizá quiso decir"}
INVALID = {
    "en": (
        "1 citation pointed to no passage and was removed.",
        "{count} citations pointed to no passage and were removed.",
    ),
    "es": (
        "1 cita no remitía a ningún pasaje y se quitó.",
        "{count} citas no remitían a ningún pasaje y se quitaron.",
    ),
}
ANSWER_LANGUAGE = {
    "en": "The answer is in {answer}, the question in {question}.",
    "es": "La respuesta está en {answer} y la pregunta en {question}.",
}
UNMARKED = {
    "en": "Only the first {checked} of {count} sentences were compared with the passages.",
    "es": "Solo se compararon con los pasajes las primeras {checked} de {count} frases.",
}
APPLIES = {
    "en": (
        "For the country you chose ({country}), {names} applies.",
        "For the country you chose ({country}), {names} apply.",
    ),
    "es": (
        "En el país elegido ({country}) se aplica {names}.",
        "En el país elegido ({country}) se aplican {names}.",
    ),
}
IN_SPANISH = {
    "en": "inglés",
    "es": "español",
    "fr": "francés",
    "de": "alemán",
    "pt": "portugués",
    "it": "italiano",
    "ca": "catalán",
}


def abstention(language: str) -> str:
    """The text of an answer that abstains."""
    return _in(language, ABSTENTION)


def none_found(language: str) -> str:
    """Why an answer abstains: the search found nothing."""
    return _in(language, NONE_FOUND)


def none_answers(language: str) -> str:
    """Why an answer abstains: the model said so and gave no reason."""
    return _in(language, NONE_ANSWERS)


def not_enough(language: str, found: EvidenceScore) -> str:
    """Why an answer abstains: the question is beyond the passages, or their evidence too weak.

    The score is rounded down, so never to what is needed.
    """
    if found.scope:
        return _in(language, BEYOND[found.scope])
    score = math.floor(100 * found.score) / 100
    return _in(language, NOT_ENOUGH).format(score=score, needed=found.needed)


def below_threshold(language: str, best: float, theta: float) -> str:
    """Why a threshold dropped every passage."""
    return _in(language, BELOW_THRESHOLD).format(best=best, theta=theta)


def thin(language: str, citations: Sequence[int]) -> str:
    """Remark: sentences rest only on passages labelled Low."""
    one, several = THIN.get(language, THIN["en"])
    return (several if len(citations) > 1 else one).format(n=_markers(language, citations))


def all_thin(language: str) -> str:
    """Remark: every cited sentence does."""
    return _in(language, ALL_THIN)


def other_language(language: str, citations: Sequence[int], of_passages: str, best: bool) -> str:
    """Remark: cited passages are in another language.

    Args:
        best: no passage in the question's language is cited or better.
    """
    one, several = OTHER_LANGUAGE.get(language, OTHER_LANGUAGE["en"])
    text = (several if len(citations) > 1 else one).format(
        n=_markers(language, citations), language=_name(language, of_passages)
    )
    if best:
        text += _in(language, NO_BETTER).format(language=_name(language, language))
    return f"{text}."


def cut(language: str, finish: str) -> str:
    """Remark: the answer ends before its end."""
    why = _in(language, WHY_CUT.get(finish, OTHERWISE_CUT)).format(finish=finish)
    return _in(language, CUT).format(why=why)


def buried(language: str) -> str:
    """Remark: an answer to an urgent question begins with something else."""
    return _in(language, BURIED)


def notice(language: str, action: str) -> str:
    """The beginning of an answer when no passage says what to do now."""
    return _in(language, NOTICE).format(action=action)


def invalid_citations(language: str, count: int) -> str:
    """Remark: citations without a passage."""
    one, several = INVALID.get(language, INVALID["en"])
    return (several if count > 1 else one).format(count=count)


def answer_language(asked: str, answered: str) -> str:
    """Remark: the answer is in another language than the question."""
    names = {"answer": _name(asked, answered), "question": _name(asked, asked)}
    return _in(asked, ANSWER_LANGUAGE).format(**names)


def unmarked(language: str, checked: int, count: int) -> str:
    """Remark: the answer has more sentences than are compared with the passages."""
    return _in(language, UNMARKED).format(checked=checked, count=count)


def differs(language: str, citations: Sequence[int], passage: Passage, country: str) -> str:
    """Remark: guidance in cited passages differs; and which side leads in the chosen country, if one does."""
    text = f"{_markers(language, citations)} {difference(passage.agreeing, passage.differs_from, language)}"
    ours = passage.leading(country)
    if not ours:
        return text
    one, several = APPLIES.get(language, APPLIES["en"])
    named = dict.fromkeys(f"{source.organisation} {source.year}" for source in ours)
    where = name_of(ours[0].jurisdiction, language)
    return (
        f"{text} {(several if len(named) > 1 else one).format(country=where, names=listed(named, language))}"
    )


def perhaps_you_meant(question: str) -> str:
    """The introduction to an abstention's suggestions, in the question's language."""
    return _in(detect_language(question), PERHAPS)


def _markers(language: str, citations: Sequence[int]) -> str:
    """Numbers as markers, such as "[1], [2] and [3]"."""
    return listed((f"[{n}]" for n in citations), language)


def _name(language: str, of: str) -> str:
    """A language's name in the language of the question."""
    return IN_SPANISH.get(of, of) if language == "es" else LANGUAGE_NAMES.get(of, of)


def _in(language: str, texts: Mapping[str, str]) -> str:
    return texts.get(language, texts["en"])


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
