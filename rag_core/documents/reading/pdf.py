"""The text of a PDF, with what was filled in and typed onto its pages: lines put together by size, baseline and overlap."""

from __future__ import annotations

import io
import math
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, product
from typing import TYPE_CHECKING, Any, NamedTuple

from ...values.letters import raised
from ...values.message import Message
from ..hidden import reported
from ..limits import LimitExceeded
from .lines import joined_lines
from .page import Page

if TYPE_CHECKING:
    from pypdf import PageObject

    _Operation = tuple[Any, bytes]

_STRUCK, _TYPED, _FIELD = "/StrikeOut", "/FreeText", "/Widget"
_NOT_SHOWN = 0b10 | 0b100000  # flags of an annotation
_BUTTON, _PASSWORD = 1 << 16, 1 << 13  # flags of a field
_OFF = ("/Off", "")


def read_pdf(content: bytes, most: int) -> Page:
    """The pages of a PDF in order.

    What is filled in a form or typed onto a page ends that page. Comments, attached files, running headers and footers,
    pages without text, text in no known letters and text that is not drawn are reported. On a page with a picture the
    last is read: it is how a scan has text. After `most` characters the rest is not read; the caller refuses the file.
    Raises LimitExceeded if all its text is in no known letters.
    """
    from pypdf import PdfReader  # LlamaIndex's PDFReader does the same, but retries broken files

    reader = PdfReader(io.BytesIO(content))
    pages: list[list[Line]] = []
    empty, undrawn, unknown, hidden = [], [], [], []
    characters = 0
    for number, page in enumerate(reader.pages, start=1):
        read = PageLines(page)
        try:
            added = list(_added(page, number))
        except Exception:  # a broken note must not cost the page
            added = [("", f"page {number}: not all notes and fields can be read")]
        lines = read.lines + [Line(seen, size=0.0) for seen, _ in added if seen]
        hidden += [note for _, note in added if note]
        if read.undrawn:
            undrawn.append(f"hidden: {read.undrawn}")
        if read.unknown:
            unknown.append(f"page {number}: text whose letters the file does not tell")
        elif not lines:
            empty.append(f"page {number} has no text")
        pages.append(lines)
        characters += sum(len(line.text) + 1 for line in lines)
        if characters > most:
            break
    if not any(pages):
        if unknown:
            odd = Message("its fonts do not tell which letters they draw; run text recognition (OCR) on it")
            raise LimitExceeded(odd)
        return Page("", "", reported(undrawn))  # the caller knows what to say of a scan
    running = [f"header or footer: {line}" for line in take_running(pages)]
    attached = [f"attached file: {name}" for name in reader.attachments]
    told = reported([*empty, *undrawn, *unknown, *running, *hidden, *attached])
    return Page("", joined_lines(joined_pages(pages)), told)


def _added(page: PageObject, number: int) -> Iterator[tuple[str, str]]:
    """What was added to a page: (text that is seen on it, what is reported)."""
    for reference in page.annotations or ():
        note = reference.get_object()
        kind, said = note.get("/Subtype"), _as_text(note.get("/Contents"))
        if kind == _FIELD:
            said = _filled_in(note)
        if kind in (_FIELD, _TYPED) and not int(note.get("/F", 0)) & _NOT_SHOWN:
            yield said, ""
        elif kind == _STRUCK:
            yield "", f"struck through on page {number}{f': {said}' if said else ''}"
        elif said and kind not in ("/Link", "/Popup"):
            yield "", f"{'hidden' if kind in (_FIELD, _TYPED) else 'comment'}: {said}"


def _filled_in(field: Any) -> str:
    kind, flags = field.get_inherited("/FT"), int(field.get_inherited("/Ff", 0))
    name = _as_text(field.get_inherited("/TU")) or _as_text(field.get_inherited("/T"))
    value = field.get_inherited("/V")
    if kind == "/Btn":
        state = str(field.get("/AS") or value or "")
        return "" if flags & _BUTTON else f"{'☐' if state in _OFF else '☒'} {name}"
    said = ", ".join(map(_as_text, value)) if isinstance(value, list) else _as_text(value)
    if not said or kind not in ("/Tx", "/Ch") or flags & _PASSWORD:
        return ""
    return f"{name}: {said}" if name else said


def _as_text(value: Any) -> str:
    from pypdf.generic import NullObject

    return "" if value is None or isinstance(value, NullObject) else str(value).strip()


_SHOWING = {b"Tj", b"TJ", b"'", b'"'}
_MOVING = {b"Td", b"TD", b"Tm", b"T*", b"'", b'"', b"BT", b"cm"}
_PLACING = _SHOWING | _MOVING | {b"Ts", b"Tr", b"Q"}
_AFTER_FORM = b"after Do"  # an operator of our own, which pypdf passes over
_UNDRAWN = 3  # a way of showing text (ISO 32000-1, 9.3.6)
_BROKEN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
# In sizes: of a figure off the baseline, at most; of a text from where it is drawn again for bold; of letters spaced
_SMALL, _AGAIN, _WIDEST = 0.85, 0.08, 1.4
_HAS_POWER = re.compile(  # "x 10", a letter, a length, an element, a raised figure
    r"[x\u00d7*\u00b7\u22c5] ?10$|(?<![^\W\d_])(?:[^\W\d_]|[cdkmn\xb5\u03bc]m|[A-Z][a-z])$|[\u2070-\u207b\xb9\xb2\xb3]$"
)
_LOOSE = "\x1f"  # a blank that nobody drew
_NO_LETTER = re.compile("[\x00-\x08\x0e-\x1f\ufffd\ue000-\uf8ff\U000f0000-\U0010ffff]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")


class Line(NamedTuple):
    """A line of a page; its baseline and its largest size are in points, and not numbers where unknown."""

    text: str
    level: float = math.nan
    size: float = math.nan


@dataclass(slots=True)
class _Begun:
    """A line as far as it goes; `after` parts a figure off its baseline from a word that follows."""

    text: str = ""
    level: float = 0.0
    size: float = 0.0
    last: float = math.nan  # where a letter by itself stands
    steps: dict[int, float] = field(default_factory=dict)  # to the next sign, by its place in the text
    ended: bool = False
    spaced: bool = False  # has blanks that are drawn by themselves
    after: str | None = None


class PageLines:
    """The `lines` of a page, its `undrawn` text, and how many lines or pieces are in `unknown` letters.

    A text drawn twice at one place is read once. A raised figure is written as one: 10⁹, but 500 ² for a note's mark.
    """

    def __init__(self, page: PageObject) -> None:
        from pypdf.generic import NameObject

        self.lines, self.undrawn, self.unknown = list[Line](), "", 0
        self._rise, self._mode, self._saved = 0.0, 0, list[tuple[float, int]]()
        self._moved, self._drawn, self._run, self._seen = True, False, "", set[tuple[str, int, int]]()
        self._line = _Begun()
        if (content := page.get_contents()) is None:
            return
        self._hides = bool(re.search(rb"\b3\s+Tr\b", content.get_data())) and not len(page.images)
        content.forced_encoding = "bytes"  # as pypdf reads it
        content.operations = list(_parted(content.operations))
        whole = page.raw_get("/Contents")
        page[NameObject("/Contents")] = content
        try:
            text = page.extract_text(visitor_operand_before=self._watch, visitor_text=self._take)
            plain = _RIGHT_TO_LEFT.search(text) is not None  # pypdf puts it in order within one piece only
        except _BROKEN:  # of a broken page, all that can be read is
            plain = True
        page[NameObject("/Contents")] = whole
        self._finish()
        if plain:
            self.lines = [Line(text.strip()) for text in page.extract_text().split("\n") if text.strip()]

    def _watch(self, operator: bytes, operands: Sequence[Any], *_: object) -> None:
        """Keep what pypdf does not: how text is raised and shown, and whether it stands where the last one ended."""
        if operator in _SHOWING or operator in _MOVING:
            self._drawn, self._moved = operator in _SHOWING, self._moved or operator in _MOVING
        elif operator == b"Ts" and operands:
            self._rise = float(operands[0])
        elif operator == b"Tr" and operands:
            self._mode = int(operands[0])
        elif operator == b"q":
            self._saved.append((self._rise, self._mode))
        elif operator == b"Q" and self._saved:
            self._rise, self._mode = self._saved.pop()
        elif operator in (b"Do", _AFTER_FORM):  # pypdf tells places in a form from its own corner
            self._seen = set()

    def _take(self, text: str, cm: list[float], tm: list[float], font: Any, size: float) -> None:
        """Take a piece of text, or the blank or line end that pypdf puts before one."""
        hidden = self._hides and self._mode == _UNDRAWN
        self.undrawn += text if hidden else ""
        self._line.ended |= text.endswith("\n")
        if not text:
            return
        if text.isspace():
            self._line.spaced |= self._drawn
            if not (self._line.ended or self._line.text[-1:].isspace()):
                self._line.text += " " if self._drawn else _LOOSE
            return
        x, y = tm[2] * cm[0] + tm[3] * cm[2], tm[2] * cm[1] + tm[3] * cm[3]  # upwards, as the letters stand
        left, low = tm[4] * cm[0] + tm[5] * cm[2] + cm[4], tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        scale = math.hypot(x, y) or 1.0
        size = abs(size) * scale or 1.0
        along, level = (left * y - low * x) / scale, (left * x + low * y) / scale + self._rise * scale
        self._run, self._moved = text if self._moved else self._run + text, False
        column, row = round(along / size / _AGAIN), round(level / size / _AGAIN)
        near = {(self._run, column + i, row + j) for i, j in product((0, -1, 1), repeat=2)}
        if hidden or not self._seen.isdisjoint(near):
            return
        self._seen.add((self._run, column, row))
        if font and str(font.get("/Encoding")).startswith("/Identity-") and "/ToUnicode" not in font:
            self.unknown += 1  # its glyphs have the numbers that its maker liked
        else:
            self._add(text, along, level, size)

    def _add(self, text: str, along: float, level: float, size: float) -> None:
        """Add a piece to the line: a small figure off its baseline belongs to it, whatever pypdf made of it."""
        line, said = self._line, text.strip()
        if not math.isnan(line.last):
            line.steps[len(line.text)] = along - line.last
        if line.text.endswith(_LOOSE) and not along - line.last <= _WIDEST * size:
            line.text = line.text[:-1] + " " * (not text[0].isspace())
        written, line.last = line.text.rstrip(), along if len(said) == 1 else math.nan
        offset = (level - line.level) / line.size if written else math.nan
        small = size <= _SMALL * line.size and (figure := raised(said, written)) != said
        if small and 0.15 <= offset <= 0.75:
            line.text = f"{written}{'' if _HAS_POWER.search(written) else ' '}{figure}"
            line.ended, line.after = False, " "
        elif small and -0.5 <= offset <= -0.05:
            line.text = f"{written if line.ended else line.text}{' ' * written[-1].isdigit()}{text}"
            line.ended, line.after = False, ""
        else:
            if line.ended and (line.after is None or abs(offset) > _AGAIN):
                self._finish()
                line = self._line
            elif line.after and text[0].isalnum() and written == line.text:
                line.text += line.after
            line.text += text
            line.ended, line.after = text.endswith("\n"), None
            if size >= line.size:
                line.level, line.size = level, size

    def _finish(self) -> None:
        """Keep the line, unless most of its signs are of private use or lost. Spaced letters are words."""
        line, text = self._line, self._line.text
        if line.spaced and _LOOSE in text:
            # where most signs have one, or all stand at one distance, they part no cells
            usual = statistics.median(line.steps.values()) if line.steps else math.nan
            if text.count(_LOOSE) * 2 < len("".join(text.split())):
                near = {at - 1 for at, step in line.steps.items() if abs(step - usual) < _AGAIN * line.size}
                text = "".join(" " if one == _LOOSE and at not in near else one for at, one in enumerate(text))
            text = text.replace(_LOOSE, "")
        text = text.replace(_LOOSE, " ").strip()
        if len(text) > 1 and len(_NO_LETTER.findall(text)) * 2 > len(text) - text.count(" "):
            self.unknown += 1
        elif text:
            self.lines.append(Line(text, self._line.level, self._line.size))
        self._line = _Begun()


def _parted(operations: Sequence[_Operation]) -> Iterator[_Operation]:
    """A page's operations such that pypdf tells what is shown at one place by itself, as at the end of a text."""
    shown = False
    for operation in operations:
        operator = operation[1]
        if operator in _PLACING and (operator in _SHOWING) is not shown:
            shown = not shown
            yield [], b"ET"
        yield operation
        if operator == b"Do":
            yield [], _AFTER_FORM


def take_running(pages: Sequence[list[Line]]) -> list[str]:
    """Take running headers and footers off pages; they are returned.

    They stand outermost, apart from the text and no larger, on three pages, or two of up to four, at one height with
    one wording, but for a number that counts with the pages. With one, two are enough: a chapter may be short.
    """
    most, fewest = _body_size(pages) * 1.1, 2 if len(pages) <= 4 else 3
    counts, edges = Counter[tuple[int, str]](), list[tuple[list[Line], int, list[Line]]]()
    for number, lines in enumerate(pages):
        by_level = sorted((line for line in lines if not math.isnan(line.level)), key=lambda line: line.level)
        edges += [(lines, number, by_level[:4]), (lines, number, by_level[:-5:-1])]
        outer = {*by_level[:3], *by_level[-3:]}
        counts.update({key for line in outer if line.size <= most for key in _keys(line, number)})
    taken: dict[str, str] = {}
    for lines, number, edge in edges:
        said = [[(counts[key], fewest if key[1] == line.text else 2) for key in _keys(line, number)] for line in edge]
        runs = [any(found >= enough for found, enough in one) for one in said]
        many = [*runs, False].index(False)
        if 0 < many < len(edge) and abs(edge[many - 1].level - edge[many].level) > 1.5 * edge[many - 1].size:
            lines[:] = [line for line in lines if line not in edge[:many]]
            for line in edge[:many]:
                taken.setdefault(re.sub(r"\d+", "", line.text), line.text)
    return list(taken.values())


def _keys(line: Line, number: int) -> list[tuple[int, str]]:
    """What a line has in common with a running line of another page: its height, and its text but for one number."""
    numbers = islice(re.finditer(r"\d{1,9}", line.text), 9)
    texts = [f"{line.text[: one.start()]}#{int(one[0]) - number}{line.text[one.end() :]}" for one in numbers]
    return [(round(line.level), text) for text in (line.text, *texts)]


def _body_size(pages: Sequence[list[Line]]) -> float:
    sizes = Counter[float]()
    for line in chain.from_iterable(pages):
        sizes[line.size] += len(line.text)
    return max(sizes, key=sizes.__getitem__, default=math.nan)


def joined_pages(pages: Sequence[list[Line]]) -> str:
    """The text of pages; a sentence that may run over a page is not parted, and the page's notes follow it."""
    size = _body_size(pages) * 0.9
    text, last, notes = list[str](), Line(""), list[str]()
    for lines in filter(None, pages):
        body = len(lines)
        while body > 1 and lines[body - 1].size < size:
            body -= 1
        ended = last.text.rstrip("\"'\u201d\u2019\xbb)")[-1:] in ".!?:;\u2026"
        if ended or lines[0].size > last.size * 1.1:  # a heading does not go on
            text, notes = [*text, *notes, ""], []
        text += [line.text for line in lines[:body]]
        notes += [line.text for line in lines[body:]]
        last = lines[body - 1]
    return "\n".join([*text, *notes]).strip()
