"""Parts of LlamaIndex inside a strategy: any retriever of its, and the texts a query bundle is embedded by."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import PrivateAttr

from ..pipeline.strategy import Strategy
from ..runtime.context import Context
from ..runtime.services import Embedder
from ..stages import Retriever, TransformStage
from ..values.errors import ProviderError
from ..values.types import Hit, Query, Scale
from .nodes import as_passage


@dataclass(frozen=True, repr=False)
class LlamaIndexRetriever(Retriever):
    """Any LlamaIndex retriever, beside our own or in their place.

        Strategy("mine", (Retrieve((LlamaIndexRetriever(wiki, "wiki"), Dense(10))), ReciprocalRankFusion(), Top(5), Generate()))

    Its nodes become passages, and need not be in the corpus's index. A node's title, heading, language and
    source come from its metadata. Scores are kept as they are, whatever they mean ("external"); when a node
    has none, all are 1 / rank. Rankings, votes and weights know it by its name.

    Args:
        source: the retriever; it decides how many nodes it returns.
        called: its name; two retrievers in one strategy need different names.
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
        """The nodes the retriever finds, each once; nodes without text are left out.

        Raises:
            ProviderError: a score is not a number.
        """
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
    """The strategy for a bundle: with its own embedding strings, where it has some.

    They serve wherever the strategy embeds the question; one that writes its own queries searches with those.
    """
    texts = tuple(text for text in bundle.embedding_strs if text.strip())
    if not texts or texts == (bundle.query_str,):
        return strategy
    return replace(strategy, stages=(EmbedBy(texts), *strategy.stages))
