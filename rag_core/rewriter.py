"""obstetrics-rag-benchmark's src.rag.rewriter: its functions, with its arguments, defaults and result keys.

    from rag_core.rewriter import query_for_evaluation
    result = query_for_evaluation(question="¿Cuáles son los síntomas del parto prematuro?")

A model is a LlamaIndex or a LangChain object. An unknown cost is None, never 0, and a failure a RagError.
"""

from typing import Any

from .lab.lab import Lab
from .seed_api import first_given, format_docs, lab_of, run
from .values.settings import Role

__all__ = ["format_docs", "process_rewriter_query", "query_for_evaluation"]
STRATEGY = "multi_query@source"


def process_rewriter_query(
    question: str,
    custom_rewriter_llm: Any = None,
    custom_answer_llm: Any = None,
    max_final_docs: int = 8,
    *,
    lab: Lab | None = None,
) -> dict[str, Any]:
    """Rewrite, search and answer, with `max_final_docs` passages; raises as `query_for_evaluation`.

    Keys: answer, contexts, retrieved_documents, rewritten_queries (those searched with), metrics.
    """
    models: dict[Role, Any] = {"answer": custom_answer_llm, "rewrite": custom_rewriter_llm}
    made = run(question, STRATEGY, {"k_final": max_final_docs}, models, lab or lab_of())
    return {**made.processed(), "rewritten_queries": made.rewrites}


def query_for_evaluation(
    question: str,
    rewriter_model: str | None = None,
    answer_model: str | None = None,
    custom_rewriter_llm: Any = None,
    custom_answer_llm: Any = None,
    *,
    lab: Lab | None = None,
) -> dict[str, Any]:
    """Answer a question; keys and errors as of `rag_core.query_for_evaluation`. An object goes before a name."""
    models: dict[Role, Any] = {
        "answer": first_given(custom_answer_llm, answer_model),
        "rewrite": first_given(custom_rewriter_llm, rewriter_model),
    }
    return run(question, STRATEGY, {}, models, lab or lab_of()).evaluated()
