"""Faults of the word list."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from rag_core.language.dictionaries import lemma

_NEGATION = re.compile(r"\b(?:no|sin|nunca|jamás|ni|ningún|ninguna|ninguno|tampoco|nadie)\b")
# What may stand for a negation in English; "sin embargo" and "no obstante" negate nothing.
_NEGATED = re.compile(r"\b(?:not?|never|without|nor|neither|none|nobody|nothing|cannot|non|un\w+|\w+less|however)\b")
_SPANISH = re.compile(r"[áéíóúüñ¿¡]")


def list_problems(path: Path) -> list[str]:
    """The faults of a word list, one line each.

    They are malformed, repeated and mixed-case entries, lost negations, and Spanish letters in the English.
    """
    return list(_problems(path))


def redundant(entries: Mapping[str, str]) -> int:
    """How many single forms have the English of their dictionary form, so that the list could do without them."""
    bases = {form: lemma(form) for form in entries if form.islower() and " " not in form}
    return sum(base not in (None, form) and entries.get(base or "") == entries[form] for form, base in bases.items())


def _problems(path: Path) -> Iterator[str]:
    seen: dict[str, int] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        form, tab, english = line.partition("\t")
        where = f"{path.name}, line {number}"
        if not tab or not form or any(" ".join(part.split()) != part for part in (form, english)):
            yield f"{where}: {line!r} is not a form, a tab and its English"
        if not (form.islower() or form.isupper()) or english != english.lower():
            yield f"{where}: {form!r} has capitals but is not an abbreviation"
        if _NEGATION.search(form) and not _NEGATED.search(english):
            yield f"{where}: {form!r} loses its negation"
        if _SPANISH.search(english):
            yield f"{where}: the English of {form!r} has Spanish letters"
        if (first := seen.setdefault(form, number)) != number:
            yield f"{where}: {form!r} is also on line {first}"
