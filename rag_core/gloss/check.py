"""Faults of the word list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_SPANISH = re.compile(r"[áéíóúüñ¿¡]")


def list_problems(path: Path) -> list[str]:
    """The faults of a word list, one line each: malformed, doubled or upper-case entries, Spanish left over."""
    return list(_problems(path))


def _problems(path: Path) -> Iterator[str]:
    seen: dict[str, int] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        form, tab, english = line.partition("\t")
        where = f"{path.name}, line {number}"
        if not tab or not form or "\t" in english or " ".join(line.split(" ")) != line:
            yield f"{where}: {line!r} is not a form, a tab and its English"
        if line != line.lower():
            yield f"{where}: {form!r} has capitals"
        if _SPANISH.search(english):
            yield f"{where}: the English of {form!r} has Spanish letters"
        if (first := seen.setdefault(form, number)) != number:
            yield f"{where}: {form!r} is also on line {first}"
