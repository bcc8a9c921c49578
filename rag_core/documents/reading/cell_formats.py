"""What a spreadsheet shows of a value: ECMA-376 part 1, 18.8.31 has the signs of its number formats."""

import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

_TOKEN = re.compile(
    r"""(?P<fraction>(?:[#0?]+\s+)?[#0?]+/[#0?\d]+)
    | (?P<number>\.?[#0?][#0?,.]*(?:[eE][+-]?[#0?]+)?)
    | "(?P<quoted>[^"]*)" | \\(?P<escaped>.) | _(?P<space>.) | \*(?P<filler>.)
    | \[\$(?P<currency>[^\]-]*)[^\]]*\] | \[(?P<colour>[^\]]*)\]
    | (?P<general>General) | (?P<sign>.)""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_SECTION = re.compile(r'(?:"[^"]*"|\\.|\[[^\]]*\]|[^;])*')
_NOT_OF_DATES = re.compile(r'"[^"]*"|\\.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)
_SAID = {"space": " ", "filler": "", "colour": ""}
_CONDITION = re.compile(r"\[[<>=]")

Tokens = tuple[tuple[str, str], ...]


def shown(value: Any, number_format: str = "General") -> str:
    """A value as its cell shows it, but dates as ISO has them; empty if its format shows nothing.

    Example:
        >>> shown(0.2, "0%"), shown(2.5, '0.0 "mg"'), shown(datetime(2025, 3, 7), "dd/mm/yyyy")
        ('20%', '2.5 mg', '2025-03-07')
    """
    match value:
        case bool():
            return str(value).upper()
        case int() | float():
            return _number(value, number_format)
        case datetime() | date() | time():
            return _date(value, number_format)
        case timedelta():
            minutes, seconds = divmod(round(value.total_seconds()), 60)
            return f"{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")
    return _text(str(value), number_format)


def _number(value: float, number_format: str) -> str:
    if number_format in ("", "General") or _CONDITION.search(number_format):
        return _general(value)
    sections = _sections(number_format)
    at = 2 if value == 0 and len(sections) > 2 else int(value < 0 and len(sections) > 1)
    tokens, sign = sections[at], "-" if value < 0 and at == 0 else ""
    if sum(kind in ("number", "fraction") for kind, _ in tokens) > 1:  # such as that of a telephone
        return _general(value)
    try:
        size = abs(Decimal(str(value))).scaleb(2 * tokens.count(("sign", "%")))
        said = [_WAYS[kind](size, text) if kind in _WAYS else text for kind, text in tokens]
    except (ArithmeticError, ValueError):  # an odd format, or more digits than anyone writes
        return _general(value)
    text = " ".join("".join(said).split())
    return f"{sign}{text}" if re.search(r"[1-9]", text) else text


def _general(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    size = abs(value)
    if not 1e-9 <= size < 1e15:
        return f"{value:.10g}"
    return f"{Decimal(f'{value:.{10 if size < 1e9 else 15}g}'):f}"


def _figures(size: Decimal, pattern: str) -> str:
    from babel.numbers import format_decimal

    if not size and "0" not in pattern:
        return ""
    thousands = len(pattern) - len(pattern.rstrip(","))
    with localcontext(Context(rounding=ROUND_HALF_UP, prec=40)):
        plain = pattern.rstrip(",").replace("?", "#").upper()
        return format_decimal(size.scaleb(-3 * thousands), plain, locale="en")


def _fraction(size: Decimal, pattern: str) -> str:
    """A fraction as `# ?/?` shows it; the signs below the bar say how large the lower number may be."""
    lower = pattern.rpartition("/")[2]
    exact = Fraction(size)
    near = exact.limit_denominator(10 ** len(lower) - 1)
    if lower.isdigit() and int(lower):
        near = Fraction(round(exact * int(lower)), int(lower))
    whole, rest = divmod(near, 1) if re.search(r"\s", pattern) else (0, near)
    return " ".join([str(whole)] * bool(whole or not rest) + [str(rest)] * bool(rest))


_WAYS: dict[str, Callable[[Decimal, str], str]] = {
    "number": _figures, "fraction": _fraction, "general": lambda size, _: _general(float(size))
}  # fmt: skip


def _date(value: date | time, number_format: str) -> str:
    signs = _NOT_OF_DATES.sub("", number_format.partition(";")[0]).lower()
    if isinstance(value, time):
        return value.isoformat("seconds" if value.second else "minutes")
    if not isinstance(value, datetime):
        return value.isoformat()
    value = (value + timedelta(milliseconds=500)).replace(microsecond=0)
    clock = value.time().isoformat("seconds" if value.second else "minutes")
    if "h" in signs and not set("dy") & set(signs):
        return clock
    if "h" not in signs or value.time() == time():  # many programs give every date a clock
        clock = ""
    day = value.date().isoformat()
    if "d" not in signs and "y" in signs:
        day = day[:7] if "m" in signs else day[:4]
    return f"{day} {clock}".strip()


def _text(value: str, number_format: str) -> str:
    sections = _sections(number_format)
    tokens = sections[3] if len(sections) > 3 else sections[-1]
    if ("sign", "@") not in tokens:
        return "" if len(sections) > 3 and not tokens else value
    return "".join(value if (kind, text) == ("sign", "@") else text for kind, text in tokens).strip()


@lru_cache(maxsize=1000)
def _sections(number_format: str) -> tuple[Tokens, ...]:
    """The parts of a format: for numbers above, below and of zero, and for text."""
    return tuple(
        _tokens(found[0])
        for found in _SECTION.finditer(number_format)
        if f";{number_format}"[found.start()] == ";"  # not the empty match that follows each section
    )


def _tokens(section: str) -> Tokens:
    found = ((one.lastgroup or "sign", one) for one in _TOKEN.finditer(section))
    return tuple((kind, _SAID.get(kind, one[kind])) for kind, one in found)
