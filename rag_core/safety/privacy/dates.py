"""Full dates: day, month and year, in English and Spanish."""

from __future__ import annotations

import re

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?|ene(?:ro)?|feb(?:rero)?|marzo|abr(?:il)?|mayo|junio|julio|ago(?:sto)?"
    r"|se[pt]t?(?:iembre)?|oct(?:ubre)?|nov(?:iembre)?|dic(?:iembre)?)\.?"
)
_YEAR = r"(?:(?:19|20)\d\d|['’]?\d\d)"
_ORDINAL = r"(?:st|nd|rd|th|\.?º)?"
_GAP = r"[\s./-]+(?:del?\s+(?:año\s+)?)?"

DATE = re.compile(
    r"(?<![\w/.,-])(?:"
    rf"(?:19|20)\d\d[/.-]\d{{1,2}}[/.-]\d{{1,2}}|\d{{1,2}}\s?([/.-])\s?\d{{1,2}}\s?\1\s?{_YEAR}"
    rf"|\d{{1,2}}{_ORDINAL}(?:\s+of)?{_GAP}{_MONTH},?{_GAP}{_YEAR}|{_MONTH}{_GAP}\d{{1,2}}{_ORDINAL},?\s+{_YEAR}"
    r")(?![\w/-]|[.,]\d)",
    re.IGNORECASE,
)
