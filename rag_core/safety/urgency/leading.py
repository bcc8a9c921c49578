"""Whether a sentence says to get help as urgently as a question needs, and whether an answer begins with it."""

import functools
import re

from ...language.analysis import language_of, sentences
from ...values.triage import Level, Triage
from .frames import listed, words
from .learned import plain
from .signs import signs, signs_of

_EMERGENCY_SERVICE = listed("leading", "emergency_service")
_PLACE = listed("leading", "place")
_NOW = listed("leading", "now")
_TODAY = listed("leading", "today")
_ACTS = listed("leading", "acts")
_NEEDLESS = listed("leading", "needless")
_IF_WORSE = listed("leading", "if_worse")
_ORDER = re.compile(
    r"\W*(?:please |por favor,? )?(?:call|dial|ring|phone|go|get|take|bring|seek|come|contact|tell|ask|declare|shout|press|llame\w*|llama|llamen|marque|acud[ae]n?|vayan?|ve|"
    r"lleve\w*|busque|pid[ae]n?|consulte|avise|contacte|declare|active)(?!\w)"
)
_CONDITION = words("if|for|when|with|in case|si|cuando|ante|por|con|en caso")
_GO_NOW = listed("leading", "go_now")
_COMFORT = listed("leading", "comfort")


def leads_with_action(text: str, triage: Triage) -> bool:
    """Whether the first sentence of an answer says to get help at least as urgently as the triage asks.

    One sentence of comfort or alarm may come before it ("You are not alone."). Help only if things get worse, or
    for another sign than the question's, does not count, nor does an answer in another language than the triage's: who
    asks may not read it. True for a routine question.
    """
    if not triage.urgent:
        return True
    said = sentences(text, triage.language)
    if len(said) > 1 and _COMFORT.search(plain(said[0])) and not calls_for(said[0], triage):
        said = said[1:]
    return bool(said) and calls_for(said[0], triage) and language_of(text) == triage.language


def calls_for(sentence: str, triage: Triage) -> bool:
    """Whether a sentence says to get help as urgently as needed, for the signs of the triage or for any."""
    simple = plain(sentence)
    if not urges(simple, triage.level):
        return False
    wanted = signs_of(triage)
    if not wanted or any(sign.named_in(sentence) for sign in wanted):
        return True
    if not is_conditional(sentence):
        return True
    return not any(sign.named_in(sentence) for sign in signs())


def is_conditional(sentence: str) -> bool:
    """Whether a sentence is no plain order: it says for what, or when, to get help."""
    simple = plain(sentence)
    return not _ORDER.match(simple) or _CONDITION.search(simple) is not None


def calls_emergency(sentence: str) -> bool:
    """Whether a sentence names an emergency number or service."""
    return _EMERGENCY_SERVICE.search(plain(sentence)) is not None


def urges_today(sentence: str) -> bool:
    """Whether a sentence says to get help on the same day."""
    return _TODAY.search(plain(sentence)) is not None


@functools.lru_cache(maxsize=65536)
def urges(text: str, level: Level) -> bool:
    """Whether a text in plain letters says to get help at this level or a higher one."""
    if not _ACTS.search(text) or _NEEDLESS.search(text) or _IF_WORSE.search(text):
        return False
    if _EMERGENCY_SERVICE.search(text) or _GO_NOW.search(text):
        return True
    soon = _NOW.search(text) or (level == "same_day" and _TODAY.search(text))
    return bool(soon and _PLACE.search(text))
