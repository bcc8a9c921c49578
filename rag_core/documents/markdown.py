"""Markdown as its reader sees it: plain letters, notes where they are referred to; its header, and marks of sources."""

from __future__ import annotations

import html
import json
import re
import tomllib
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..values.errors import why_unreadable
from ..values.letters import raised
from ..values.message import Message
from .hidden import reported
from .limits import MAX_HEADER, MAX_TITLE, READING, LimitExceeded
from .markup import take_markup

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_HEADING = re.compile(r"#{1,6}[ \t]+(.*\S)")
_MARK = re.compile(r"[ \t]*<!--\s*source:([^;<>]*)(?:;\s*differs_from:([^;<>]*))?-->\s*")


class Mark(NamedTuple):
    """The keys of a section's sources, and of those whose guidance differs; its heading is without signs."""

    heading: str
    sources: tuple[str, ...]
    differs_from: tuple[str, ...]


def take_marks(text: str, keys: Collection[str]) -> tuple[str, tuple[Mark, ...]]:
    """A text without its marks, and the marks: comments right under a heading that name one of the keys."""
    if not keys or "<!--" not in text:
        return text, ()
    kept: list[str] = []
    marks: list[Mark] = []
    heading = ""
    for line in text.split("\n"):
        found = _MARK.fullmatch(line) if heading else None
        parts = [part.split(",") for part in found.groups("")] if found else []
        named = [tuple(filter(None, map(str.strip, part))) for part in parts]
        if any(key in keys for part in named for key in part):
            marks.append(Mark(take_markdown(f"# {heading}")[0].lstrip("# "), *named))
            continue
        kept.append(line)
        title = _HEADING.fullmatch(line.rstrip())
        heading = title[1].strip() if title else heading if not line.strip() else ""
    return "\n".join(kept), tuple(marks)


_NOTED = re.compile(r"\[\^([^\]\s]{1,100})\]")
_DEFINED = re.compile(r"\[\^([^\]\s]{1,100})\]:[ \t]*")
_INLINE_NOTE = re.compile(r"\^\[([^\[\]\n]{1,2000})\]")
_TASK = re.compile(r"\[([ xX])\](?=[ \t])")
_FRACTION = re.compile(r"<sup>(\d{1,3})</sup> ?[/\u2044] ?<sub>(\d{1,3})</sub>", re.IGNORECASE)
_RAISED = re.compile(r"<sup>([^<>\n]{1,100})</sup>", re.IGNORECASE)
_RAISED_BY_SIGNS = re.compile(r"(?<=\w)\^([+\-\u2212]?\d{1,4})\^")
_LOWERED = re.compile(r"<sub>([^<>\n]{1,100})</sub>", re.IGNORECASE)
_ATTRIBUTES = re.compile(r" \{[#.:][^{}]*\}$")  # of a heading, as pandoc and Google Docs write them
_LIKE_A_HEADING = re.compile(r"#+\s")
_LOOK_BACK = 2_000  # characters in which a comment that is open is looked for
_SAFE = str.maketrans("<&", "\ufdd0\ufdd1")  # for signs that are no markup
_PLAIN = str.maketrans("\ufdd0\ufdd1", "<&")


def take_markdown(text: str) -> tuple[str, tuple[str, ...]]:
    """A Markdown text as its reader sees it, and what is not read: code as it is, other text without escapes.

    A note stands in brackets wherever it is referred to, a task as a box, raised figures as such. Every heading begins
    with its signs, and no other line does.
    """
    page = _Page(text)
    text, hidden = take_markup(page.shown())
    text = _FRACTION.sub(r" \1/\2", text)
    text = _RAISED.sub(lambda found: raised(found[1], text[max(found.start() - 2, 0) : found.start()]), text)
    text = html.unescape(_LOWERED.sub(r"\1", text))  # of markup; what it gives is none
    return text.translate(_PLAIN), reported(one.translate(_PLAIN) for one in [*hidden, *page.left_out])


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": READING.depth}).enable(["table", "strikethrough"])
    # what was escaped stays apart from other text, and links as they are written
    parser.disable(["text_join", "reference", "link", "image", "autolink"])
    parser.block.ruler.before("html_block", "note", _note_below, {"alt": ["paragraph"]})
    parser.inline.ruler.before("backticks", "note", _note_here)
    return parser


def _note_below(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Takes a note out of the text: its lines, and those below that continue it or are indented."""
    first = state.bMarks[start] + state.tShift[start]
    before = state.src[max(0, first - _LOOK_BACK) : first]
    found = _DEFINED.match(state.src, first, state.eMarks[start])
    if not found or state.is_code_block(start) or before.rfind("<!--") > before.rfind("-->"):
        return False
    if silent:
        return True
    mark, shift, count = state.bMarks[start], state.tShift[start], state.sCount[start]
    known, parent = len(state.tokens), state.parentType
    state.bMarks[start], state.tShift[start], state.sCount[start] = found.end(), 0, state.blkIndent + 4
    state.blkIndent += 4
    state.parentType = "note"
    state.md.block.tokenize(state, start, end)
    state.parentType = parent
    state.blkIndent -= 4
    state.bMarks[start], state.tShift[start], state.sCount[start] = mark, shift, count
    said = (token.content for token in state.tokens[known:] if token.content)
    state.env["notes"].setdefault(found[1].lower(), []).extend(said)
    del state.tokens[known:]
    state.env["taken"].update(range(start, state.line))
    return True


def _note_here(state: StateInline, silent: bool) -> bool:
    """A reference to a note, or a note inside its line."""
    inside = _INLINE_NOTE.match(state.src, state.pos, state.posMax)
    found = inside or _NOTED.match(state.src, state.pos, state.posMax)
    if not found or not (inside or found[1].lower() in state.env["notes"]):
        return False
    if not silent:
        state.pending = state.pending.removesuffix(" ")
        token = state.push("note", "", 0)
        token.content, token.info = (found[1], "inside") if inside else (found[1].lower(), "")
    state.pos = found.end()
    return True


class _Page:
    """A Markdown text and its tokens; `left_out` is what is not read, and why."""

    def __init__(self, text: str) -> None:
        self.left_out: list[str] = []
        self._lines = re.split(r"\r\n?|\n", text)
        self._env: dict[str, Any] = {"notes": {}, "taken": set()}
        self._written: dict[str, str] = {}  # the notes
        self._room = READING.characters

    def shown(self) -> str:
        """The text, in which "<" and "&" are markup: other signs stand for those of code and text."""
        made: dict[int, list[str]] = {}  # number of a line -> what stands in its place
        cells: list[str] = []
        row = 0
        above: list[Token] = []  # the two tokens before
        headings: set[int] = set()
        for token in _parser().parse("\n".join(self._lines), self._env):
            lines = range(*token.map) if token.map else range(0)
            if token.type in ("fence", "code_block"):
                made |= {number: [line] for number, line in zip(lines, self._code(token, lines), strict=True)}
            elif token.type == "inline" and above[-1].type in ("th_open", "td_open"):
                cells.append(self._text(token.children))
                row = lines[0]
            elif token.type == "table_open":
                made[lines[1]] = [self._row(self._lines[lines[1]], [])]  # the rule below the header
            elif token.type == "tr_close":
                made[row], cells = [self._row(self._lines[row], cells)], []
            elif token.type == "inline" and token.content:
                made |= {number: [] for number in range(*(above[-1].map or (0, 0)))}
                made[lines[0]] = self._block(token, lines, above)
                headings |= {lines[0]} if above[-1].type == "heading_open" else set()
            above = [*above[-1:], token]
        shown = "\n".join(
            f" {line}" if number not in headings and _LIKE_A_HEADING.match(line) else line
            for number, written in enumerate(self._lines)
            if number not in self._env["taken"]
            for line in made.get(number, [written])
        )
        unused = (name for name in self._env["notes"] if name not in self._written)
        left = [note for note in map(self._note, unused) if note]
        return "\n\n".join([shown.rstrip("\n"), *left, ""]) if left else shown

    def _block(self, token: Token, lines: range, above: Sequence[Token]) -> list[str]:
        """The lines of a paragraph or heading, each after what stands before it: the marks of quotes and items."""
        ahead = [
            self._lines[number][: max(self._lines[number].rfind(own.strip()), 0)]
            for number, own in zip(lines, token.content.split("\n"), strict=False)
        ]
        # a paragraph with a rule close below is a heading; a long one was not meant so
        meant = above[-1].markup[:1] == "#" or len(token.content) <= MAX_TITLE
        if above[-1].type == "heading_open" and meant:
            around = ahead[0].rstrip("# \t")
            plain = [one for one in token.children or () if not one.type.startswith(("strong", "em_"))]
            signs = "#" * int(above[-1].tag[1])
            said = _ATTRIBUTES.sub("", " ".join(self._text(plain).split()))
            return [f"{around}{' ' * bool(around)}{signs} {said}"]
        text = self._text(token.children)
        if above[0].type == "list_item_open":
            text = _TASK.sub(lambda found: "\u2610" if found[1] == " " else "\u2612", text)
        return [ahead[min(place, len(ahead) - 1)] + line for place, line in enumerate(text.split("\n"))]

    def _code(self, token: Token, numbers: range) -> list[str]:
        lines = [self._lines[number].translate(_SAFE) for number in numbers]
        if token.type == "fence" and not lines[0].lstrip().startswith(token.markup):
            # on the line of an item, where its end alone would be taken for a beginning
            lines[0], lines[-1] = (line.replace("```", "~~~") for line in (lines[0], lines[-1]))
        return lines

    def _row(self, line: str, cells: Sequence[str]) -> str:
        """A row of a table; cells beyond those of the header, which CommonMark's readers lose, are kept."""
        from markdown_it.rules_block.table import escapedSplit

        around = line[: len(line) - len(line.lstrip("> \t"))]
        *written, last = escapedSplit(line[len(around) :].strip().removeprefix("|"))
        more = [*written, *filter(None, [last.strip()])][len(cells) :]
        return f"{around}| {' | '.join([*cells, *(self._inline(cell.strip()) for cell in more)])} |"

    def _inline(self, content: str, around: tuple[str, ...] = ()) -> str:
        return self._text(_parser().parseInline(content, self._env)[0].children, around)

    def _text(self, tokens: Sequence[Token] | None, around: tuple[str, ...] = ()) -> str:
        """The text of a line, in the notes with the names `around`."""
        parts: list[list[str]] = [[]]  # the last is in text that is struck through
        for token in tokens or ():
            match token.type:
                case "s_open":
                    parts.append([])
                case "s_close":
                    self.left_out.append(f"struck through: {''.join(parts.pop())}")
                case "text" | "text_special":
                    plain = _RAISED_BY_SIGNS.sub(lambda found: raised(found[1]), token.content)
                    parts[-1].append(plain.translate(_SAFE))
                case "softbreak" | "hardbreak":
                    parts[-1].append("\n")
                case "code_inline":
                    space = " " * ("`" in (token.content[0], token.content[-1]))
                    code = f"{space}{token.content}{space}".translate(_SAFE)
                    parts[-1].append(f"{token.markup}{code}{token.markup}")
                case "note":
                    note = (self._inline if token.info == "inside" else self._note)(token.content, around)
                    parts[-1].append(f" ({note})" if note else "")
                case _:  # HTML is its own content, and signs of emphasis are markup
                    parts[-1].append(token.content or token.markup)
        return "".join(parts[0])

    def _note(self, name: str, around: tuple[str, ...] = ()) -> str:
        if name in around:  # a note that refers to itself
            return ""
        if name not in self._written:
            said = [self._inline(content, (*around, name)) for content in self._env["notes"][name]]
            self._written[name] = " ".join(" ".join(said).split())
        self._room -= len(self._written[name])
        if self._room < 0:  # notes that refer to others twice double with each
            long = Message("it has more than {most:,} characters of text", most=READING.characters)
            raise LimitExceeded(long)
        return self._written[name]


_FENCED = re.compile(
    r"(?:---[ \t]*\n(?P<yaml>(?s:.*?\n)??)(?:---|\.\.\.)|\+\+\+[ \t]*\n(?P<toml>(?s:.*?\n)??)\+\+\+"
    r"|(?P<json>\{[ \t]*\n(?s:.*?)\n\}))[ \t]*(?:\n|\Z)"
)


def take_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The fields of a header of any schema, and the body: YAML between lines of "---", or above one of "...", TOML of "+++", a JSON object.

    A header that is no valid YAML, as with a second colon in a title, has the fields of its lines "name: value". What
    has no fields is text. Raises LimitExceeded if the header exceeds a limit; yaml.YAMLError or ValueError if it is
    malformed and has the lab's own fields.
    """
    if not (found := _FENCED.match(text)):
        return {}, text
    header, body = found["yaml"] or found["toml"] or found["json"] or "", text[found.end() :]
    fields: Any = {}
    if found["toml"] or found["json"]:
        with suppress(ValueError):
            fields = tomllib.loads(header) if found["toml"] else json.loads(header)
    else:
        import yaml

        try:
            fields = _load(header)
        except (yaml.YAMLError, ValueError):
            fields = dict(re.findall(r"^(\w[\w -]*): +(.*)$", header, re.MULTILINE))
            if re.search(r"^(?:questions|sources):", header, re.MULTILINE):
                raise
    return (fields, body) if fields and isinstance(fields, dict) else ({}, text)


def _load(header: str) -> Any:
    """The value of YAML; refuses what the loader would recurse into or multiply: events are parsed without recursion."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # some builds have none in C
    if len(header) > MAX_HEADER:
        raise LimitExceeded(Message("its front matter is longer than {most:,} characters", most=MAX_HEADER))
    depth = aliases = 0
    for event in yaml.parse(header, Loader=loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        aliases += isinstance(event, yaml.AliasEvent)
        if depth > READING.depth:
            deep = Message("its front matter nests lists more than {most} deep", most=READING.depth)
            raise LimitExceeded(deep)
        if aliases > READING.aliases:
            raise LimitExceeded(Message("its front matter has more than {most} aliases", most=READING.aliases))
    try:
        return yaml.load(header, Loader=loader)
    except yaml.YAMLError:
        raise
    except Exception as error:  # PyYAML raises anything on a value its tag does not fit, such as a bare !!int
        raise ValueError(f"a value cannot be read ({why_unreadable(error)})") from error
