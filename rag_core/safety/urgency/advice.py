"""Sentences of passages that say to get help, or that point back to signs named before them."""

import functools
import re

from .frames import listed

_CALLS_FOR_HELP = listed("help", "calls_for_help", re.IGNORECASE)
_ACTS = listed("help", "acts", re.IGNORECASE)
_FORBIDS_HELP = re.compile(
    r"\b(?:do not|don['’]t|never|no need to|need not|must not|should not|shouldn['’]t) (?:call|dial|ring|phone)\b[^.;:]{0,30}"
    r"\b(?:emergenc\w+|ambulance|paramedics|112|911|999)\b|"
    r"\b(?:no|nunca) (?:debe |hay que |hace falta |es necesario )?(?:llam\w+|marqu\w+|marcar) (?:a |al )?[^.;:]{0,20}"
    r"\b(?:emergencias?|urgencias|ambulancia|112|911)\b",
    re.IGNORECASE,
)
_POINTS = listed("help", "points", re.IGNORECASE)


@functools.lru_cache(maxsize=65536)
def forbids_help(sentence: str) -> bool:
    """Whether a sentence says not to call the emergency services, as no guidance does.

    >>> forbids_help("Do not call an ambulance for this."), forbids_help("Do not wait; call an ambulance.")
    (True, False)
    """
    return bool(_FORBIDS_HELP.search(sentence))


def calls_for_help(sentence: str) -> bool:
    """Whether a sentence says to get or give help now."""
    return bool(_CALLS_FOR_HELP.search(sentence) and _ACTS.search(sentence))


def points_back(sentence: str) -> bool:
    """Whether a sentence is about signs named before it: "any of these signs"."""
    return _POINTS.search(sentence) is not None
