"""Passages as LlamaIndex nodes, and the stages that LlamaIndex pipelines need."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import (
    BaseNode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)

from ..language.analysis import language_of
from ..runtime.context import Context
from ..stages import SelectStage, Stage
from ..stages.answer import labelled
from ..values.errors import ConfigError
from ..values.labels import LABELS
from ..values.types import Hit, Passage, Ranking, Relevance, Scale, State, Vote

Found = Hit | Passage | NodeWithScore | BaseNode  # a passage, in each form that a public function returns
# of a node's metadata
NOT_FOR_MODELS = ["doc_id", "language", "source", "difference", "label", "rank", "scale"]


class PassageNode(TextNode):
    """A passage as a LlamaIndex node.

    Its hash leaves the metadata out: rank, scale and label differ from one retriever to the next, and
    QueryFusionRetriever takes nodes of different hash for different passages.
    """

    @property
    def hash(self) -> str:
        return hashlib.sha256(f"{self.id_}\n{self.text}".encode("utf-8", "surrogatepass")).hexdigest()


def as_nodes(hits: Iterable[Hit]) -> list[NodeWithScore]:
    """Hits as LlamaIndex nodes, best first.

    The text is the passage's; `rank` counts from 1; `label` is None where none was given; the score is
    on the scale that `scale` names.
    """
    return [_node(hit, rank) for rank, hit in enumerate(hits, start=1)]


def as_documents(hits: Iterable[Hit]) -> list[NodeWithScore]:
    """One node for each document, under the document's id, with the best of its passages; as judged documents are compared."""
    best: dict[str, Hit] = {}
    for hit in hits:
        for one in (hit.passage, *hit.passage.copies):
            best.setdefault(one.doc_id, replace(hit, passage=replace(one, id=one.doc_id)))
    return as_nodes(best.values())


def _node(hit: Hit, rank: int) -> NodeWithScore:
    passage = hit.passage
    given = hit.vote(Postprocess.__name__)
    score = given.score if given else hit.score
    metadata: dict[str, Any] = {
        "title": passage.title,
        "heading": passage.heading,
        "doc_id": passage.doc_id,
        "language": passage.language,
        "source": passage.source,
        "label": hit.relevance.label if hit.relevance else None,
        "rank": rank,
        "scale": given.scale if given else hit.scale,
    }
    if passage.context:
        metadata["context"] = passage.context
    if passage.difference:
        metadata["difference"] = passage.difference
    node = PassageNode(
        id_=passage.id,
        text=passage.text,
        metadata=metadata,  # type: ignore[call-arg]  # declared under its alias
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=passage.doc_id)},
        excluded_llm_metadata_keys=NOT_FOR_MODELS,
        excluded_embed_metadata_keys=NOT_FOR_MODELS,
    )
    return NodeWithScore(node=node, score=score)


def as_hits(found: Iterable[Found]) -> tuple[Hit, ...]:
    """Passages in any form as hits, in order; nodes may come from any index, and one without a score gets 0.

    Raises:
        ConfigError: one is none of these, such as a text without its document.
    """
    return tuple(_hit(one, rank) for rank, one in enumerate(found, start=1))


def _hit(found: Found, rank: int) -> Hit:
    match found:
        case Hit():
            return found
        case Passage():
            return Hit(found, 0.0, "cosine")
        case BaseNode():
            found = NodeWithScore(node=found)
        case NodeWithScore():
            pass
        case _:
            raise ConfigError(
                f"A document is a LlamaIndex node or a passage, not {type(found).__name__}.",
                'Pass nodes, or result["source_documents"] or result["retrieved_documents"].',
            )
    known = found.node.metadata
    label = known.get("label")
    given = Relevance(label, "rank", float(rank), "As given with the node.") if label in LABELS else None
    return Hit(as_passage(found), found.score or 0.0, known.get("scale", "cosine"), relevance=given)


def as_passage(found: NodeWithScore) -> Passage:
    """A LlamaIndex node as a passage: title, heading, language and source come from its metadata."""
    node, known = found.node, found.node.metadata
    text = node.get_content()

    def line(*keys: str) -> str:
        return " ".join(next((str(known[key]) for key in keys if known.get(key)), "").split())

    return Passage(
        id=node.node_id,
        doc_id=line("doc_id") or node.ref_doc_id or node.node_id,
        title=line("title", "file_name"),
        text=text,
        heading=line("heading"),
        language=line("language") or language_of(text),
        source=line("source", "file_path", "url"),
        context=line("context"),
    )


@dataclass(frozen=True)
class Label(Stage):
    """Label the passages as the answer stage does, without an answer."""

    kind: ClassVar[str] = "select"

    def __call__(self, state: State, ctx: Context) -> State:
        hits = labelled(state, language_of(state.question.text), ctx)
        return replace(state, rankings=(Ranking(state.question, hits),))


@dataclass(frozen=True, eq=False)
class Postprocess(SelectStage):
    """LlamaIndex node postprocessors: the answer uses the nodes they keep, in their order and wording.

    A hit keeps its score; the postprocessors' score becomes a vote. Metadata they add is dropped.
    """

    processors: tuple[BaseNodePostprocessor, ...]

    @property
    def params(self) -> Mapping[str, Any]:
        """Each postprocessor's class, and its numbers; other fields may hold models and keys."""
        return {
            "processors": [
                {"processor": type(one).__name__}
                | {name: value for name, value in one if isinstance(value, int | float)}
                for one in self.processors
            ]
        }

    def __repr__(self) -> str:
        """Part of the strategy's fingerprint."""
        return f"{self.name}({self.params})"

    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        """The hits that the last postprocessor left.

        Raises:
            ConfigError: it brought a node that is not among the passages found.
        """
        nodes, bundle = as_nodes(ranking), QueryBundle(ranking.query.text)
        for one in self.processors:
            nodes = one.postprocess_nodes(nodes, query_bundle=bundle)
        found = {hit.id: hit for hit in ranking}
        return [self._kept(found, node, rank, ranking) for rank, node in enumerate(nodes, start=1)]

    def _kept(self, found: Mapping[str, Hit], node: NodeWithScore, rank: int, ranking: Ranking) -> Hit:
        hit = found.get(node.node.node_id)
        if hit is None:
            raise ConfigError(
                f"A node postprocessor brought {node.node.node_id!r}, which is not among the passages found.",
                "Give the query engine a response_synthesizer too.",
            )
        passage = replace(hit.passage, text=node.node.get_content())
        score = hit.score if node.score is None else node.score
        scale: Scale = hit.scale if score == hit.score else "postprocessor"
        return replace(hit, passage=passage).with_votes(
            Vote(self.name, ranking.query.text, rank, score, scale)
        )
