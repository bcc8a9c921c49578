"""Whether a question is about pregnancy, birth or a baby, or about somebody whom such documents do not cover."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

_MATERNITY = re.compile(
    r"(?<!\w)(?:pregnan\w*|\d+ ?(?:w(?:ee)?ks|semanas)|weeks (?:pregnant|gone)|birth\w*|born|bab(?:y|ies|by)\w*|newborns?|"
    r"bump|breast\w*|lab(?:ou)?r|matern\w*|midwi\w*|trimester|due date|ca?esarean|c-section|post-?partum|postnatal|"
    r"antenatal|prenatal|obstetric\w*|fo?etus|womb|waters|contraction\w*|expecting|little one|napp(?:y|ies)|placent\w*|uter\w*|"
    r"e[mn]bara\w*|preñ\w*|parto\w*|partera|beb[eé]s?|reci[eé]n nacid\w*|naci(?:ó|do|miento)|guagua|nene\w?|criatura|"
    r"lacta\w*|pecho|matrona|ces[aá]rea\w*|feto|fetal|posparto|puerper\w*|gesta\w*|di a luz|dar a luz|trimestre|"
    r"salido de cuentas|[uú]ter\w*|ombligo|barriga|panza|vientre)(?!\w)",
    re.IGNORECASE,
)
_NEAR = re.compile(  # subjects that may take it in
    r"perinat|neonat|gyna?ec|ginec|wom[ae]n|mujer|health|salud|hospital|cl[ií]nic|m[eé]dic|nurs|enferm",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"(?<!\w)(?:m[ae]n|males?|his|prostate|menopaus\w*|teenagers?|child|children|toddlers?|my son|school|"
    r"(?:at|age|aged|over) [3-9]\d|[3-9]\d-year-old|(?:[a-z]+|\d+)-(?:months?|years?)-old|dog|puppy|cat|hombres?|para [eé]l|"
    r"pr[oó]stata|menopausia|adolescentes?|juvenil|niñ[oa]s?|mi hij[oa]|colegio|perr[oa]|gat[oa])(?!\w)",
    re.IGNORECASE,
)


_INSURANCE = r"(?:car|home|house|life) insurance|seguros? de (?:coche|auto|carro|moto|hogar|casa|vida)"  # "seguro" is also "safe"

# What guidance on health seldom tells: the words that ask for it, and those of a text that tells it.
_APART = tuple(
    (re.compile(rf"(?<!\w)(?:{asks})(?!\w)", re.IGNORECASE), re.compile(tells, re.IGNORECASE))
    for asks, tells in (
        (
            r"costs?|prices?|priced|fees?|charges?|how much .{0,40} pay|cu[aá]nto (?:cuesta|vale|cobran?|se cobra|se paga)\w*|precios?|subsidios?|tarifas?",
            r"[$€£] ?\d|\d (?:euros?|dollars?|pounds?|pesos|soles)\b|\bcosts?\b|\bprices?\b|\bfees?\b|\bprecios?\b|\bcuesta\w*|\bsubsidio",
        ),
        (
            r"who (?:invented|discovered|first|was the first)|invent\w*|named after|name from|qui[eé]n (?:invent|descubri|hizo la primera)\w*",
            r"\binvent\w+|\bdiscover\w+|\bnamed after|first described|\bdescubri\w+",
        ),
        (
            r"brands?|buy|buying|models?|marcas?|compro|comprar|modelos?",
            r"\bbrands?\b|\bbuy\w*|\bmarcas?\b|\bcompr[aeo]\w*",
        ),
        (
            r"passports?|certificates?|visas?|pasaportes?|registr(?:o|ar|arlo|arla)|films?|pel[ií]culas?",
            r"\bpassports?|\bcertificates?|\bvisas?\b|\bpasaportes?|\bregistro civil|\bfilms?\b|\bpel[ií]culas?",
        ),
        (_INSURANCE, rf"\b(?:{_INSURANCE})\b"),
    )
)


def asks_apart(question: str, texts: Iterable[str]) -> bool:
    """Whether a question asks for a price, an origin, a product, papers or insurance, and none of the texts tells of any."""
    kept = [*texts]
    return any(asks.search(question) and not any(map(tells.search, kept)) for asks, tells in _APART)


@functools.lru_cache(maxsize=8192)
def names_maternity(text: str) -> bool:
    """Whether a question or passage names pregnancy, birth, feeding or a baby, in everyday or clinical words."""
    return _MATERNITY.search(text) is not None


def is_maternity(subject: str) -> bool:
    """Whether documents on a subject are, or may be, about mothers and babies.

    A subject that is not named may be: a sign that is missed does more harm than one that is out of place.

    >>> is_maternity("perinatal care"), is_maternity("our hospital"), is_maternity(""), is_maternity("bicycles")
    (True, True, True, False)
    """
    return not subject or names_maternity(subject) or _NEAR.search(subject) is not None


def about_others(question: str) -> bool:
    """Whether a question is about a man, an older child or an animal and names no pregnancy, birth or baby."""
    return _OTHERS.search(question) is not None and not names_maternity(question)
