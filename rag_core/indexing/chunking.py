"""Splitting documents into passages along their headings, of about 128 to 200 word pieces each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from llama_index.core.node_parser import MarkdownNodeParser, NodeParser, SentenceSplitter
from llama_index.core.node_parser.text.utils import split_by_sentence_tokenizer
from llama_index.core.schema import BaseNode, NodeRelationship, TextNode
from pydantic import PrivateAttr

from ..data.limits import MAX_TITLE, shorten
from ..values.types import Passage

SMALLEST = 128  # word pieces; shorter chunks are merged with the next section if both fit
LARGEST = 200  # word pieces; with title and headings this stays within MiniLM's 256
LONGEST = 2_000  # characters; a tokenizer may count a word of any length as one word piece
LONGEST_WHOLE = 50_000  # characters of a passage that is a whole document
BLOCK = 20_000  # characters given to the sentence splitter at once; its time can grow faster than the text
UNBROKEN = 200  # characters of a piece of text without spaces
CHUNKER = f"headings+sentences/{SMALLEST}-{LARGEST}/2"  # part of an index's identity


_HEADING = re.compile(r"#+\s")  # as MarkdownNodeParser sees it


@dataclass(frozen=True, slots=True)
class Section:
    """A run of text under one heading path."""

    heading: str
    text: str


class PassageParser(NodeParser):
    """A LlamaIndex node parser that splits Markdown at its headings.

    Sections longer than LARGEST are split between sentences; short neighbours are merged. A node's id is
    document id, position and content hash: stable across runs, but different when its content changes.
    Documents marked `whole` in their metadata are split only beyond LONGEST_WHOLE.

    Args:
        count: counts word pieces.
        progress: called with the documents done and their number; may raise to stop.
    """

    _count: Callable[[str], int] = PrivateAttr()
    _progress: Callable[[int, int], None] = PrivateAttr()
    _headings: MarkdownNodeParser = PrivateAttr()
    _sentences: _Sentences = PrivateAttr()
    _splitter: SentenceSplitter = PrivateAttr()

    def __init__(
        self,
        count: Callable[[str], int],
        progress: Callable[[int, int], None] = lambda done, total: None,
        **kwargs: Any,
    ) -> None:
        super().__init__(include_metadata=False, include_prev_next_rel=False, **kwargs)
        short = lru_cache(10_000)(count)  # odd text falls into thousands of equal pieces
        self._count = lambda text: short(text) if len(text) <= 32 else count(text)
        self._progress = progress
        self._headings = MarkdownNodeParser(header_path_separator="\x1f")
        self._sentences = _Sentences()
        self._splitter = SentenceSplitter(
            chunk_size=LARGEST,
            chunk_overlap=0,
            tokenizer=lambda text: [0] * self._count(text),
            chunking_tokenizer_fn=self._sentences,
        )

    def _parse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        parsed: list[BaseNode] = []
        for number, document in enumerate(nodes):
            self._progress(number, len(nodes))
            parsed += self._passages(document)
        return parsed

    def _passages(self, document: BaseNode) -> Iterator[BaseNode]:
        metadata = document.metadata
        if metadata["whole"]:
            sections = [Section("", text) for text in _blocks(document.get_content(), LONGEST_WHOLE)]
        else:
            sections = list(self._merged(self._sections(document, metadata["title"])))
        for position, section in enumerate(sections):
            passage = Passage(
                "", document.id_, metadata["title"], section.text, section.heading,
                metadata["language"], metadata["source"],
            )  # fmt: skip
            node = TextNode(
                id_=f"{document.id_}:{position}:{content_hash(passage)}",
                text=section.text,
                metadata={
                    "title": passage.title,
                    "heading": passage.heading,
                    "language": passage.language,
                    "source": passage.source,
                    "position": position,
                },
            )
            node.relationships[NodeRelationship.SOURCE] = document.as_related_node_info()
            yield node

    def _sections(self, document: BaseNode, title: str) -> Iterator[Section]:
        for node in self._headings.get_nodes_from_node(document):
            first, _, rest = node.get_content().partition("\n")
            path = [part for part in node.metadata["header_path"].split("\x1f") if part]
            headed = _HEADING.match(first) is not None
            text = (rest if headed else node.get_content()).strip()
            if headed:
                path.append(first.lstrip("#").strip())
            path = [shorten(part, MAX_TITLE) for part in path]
            if path and path[0] == title:
                del path[0]
            for block in _blocks(text, BLOCK) if text else ():
                for piece in self._split(block):
                    yield Section(shorten(" › ".join(path), LONGEST), piece)

    def _split(self, text: str) -> Iterator[str]:
        self._sentences.done.clear()
        try:
            pieces = self._splitter.split_text(text)
        except (TimeoutError, RecursionError, ValueError):  # what it and its sentence model raise on odd text
            pieces = [text]
        for piece in pieces:
            yield from _blocks(piece, LONGEST)

    def _merged(self, sections: Iterator[Section]) -> Iterator[Section]:
        pending: Section | None = None
        for section in sections:
            if pending is None:
                pending = section
                continue
            joined = _joined(pending, section)
            if (
                self._count(pending.text) < SMALLEST
                and len(joined.text) <= LONGEST
                and self._count(joined.text) <= LARGEST
            ):
                pending = joined
            else:
                yield pending
                pending = section
        if pending is not None:
            yield pending


class _Sentences:
    """Splits a text into sentences, a long one without spaces into short pieces, and either no further.

    The model may split two characters off a run of punctuation, and two more off the rest, to no end.

    Attributes:
        done: the sentences already split off the text.
    """

    def __init__(self) -> None:
        self.done: set[str] = set()
        self._split = split_by_sentence_tokenizer()

    def __call__(self, text: str) -> list[str]:
        if text in self.done:
            return [text]
        if len(text) > LONGEST and not re.search(r"\s", text):
            pieces = list(_blocks(text, UNBROKEN))
        else:
            pieces = self._split(text)
        self.done.update(pieces)
        return pieces


def _blocks(text: str, most: int) -> Iterator[str]:
    """A text in pieces of at most `most` characters, cut at the end of a paragraph, line, sentence or word if possible."""
    start = 0
    while len(text) - start > most:
        middle, end = start + most // 2, start + most
        cuts = (text.rfind(sign, middle, end) + len(sign) for sign in ("\n\n", "\n", ". ", "。", " "))
        cut = next((cut for cut in cuts if cut > middle), end)
        if piece := text[start:cut].strip():
            yield piece
        start = cut
    if piece := text[start:].strip() if start else text:
        yield piece


def _joined(first: Section, second: Section) -> Section:
    if first.heading == second.heading:
        return Section(first.heading, f"{first.text}\n\n{second.text}")
    name = second.heading.rsplit(" › ", 1)[-1]
    return Section(first.heading, f"{first.text}\n\n{name}\n\n{second.text}")


def content_hash(passage: Passage) -> str:
    """Hash of title, headings and text, eight hexadecimal digits; the last part of a passage's id.

    The context is left out, so that a passage has the same id in plain and enriched indexes.
    """
    return hashlib.sha256(replace(passage, context="").indexed_text.encode()).hexdigest()[:8]


def passage_in(node: BaseNode) -> Passage:
    """The passage of a pipeline node."""
    return passage_of(node.node_id, node.get_content(), node.metadata)


def passage_of(identity: str, text: str, metadata: Any) -> Passage:
    """The passage of a stored node."""
    return Passage(
        id=identity,
        doc_id=identity.rsplit(":", 2)[0],
        title=metadata["title"],
        text=text,
        heading=metadata["heading"],
        language=metadata["language"],
        source=metadata["source"],
        context=metadata.get("context", ""),
    )
