"""Cutting one section into parts that can be read alone: lists and urgent advice stay whole.

A section is read as units: sentences, and list items or table rows. Some must not be parted: a list from the sentence
that leads in or the one that concludes, and urgent advice from the signs it is for.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ..language.analysis import sentence_spans
from ..safety.urgency.advice import calls_for_help, points_back
from ..safety.urgency.signs import names_sign
from ..values.errors import ConfigError
from ..values.message import Message

SMALLEST = 48  # word pieces; a shorter section is merged with the next if both fit
# by language: word pieces of a passage with title and headings; Spanish is read in English
LARGEST = {"es": 320}
LARGEST_OTHERWISE = 254  # what MiniLM reads
CHUNKER = f"sections/{SMALLEST}-{LARGEST_OTHERWISE}-{LARGEST['es']}/4"  # part of an index's identity

CHUNK_SIZES = (64, 400)  # word pieces: fewer lose the sense, more exceed the characters that `cutting` allows
MOST_OVERLAP = 0.5  # of the size


@dataclass(frozen=True, slots=True)
class Chunking:
    """How long passages are: part of an index's identity. Raises ConfigError if a value is out of range.

    `size`: the most word pieces of a passage with title and headings; 0 for the language's default (LARGEST).
    `overlap`: the most that a part of a cut section repeats from the part before it, in whole sentences; 0 for none.
    """

    size: int = 0
    overlap: int = 0

    def __post_init__(self) -> None:
        if self.size and not CHUNK_SIZES[0] <= self.size <= CHUNK_SIZES[1]:
            raise ConfigError(
                Message("A chunk size of {size} word pieces is out of range.", size=self.size),
                Message("Use {least} to {most}, or 0 for the default.", least=CHUNK_SIZES[0], most=CHUNK_SIZES[1]),
            )
        most = int(MOST_OVERLAP * (self.size or LARGEST_OTHERWISE))
        if not 0 <= self.overlap <= most:
            raise ConfigError(
                Message("An overlap of {overlap} word pieces is out of range.", overlap=self.overlap),
                Message("Use 0 to {most}.", most=most),
            )

    @property
    def key(self) -> str:
        if self == Chunking():
            return CHUNKER
        return f"sections/{SMALLEST}-{self.size or 'default'}+{self.overlap}/4"

    def largest(self, language: str) -> int:
        return self.size or LARGEST.get(language, LARGEST_OTHERWISE)


DEFAULT = Chunking()

LONGEST = 2_000  # characters of a part; a tokenizer may count a word of any length as one word piece
SHORTEST = 20  # characters; shorter pieces are not cut, however many word pieces they have
HARD = 1.5  # times the size: up to here, what belongs together stays together

Count = Callable[[str], int]
Cost = tuple[int, int, int]  # cuts within a paragraph, parts, sum of squared sizes

_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")
_ITEM = re.compile(r"[ \t]*(?:[-*+•–]|\d{1,3}[.)]|[a-z]\)|\|)(?=[ \t])|\||.*\S \| \S")
_RULE = re.compile(r"\|?(?:\s*:?-+:?\s*(?:\||$))+\s*")


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, list item or table row, the white space before it, and whether to glue it to that unit."""

    text: str
    gap: str
    item: bool = False
    glued: bool = False


@dataclass(frozen=True, slots=True)
class Atom:
    """What is not cut; `lead` is what a part that starts here repeats: the lead-in of a list, the header of a table."""

    text: str
    gap: str
    pieces: int
    lead: str = ""
    lead_pieces: int = 0


def cut(text: str, language: str, size: int, count: Count) -> list[str]:
    """A section's text in parts of at most `size` word pieces, as even as can be, cut at paragraphs if they fit.

    What must not be parted makes a part of up to HARD times that size. Beyond it, a list is cut between its items, and
    each part repeats the lead-in, or a table's header; other text is cut between sentences, or else between words.
    """
    if len(text) <= LONGEST and count(text) <= size:
        return [text] if text else []
    return list(_parts(list(_atoms(_glued(list(_units(text, language))), size, count)), size))


def overlapping(parts: Sequence[str], language: str, most: int, count: Count) -> list[str]:
    """The parts of a section, each after the last sentences of the part before it: as many as have `most` word pieces."""
    made = list(parts[:1])
    for before, part in pairwise(parts):
        start = len(before)
        for first, _ in reversed(list(sentence_spans(before, language))):
            if count(before[first:].strip()) > most:
                break
            start = first
        tail = before[start:].strip()
        made.append(f"{tail}\n\n{part}" if tail else part)
    return made


def blocks(text: str, most: int) -> Iterator[str]:
    """A text in pieces of at most `most` characters, cut at the end of a paragraph, line, sentence or word if possible."""
    start = 0
    while len(text) - start > most:
        middle, end = start + most // 2, start + most
        cuts = (text.rfind(sign, middle, end) + len(sign) for sign in ("\n\n", "\n", ". ", "。", " "))
        found = next((cut for cut in cuts if cut > middle), end)
        if piece := text[start:found].strip():
            yield piece
        start = found
    if piece := text[start:].strip() if start else text:
        yield piece


def _units(text: str, language: str) -> Iterator[Unit]:
    for paragraph in _PARAGRAPHS.split(text):
        gap = "\n\n"
        for item, block in _lines(paragraph.strip("\n")):
            if item or (len(block) > LONGEST and not re.search(r"\s", block)):
                yield Unit(block, gap, item)
            else:
                end = 0
                for start, stop in sentence_spans(block, language):
                    yield Unit(block[start:stop], block[end:start] if end else gap)
                    end = stop
            gap = "\n"


def _lines(paragraph: str) -> list[tuple[bool, str]]:
    """The list items (True) of a paragraph, with lines that continue them, and the text between them (False)."""
    found: list[tuple[bool, str]] = []
    for line in paragraph.split("\n"):
        item = _ITEM.match(line) is not None
        if item or not found:
            found.append((item, line))
        else:
            kind, before = found[-1]
            found[-1] = (kind, f"{before}\n{line}")
    return found


def _glued(units: Sequence[Unit]) -> list[Unit]:
    """The units, each marked if it must stay with the one before it."""
    glued = list(units)
    for place, unit in enumerate(units):
        before = units[place - 1] if place else None
        after = units[place + 1] if place + 1 < len(units) else None
        if before and (unit.item or before.item):
            glued[place] = replace(glued[place], glued=True)
        back = points_back(unit.text)
        if unit.item or not (back or (calls_for_help(unit.text) and not names_sign(unit.text))):
            continue
        if not back and after and names_sign(after.text) and not (before and names_sign(before.text)):
            glued[place + 1] = replace(glued[place + 1], glued=True)
        elif before:
            glued[place] = replace(glued[place], glued=True)
    return glued


def _atoms(units: Sequence[Unit], size: int, count: Count) -> Iterator[Atom]:
    """What belongs together as one atom each, or as several beyond the hard limit."""
    for group in _groups(units, lambda before, unit: unit.glued):
        whole = _text(group)
        if len(whole) <= LONGEST and (pieces := count(whole)) <= HARD * size:
            yield Atom(whole, group[0].gap, pieces)
            continue
        said = header = lead = ""
        for run in _groups(group, lambda before, unit: before.item != unit.item or _is_rule(unit)):
            cost = count(lead)
            repeated = (lead, cost) if run[0].item and not _is_rule(run[-1]) else ("", 0)
            gap = run[0].gap
            for piece in _fitting(_text(run), size - cost, LONGEST - len(lead), count):
                yield Atom(piece, gap, count(piece), *repeated)
                gap = " "
            for before, unit in pairwise(run):
                if unit.item and not before.item:
                    said, header = f"{before.text}\n\n", ""
                elif _is_rule(unit):
                    header = f"{before.text}\n{unit.text}\n"
            leads = (said + header, header)
            lead = next((one for one in leads if len(one) <= LONGEST // 4 and 2 * count(one) <= size), "")


def _is_rule(unit: Unit) -> bool:
    return unit.item and _RULE.fullmatch(unit.text) is not None


def _groups(units: Sequence[Unit], together: Callable[[Unit, Unit], bool]) -> Iterator[list[Unit]]:
    group: list[Unit] = []
    for unit in units:
        if group and not together(group[-1], unit):
            yield group
            group = []
        group.append(unit)
    if group:
        yield group


def _text(units: Sequence[Unit]) -> str:
    return "".join([units[0].text, *(unit.gap + unit.text for unit in units[1:])])


def _fitting(text: str, size: int, most: int, count: Count) -> Iterator[str]:
    if len(text) <= most and (count(text) <= size or len(text) < SHORTEST):
        yield text
    else:
        for half in blocks(text, len(text) // 2 + 1):
            yield from _fitting(half, size, most, count)


def _parts(atoms: Sequence[Atom], size: int) -> Iterator[str]:
    """The atoms joined into parts: as few cuts within a paragraph as fit, then few parts, then even ones."""
    # of the first n atoms: cost, and where the last part starts
    best: list[tuple[Cost, int]] = [((0, 0, 0), 0)]
    for end in range(1, len(atoms) + 1):
        found: tuple[Cost, int] | None = None
        pieces = length = 0
        for start in range(end - 1, -1, -1):
            atom = atoms[start]
            pieces, length = pieces + atom.pieces, length + len(atom.gap) + len(atom.text)
            filled = pieces + atom.lead_pieces
            if end - start > 1 and (filled > size or length + len(atom.lead) > LONGEST):
                break
            (inside, parts, squares), _ = best[start]
            inside += start > 0 and "\n\n" not in atom.gap
            cost = (inside, parts + 1, squares + filled * filled)
            if found is None or cost < found[0]:
                found = (cost, start)
        assert found is not None  # one atom is always a part
        best.append(found)
    ends = [len(atoms)]
    while ends[-1]:
        ends.append(best[ends[-1]][1])
    for start, end in pairwise(reversed(ends)):
        first = atoms[start]
        yield first.lead + first.text + "".join(atom.gap + atom.text for atom in atoms[start + 1 : end])
