"""Splitting documents into passages along their headings, of about 128 to 200 word pieces each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from llama_index.core.node_parser import MarkdownNodeParser, NodeParser, SentenceSplitter
from llama_index.core.schema import BaseNode, NodeRelationship, TextNode
from pydantic import PrivateAttr

from ..values.types import Passage

SMALLEST = 128  # word pieces; shorter chunks are merged with the next section if both fit
LARGEST = 200  # word pieces; with title and headings this stays within MiniLM's 256
CHUNKER = f"headings+sentences/{SMALLEST}-{LARGEST}/1"  # part of an index's identity


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
    Documents marked `whole` in their metadata are not split.
    """

    _count: Callable[[str], int] = PrivateAttr()
    _headings: MarkdownNodeParser = PrivateAttr()
    _sentences: SentenceSplitter = PrivateAttr()

    def __init__(self, count: Callable[[str], int], **kwargs: Any) -> None:
        super().__init__(include_metadata=False, include_prev_next_rel=False, **kwargs)
        self._count = count
        self._headings = MarkdownNodeParser(header_path_separator="\x1f")
        self._sentences = SentenceSplitter(
            chunk_size=LARGEST, chunk_overlap=0, tokenizer=lambda text: [0] * count(text)
        )

    def _parse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        return [node for document in nodes for node in self._passages(document)]

    def _passages(self, document: BaseNode) -> Iterator[BaseNode]:
        metadata = document.metadata
        if metadata["whole"]:
            sections = [Section("", document.get_content())]
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
            if path and path[0] == title:
                del path[0]
            if text:
                for piece in self._sentences.split_text(text):
                    yield Section(" › ".join(path), piece)

    def _merged(self, sections: Iterator[Section]) -> Iterator[Section]:
        pending: Section | None = None
        for section in sections:
            if pending is None:
                pending = section
                continue
            joined = _joined(pending, section)
            if self._count(pending.text) < SMALLEST and self._count(joined.text) <= LARGEST:
                pending = joined
            else:
                yield pending
                pending = section
        if pending is not None:
            yield pending


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
