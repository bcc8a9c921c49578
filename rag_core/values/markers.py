"""Markers of a citation as models write them, and the references of a passage's own that look like them."""

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
_RUN = re.compile(rf"(\S{{0,40}}?)((?:{SPELT.pattern})+)", re.IGNORECASE)  # "hours [2][3]"
_YEAR = re.compile(r" ?\[\s*\d{4,}\s*\]")  # of an edition, as NICE has it; lists of references are shorter
_RANGE = re.compile(r" ?\[\s*(\d{1,6})\s*[-\u2010-\u2015]\s*(\d{1,6})\s*\]")
_NEAR = 40  # characters before a range in which its median or mean stands
_ROUND = str.maketrans("【】", "()")  # always: they can be nested, "【1†【2】】"
_NAMED = re.compile(rf"({_NAME})\s*(?=[#\d])", re.IGNORECASE)


def without_markers(text: str) -> str:
    """A text with its own references in other brackets, so that a copy of it cites nothing: [2] as (2).

    The numbers stay: they can also be a range or a value.

    >>> without_markers("Iron raises haemoglobin [2] (source 3); median age 31 [27-35].")
    'Iron raises haemoglobin (2) (source: 3); median age 31 (27-35).'
    """
    return SPELT.sub(_in_other_brackets, text.translate(_ROUND))


def without_references(text: str) -> str:
    """A text as `without_markers` has it, but for its references, whose numbers say nothing of its subject.

    A year stays, and so does a range behind a number inside it; other ranges, such as "[1-3]", look like references.

    >>> without_references("Give tablets [2] (source 3); median age 31 [27-35], take tablets (2).")
    'Give tablets; median age 31 (27-35), take tablets (2).'
    """
    return without_markers(SPELT.sub(_unless_reference, text))


def references_after_words(text: str) -> dict[str, str]:
    """A text's references as a copy has them, each run with the word before it -> the same without them.

    >>> references_after_words("Give tablets every six hours [2][5].")
    {'hours (2)(5)': 'hours'}
    """
    found = {without_markers(run[0]): _without(run) for run in _RUN.finditer(text) if run[1]}
    return {copied: left for copied, left in found.items() if copied != left}


def _without(run: re.Match[str]) -> str:
    start, end = run.span(2)
    kept = "".join(_unless_reference(one) for one in SPELT.finditer(run.string, start, end))
    return without_markers(run[1] + kept)


def _unless_reference(marker: re.Match[str]) -> str:
    """Nothing for a reference, else the marker as it stands."""
    if between := _RANGE.fullmatch(marker[0]):
        before = marker.string[max(marker.start() - _NEAR, 0) : marker.start()]
        low, high = int(between[1]), int(between[2])
        is_value = any(low <= float(number) <= high for number in re.findall(r"\d+(?:\.\d+)?", before))
        return marker[0] if is_value else ""
    return marker[0] if _YEAR.fullmatch(marker[0]) else ""


def _in_other_brackets(marker: re.Match[str]) -> str:
    bare = marker[0].lstrip(" ")
    inside = _NAMED.sub(r"\1: ", bare[1:-1].strip().removeprefix("^"))
    return f"{' ' * (len(marker[0]) - len(bare))}({inside})"
