"""What styles and lists make of a Word text, beyond mammoth (ECMA-376 part 1: 17.7.3 toggles, 17.9 and 17.18.59)."""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from xml.etree.ElementTree import Element, fromstring

from .page import roman

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
ON, _OFF = {"1", "true", "on"}, {"0", "false", "off"}
_LOOKS = ("vanish", "strike", "dstrike")
_GONE = ("vanish", "del", "moveFrom")  # of the mark of a paragraph, which then has no number of its own
Numbers = dict[int, int]  # by level from 0


class Styles:
    """The styles of a Word file, each with what it is based on."""

    def __init__(self, part: bytes) -> None:
        root = fromstring(part)
        styles = [one for one in root if tag(one) == "style"]
        of_paragraphs = (one for one in styles if attribute(one, "type") == "paragraph")
        usual = next((one for one in of_paragraphs if attribute(one, "default") in ON), root)
        self._usual = attribute(usual, "styleId")
        styles.reverse()  # the first of an id counts
        self._named = {attribute(one, "styleId"): one for one in styles}
        self._always = [name for name in _LOOKS if is_on(root, "docDefaults", "rPrDefault", "rPr", name)]
        self.says = cache(self._says)

    def chain(self, name: str) -> Iterator[Element]:
        seen = set[str]()
        while name in self._named and name not in seen:
            seen.add(name)
            yield self._named[name]
            name = value(self._named[name], "basedOn")

    def name(self, paragraph: Element | None) -> str:
        return value(paragraph, "pPr", "pStyle") or self._usual

    def _says(self, style: str, look: str) -> bool | None:
        found = (child(one, "rPr") for one in self.chain(style))
        said = (_raised(one) if look == "raised" else is_on(one, look) for one in found if one is not None)
        return next((on for on in said if on is not None), None)

    def spell_out(self, whole: Element) -> None:
        """Give each run as its own formatting what styles say of it: that it is hidden, struck through or raised."""
        waiting: list[tuple[Element, Element | None, str]] = [(whole, None, "")]
        while waiting:
            run, paragraph, table = waiting.pop()
            table = value(run, "tblPr", "tblStyle") if tag(run) == "tbl" else table
            waiting += [(one, run if tag(run) == "p" else paragraph, table) for one in run]
            if tag(run) != "r":
                continue
            if (own := child(run, "rPr")) is None:
                run.insert(0, own := like("rPr"))
            names = value(own, "rStyle"), self.name(paragraph), table
            raised = [_raised(own), *(self.says(name, "raised") for name in names)]
            if next((on for on in raised if on is not None), False) and child(own, "vertAlign") is None:
                own.append(like("vertAlign", val="superscript"))
            for look in _LOOKS:
                on = look in self._always or sum(self.says(name, look) is True for name in names) % 2 == 1
                if on and child(own, look) is None:
                    own.append(like(look))


class Numbering:
    """The lists of a Word file, counted from its top."""

    def __init__(self, part: bytes, styles: Styles) -> None:
        self._odd = set[str]()
        self._styles = styles
        self._known = {(tag(one), attribute(one, f"{tag(one)}Id")): one for one in fromstring(part)}
        self._counts = defaultdict[str, Numbers](dict)  # by what lists count together
        self._begun = set[tuple[str, int]]()
        self._lists = cache(self._list)

    def write(self, body: Element) -> Iterator[str]:
        """Write before each item the number that Word shows; yields what is odd about the items."""
        begin: Element | None = None
        for paragraph in [one for one in body.iter() if tag(one) == "p"]:
            begin = paragraph if begin is None else begin
            if number := self._number(paragraph):
                if not any(tag(one) == "sym" or (tag(one) == "t" and one.text) for one in paragraph.iter()):
                    yield f"an item without text: {number}"
                begin.insert(child(begin, "pPr") is not None, like("r", like("t", text=f"{number} ")))
            if not is_on(paragraph, "pPr", "rPr", "del"):  # else it goes on in the next
                begin = None
        yield from (f"numbers of another form, read as figures: {form}" for form in sorted(self._odd))

    def _number(self, paragraph: Element) -> str:
        style = self._styles.name(paragraph)
        if self._styles.says(style, "vanish") or any(is_on(paragraph, "pPr", "rPr", name) for name in _GONE):
            return ""
        chain = [paragraph, *self._styles.chain(style)]
        name = next(filter(None, (value(one, "pPr", "numPr", "numId") for one in chain)), "")
        together, levels, linked, first, restarts = self._lists(name)
        found = (value(one, "pPr", "numPr", "ilvl") or linked.get(attribute(one, "styleId")) for one in chain)
        at = _whole(next(filter(None, found), ""), 0)
        if at not in levels:
            return ""
        counts = self._counts[together]
        goes_on = at in counts and (at not in restarts or (name, at) in self._begun)
        counts[at] = counts[at] + 1 if goes_on else first[at]
        self._begun.add((name, at))
        for lower in [one for one in counts if one > at]:
            if at < _whole(value(levels.get(lower), "lvlRestart"), lower):
                del counts[lower]
        for upper in range(at):  # that were left out
            counts.setdefault(upper, first.get(upper, 1))
        if value(levels[at], "numFmt") == "bullet" or is_on(levels[at], "rPr", "vanish"):
            return ""
        legal = is_on(levels[at], "isLgl")
        forms = {one: "" if legal else value(levels.get(one), "numFmt") for one in counts}
        written = {f"%{one + 1}": self._written(number, forms[one]) for one, number in counts.items()}
        form = child(levels[at], "lvlText")
        text = f"%{at + 1}." if form is None else attribute(form, "val")
        return re.sub("%[1-9]", lambda found: written.get(found[0], ""), text).strip()

    def _list(self, name: str) -> tuple[str, dict[int, Element], dict[str, str], Numbers, Numbers]:
        """What a list counts with, its levels, these by style, their first numbers, those of a new beginning."""
        own = self._known.get(("num", name), like("num"))
        together = value(own, "abstractNumId")
        for style in self._styles.chain(value(self._known.get(("abstractNum", together)), "numStyleLink")):
            other = self._known.get(("num", value(style, "pPr", "numPr", "numId")))
            together = value(other, "abstractNumId") or together
        changes = [one for one in own if tag(one) == "lvlOverride"]
        common = self._known.get(("abstractNum", together), ())
        given = [*common, *(one for change in changes for one in change)]
        levels = {_whole(attribute(one, "ilvl"), 0): one for one in given if tag(one) == "lvl"}
        linked = {named: str(at) for at, level in levels.items() if (named := value(level, "pStyle"))}
        new = {_whole(attribute(one, "ilvl"), 0): value(one, "startOverride") for one in changes}
        restarts = {at: _whole(start, 1) for at, start in new.items() if start}
        first = {at: _whole(value(level, "start"), 1) for at, level in levels.items()} | restarts
        return together, levels, linked, first, restarts

    def _written(self, number: int, form: str) -> str:
        small = ""
        if form.endswith("Letter") and 0 < number <= 780:  # the last that Word writes so
            small = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        elif form.endswith("Roman"):
            small = roman(number)
        elif form not in ("", "decimal", "decimalZero", "bullet", "none"):
            self._odd.add(form)
        figures = "" if form in ("bullet", "none") else str(number).zfill(2 if form == "decimalZero" else 1)
        return (small.upper() if form.startswith("upper") else small) or figures


def tag(element: Element) -> str:
    """The name of an element, in whatever edition of the standard."""
    return str(element.tag).rpartition("}")[2]


def attribute(element: Element, name: str) -> str:
    """An attribute, in whatever edition of the standard; empty if it is missing."""
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), "")


def child(element: Element | None, *path: str) -> Element | None:
    """The first element at the end of a path of names, each inside the one before."""
    for name in path:
        element = next((one for one in element if tag(one) == name), None) if element is not None else None
    return element


def value(element: Element | None, *path: str) -> str:
    """The `val` of a child; empty if it is missing."""
    found = child(element, *path)
    return "" if found is None else attribute(found, "val")


def is_on(element: Element, *path: str) -> bool | None:
    """Whether a property, a child, is on; None if it is missing."""
    found = child(element, *path)
    return None if found is None else attribute(found, "val").lower() not in _OFF


def _raised(properties: Element | None) -> bool | None:
    """Whether formatting raises text off its line, which some programs give in half-points; None if it does not say."""
    align, position = value(properties, "vertAlign"), value(properties, "position")
    return align == "superscript" or _whole(position, 0) > 2 if align or position else None


def like(kind: str, *inside: Element, text: str = "", val: str = "") -> Element:
    """A new element of Word's."""
    made = Element(f"{_WORD}{kind}", {f"{_WORD}val": val} if val else {})
    made.text = text
    made.extend(inside)
    return made


def _whole(text: str, otherwise: int) -> int:
    return int(text) if text.isdecimal() and len(text) < 6 else otherwise
