"""Rules of Spanish word formation, for forms that no list contains."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .spelling import plain

RULES = "3"  # part of an index's identity: change it with the rules

_PRONOUNS = r"(?:me|te|se|nos|os)?(?P<object>l[aoe]s?)?"
_WITH_PRONOUNS = [
    re.compile(f"(?P<verb>{verb}){_PRONOUNS}")
    for verb in (r".*?(?:[aeiáéí]r|[aá]ndo|[iy][eé]ndo)", r".*[áéíó].*?[aeious]n?", r"..+?[aeo]n?")
]  # infinitive or gerund; imperative with its accent, then without
_OBJECTS = {"lo": " it", "la": " it", "los": " them", "las": " them"}


class Reading(NamedTuple):
    """A simpler form to look up, and what goes around its English."""

    form: str
    before: str = ""
    after: str = ""


# ending, what may stand in its place, English before
_ENDINGS = [
    (re.compile(pattern), forms, before)
    for pattern, forms, before in (
        (r"ces$", ("z",), ""),
        (r"s$", ("",), ""),
        (r"es$", ("",), ""),
        (r"a(?=s?$)", ("o",), ""),
        (r"as$", ("o",), ""),
        (r"[oa]s$", ("", "e"), ""),
        (r"(?:amente|mente)$", ("o", "e", "", "a"), ""),
        # diminutives: poquito, agüita, lucecita, dolorcito, pastillita, bebito
        (r"qu(?:it|ill)(?=[oa]s?$)", ("c",), ""),
        (r"gü(?:it|ill)(?=[oa]s?$)", ("gu",), ""),
        (r"gu(?:it|ill)(?=[oa]s?$)", ("g",), ""),
        (r"c(?:it|ill)(?=[oa]s?$)", ("z",), ""),
        (r"e?c(?:it|ill)[oa]s?$", ("", "e"), ""),
        (r"(?:it|ill|ic)(?=[oa]s?$)", ("",), ""),
        (r"(?:it|ill|ic)[oa](?=s?$)", ("", "a", "o", "e", "é"), ""),
        # augmentatives and superlatives: barrigón, golpazo, grandote, fuertísimo
        (r"(?:[oó]n|on[oa]|az[oa]|ot[oae])s?$", ("a", "o", "e", ""), "big "),
        (r"quísim[oa]s?$|quisim[oa]s?$", ("co", "ca"), "very "),
        (r"[ií]sim[oa]s?$", ("o", "a", "e", ""), "very "),
        (r"[ií]simamente$", ("o", "a", "e", ""), "very "),
        # prefixes
        (r"^re(?=..)", ("",), "again "),
        (r"^super(?=...)", ("",), "very "),
        (r"^anti(?=...)", ("",), "anti "),
    )
]
_VOSEO = re.compile(r"([áéí])s?$")
_SHORTEST = 3  # letters; shorter stems are chance


def readings(word: str) -> Iterator[Reading]:
    """Simpler forms of a word, the likeliest first."""
    yield from _without_pronouns(word)
    for pattern, forms, before in _ENDINGS:
        for form in forms:
            stem, changed = pattern.subn(form, word)
            if changed and len(stem) >= _SHORTEST:
                yield Reading(stem, before)
    if vos := _VOSEO.search(word):  # tenés, podés, tomá
        yield Reading(word[: vos.start()] + plain(vos[1]) + "r")


def _without_pronouns(word: str) -> Iterator[Reading]:
    """The verb without the pronouns at its end: tomármelo is tomar, acérquese is acerque."""
    for pattern in _WITH_PRONOUNS:
        if (found := pattern.fullmatch(word)) and found["verb"] != word:
            yield Reading(plain(found["verb"]), after=_OBJECTS.get(found["object"], ""))


# Endings that learned words share, the first that fits.
_COGNATES = [
    (re.compile(pattern + "$"), english)
    for pattern, english in (
        (r"ciones", "tions"), (r"siones", "sions"), (r"ci[oó]n", "tion"), (r"si[oó]n", "sion"),
        (r"log[ií]as?", "logy"), (r"graf[ií]as?", "graphy"), (r"scop[ií]as?", "scopy"), (r"tom[ií]as?", "tomy"),
        (r"pat[ií]as?", "pathy"), (r"metr[ií]as?", "metry"), (r"plast[ií]as?", "plasty"), (r"terapias?", "therapy"),
        (r"trofias?", "trophy"), (r"plasias?", "plasia"), (r"algias?", "algia"), (r"rragias?", "rrhage"),
        (r"rreas?", "rrhoea"), (r"penias?", "penia"), (r"plej[ií]as?", "plegia"), (r"fasias?", "phasia"),
        (r"megalias?", "megaly"), (r"cefalias?", "cephaly"), (r"[eé]mias?", "aemia"), (r"[uú]rias?", "uria"), (r"itis", "itis"), (r"osis", "osis"), (r"iasis", "iasis"),
        (r"idades", "ities"), (r"idad", "ity"), (r"logos?", "logist"), (r"ólogos?|óloga", "ologist"),
        (r"[aá]tic[oa]s?", "atic"), (r"[ií]tic[oa]s?", "itic"), (r"[oó]tic[oa]s?", "otic"), (r"[ií]c[oa]s?", "ic"),
        (r"micinas?", "mycin"), (r"cilinas?", "cillin"), (r"oxacin[ao]s?", "oxacin"), (r"azol", "azole"),
        (r"idin[ao]", "idine"), (r"amin[ao]s?", "amine"), (r"statinas?", "statin"), (r"globulinas?", "globulin"),
        (r"in[ao]", "in"), (r"oides?", "oid"), (r"omas?", "oma"), (r"genos?", "gen"),
        (r"ismos?", "ism"), (r"istas?", "ist"), (r"ables?", "able"), (r"ibles?", "ible"), (r"ales", "al"),
        (r"adores", "ators"), (r"ador(?:as?)?", "ator"), (r"lares?", "lar"), (r"iv[oa]s?", "ive"), (r"os[oa]s?", "ous"), (r"[aá]ri[oa]s?", "ary"), (r"[oó]ri[oa]s?", "ory"),
        (r"encias?", "ence"), (r"ancias?", "ance"), (r"entes?", "ent"), (r"antes?", "ant"), (r"ad[oa]s?", "ated"),
        (r"iar", "iate"), (r"izar", "ise"), (r"ificar", "ify"),
    )
]  # fmt: skip
_SPELT = [
    (re.compile(pattern), english)
    for pattern, english in (
        (r"^es(?=[pct])", "s"), (r"^(?:p?sic)(?=[oó])", "psych"), (r"^neum(?=o)", "pneum"), (r"^hiper", "hyper"),
        (r"^hip(?=o)", "hyp"), (r"quimio", "chemo"), (r"quist|cist", "cyst"), (r"^esof", "oesoph"), (r"nefr", "nephr"), (r"morf", "morph"), (r"^cole(?=c)", "chole"), (r"^cocl", "cochl"), (r"^eritr", "erythr"), (r"^leuc(?=a)", "leuk"), (r"encef", "enceph"),
        (r"oftalm", "ophthalm"), (r"timp", "tymp"), (r"sim(?=etr)", "symm"), (r"fibril(?!l)", "fibrill"),
        (r"cinesia", "kinesia"), (r"^disc|^disk", "dysk"), (r"^inm", "imm"), (r"f(?=o[tn]|ag|leb|reni)", "ph"),
        (r"ccion", "ction"), (r"^trom", "throm"), (r"rritm", "rrhythm"), (r"quer(?=a)", "ker"), (r"qu(?=[ei])", "ch"), (r"ñ", "n"),
    )
]  # fmt: skip
_SHORTEST_COGNATE = 7


def cognate(word: str) -> str | None:
    """The English word that a learned Spanish word probably matches, by its ending; None without one."""
    if len(word) < _SHORTEST_COGNATE:
        return None
    for pattern, english in _COGNATES:
        stem, changed = pattern.subn(english, word)
        if changed:
            stem = plain(stem)
            for spelt, to in _SPELT:
                stem = spelt.sub(to, stem)
            return stem
    return None
