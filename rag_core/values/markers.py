"""Markers of a citation as models write them, and texts in which nothing can be taken for one."""

from __future__ import annotations

import re

_NAME = r"(?:sources?|refs?\.?|references?|passages?|documents?|fuentes?|referencias?|pasajes?|documentos?)"
_SPAN = r"#?\d+(?:\s*[-\u2010-\u2015]\s*\d+)?"
_AND = r"\s*(?:[,;&]\s*(?:and\s+|y\s+|e\s+)?|\s(?:and|y|e)\s+)"
_SPANS = rf"{_SPAN}(?:{_AND}(?:{_NAME}\s*)?{_SPAN})*"
SPELT = re.compile(
    rf" ?(?:\[\s*(?:\^|{_NAME}\s*)?({_SPANS})\s*\]"  # [1] [1, 2] [1-3] [1 and 2] [^1] [Source 1]
    rf"|\(\s*{_NAME}\s*({_SPANS})\s*\)"  # (Source 2), but not (2)
    rf"|【\s*(?:{_NAME}\s*)?({_SPANS})\s*(?:†[^【】]*)?】)",  # 【1】 【1†source】
    re.IGNORECASE,
)
_ROUND = str.maketrans("【】", "()")  # always: they can be nested, "【1†【2】】"
_NAMED = re.compile(rf"({_NAME})\s*(?=[#\d])", re.IGNORECASE)


def without_markers(text: str) -> str:
    """A text with its own references in other brackets, so that a copy of it cites nothing: [2] as (2).

    The numbers stay: they can also be a range or a value.

    Example:
        >>> without_markers("Iron raises haemoglobin [2] (source 3); median age 31 [27-35].")
        'Iron raises haemoglobin (2) (source: 3); median age 31 (27-35).'
    """
    return SPELT.sub(_in_other_brackets, text.translate(_ROUND))


def _in_other_brackets(marker: re.Match[str]) -> str:
    bare = marker[0].lstrip(" ")
    inside = _NAMED.sub(r"\1: ", bare[1:-1].strip().removeprefix("^"))
    return f"{' ' * (len(marker[0]) - len(bare))}({inside})"
