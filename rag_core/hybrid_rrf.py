"""obstetrics-rag-benchmark's src.rag.hybrid_rrf: its functions, with its arguments, defaults and result keys.

    from rag_core.hybrid_rrf import query_for_evaluation
    result = query_for_evaluation(question="¿Cuáles son los riesgos de la cesárea?")
    result["metadata"]["rrf_k"]

What one function returns another takes: documents are LlamaIndex nodes, with or without a score, or our own passages
and hits, of any corpus. A model is a LlamaIndex or a LangChain object.
"""

from collections.abc import Sequence
from typing import Any

from llama_index.core.schema import NodeWithScore

from .lab.lab import Lab
from .llamaindex import Found, as_hits, as_nodes
from .runtime.context import Context
from .seed_api import first_given, format_docs, lab_of, run
from .stages import Mmr, ReciprocalRankFusion
from .stages.retrieve import one_per_text
from .values.types import Query, Ranking

__all__ = [
    "format_docs",
    "mmr_select",
    "process_hybrid_rrf_query",
    "query_for_evaluation",
    "reciprocal_rank_fusion",
    "retrieve_hybrid_rrf",
]
STRATEGY = "hybrid_rrf@source"


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[Found]], k_constant: int = 60, top_k: int = 5
) -> list[NodeWithScore]:
    """The best `top_k` nodes by Σ 1 / (k_constant + rank), rank from 1; raises ConfigError for a negative constant.

    In `rankings`, best first, documents with the same id or the same text count as one.
    """
    lists = one_per_text([as_hits(documents) for documents in rankings])
    searched = [Ranking(Query(""), tuple(hits), str(place)) for place, hits in enumerate(lists)]
    found = {hit.id: hit for ranking in searched for hit in ranking}
    scores = ReciprocalRankFusion(k=k_constant).fuse(searched)
    hits = [found[identity].with_score(score, "rrf") for identity, score in scores.items()]
    return as_nodes(Ranking.sort(Query(""), hits, ReciprocalRankFusion.__name__).hits[:top_k])


def mmr_select(
    query: str,
    candidate_docs: Sequence[Found],
    top_k: int,
    lambda_mult: float = 0.7,
    *,
    lab: Lab | None = None,
) -> list[NodeWithScore]:
    """`top_k` nodes by maximal marginal relevance (`stages.Mmr`); those that the lab's corpus lacks are embedded now.

    `lambda_mult` is 1 for relevance alone, 0 for variety alone; raises ConfigError outside these.
    """
    hits = {hit.id: hit for hit in as_hits(candidate_docs)}
    ctx = Context((lab or lab_of()).services())
    return as_nodes(Mmr(k=top_k, lambda_=lambda_mult).select(Ranking(Query(query), tuple(hits.values())), ctx))


def retrieve_hybrid_rrf(query: str, *, lab: Lab | None = None) -> list[NodeWithScore]:
    """The passages that `process_hybrid_rrf_query` answers from; raises as `query_for_evaluation`."""
    return (lab or lab_of()).retriever(STRATEGY, labels=True).retrieve(query)


def process_hybrid_rrf_query(query: str, custom_llm: Any = None, *, lab: Lab | None = None) -> dict[str, Any]:
    """Search and answer. Keys: answer, contexts, retrieved_documents, metrics. Raises as `query_for_evaluation`."""
    return run(query, STRATEGY, {}, {"answer": custom_llm}, lab or lab_of()).processed()


def query_for_evaluation(
    question: str, llm_model: str | None = None, custom_llm: Any = None, *, lab: Lab | None = None
) -> dict[str, Any]:
    """Answer a question; keys and errors as of `rag_core.query_for_evaluation`. An object goes before a name."""
    return run(question, STRATEGY, {}, {"answer": first_given(custom_llm, llm_model)}, lab or lab_of()).evaluated()
