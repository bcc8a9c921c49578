"""Sentences of passages that say to get help, or that point back to signs named before them."""

from __future__ import annotations

import functools
import re

_CALLS_FOR_HELP = re.compile(
    r"(?<!\w)(?:999|911|112|911|emergency|emergencies|emergencias?|urgencias?|urgentes?|urgent(?:ly)?|ambulance|ambulancia|"
    r"call for help|same day|mismo día|at once|immediate(?:ly)?|straight away|right away|without delay|within minutes|"
    r"cannot wait|(?:do not|don't|never) wait|no (?:esper\w+|debe esperar|puede esperar)|de inmediato|inmediat\w+|enseguida|"
    r"sin (?:demora|esperar)|cuanto antes|(?:acud\w+|vay\w+|ir|ve) (?:ya|al hospital|a la maternidad)|go to (?:the )?hospital)(?!\w)",
    re.IGNORECASE,
)
_ACTS = re.compile(
    r"(?<!\w)(?:call\w*|go|goes|going|ring\w*|phone\w*|telephone\w*|contact\w*|seek\w*|come|get|see|tell\w*|need\w*|mean\w*|require\w*|must|should|is an? \w*\s?emergency|are (?:an? )?(?:\w+ )?emergenc\w+|treated|given|start\w*|"
    r"llam\w+|acud\w+|vay\w+|ve|ven|ir|acuda\w*|busc\w+|ped\w+|pid\w+|consult\w+|necesit\w+|requier\w+|oblig\w+|exig\w+|hay que|deben?|avis\w+|es una (?:\w+ )?(?:emergencia|urgencia)|son (?:una )?(?:emergencia|urgencia)s?|trat\w+|administr\w+)(?!\w)",
    re.IGNORECASE,
)
_FORBIDS_HELP = re.compile(
    r"\b(?:do not|don['’]t|never|no need to|need not|must not|should not|shouldn['’]t) (?:call|dial|ring|phone)\b[^.;:]{0,30}"
    r"\b(?:emergenc\w+|ambulance|paramedics|112|911|999)\b|"
    r"\b(?:no|nunca) (?:debe |hay que |hace falta |es necesario )?(?:llam\w+|marqu\w+|marcar) (?:a |al )?[^.;:]{0,20}"
    r"\b(?:emergencias?|urgencias|ambulancia|112|911)\b",
    re.IGNORECASE,
)
_LESSER = re.compile(
    r"(?<!\w)(?:mild|slight|light|same day|appointment|next visit|próxima cita|cita|count|counting|contar|usually not|not usually|is normal|are normal|harmless|by itself|leves?|liger[ao]s?|"
    r"mismo día|no suele\w*|es normal|son normales|inofensiv\w+)(?!\w)",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"(?<!\w)(?:(?:any|one|some|all|either|both|none|each) of (?:these|them|those)(?! (?:medic|drug|treat)\w+)|(?:these|those|such) (?:\w+ )?(?:signs?|symptoms?|problems?|"
    r"changes?)|this (?:sign|symptom)|(?:cualquiera|alguno|alguna|uno|una|todos|ninguno) de (?:est[oa]s|es[oa]s|ell[oa]s)|(?:est|es)[oa]s "
    r"(?:\w+ )?(?:signos?|s[ií]ntomas?|señales|problemas?|cambios?)|(?:este|ese) (?:signo|s[ií]ntoma)|dich[oa]s (?:signos|s[ií]ntomas))(?!\w)",
    re.IGNORECASE,
)


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


def is_lesser(sentence: str) -> bool:
    """Whether a sentence is about what is mild or can wait, and so no part of an answer to an emergency."""
    return _LESSER.search(sentence) is not None


def points_back(sentence: str) -> bool:
    """Whether a sentence is about signs named before it: "any of these signs"."""
    return _POINTS.search(sentence) is not None
