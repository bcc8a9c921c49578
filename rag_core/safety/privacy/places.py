"""Postal addresses: a street with a number, or a British postcode, and what follows."""

import functools
import re
from collections.abc import Iterator

from ...language.words import read_words
from .spans import PrivateSpan, any_of

_PHRASES = read_words()["private"]
_UPPER = "A-ZÀ-ÖØ-ÞĆČĐŁŃŚŠŹŻŽ"
_WORD = rf"[{_UPPER}](?:[^\W\d_]|['’-](?=[^\W\d_]))*"
_PARTICLE = r"(?:del?|de\s+las?|de\s+los|la|las|los|el|y|e|da|dos|of|the|upon|on|le|by)"
_PLACE = rf"(?:{_WORD}|(?:St|Sta|Sto|Dr|Gral|Mt|Ft)\.)(?:[ \t]+(?:{_PARTICLE}[ \t]+){{0,2}}{_WORD}){{0,4}}"
_POSTCODE_UK = r"[A-Z]{1,2}\d[A-Z\d]? ?\d[ABD-HJLNP-UW-Z]{2}(?!\w)"
_UNIT = (
    r"(?i:(?:portal|piso|planta|puerta|pta|esc(?:alera)?|bloque|blq|bl|torre|dpto|dto|depto|departamento|apto|apartamento|apt"
    r"|apartment|flat|unit|suite|ste|room|casa|interior|int|oficina|of|local|lote|lt|mz|manzana|mzna|block|etapa|sector|km|n[.º°ro]*"
    r"|villa|cp|c\.p|código postal|edificio|edif)\b\.?\s*(?:[#º°]\s*)?[\"“«]?(?:\d+[\w-]*|[A-Za-z]\b)[\"”»]?(?:\s*[\"“«'][A-Za-z\d]{1,2}[\"”»'])?)"
)
_DOOR = r"\d{1,3}\s?\.?[ºª°o]\s?(?:[A-Za-z]\b|izq\w*\.?|der\w*\.?|dcha\.?|\d+\.?[ªº])?"
_AREA = rf"(?:Col|Urb|Fracc|Bo|B[°º.]|Barrio|Colonia|Urbanización|Villa|Población|Pobl|Vereda|Sector|Comuna|Deleg|Alcaldía|Mun|AA\.?HH)[.\s°º]*\s?{_PLACE}"
_CODE = rf"(?:[A-Z]\d{{4}}(?:[A-Z]{{3}})?|\d{{4,6}}(?:-\d{{4}})?)(?:[ \t]+{_PLACE})?"
_STATE_ZIP = rf"{_PLACE}[ \t]+\d{{5}}(?:-\d{{4}})?"
_ABBREVIATED = r"(?:Jal|Mor|Gto|Qro|Pue|Ver|Chis|Oax|Mich|Edo\.? de Méx|Méx|N\.?L|D\.?F|CDMX|CABA|Bs\.? ?As|R\.?M|S\.?L\.?P|B\.?C|Q\.?Roo|Yuc|Tamps|Coah|Chih|Sin|Son|Gro|Hgo|Tlax|Zac|Ags|Nay|Dgo|Col|Camp|Tab)\.?(?=[\s,;.]|$)"
_PART = rf"(?:{_POSTCODE_UK}|{_UNIT}(?:[ \t]+{_UNIT})*|{_DOOR}|{_AREA}|{_STATE_ZIP}|{_CODE}|{_ABBREVIATED}|{_PLACE}(?:[ \t]+{_POSTCODE_UK})?)(?!\w)"
_REST = rf"(?:(?:\s*[,–—-]\s*|[ \t]+)(?:{_UNIT}|{_DOOR}|{_POSTCODE_UK}|{_AREA})(?!\w)|(?:\s*,\s*|\s+[–—-]\s+){_PART}){{0,8}}"

_VIA = (
    r"(?:c/|calle|avda|avenida|av|jr|jir[oó]n|pje|psje|pasaje|psj|blvd|bulevar|calz(?:ada)?|cra|kra|prol(?:ongaci[oó]n)?|privada|priv"
    r"|rda|urb|glorieta|carrer|malec[oó]n|alameda|cerrada|andador)"
)
# These are also ordinary words ("camino 30 minutos"): they count with a capital and before a name.
_VIA_CAPITAL = r"(?:Paseo|P\.º|Pº|Plaza|Pza|Plza|Camino|Cno|Carretera|Ctra|Carrera|Cr|Diagonal|Diag|Transversal|Tv|Ronda|Cl|Cll|Travesía|Rúa|Vereda|Ruta|Vía|Rambla|Cuesta)"
_NOT_NAMES = "y|o|que|tengo|estoy|con|desde|a|me|hace|sin|en|por|para|se|mi|un|una|hay|cada"
_NAME = rf"(?!(?:{_NOT_NAMES})\b)[^\W\d_][^\W_]*\.?"  # of a street, in small letters too
_NUMBER = r"(?:(?:n\.?[ºo°]\.?|no\.?|nro\.?|num\.?|número|#|s/n|,)\s*)*\d{1,5}(?:[-–]\d{1,4})?[A-Za-z]?\b(?!\s*(?:semanas?|sem|sdg|ss|d[ií]as?|años?|meses|mes|min|horas?|h|km|m|mg|ml|%|veces|weeks?|days?|months?|years?|hours?)\b)"
_STREET = (
    rf"(?<!\w)(?:(?i:{_VIA})(?:\.\s*|\s+|(?<=/)\s*)(?:\d{{1,2}}\s+de\s+)?{_NAME}(?:\s+{_NAME}){{0,5}}?,?\s*{_NUMBER}"
    rf"|{_VIA_CAPITAL}\.?\s+(?:{_PARTICLE}\s+){{0,2}}{_PLACE},?\s*{_NUMBER}"
    rf"|(?:{_VIA_CAPITAL}|(?i:calle|av|avenida|cra|kra))\.?\s*\d{{1,3}}\s?[A-Za-z]?(?:\s?(?:bis|sur|norte|este|oeste|Bis|Sur|Norte))?\s*(?:#|[Nn][.oº°]+|[Nn]o\.?)\s*\d{{1,3}}\s?[A-Za-z]?\s*-\s*\d{{1,3}})"
    rf"{_REST}"
)
_AT_HOME = (
    rf"(?<!\w)(?i:domicilio|direcci[oó]n|viv[oe] en|vivimos en|domiciliad[oa] en|reside en|address|lives? at)(?i:\s+(?:es|is|en))?[\s:]+"
    rf"(?P<place>{_PLACE}\.?,?\s*{_NUMBER}{_REST})"
)
_WITH_DOOR = rf"(?<!\w)(?P<place>{_PLACE}\s+\d{{2,5}},?\s+(?:{_DOOR}|{_UNIT})(?!\w){_REST})"
_BLOCK = rf"(?<!\w)(?:Mz|Mza|Manzana|Mzna)\.?\s*[\w]{{1,3}},?\s*(?:Lt|Lote)\.?\s*\d+{_REST}"

_TYPES = any_of(_PHRASES["streets"])
_UNIT_EN = r"(?:(?i:flat|apt\.?|apartment|unit|suite|ste\.?|room|#)\s?#?\w{1,4},?\s+)?"
_COMPASS = r"(?:[NSEW]{1,2}\.?\s+|North\s+|South\s+|East\s+|West\s+)?"
_STREET_EN = (
    rf"(?<![\w.,])(?:PO Box \d+,?\s+)?{_UNIT_EN}\d{{1,5}}[a-zA-Z]?,?\s+{_COMPASS}"
    rf"(?:(?:{_WORD}|\d{{1,3}}(?:st|nd|rd|th))\s+){{1,4}}?(?:{_TYPES})\b\.?"
    rf"(?:\s(?:[NSEW]{{1,2}}|\d{{1,4}})\b(?!\s[a-z]))?{_REST}"
)
_NUMBERED_ROAD = (
    rf"(?<![\w.,])(?:PO Box \d+,?\s+)?{_UNIT_EN}\d{{1,5}}\s+{_COMPASS}(?:(?:County|State|Farm|Rural|Ranch)\s+)?"
    rf"(?:Road|Route|Highway|Hwy|Rd|Rte|CR)\s+\d{{1,4}}{_REST}"
)
_STREET_LOWER = (
    r"(?<![\w.,])\d{1,5}[a-z]?\s+(?!(?:weeks?|minutes?|mins?|hours?|days?|months?|years?|miles?|km)\b)"
    r"(?:(?!(?:the|a|my|our|this|that|in|on|down|from|of|and|or|to|for|by|at|mg|ml|mcg)\b)[a-z]+\s+){1,3}"
    rf"(?:street|road|avenue|lane)\b(?:(?:,?\s+[a-z]+){{0,2}},?\s+(?i:{_POSTCODE_UK}))?{_REST}"
)
_PO_BOX = rf"\b(?:P\.?O\.? ?Box|Apartado(?: de correos| postal)?)\s+\d+{_REST}"
_BY_POSTCODE = rf"(?<!\w)(?:(?:\d{{1,4}}[a-zA-Z]?\s+)?{_PLACE}\s*,\s*){{0,3}}(?:(?:\d{{1,4}}[a-zA-Z]?\s+)?{_PLACE}\s*,?\s+)?{_POSTCODE_UK}"
_DIGIT = re.compile(r"\d")
_PATTERNS = (
    _BY_POSTCODE,
    _NUMBERED_ROAD,
    _STREET_EN,
    _STREET,
    _AT_HOME,
    _WITH_DOOR,
    _BLOCK,
    _PO_BOX,
    _STREET_LOWER,
)


@functools.cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """Compiled when first needed: it takes a tenth of a second."""
    return tuple(map(re.compile, _PATTERNS))


def addresses(text: str) -> Iterator[PrivateSpan]:
    """Addresses; where two patterns find parts of one, the whole."""
    if not _DIGIT.search(text):  # every pattern has one
        return
    found = sorted(
        match.span("place" if "place" in pattern.groupindex else 0)
        for pattern in _patterns()
        for match in pattern.finditer(text)
    )
    start, end = -1, -1
    for one in found:
        if one[0] <= end:
            end = max(end, one[1])
            continue
        if end > 0:
            yield PrivateSpan(start, end, "address")
        start, end = one
    if end > 0:
        yield PrivateSpan(start, end, "address")
