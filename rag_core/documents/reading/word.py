"""The text of a Word file as its reader sees it: mammoth makes it HTML, after what mammoth would lose has been put in order.

ECMA-376 part 1, 17 (WordprocessingML) and 22.1 (Office Math) name the elements.
"""

import io
import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterator
from xml.etree.ElementTree import Element, fromstring, tostring

from ...values.letters import raised
from ..hidden import reported
from .page import Page, read_page

_NOTES = {"footnoteReference": r"word/footnotes\d*\.xml", "endnoteReference": r"word/endnotes\d*\.xml"}
_BESIDE = {"header or footer": r"word/(?:header|footer)\d*\.xml", "comment": r"word/comments\d*\.xml"}
_STYLES = "p[style-name='Title'] => h1:fresh"
_TRANSPARENT = {"fldSimple", "ruby", "rubyBase", "bdo", "dir"}  # mammoth reads nothing inside
_NEVER_READ = {"rt", "moveFrom"}  # how the characters below are spoken; what is read where it was moved to
_OFF = {"0", "false", "off"}
_AS = {"cr": "br", "ptab": "tab"}  # what mammoth does not know, and what it is
_SIGN = "\ufffc"  # stands for one that its font alone knows
_NOT_LETTERS = re.compile(r"[\W_]+")


def read_word(content: io.BytesIO, deepest: int) -> Page:
    """The text of a Word file.

    Notes stand in brackets where they are referred to, formulas on their line, a moved sentence and a text box once.
    What is deleted, struck through or hidden, headers, footers, comments, pictures and drawings are reported, not read.
    """
    import mammoth

    with zipfile.ZipFile(content) as archive:
        named = [name for name in archive.namelist() if name.endswith((".xml", ".rels"))]
        parts = {name: archive.read(name) for name in named}  # without pictures
    name = _main_part(parts)
    document = _Document(parts)
    body = document.settled(parts[name])
    parts[name] = tostring(body)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path, part in parts.items():
            archive.writestr(path, part)
    converted = mammoth.convert_to_html(made, style_map=_STYLES)
    page = read_page(f'<meta charset="utf-8">{converted.value}'.encode(), deepest)
    heading = next((line[2:] for line in page.text.splitlines() if line.startswith("# ")), "")
    signs = [one.message for one in converted.messages if "unsupported character" in one.message]
    left_out = [*document.left_out, *document.not_text, *_beside(parts), *_lost(body, page.text), *signs]
    return Page(heading, page.text, reported([*page.hidden, *left_out]))


def _main_part(parts: dict[str, bytes]) -> str:
    """The path of the part that holds the text: Word for the web numbers it."""
    for relation in fromstring(parts.get("_rels/.rels", b"<none/>")):
        if _attribute(relation, "Type").endswith("/officeDocument"):
            return _attribute(relation, "Target").lstrip("/")
    return "word/document.xml"


class _Document:
    """A document being put in order; `left_out` is what is not read, and why."""

    def __init__(self, parts: dict[str, bytes]) -> None:
        self.left_out: list[str] = []
        self._counts: Counter[str] = Counter()
        self._notes: dict[tuple[str, str], str] = {}
        self._notes = {
            (kind, _attribute(note, "id")): _text(note)
            for kind, paths in _NOTES.items()
            for path, part in parts.items()
            if re.fullmatch(paths, path)
            for note in self.settled(part)
        }

    @property
    def not_text(self) -> list[str]:
        return [f"{kind} ({count:,})" for kind, count in self._counts.items()]

    def settled(self, part: bytes) -> Element:
        """A part, changed so that mammoth reads all of it that is seen, and nothing else."""
        whole = fromstring(part)
        waiting = [whole]
        while waiting:
            parent = waiting.pop()
            parent[:] = [one for child in parent for one in self._settled(child)]
            waiting += reversed(parent)
        return whole

    def _settled(self, element: Element) -> list[Element]:
        kind = _kind(element)
        if kind in _TRANSPARENT:
            return [one for child in element for one in self._settled(child)]
        if reason := _why_not_read(element, kind):
            self.left_out.append(f"{reason}: {_text(element)}")
            return []
        if kind in ("oMath", "oMathPara"):
            run = _like("r")
            run.append(_like("t", _formula(element)))
            return [run]
        if kind in _NOTES:
            return [_like("t", f" ({self._notes.get((kind, _attribute(element, 'id')), '')}) ")]
        if kind in ("AlternateContent", "drawing", "object", "pict"):
            return self._drawn(element)
        if kind == "altChunk":
            self._counts["embedded documents"] += 1
        if kind in _AS:
            return [_like(_AS[kind])]
        return [] if kind in _NEVER_READ else [element]

    def _drawn(self, element: Element) -> list[Element]:
        """The text boxes of a drawing, each once: Word writes them in a new form and, for old programs, in another."""
        forms = [child for child in element if _kind(child) in ("Choice", "Fallback")] or [element]
        boxes = next((found for form in forms if (found := _all(form, "txbxContent"))), [])
        if not boxes:
            picture = any(_all(element, name) for name in ("blip", "imagedata"))
            self._counts["pictures" if picture else "drawings"] += 1
            return []
        place = _like("pict")
        place.extend(boxes)
        return [place]


def _why_not_read(element: Element, kind: str) -> str:
    if (kind == "del" and _text(element)) or (kind == "tr" and _properties(element, "trPr", "del")):
        return "deleted"
    if kind == "r" and _text(element):
        if _properties(element, "rPr", "vanish"):
            return "hidden"
        if _properties(element, "rPr", "strike") or _properties(element, "rPr", "dstrike"):
            return "struck through"
    return ""


def _properties(element: Element, group: str, name: str) -> bool:
    for properties in element:
        if _kind(properties) == group:
            return any(
                _kind(one) == name and _attribute(one, "val").lower() not in _OFF for one in properties
            )
    return False


def _formula(element: Element) -> str:
    inner = [(kind, _formula(child)) for child in element if not (kind := _kind(child)).endswith("Pr")]
    named = dict(inner)
    match _kind(element):
        case "t":
            return element.text or ""
        case "f":
            return f"{_grouped(named.get('num', ''))}/{_grouped(named.get('den', ''))}"
        case "sSup":
            return f"{named.get('e', '')}{raised(named.get('sup', ''))}"
        case "rad":
            return f"√{_grouped(named.get('e', ''))}"
        case "d":
            return f"({named.get('e', '')})"
    return "".join(text for _, text in inner)


def _grouped(text: str) -> str:
    return text if re.fullmatch(r"[\w.,]*", text) else f"({text})"


def _beside(parts: dict[str, bytes]) -> Iterator[str]:
    for kind, names in _BESIDE.items():
        for name, part in parts.items():
            if re.fullmatch(names, name) and (text := _text(fromstring(part))):
                yield f"{kind}: {text}"


def _lost(body: Element, read: str) -> Iterator[str]:
    """The paragraphs that are not in the text that was read, whatever mammoth makes of them."""
    known, place = _letters(read), 0
    for paragraph in body.iter():
        text = _text(paragraph) if _kind(paragraph) == "p" else ""
        for letters in map(_letters, text.split(_SIGN)):
            found = known.find(letters, place)  # mostly in order, so that a long file takes no longer a line
            place = known.find(letters) if found < 0 else found
            if place < 0:
                yield f"not understood: {text}"
                place = 0
                break


def _letters(text: str) -> str:
    """Letters and digits alone: blanks, signs and raised figures may be written otherwise."""
    return _NOT_LETTERS.sub("", unicodedata.normalize("NFKC", text))


def _text(element: Element) -> str:
    """The characters in an element, deleted ones included, without those of text boxes in it."""
    parts: list[str] = []
    waiting = [element]
    while waiting:
        one = waiting.pop()
        waiting += [child for child in reversed(one) if _kind(child) != "txbxContent"]
        match _kind(one):
            case "t" | "delText":
                parts.append(one.text or "")
            case "noBreakHyphen":
                parts.append("-")
            case "sym":
                parts.append(_SIGN)
            case "tab" | "br" | "cr" | "p":
                parts.append(" ")
    return " ".join("".join(parts).split())


def _all(element: Element, kind: str) -> list[Element]:
    return [one for one in element.iter() if _kind(one) == kind]


def _like(kind: str, text: str = "") -> Element:
    made = Element(f"{{http://schemas.openxmlformats.org/wordprocessingml/2006/main}}{kind}")
    made.text = text
    return made


def _kind(element: Element) -> str:
    """The name of an element, in whatever edition of the standard."""
    return element.tag.rpartition("}")[2]


def _attribute(element: Element, name: str) -> str:
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), "")
