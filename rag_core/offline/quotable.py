"""The text of passages as an answer can quote it: its blocks as they stand there, and their sentences."""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..language.analysis import LIST_ITEM, language_of, sentences
from ..prompts.prompt import Sources
from ..safety.urgency.advice import forbids_help, points_back
from ..values.markers import without_markers
from ..values.prompt_injection import gives_orders
from ..values.types import Passage

MIN_WORDS = 3  # shorter pieces are fragments
MAX_HEADING = 12  # words; a longer line without a full stop is a sentence
LONG = 150  # words; of a longer section, the paragraph or list with its best sentence is quoted

_BETWEEN = re.compile(rf"(\n{{2,}}|\n(?={LIST_ITEM.pattern}))")  # blocks
_ENDS = re.compile(r"[.!?…:;][\"'”’»)]*$")
_INTRODUCES = re.compile(r":$|\b(?:these|below|the following|siguientes?|est[ao]s)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a source.

    Args:
        n: number of the source.
        context: the source's title and headings.
        heading: the heading nearest above it inside the text.
        place: position among the source's sentences, from 0.
        lead: position of the sentence that introduces its list, without which it says nothing; None outside one.
        leads: whether it introduces a list, and says nothing alone.
    """

    n: int
    text: str
    context: str
    language: str
    heading: str = ""
    place: int = 0
    lead: int | None = None
    leads: bool = False
    patient: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list item or heading, verbatim but for the brackets of references; see `blocks`.

    `before` is the white space between it and the block before; `sentences` are those worth quoting.
    """

    before: str
    text: str
    kind: str
    sentences: tuple[str, ...]


def read_sources(sources: Sources) -> list[Sentence]:
    """The sentences of numbered sources."""
    return [sentence for n, hit in enumerate(sources, start=1) for sentence in sentences_of(n, hit.passage)]


def sentences_of(n: int, passage: Passage) -> list[Sentence]:
    """The sentences of one source, each with whom it is about."""
    said = sentences_in(n, passage.text, passage.full_title, passage.language)
    return [replace(one, patient=passage.patient) for one in said] if passage.patient else said


def sentences_in(n: int, text: str, context: str = "", language: str = "") -> list[Sentence]:
    """The sentences of one source, without fragments; the language is detected if not given."""
    language = language or language_of(text)
    found: list[Sentence] = []
    heading, lead = "", None
    for block in blocks(text, language):
        if block.kind == "heading":
            heading, lead = " ".join(block.text.split()), None
            continue
        if block.kind == "paragraph":
            lead = None
        for said in block.sentences:
            leads = said.endswith(":")
            found.append(Sentence(n, said, context, language, heading, len(found), lead, leads))
        if block.kind == "lead" and found:
            lead = len(found) - 1
            found[-1] = replace(found[-1], leads=True)
    return found


@functools.lru_cache(maxsize=4096)
def blocks(text: str, language: str) -> tuple[Block, ...]:
    """The blocks of a text in order.

    A paragraph ends before a sentence that gives orders to a language model or says not to call for help. One that
    introduces a list has the kind "lead".
    """
    parts = ["", *_BETWEEN.split(without_markers(text))]
    found = [(before, one) for before, one in zip(parts[::2], parts[1::2], strict=True) if one.strip()]
    read: list[Block] = []
    for place, (before, one) in enumerate(found):
        following = found[place + 1][1] if place + 1 < len(found) else ""
        item = LIST_ITEM.match(one)
        if _is_heading(one) and following and not _is_heading(following):
            read.append(Block(before, one, "heading", ()))
            continue
        said = sentences(" ".join(one[item.end() if item else 0 :].split()), language)
        bad = next((each for each in said if gives_orders(each) or forbids_help(each)), None)
        if bad is not None:
            said = said[: said.index(bad)]
            one = one[: where(bad, one)[0]].rstrip() if said else ""
        kept = tuple(each for each in said if len(each.split()) >= MIN_WORDS or item or each.endswith(":"))
        kind = "item" if item else "paragraph"
        if not item and LIST_ITEM.match(following) and kept and _INTRODUCES.search(kept[-1]):
            kind = "lead"
        if one:
            read.append(Block(before, one, kind, kept))
    return tuple(read)


def where(sentence: str, text: str) -> tuple[int, int]:
    """The span of a sentence in the text it was read from, white space aside; empty at the end if absent."""
    found = re.search(r"\s+".join(map(re.escape, sentence.split())), text)
    return found.span() if found else (len(text), len(text))


def quoted(text: str, language: str, best: str) -> str:
    """A section as quoted: whole, its best sentence bold; of a long one that paragraph or list, between ellipses."""
    whole = blocks(text, language)
    place = next((i for i, block in enumerate(whole) if best in block.sentences), 0)
    first, last = 0, len(whole) - 1
    if sum(len(block.text.split()) for block in whole) > LONG:
        first, last = _around(whole, place)
    said = ["… "] if first else []
    for i in range(first, last + 1):
        block = whole[i]
        start, end = where(best, block.text) if i == place else (0, 0)
        marked = f"{block.text[:start]}**{block.text[start:end]}**{block.text[end:]}" if end > start else block.text
        said.append(marked if i == first else f"{block.before}{marked}")
    return "".join(said).strip() + (" …" if last < len(whole) - 1 else "")


def _around(whole: Sequence[Block], place: int) -> tuple[int, int]:
    """The first and last block of the paragraph, or of the list with its lead-in and conclusion, around a block."""
    first = last = place
    if whole[place].kind in ("item", "lead"):
        while first and whole[first].kind == "item":
            first -= 1
        while last + 1 < len(whole) and whole[last + 1].kind == "item":
            last += 1
        if last + 1 < len(whole) and whole[last + 1].sentences and points_back(whole[last + 1].sentences[0]):
            last += 1
    return first, last


def _is_heading(block: str) -> bool:
    line = block.strip()
    return (
        "\n" not in line and not LIST_ITEM.match(block) and not _ENDS.search(line) and len(line.split()) <= MAX_HEADING
    )
