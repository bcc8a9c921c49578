"""How urgent a question is: the signs it describes as happening now, how urgently it is worded, and whether a clinician asks."""

import re
from collections.abc import Callable, Iterator, Sequence

from ...language.analysis import language_of
from ...language.questions import is_maternity
from ...values.triage import LEVELS, Level, Triage
from ..privacy.find import impersonal
from . import frames
from .frames import words
from .learned import likeliest_sign, plain, urgency
from .signs import Sign, actions, pattern, signs

# One is enough: what mothers and families do not type.
_STRONG = words(
    r"syntocinon|synto|oxytocin|oxitocina|carbetocin\w*|ergomet\w*|carboprost|hemabate|txa|atx|tranexam\w+|hydralazin\w*|hidralazin\w*|"
    r"mgso4|so4mg|sulfato|terb|terbutalin\w*|atosiban|tocoly\w+|tocoli\w+|adrenalin\w*|adren|epinefrina|epinephrine|intralipid|hbpm|lmwh|"
    r"mcg|pph|hpp|ebl|aph|pprom|rpmo|tptl|svd|lscs|bba|ctg|rctg|fhr|fcf|gcs|spo2|sats|crt|ecg|ctpa|angiotac|fibrinogen\w*|crio|cryo|"
    r"plts?|lactat[eo]|wcc|abx|atb|tto|mcroberts|mcr|zavanelli|woods|gaskin|suprapub\w+|ppv|vpp|cpap|fio2|intub\w+|introitus|apgar|silverman|"
    r"rcp|cpr|primip\w*|multip\w*|primigesta|multigesta|pcte|neonate|"
    r"hiperreflexia|hyperreflexia|clonus|brady|bradycardi\w+|bradicardi\w+|tachycardi\w+|taquicardi\w+|hyperstim\w*|hiperestim\w*|"
    r"atony|atonia|uterus|especulo\w*|speculum|theatre|quirofano|qx|bakri|dehiscen\w+|"
    r"tiraje|cetonuria|bacteriuria|diuresis|anuria|"
    r"derivo|ingreso|traslado|refer|epds|ga \d+|(?:[4-9]|[123]\d|4[0-2])(?:\+\d)? ?/ ?40|fh|obs stable|contraindicat\w+|contraindicac\w+"
)
# Two different ones are.
_WEAK = words(
    r"bolus|bolo|mg|iu|ui|iv|hr|fc|rr|fr|hb|ph|fms?|pp|pn|pv|cx|hx|sx|pe|tep|tvp|dvt|dka|cad|afe|pcr|hellp|srom|prom|rpm|"
    r"nifedipin\w*|labetalol|magnesi\w+|mag|doses?|dosis|esquema|pauta|protocol\w*|"
    r"fundal|sosp|susp|patient|paciente|consultant|puerperas?|puerp|gestante|rn|lactante|afebril\w*|apyrexial|asintomatica|asymptomatic|"
    r"epigastralgia|eritema|purulent\w+|disnea|dyspnoea|d\d{1,2}|\d{1,2}s|[gp]\d ?[gp]\d|\d+ ?/ ?7|\d{2,4} ?ml|\d+(?:\.\d+)? ?mmol|"
    r"(?:bp|ta) \d+|temp \d+|pulse|resps?|pam|map|bed \d+|cama \d+|wom[ae]n|puerperal|ventilat\w+|ventilacion|reflej\w+|jerks|"
    r"which drug|do i (?:give|start)|(?:le|que) (?:doy|pongo)"
)
_SHAPE = re.compile(r"(?:^|\s)\?[a-z]|\+\+|\+ve\b|\b\d{2}\+\d\b|\d:10\b|\b\w+ \?\w")
_INTRAMUSCULAR = re.compile(r"\bIM\b")  # in plain letters as "I'm"
_LAY = words(
    r"(?<!do )(?<!can )(?<!should )i|im|ive|id|my|me|our|ours|we|us|mummy|wife|husband|girlfriend|boyfriend|sister|daughter|your|"
    r"mi|mis|me|estoy|tengo|siento|noto|esposa|mujer|marido|novia|hermana|hija|nuestr\w|mama|auxilio|please|por favor"
)


def is_clinician(text: str) -> bool:
    """Whether the wording of a text is a clinician's."""
    simple = plain(_INTRAMUSCULAR.sub("", impersonal(text)))
    if _LAY.search(simple):
        return False
    weak = len({match[0] for match in _WEAK.finditer(simple)}) + bool(_SHAPE.search(simple))
    return bool(_STRONG.search(simple)) or weak > 1


NEAR = 110  # characters between the parts of one sign
# Lowest probability at which the wording alone counts as urgent; tests/benchmarks/fit_urgency.py prints what it costs.
MIN_URGENT = 0.3
# Lowest probability at which the wording names a sign: nine in ten that it names in urgent questions are right.
MIN_SURE = 0.22
# Fewest words of a text that is urgent by its wording alone: bare keywords ("visiting hours", "jaundice first 24 hours")
# describe nobody, and the labelled messages that only the wording finds have 9 or more.
LEAST_WORDS = 5
# MIN_URGENT of a general question ("are clots normal after birth?"): it does not say that anybody has the sign now.
MIN_URGENT_GENERAL = 0.5

# Signs of the mother whose words also describe a baby: hot, limp, green.
OF_BABIES_TOO = ("fever", "movements", "waters")

Span = tuple[int, int]


def triage_for(subject: str) -> Callable[[str], Triage]:
    """What reads the urgency of questions to a corpus, by the subject of its profile; see `is_maternity`."""
    return triage if is_maternity(subject) else routine


def routine(text: str) -> Triage:
    """The triage of a question to documents about another subject."""
    return Triage("routine", language="es" if language_of(text) == "es" else "en")


def triage(text: str) -> Triage:
    """How urgent a question is, in English or Spanish.

    Rules find signs that are described as present: not denied ("no bleeding"), long past, over, supposed ("what if")
    or a matter of teaching. A regression fitted on labelled questions weighs the wording, for signs in words that no
    rule foresees: it names one if it is sure of it. Urgent wording without a sign is "same_day". "routine" means that
    nothing urgent was found, not that all is well.

    >>> triage("My waters broke and a rope is hanging out").level
    'emergency'
    >>> triage("In 2019 I had heavy bleeding, will it happen again?").level
    'routine'
    """
    language = "es" if language_of(text) == "es" else "en"
    simple = plain(impersonal(text))  # a record number is no urgent sign, and a redacted name no lesson
    found = present(simple)
    worded = urgency(simple) >= least_urgent(simple)
    if worded and all(level != "emergency" for level, _ in found):
        found += [(sign.level, sign) for sign in _worded(simple) if sign not in (its for _, its in found)]
    of_another = not frames.speaks_of_self(simple)
    if of_another and any(sign.id == "newborn-emergency" for _, sign in found):
        found = [pair for pair in found if pair[1].id != "fever"]  # the baby's, not the mother's
    found.sort(key=lambda pair: LEVELS.index(pair[0]))
    message = len(simple.split()) >= LEAST_WORDS
    level = found[0][0] if found else "same_day" if worded and message else "routine"
    if level == "routine":
        return Triage(level, language=language)
    clinician = is_clinician(text)
    flags = tuple(dict.fromkeys(sign.flag for _, sign in found if sign.flag))
    led = actions("unsure_team" if clinician else "unsure")
    if found:
        gravest = found[0][1]
        led = gravest.others if clinician or frames.is_about_another(simple) else gravest.actions
        if gravest.id in OF_BABIES_TOO and of_another and frames.is_about_born_baby(simple):
            led = actions("baby")
    if clinician and level == "emergency" and not flags:
        led = actions("team")
    names = tuple(sign.names[language] for _, sign in found)
    return Triage(level, names, led[language], language, flags, clinician)


def least_urgent(text: str) -> float:
    """The probability from which the wording alone of a text in plain letters is urgent."""
    return MIN_URGENT_GENERAL if frames.is_general(text) else MIN_URGENT


def present(text: str) -> list[tuple[Level, Sign]]:
    """The signs that a text in plain letters describes as present, and their levels."""
    if frames.is_lesson(text) or frames.is_general(text):
        return []
    return [(level, sign) for sign in signs() if (level := _level(sign, text)) not in (None, "routine")]


def _worded(text: str) -> list[Sign]:
    """The sign that the wording of a text in plain letters is sure to describe, or none."""
    name, chance = likeliest_sign(text)
    if chance < MIN_SURE:
        return []
    return [sign for sign in signs() if sign.id == name and not _is_only_denied(sign, text)]


def _is_only_denied(sign: Sign, text: str) -> bool:
    """Whether a text names a sign, and each time denies it: "no fever, no chills"."""
    named = [match.start() for reading in sign.readings for match in pattern(reading[0]).finditer(text)]
    return not sign.denied and bool(named) and all(frames.is_denied(text, at) for at in named)


def _level(sign: Sign, text: str) -> Level | None:
    levels = [
        sign.slight if any(frames.is_slight(text, *span) for span in spans) else sign.level
        for spans in _places(sign, text)
    ]
    return min(levels, key=LEVELS.index, default=None)


def _places(sign: Sign, text: str) -> Iterator[Sequence[Span]]:
    """The places where a reading of a sign is met, described as happening now."""
    for reading in sign.readings:
        for match in pattern(reading[0]).finditer(text):
            others = [_nearest(pattern(part), text, match.start()) for part in reading[1:]]
            spans = [match.span(), *(span for span in others if span)]
            if len(spans) == len(reading) and not any(
                (not sign.denied and frames.is_denied(text, start)) or frames.is_set_aside(text, start, end)
                for start, end in spans
            ):
                yield spans


def _nearest(wanted: re.Pattern[str], text: str, at: int) -> Span | None:
    near = [match.span() for match in wanted.finditer(text) if abs(match.start() - at) <= NEAR]
    return min(near, key=lambda span: abs(span[0] - at), default=None)
