"""Passages as LlamaIndex nodes, and LlamaIndex retrievers, postprocessors and embedding strings as parts of a strategy."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import (
    BaseNode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores import FilterCondition, MetadataFilters
from pydantic import PrivateAttr

from ..language.analysis import language_of
from ..pipeline.strategy import Strategy
from ..runtime.context import Context
from ..runtime.services import Embedder
from ..stages import Retriever, SelectStage, Stage, TransformStage
from ..stages.answer import labelled
from ..values.errors import ConfigError, ProviderError
from ..values.labels import LABELS
from ..values.types import Hit, Passage, Query, Ranking, Relevance, Scale, State, Vote

# the operators of filters, as they stand after a name
_OPERATORS = {"==": "", "in": "", "contains": "", "any": "", "!=": "!", "nin": "!"}
Found = Hit | Passage | NodeWithScore | BaseNode  # a passage, in each form that a public function returns
# of a node's metadata
NOT_FOR_MODELS = ["doc_id", "language", "source", "difference", "label", "rank", "scale"]


class PassageNode(TextNode):
    """A passage as a node whose hash leaves out metadata, which differ by retriever: QueryFusionRetriever goes by it."""

    @property
    def hash(self) -> str:
        return hashlib.sha256(f"{self.id_}\n{self.text}".encode("utf-8", "surrogatepass")).hexdigest()


def as_nodes(hits: Iterable[Hit]) -> list[NodeWithScore]:
    """Hits as LlamaIndex nodes, best first; `rank` counts from 1, `label` can be None, the score is on `scale`."""
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
        **dict(passage.metadata),
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
    hidden = list(dict.fromkeys((*NOT_FOR_MODELS, *dict(passage.metadata))))
    node = PassageNode(
        id_=passage.id,
        text=passage.text,
        metadata=metadata,  # type: ignore[call-arg]  # declared under its alias
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=passage.doc_id)},
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=hidden,
    )
    return NodeWithScore(node=node, score=score)


def as_hits(found: Iterable[Found]) -> tuple[Hit, ...]:
    """Passages in any form as hits, in order; a node without a score gets 0. Raises ConfigError for anything else."""
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


def as_where(filters: MetadataFilters) -> dict[str, object]:
    """The filter as `values.where.where_text` takes it; raises ConfigError for one that has no such form."""
    where: dict[str, object] = {}
    for one in filters.filters:
        how = None if isinstance(one, MetadataFilters) else _OPERATORS.get(one.operator.value)
        many = len(filters.filters) > 1 and filters.condition != FilterCondition.AND
        if isinstance(one, MetadataFilters) or how is None or many or one.key + how in where:
            raise ConfigError(
                f"This filter has no counterpart here: {filters!r}.",
                f"Combine filters of different fields by AND, each with one of {' '.join(_OPERATORS)}.",
            )
        where[one.key + how] = one.value
    return where


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
        """The hits that the last postprocessor left; raises ConfigError if it brought another node."""
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
        return replace(hit, passage=passage).with_votes(Vote(self.name, ranking.query.text, rank, score, scale))


@dataclass(frozen=True, repr=False)
class LlamaIndexRetriever(Retriever):
    """Any LlamaIndex retriever, beside our own or in their place.

        Strategy("mine", (Retrieve((LlamaIndexRetriever(wiki, "wiki"), Dense(10))), ReciprocalRankFusion(), Top(5), Generate()))

    Its nodes become passages, and need not be in the corpus's index. A node's title, heading, language and
    source come from its metadata. Scores are kept as they are, whatever they mean ("external"); when a node
    has none, all are 1 / rank. `source` decides how many nodes it returns. Rankings, votes and weights know it
    as `called`; two retrievers in one strategy need different names.
    """

    source: BaseRetriever
    called: str = ""
    scale: ClassVar[Scale] = "external"

    @property
    def name(self) -> str:  # type: ignore[override]  # of the value, not of the class
        return self.called or type(self.source).__name__

    def __repr__(self) -> str:
        """Part of the strategy's fingerprint."""
        return f"{type(self).__name__}({type(self.source).__name__}, {self.name!r})"

    def search(self, query: Query, ctx: Context) -> Sequence[Hit]:
        """The nodes found, each once, those without text left out; ProviderError if a score is no number."""
        bundle = QueryBundle(query.text, custom_embedding_strs=list(query.passages) or None)
        found: dict[str, NodeWithScore] = {}
        for node in self.source.retrieve(bundle):
            if node.node.get_content().strip():
                found.setdefault(node.node.node_id, node)
        scores = [node.score for node in found.values()]
        if None in scores:
            scores = [1 / rank for rank in range(1, len(scores) + 1)]
        if not all(math.isfinite(score) for score in scores if score is not None):
            raise ProviderError(f"{self.name} gave a score that is not a number.", "Check the retriever.")
        return [
            Hit(as_passage(node), float(score or 0.0), self.scale)
            for node, score in zip(found.values(), scores, strict=True)
        ]


class Embedding(BaseEmbedding):
    """The embedding model of a lab, gloss included, as LlamaIndex's."""

    _embedder: Embedder = PrivateAttr()

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(model_name=embedder.key)
        self._embedder = embedder

    def _get_query_embedding(self, query: str) -> list[float]:
        return list(map(float, self._embedder.embed([query])[0][0]))

    def _get_text_embedding(self, text: str) -> list[float]:
        return list(map(float, self._embedder.embed([text], "passage")[0][0]))

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


@dataclass(frozen=True)
class EmbedBy(TransformStage):
    """Searches with the embeddings of these texts instead of the question's, as a query bundle requests.

    Dense retrieval averages them; keyword search, rewrites and the answer use the question.

    Example:
        >>> from rag_core.testing import sample_context
        >>> (query,) = EmbedBy(("cats", "kittens")).rewrite(Query("Do they sleep?"), sample_context())
        >>> query.text, query.passages
        ('Do they sleep?', ('cats', 'kittens'))
    """

    texts: tuple[str, ...]
    fans_out: ClassVar[bool] = False

    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        return (replace(question, passages=self.texts),)


def with_embedding_strings(strategy: Strategy, bundle: QueryBundle) -> Strategy:
    """The strategy with a bundle's embedding strings, if it has some, wherever it embeds the question itself."""
    texts = tuple(text for text in bundle.embedding_strs if text.strip())
    if not texts or texts == (bundle.query_str,):
        return strategy
    return replace(strategy, stages=(EmbedBy(texts), *strategy.stages))
