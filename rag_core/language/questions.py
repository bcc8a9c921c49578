"""What may be asked, and what the asker should know."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from ..values.errors import InputError
from ..values.profile import LANGUAGE_NAMES, named
from .analysis import sure_language

MAX_QUESTION = 2000  # characters; longer texts are documents, not questions

_WORD = re.compile(r"[\w'’+-]+")
# words that make a sentence of a string of words: question words, pronouns, the commonest verb forms
_SENTENCE_WORDS = """what when where which who whom whose why how is are was were am be been do does did can could should would
    will may might must has have had i my me you your she her he his we our it they them there need want help
    qué cuándo dónde adónde cuál cuáles quién quiénes cómo cuánto cuánta cuántos cuántas es son está están estoy
    era fue hay ha he han ser estar puede puedo pueden podemos debe debo deben tengo tiene tienen hago hace hacer
    necesito quiero siento sirve significa ocurre pasa me mi se yo ella usted ayuda"""
_SENTENCE = frozenset(_SENTENCE_WORDS.split())


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


def form_of(question: str) -> tuple[str, str]:
    """Whether a question is a "sentence" or "keywords", and the reason in one clause.

    Keywords have no question mark, and no question word, pronoun or common verb form; one or two words are
    keywords whatever they are (RAG-MSR README, Reformulation Improvement: "too short or keyword-based").
    """
    words = [word.casefold() for word in _WORD.findall(question)]
    if len(words) <= 2:
        return "keywords", f"keywords: {len(words)} word{'s' if len(words) != 1 else ''}"
    found = next((word for word in words if word in _SENTENCE), "")
    if found:
        return "sentence", f"full sentence: it has “{found}”"
    if "?" in question:
        return "sentence", "full sentence: it has a question mark"
    return "keywords", f"keywords: {len(words)} words, no question word, pronoun or verb form among them"


def question_notice(question: str, languages: Sequence[str]) -> str:
    """What the reader should know about a question's language before reading the results; often empty.

    Args:
        languages: the collection's, as its profile has them; none when they are not known.
    """
    language = sure_language(question, languages)
    if not language or not languages or language in languages:
        return ""
    seems = f"in {LANGUAGE_NAMES[language]}" if language in LANGUAGE_NAMES else "in another language"
    return f"This question seems to be {seems}. The documents are in {named(languages)}: expect poor matches."
