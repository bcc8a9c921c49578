"""What may be asked, and what the asker should know."""

from __future__ import annotations

import unicodedata

from .errors import InputError
from .text import LANGUAGES, language_of

MAX_QUESTION = 2000  # characters; longer texts are documents, not questions


def check_question(question: str) -> str:
    """The question without white space around it.

    Raises:
        InputError: it is empty, too long, not valid text, or holds no letter or digit.
    """
    asked = " ".join(question.split())
    try:
        asked.encode()
    except UnicodeEncodeError as error:
        raise InputError("The question is not valid text (UTF-8).", "Type it again.") from error
    if not asked:
        raise InputError("The question is empty.", "Type a question.")
    if len(asked) > MAX_QUESTION:
        raise InputError(
            f"The question has {len(asked):,} characters; at most {MAX_QUESTION:,} can be asked.",
            "Shorten it to the point.",
        )
    if not any(unicodedata.category(char)[0] in "LN" for char in asked):
        raise InputError("The question holds no letter or digit.", "Ask it in words.")
    return asked


def question_notice(question: str) -> str:
    """What the reader should know about a question's language before reading the results; often empty."""
    if language_of(question) in LANGUAGES:
        return ""
    return (
        "The built-in documents are in English and Spanish and the question seems to be in another language: "
        "expect poor matches."
    )
