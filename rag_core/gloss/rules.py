"""Rules of Spanish word formation, for forms that no list holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

RULES = "1"  # part of an index's identity: change it with the rules

_CLITIC = re.compile(
    r"(?P<verb>.*?(?:[aeiáéí]r|[aá]ndo|i[eé]ndo|y[eé]ndo))(?:me|te|se|nos|os)?(?P<object>l[aoe]s?)?"
)
_IMPERATIVE = re.compile(r"(?P<verb>.*[áéíó].*[aeions])(?:me|te|se|nos)?(?P<object>l[aoe]s?)?")
_OBJECTS = {"lo": " it", "la": " it", "le": "", "los": " them", "las": " them", "les": ""}
_SHORT = str.maketrans("áéíóú", "aeiou")


class Reading(NamedTuple):
    """A simpler form to look up, and what goes around its English."""

    form: str
    before: str = ""
    after: str = ""


# ending, what stands in its place, English before and after
_ENDINGS = [
    (re.compile(pattern), forms, before, after)
    for pattern, forms, before, after in (
        (r"mente$", ("", "o", "a", "e"), "", ""),
        (r"a(?=mente$)mente$", ("o",), "", ""),
        (r"qu(?:it|ill)(?=[oa]s?$)", ("c",), "small ", ""),
        (r"gu(?:it|ill)(?=[oa]s?$)", ("g",), "small ", ""),
        (r"c(?:it|ill)(?=[oa]s?$)", ("z",), "small ", ""),
        (r"e?c(?:it|ill|ic)[oa](?=s?$)", ("", "e"), "small ", ""),
        (r"(?:it|ill|ic)(?=[oa]s?$)", ("",), "small ", ""),
        (r"(?:it|ill|ic)[oa](?=s?$)", ("", "e"), "small ", ""),
        (r"(?:ot|az|[uó]n|on)(?=[oa]s?$)", ("",), "big ", ""),
        (r"ísim(?=[oa]s?$)|isim(?=[oa]s?$)", ("",), "very ", ""),
        (r"ísim[oa](?=s?$)|isim[oa](?=s?$)", ("e", ""), "very ", ""),
        (r"ces$", ("z",), "", ""),
        (r"([^aeiou])es$", (r"\1",), "", ""),
        (r"s$", ("",), "", ""),
        (r"a$", ("o",), "", ""),
        (r"as$", ("o", "os"), "", ""),
    )
]
_VOSEO = re.compile(r"(á|é|í)s?$")


def readings(word: str) -> Iterator[Reading]:
    """Simpler forms of the word, the likeliest first."""
    yield from _without_pronouns(word)
    for pattern, forms, before, after in _ENDINGS:
        for form in forms:
            stem, changed = pattern.subn(form, word)
            if changed and len(stem) > 2:
                yield Reading(stem, before, after)
    if vos := _VOSEO.search(word):
        yield Reading(word[: vos.start()] + {"á": "a", "é": "e", "í": "i"}[vos[1]] + "r")


def _without_pronouns(word: str) -> Iterator[Reading]:
    for pattern in (_CLITIC, _IMPERATIVE):
        if (found := pattern.fullmatch(word)) and found["verb"] != word:
            after = _OBJECTS.get(found["object"] or "", "")
            yield Reading(found["verb"].translate(_SHORT), "", after)
            yield Reading(found["verb"], "", after)


# Endings that Spanish and English share in learned words, the longest first.
_COGNATES = [
    (re.compile(pattern + "$"), english)
    for pattern, english in (
        (r"ciones", "tions"), (r"siones", "sions"), (r"ci[oó]n", "tion"), (r"si[oó]n", "sion"),
        (r"log[ií]as", "logies"), (r"log[ií]a", "logy"), (r"graf[ií]as?", "graphy"), (r"scop[ií]as?", "scopy"),
        (r"tom[ií]as?", "tomy"), (r"ectom[ií]as?", "ectomy"), (r"pat[ií]as?", "pathy"), (r"metr[ií]as?", "metry"),
        (r"idades", "ities"), (r"idad", "ity"), (r"dades", "ties"), (r"dad", "ty"),
        (r"(?:émia|emia)s?", "aemia"), (r"uria", "uria"), (r"itis", "itis"), (r"osis", "osis"),
        (r"amente", "ally"), (r"mente", "ly"), (r"áticos?|áticas?", "atic"), (r"[ií]c[oa]s?", "ic"),
        (r"os[oa]s?", "ous"), (r"iv[oa]s?", "ive"), (r"ari[oa]s?", "ary"), (r"ori[oa]s?", "ory"),
        (r"encias?", "ence"), (r"ancias?", "ance"), (r"entes?", "ent"), (r"antes?", "ant"), (r"ismos?", "ism"),
        (r"istas?", "ist"), (r"ables?", "able"), (r"ibles?", "ible"), (r"ales", "al"), (r"ares", "ar"),
        (r"micin[ao]s?", "mycin"), (r"cilin[ao]s?", "cillin"), (r"in[ao]s?", "in"), (r"azol", "azole"),
        (r"id[ao]s?", "ide"), (r"at[ao]s?", "ate"), (r"en[ao]s?", "ene"), (r"oides?", "oid"), (r"omas", "omas"),
        (r"gen[oa]s?", "gen"), (r"tur[ao]s?", "ture"), (r"ores", "ors"), (r"ias?", "ia"),
    )
]  # fmt: skip
_SPELT = [
    (re.compile(pattern), english)
    for pattern, english in (
        (r"^es(?=[pct])", "s"), (r"^in?m(?=un)", "imm"), (r"f(?=ot)", "ph"), (r"ñ", "n"), (r"cc(?=ion)", "c"),
        (r"^psic", "psych"), (r"^sic(?=o)", "psych"), (r"qu(?=[ei])", "ch"),
    )
]  # fmt: skip


def cognate(word: str) -> str | None:
    """The English word that a learned Spanish word most likely matches, from its ending; None without one."""
    for pattern, english in _COGNATES:
        stem, changed = pattern.subn(english, word)
        if changed and len(word) > 5:
            stem = stem.translate(_SHORT)
            for spelt, to in _SPELT:
                stem = spelt.sub(to, stem)
            return stem
    return None
