"""A question as the rules and the wording model read it."""

from __future__ import annotations

import re
import unicodedata

_MARKS = re.compile(r"[\u2018\u2019'`´]")
_DECIMAL = re.compile(r"(?<=\d),(?=\d)")
# The lay name of anaemia, in which the wording of urgent questions ("blood") would be seen.
_ANAEMIA = re.compile(
    r"(?<!\w)(?:(?:weak|tired|poor) blood(?! (?:pressure|sugar|flow))|blood is (?:weak|tired|poor)|sangre (?:esta |muy )*(?:debil|baja|floja))(?!\w)"
)
# What a sticky eye lets out, in which jaundice ("yellow") would be seen.
_STICKY_EYE = re.compile(
    r"(?<!\w)(?:(?:liquido|secrecion|agu(?:a|ita)|pus|moco) amarill\w+ (?:del?|en) (?:los? |el |su |un )?oj(?:it)?os?|"
    r"yellow (?:discharge|goo|gunk|stuff|fluid|liquid|pus) (?:from|in|out of) (?:(?:the|his|her|babys|one|corner|of) )*eyes?)(?!\w)"
)
_WEEKS = re.compile(r"(?<!\w)w+e{0,3}i?k+e?s?(?!\w)")  # as misspelt


def plain(text: str) -> str:
    """A text in lower case, without accents or apostrophes, numbers with a decimal point.

    "Weak blood" is anaemia, and yellow fluid from an eye a sticky eye.
    """
    bare = unicodedata.normalize("NFKD", _MARKS.sub("", text).casefold())
    bare = "".join(char for char in bare if not unicodedata.combining(char))
    simple = _WEEKS.sub("weeks", _DECIMAL.sub(".", " ".join(bare.split())))
    return _STICKY_EYE.sub("sticky eye", _ANAEMIA.sub("anaemia", simple))
