"""Messages of the stages: abstentions in English and Spanish (other languages get English), and warnings."""

from __future__ import annotations

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
BELOW_THRESHOLD = {
    "en": "The best passage reaches {best:.3f}, which is below the threshold θ = {theta:g}.",
    "es": "El mejor pasaje alcanza {best:.3f}, por debajo del umbral θ = {theta:g}.",
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


def below_threshold(language: str, best: float, theta: float) -> str:
    """Why a threshold dropped every passage."""
    return _in(language, BELOW_THRESHOLD).format(best=best, theta=theta)


def _in(language: str, texts: dict[str, str]) -> str:
    return texts.get(language, texts["en"])


def invalid_citations(count: int) -> str:
    """Warning: citations without a source."""
    return f"{count} citation(s) named a source that does not exist and were removed."


NO_CITATIONS = "The answer cites none of its passages."


def unsupported_citations(count: int, total: int) -> str:
    """Warning: citations whose passage seems to be about something else."""
    return (
        f"{count} of {total} citations not supported: the passage shares too few words with "
        "the sentence that cites it."
    )


def unlabelled(count: int, total: int, reason: str) -> str:
    """Warning: passages without a relevance label."""
    return f"{count} of {total} passages have no relevance label: {reason}."


def no_thresholds(model: str) -> str:
    """Reason for a missing label: no scorer of this run has fitted thresholds."""
    return f"{model} has no fitted thresholds"


OUT_OF_TIME = "rating them took too long; the next run will be faster"


def not_judged(count: int, total: int, reason: str) -> str:
    """Warning: passages that the judge model could not score."""
    return f"{count} of {total} passages could not be judged and were left out: {reason}"


def prompt_unread(name: str) -> str:
    """Warning: the offline engine ignored a prompt's text."""
    return f"The offline engine cannot read your prompt {name!r} and used its own rules instead."


def template_unread(name: str, rule: str) -> str:
    """Warning: the offline engine applied a rule instead of a template's text."""
    return f"The offline engine cannot read your template {name!r} and used {rule} instead."


def analysis_failed(reason: str) -> str:
    """Warning: rules replaced the model's query analysis."""
    return f"Query analysis by the model failed, so rules were used instead ({reason.rstrip('.')})."


def rewrite_failed(name: str, reason: object) -> str:
    """Warning: a rewrite is missing."""
    return f"Rewrite {name!r} failed and was left out: {reason}"


def rewrite_repeated(name: str, same: str) -> str:
    """Warning: a rewrite repeats an earlier one."""
    return f"Rewrite {name!r} is the same as {same!r} and was left out."


def rewrite_lost(name: str, note: str) -> str:
    """Warning: a rewrite lost facts of the question, listed in `note`."""
    return f"Rewrite {name!r} {note}."
