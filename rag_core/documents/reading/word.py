"""The text of a Word file, put in order for mammoth, which makes it HTML (ECMA-376 part 1: 17, and 22.1 for Math)."""

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
from .word_styles import Numbering, Styles, attribute, is_on, like, tag, value

_NOTES = {"footnoteReference": r"word/footnotes\d*\.xml", "endnoteReference": r"word/endnotes\d*\.xml"}
_BESIDE = {"header or footer": r"word/(?:header|footer)\d*\.xml", "comment": r"word/comments\d*\.xml"}
_NAMED, _LISTS = r"word/styles\d*\.xml", r"word/numbering\d*\.xml"
_STYLES = "p[style-name='Title'] => h1:fresh"
_TRANSPARENT = {"fldSimple", "ruby", "rubyBase", "bdo", "dir"}  # mammoth reads nothing inside
_NEVER_READ = {"rt", "moveFrom"}  # how the characters below are spoken; what is read where it was moved to
_AS = {"cr": "br", "ptab": "tab"}  # what mammoth does not know, and what it is
_PICTURES = ("blip", "imagedata")
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
    lists = next((path for path in parts if re.fullmatch(_LISTS, path)), "")
    in_lists = list(Numbering(parts.pop(lists, b"<none/>"), document.styles).write(body))
    parts[name] = tostring(body)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path, part in parts.items():
            archive.writestr(path, part)
    converted = mammoth.convert_to_html(made, style_map=_STYLES)
    page = read_page(f'<meta charset="utf-8">{converted.value}'.encode(), deepest)
    heading = next((line[2:] for line in page.text.splitlines() if line.startswith("# ")), "")
    signs = [one.message for one in converted.messages if "unsupported character" in one.message]
    not_text = [f"{kind} ({count:,})" for kind, count in document.not_text.items()]
    left_out = [*page.hidden, *document.left_out, *not_text, *in_lists, *_beside(parts)]
    return Page(heading, page.text, reported([*left_out, *_lost(body, page.text), *signs]))


def _main_part(parts: dict[str, bytes]) -> str:
    """The path of the part that holds the text: Word for the web numbers it."""
    for relation in fromstring(parts.get("_rels/.rels", b"<none/>")):
        if attribute(relation, "Type").endswith("/officeDocument"):
            return attribute(relation, "Target").lstrip("/")
    return "word/document.xml"


class _Document:
    """A document being put in order; `left_out` is what is not read, and why; `not_text` counts the rest."""

    def __init__(self, parts: dict[str, bytes]) -> None:
        self.left_out: list[str] = []
        self.not_text: Counter[str] = Counter()
        self.styles = Styles(next(_matching(parts, _NAMED), b"<none/>"))
        self._notes: dict[tuple[str, str], str] = {}
        for kind, names in _NOTES.items():
            notes = [note for part in _matching(parts, names) for note in self.settled(part)]
            self._notes |= {(kind, attribute(note, "id")): _text(note) for note in notes}

    def settled(self, part: bytes) -> Element:
        """A part, changed so that mammoth reads all of it that is seen, and nothing else."""
        whole = fromstring(part)
        self.styles.spell_out(whole)
        waiting = [whole]
        while waiting:
            parent = waiting.pop()
            parent[:] = [one for child in parent for one in self._settled(child)]
            waiting += reversed(parent)
        return whole

    def _settled(self, element: Element) -> list[Element]:
        kind = tag(element)
        if kind in _TRANSPARENT:
            return [one for child in element for one in self._settled(child)]
        if reason := _why_not_read(element, kind):
            self.left_out.append(f"{reason}: {_text(element)}")
            return []
        if kind in ("oMath", "oMathPara"):
            return [like("r", like("t", text=_formula(element)))]
        if kind in _NOTES:
            return [like("t", text=f" ({self._notes.get((kind, attribute(element, 'id')), '')}) ")]
        if kind in ("AlternateContent", "drawing", "object", "pict"):
            return self._drawn(element)
        if kind == "altChunk":
            self.not_text["embedded documents"] += 1
        if kind == "fldChar" and (forms := _all(element, "ddList")):  # what was chosen of a list
            chosen = value(forms[0], "result") or value(forms[0], "default") or "0"
            entries = {str(at): attribute(one, "val") for at, one in enumerate(_all(forms[0], "listEntry"))}
            return [element, like("t", text=entries.get(chosen, ""))]
        if kind in _AS:
            return [like(_AS[kind])]
        return [] if kind in _NEVER_READ else [element]

    def _drawn(self, element: Element) -> list[Element]:
        """The text boxes of a drawing, each once: Word writes them in a new form and, for old programs, in another."""
        forms = [child for child in element if tag(child) in ("Choice", "Fallback")] or [element]
        form = next((one for one in forms if _all(one, "txbxContent")), forms[0])
        boxes = _all(form, "txbxContent")
        inside = sum(len(_all(box, *_PICTURES)) for box in boxes)
        pictures = len(_all(form, *_PICTURES)) - inside  # those beside the boxes
        if pictures > 0 or not boxes:
            self.not_text["pictures" if pictures > 0 else "drawings"] += 1
        return [like("pict", *boxes)] if boxes else []


def _why_not_read(element: Element, kind: str) -> str:
    if (kind == "del" and _text(element)) or (kind == "tr" and is_on(element, "trPr", "del")):
        return "deleted"
    if kind == "r" and _text(element):
        if is_on(element, "rPr", "vanish"):
            return "hidden"
        if is_on(element, "rPr", "strike") or is_on(element, "rPr", "dstrike"):
            return "struck through"
    return ""


def _formula(element: Element) -> str:
    inner = [(kind, _formula(child)) for child in element if not (kind := tag(child)).endswith("Pr")]
    named = dict(inner)
    match tag(element):
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
        texts = (_text(fromstring(part)) for part in _matching(parts, names))
        yield from (f"{kind}: {text}" for text in texts if text)


def _matching(parts: dict[str, bytes], names: str) -> Iterator[bytes]:
    return (part for name, part in parts.items() if re.fullmatch(names, name))


def _lost(body: Element, read: str) -> Iterator[str]:
    """The paragraphs that are not in the text that was read, whatever mammoth makes of them."""
    known, place = _letters(read), 0
    for paragraph in body.iter():
        text = _text(paragraph) if tag(paragraph) == "p" else ""
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
        waiting += [child for child in reversed(one) if tag(child) != "txbxContent"]
        match tag(one):
            case "t" | "delText":
                parts.append(one.text or "")
            case "noBreakHyphen":
                parts.append("-")
            case "sym":
                parts.append(_SIGN)
            case "tab" | "br" | "cr" | "p":
                parts.append(" ")
    return " ".join("".join(parts).split())


def _all(element: Element, *kinds: str) -> list[Element]:
    return [one for one in element.iter() if tag(one) in kinds]
