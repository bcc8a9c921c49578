"""Private data in a question typed at the command line, before the question leaves this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from ..values.errors import InputError

Redact = Annotated[bool, typer.Option("--redact", help="Replace private data in the question by its kind.")]
SendPrivate = Annotated[
    bool,
    typer.Option("--send-private", help="Send the question to an external model as typed, private data too."),
]


def cleared(question: str, *, redacting: bool, sending: bool, country: str | None = None) -> str:
    """The question as it may be sent to the models of the settings.

    Typed and saved questions are checked. Those of a benchmark are not: they come from a prepared file and are sent
    by the hundred once the cost is confirmed; asking about each would only teach people to add --send-private.

    Args:
        country: its code, for numbers that only some countries have; RAG_COUNTRY by default.

    Raises:
        InputError: it has private data, a model is external, and nothing says what to do; the message names kinds only.
    """
    from ..language.questions import check_question
    from ..safety.privacy import find_private, kinds_in_words, redact
    from ..values.settings import read_settings

    if redacting and sending:
        raise typer.BadParameter("give --redact or --send-private, not both")
    settings = read_settings()
    country = settings.country if country is None else country
    asked = check_question(question)
    if redacting:
        return redact(asked, country)
    if sending or settings.private == "send" or not settings.outside:
        return asked
    if settings.private == "redact":
        return redact(asked, country)
    found = find_private(asked, country)
    if found:
        raise InputError(
            f"The question has {kinds_in_words(found)}, and would be sent to {', '.join(settings.outside)}; nothing was sent.",
            "Add --redact to replace private data, or --send-private to send the question as typed.",
        )
    return asked
