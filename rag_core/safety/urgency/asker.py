"""Whether a question is typed by a clinician: abbreviations, findings, drugs given by staff, doses."""

from __future__ import annotations

import re

from .frames import words

# One is enough: what mothers and families do not type.
_STRONG = words(
    r"syntocinon|synto|oxytocin|oxitocina|carbetocin\w*|ergomet\w*|carboprost|hemabate|txa|atx|tranexam\w+|hydralazin\w*|hidralazin\w*|"
    r"mgso4|so4mg|sulfato|terb|terbutalin\w*|atosiban|tocoly\w+|tocoli\w+|adrenalin\w*|adren|epinefrina|epinephrine|intralipid|hbpm|lmwh|"
    r"mcg|pph|hpp|ebl|aph|pprom|rpmo|tptl|svd|lscs|bba|ctg|rctg|fhr|fcf|gcs|spo2|sats|crt|ecg|ctpa|angiotac|fibrinogen\w*|crio|cryo|"
    r"plts?|lactat[eo]|wcc|abx|atb|tto|mcroberts|mcr|zavanelli|woods|gaskin|suprapub\w+|ppv|vpp|cpap|fio2|intub\w+|apgar|silverman|"
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
    r"epigastralgia|eritema|purulent\w+|disnea|dyspnoea|d\d{1,2}|\d{1,2}s|[gp]\d ?[gp]\d|\d+ ?/ ?7|\d{2,4} ?ml|\d+(?:\.\d+)? ?mmol"
)
_SHAPE = re.compile(r"(?:^|\s)\?[a-z]|\+\+|\+ve\b|\b\d{2}\+\d\b|\d:10\b|\b\w+ \?\w")
_LAY = words(
    r"i|im|ive|id|my|me|our|ours|we|us|mummy|wife|husband|girlfriend|boyfriend|sister|daughter|your|"
    r"mi|mis|me|estoy|tengo|siento|noto|esposa|mujer|marido|novia|hermana|hija|nuestr\w|mama|auxilio|please|por favor"
)


def is_clinician(text: str) -> bool:
    """Whether the wording of a text in plain letters is a clinician's."""
    if _LAY.search(text):
        return False
    weak = len({match[0] for match in _WEAK.finditer(text)}) + bool(_SHAPE.search(text))
    return bool(_STRONG.search(text)) or weak > 1
