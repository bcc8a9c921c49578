"""Splitting documents into passages along their headings: a section is one passage if the embedding model can read it."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from llama_index.core.node_parser import MarkdownNodeParser, NodeParser
from llama_index.core.schema import BaseNode, NodeRelationship, TextNode
from pydantic import PrivateAttr

from ..documents.limits import MAX_TITLE, shorten
from ..documents.markdown import Mark
from ..values.sources import Source, source_line, sources_from_json, sources_to_json
from ..values.types import Passage
from .cutting import DEFAULT, LONGEST, SMALLEST, Chunking, blocks, cut, overlapping
from .passages import content_hash

LONGEST_WHOLE = 50_000  # characters of a passage that is a whole document
BLOCK = 20_000  # characters cut at once; a section longer than this is cut there first

_HEADING = re.compile(r"#+\s")  # as MarkdownNodeParser sees it
_TABLE = re.compile(r"^.*\|.*\n\|?[ \t]?:?-[ \t:|-]*\n", re.MULTILINE)  # its header


@dataclass(frozen=True, slots=True)
class Section:
    """A run of text under one heading path; its sources (all the document's if empty); those that differ."""

    heading: str
    text: str
    sources: tuple[Source, ...] = ()
    differs_from: tuple[Source, ...] = ()


class PassageParser(NodeParser):
    """A LlamaIndex node parser that splits Markdown at its headings: one passage for each section that fits.

    A passage fits if it has, with title and headings, as many word pieces as MiniLM reads of it: more in Spanish, which
    costs 1.9 a word instead of 1.3 but is embedded read in English. Longer sections are cut as `cutting` describes,
    short ones merged with the next.

    A model reads only the start of a passage longer than its window: Spanish embedded as it is, a long list kept whole,
    or a long passage after its context. The rest has no part in the vector, but is searched by its words, judged, shown
    and quoted.

    A node's id is document id, position and content hash: stable across runs until the content changes. Documents
    marked `whole` in their metadata are split only beyond LONGEST_WHOLE. `progress` is called with the documents done
    and their number; it may raise to stop.
    """

    _chunking: Chunking = PrivateAttr()
    _count: Callable[[str], int] = PrivateAttr()
    _progress: Callable[[int, int], None] = PrivateAttr()
    _headings: MarkdownNodeParser = PrivateAttr()

    def __init__(
        self,
        count: Callable[[str], int],
        progress: Callable[[int, int], None] = lambda done, total: None,
        chunking: Chunking = DEFAULT,
        **kwargs: Any,
    ) -> None:
        super().__init__(include_metadata=False, include_prev_next_rel=False, **kwargs)
        self._count = lru_cache(1_000)(count)  # a section is counted twice, its title for every section
        self._progress = progress
        self._chunking = chunking
        self._headings = MarkdownNodeParser(header_path_separator="\x1f")

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any) -> list[BaseNode]:
        parsed: list[BaseNode] = []
        for number, document in enumerate(nodes):
            self._progress(number, len(nodes))
            parsed += self._passages(document)
        return parsed

    def _passages(self, document: BaseNode) -> Iterator[BaseNode]:
        metadata = document.metadata
        if pieces := metadata.get("pieces"):
            sections = [Section("", text) for text in pieces]
        elif metadata["whole"]:
            sections = [Section("", text) for text in blocks(document.get_content(), LONGEST_WHOLE)]
        else:
            sections = list(self._fitting(self._sections(document), metadata["title"], metadata["language"]))
        everything = sources_from_json(metadata.get("sources", ""))
        for position, section in enumerate(sections):
            own = section.sources or everything
            passage = Passage(
                "", document.id_, metadata["title"], section.text, section.heading, metadata["language"],
                source_line(own) or metadata["source"], sources=own, differs_from=section.differs_from,
                patient=metadata.get("patient", ""),
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
            for name, listed in (("sources", passage.sources), ("differs_from", passage.differs_from)):
                if listed:
                    node.metadata[name] = sources_to_json(listed)
            if passage.patient:
                node.metadata["patient"] = passage.patient
            if metadata.get("metadata"):
                node.metadata["metadata"] = json.dumps(metadata["metadata"], ensure_ascii=False)
            node.relationships[NodeRelationship.SOURCE] = document.as_related_node_info()
            yield node

    def _sections(self, document: BaseNode) -> Iterator[Section]:
        """The sections as written, each with the sources that its mark, or that of a section around it, names."""
        title = document.metadata["title"]
        marked = _Marked(document)
        for node in self._headings.get_nodes_from_node(document):
            first, _, rest = node.get_content().partition("\n")
            path = [part for part in node.metadata["header_path"].split("\x1f") if part]
            headed = _HEADING.match(first) is not None
            text = (rest if headed else node.get_content()).strip()
            if headed:
                path.append(first.lstrip("#").strip())
            sources, differs_from = marked.next(path)
            path = [shorten(part, MAX_TITLE) for part in path]
            if path and path[0] == title:
                del path[0]
            header = ""
            for block in blocks(text, BLOCK) if text else ():
                if "|" in block.partition("\n")[0] and not _TABLE.match(block):
                    block = header + block
                header = next(iter(_TABLE.findall(block)[-1:]), header)
                yield Section(shorten(" › ".join(path), LONGEST), block, sources, differs_from)

    def _fitting(self, sections: Iterator[Section], title: str, language: str) -> Iterator[Section]:
        """The sections, long ones cut and short ones merged with the next."""
        largest = self._chunking.largest(language)
        pending: Section | None = None
        for section in sections:
            if pending is not None:
                joined = _joined(pending, section)
                if len(joined.text) <= LONGEST and self._count(joined.text) <= self._room(joined, title, largest):
                    section = joined
                else:
                    yield pending
                pending = None
            room, overlap = self._room(section, title, largest), self._chunking.overlap
            if overlap and self._count(section.text) > room:
                parts = overlapping(
                    cut(section.text, language, max(room - overlap, room // 2), self._count),
                    language, overlap, self._count,
                )  # fmt: skip
            else:
                parts = cut(section.text, language, room, self._count)
            if len(parts) == 1 and self._count(parts[0]) < SMALLEST:
                pending = replace(section, text=parts[0])
            else:
                yield from (replace(section, text=part) for part in parts)
        if pending is not None:
            yield pending

    def _room(self, section: Section, title: str, largest: int) -> int:
        """Word pieces left for the text; a title of any length leaves half."""
        above = self._count(title) + self._count(section.heading)
        return max(largest - above - 1, largest // 2)  # 1 for the sign between title and heading


class _Marked:
    def __init__(self, document: BaseNode) -> None:
        sources = sources_from_json(document.metadata.get("sources", ""))
        self._known = {source.id: source for source in sources if source.id}
        self._marks = [Mark(*row) for row in document.metadata.get("marks", ())]
        self._named: dict[tuple[str, ...], tuple[tuple[Source, ...], tuple[Source, ...]]] = {}

    def next(self, path: Sequence[str]) -> tuple[tuple[Source, ...], tuple[Source, ...]]:
        """The sources of the next section, and those of them that differ; empty if no mark names any."""
        whole = tuple(path)
        self._named.pop(whole, None)  # of an earlier section with the same headings
        if path and self._marks and self._marks[0].heading == path[-1]:
            mark = self._marks.pop(0)
            differing = self._of(mark.differs_from)
            self._named[whole] = (tuple(dict.fromkeys((*self._of(mark.sources), *differing))), differing)
        around = (whole[:depth] for depth in range(len(whole), 0, -1))
        return next((self._named[one] for one in around if one in self._named), ((), ()))

    def _of(self, keys: Sequence[str]) -> tuple[Source, ...]:
        return tuple(self._known[key] for key in keys if key in self._known)


def _joined(first: Section, second: Section) -> Section:
    name = "" if first.heading == second.heading else f"{second.heading.rsplit(' › ', 1)[-1]}\n\n"
    return Section(
        first.heading,
        f"{first.text}\n\n{name}{second.text}",
        tuple(dict.fromkeys((*first.sources, *second.sources))) if first.sources and second.sources else (),
        tuple(dict.fromkeys((*first.differs_from, *second.differs_from))),
    )
