"""What src.rag.rewriter and src.rag.hybrid_rrf of obstetrics-rag-benchmark share, for every strategy here.

`rag_core.rewriter` and `rag_core.hybrid_rrf` have the two modules' own functions and defaults.

    result = rag_core.query_for_evaluation("¿Qué es la preeclampsia?", strategy="hybrid_rrf", mmr_lambda=0.5)
    result["answer"], result["contexts"], result["metadata"]["total_cost"]

Unknown costs are None, never 0. A failure raises a RagError; it is never returned as an answer.
"""

import functools
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .catalog import StrategySpec, recipe_of
from .documents.documents import BUILTIN
from .lab.lab import Lab
from .lab.opening import open_lab
from .llamaindex import Found, as_hits, as_nodes
from .models import LlamaLlm
from .offline.llm import OfflineLlm
from .prompts.prompt import Sources
from .runtime.services import Llm
from .values.errors import ConfigError
from .values.settings import Role, Settings, read_settings
from .values.trace import Trace, metrics

RETRIEVAL_METHODS: Mapping[str, str] = {
    "multi_query": "multi_query_rewrite",  # src.rag.rewriter
    "hybrid_rrf": "hybrid_bm25_semantic_rrf_mmr",  # src.rag.hybrid_rrf
    "simple_semantic": "semantic",
    "bm25": "bm25",
    "hyde": "hyde_semantic",
    "question_index": "known_questions",
    "contextual": "contextual_bm25_semantic_weighted_rrf",
    "rag_msr": "multi_reformulation_rerank_judge",
    "ensemble": "rewrite_bm25_semantic_questions_rrf_rerank",
}
WITHOUT_CONTROLS = ("multi_query",)  # its module lists every entry, without controls
OPEN_LABS = 4  # most recently used; each keeps its models and index in memory

_opening = threading.Lock()  # two simultaneous first calls open one lab


def query_for_evaluation(
    question: str,
    *unnamed: object,
    strategy: StrategySpec = "multi_query",
    llm_model: str | None = None,
    rewriter_model: str | None = None,
    answer_model: str | None = None,
    judge_model: str | None = None,
    custom_llm: Any = None,
    custom_rewriter_llm: Any = None,
    custom_answer_llm: Any = None,
    custom_judge_llm: Any = None,
    corpus: str = BUILTIN,
    settings: Settings | None = None,
    lab: Lab | None = None,
    **controls: object,
) -> dict[str, Any]:
    """Answer a question and return the dictionary of the benchmark's modules.

    Keys: `question`; `answer` (the sentence of an abstention when there is none); `contexts`, the passages'
    texts, best first; `source_documents`, the same as LlamaIndex nodes; `metadata`:

    - num_contexts, retrieval_method, llm_model, provider, model_id, execution_time (seconds of the
      run, without opening the lab), input_tokens and output_tokens (of all language model
      calls), tokens_used, total_cost (US dollars, embeddings included), usage_source ("provider",
      "tokenizer" or both), cost_source;
    - rewrite_count, rewriter_model, rewriter_provider, rewriter_model_id where the question is rewritten;
      judge_model, judge_provider, judge_model_id where passages are judged;
    - every control and embedding_model, except for `multi_query`, whose source has none;
    - in addition: abstained and warnings.

    A lab is opened once per corpus and settings and reused by later calls with the same ones.

    Args:
        unnamed: refused: the second place is the rewriting model in one module and the answering one in the other.
        strategy: a strategy's name.
        llm_model: model that writes the answer (src.rag.hybrid_rrf's name for it).
        answer_model: the same (src.rag.rewriter's name); takes precedence over `llm_model`.
        custom_llm: a LlamaIndex LLM that writes the answer; takes precedence over every name.
        custom_answer_llm: the same (src.rag.rewriter's name); takes precedence over `custom_llm`.
        rewriter_model: model that rewrites the question.
        custom_rewriter_llm: a LlamaIndex LLM that rewrites the question; takes precedence over `rewriter_model`.
        judge_model: model that judges passages, for strategies that judge.
        custom_judge_llm: a LlamaIndex LLM that judges passages; takes precedence over `judge_model`.
        settings: read from the environment when None.
        lab: an open lab to use, with its own corpus and settings.
        controls: of the strategy.

    Raises:
        ConfigError: a strategy, control or model is wrong; a named model has no provider.
        RagError: the run failed.
    """
    if unnamed:
        given = unnamed[0] if isinstance(unnamed[0], str) else type(unnamed[0]).__name__
        raise ConfigError(
            f"Only the question is given without a name; what {given!r} is for is not clear.",
            "Write llm_model= for the model that answers, rewriter_model= for the one that rewrites, custom_llm= or "
            "custom_rewriter_llm= for such an object, or strategy=.",
        )
    models: dict[Role, Any] = {
        "answer": first_given(custom_answer_llm, custom_llm, answer_model, llm_model),
        "rewrite": first_given(custom_rewriter_llm, rewriter_model),
        "judge": first_given(custom_judge_llm, judge_model),
    }
    return run(question, strategy, controls, models, lab or lab_of(corpus, settings)).evaluated()


def format_docs(docs: Sequence[Found]) -> str:
    """The function of both modules: documents as the answer prompt shows them, with title and relevance label."""
    return str(Sources(as_hits(docs)))


def ragas_samples(
    results: Iterable[Mapping[str, Any]], references: Sequence[str | None] | None = None
) -> list[dict[str, Any]]:
    """Results of `query_for_evaluation` as rows for RAGAS: `EvaluationDataset.from_list(ragas_samples(...))`.

    RAGAS 0.4's SingleTurnSample (ragas/dataset_schema.py) has the fields user_input, retrieved_contexts,
    reference_contexts, retrieved_context_ids, reference_context_ids, response, multi_responses, reference, rubrics,
    persona_name, query_style and query_length; a row holds those a result can fill. An abstention is a response like any
    other; `metadata["abstained"]` marks it. `references` are the correct answers, in order, None where there is none;
    raises ConfigError for another number of them.
    """
    results = list(results)
    if references is not None and len(references) != len(results):
        raise ConfigError(
            f"There are {len(references)} references for {len(results)} results.",
            "Pass one per result, or None.",
        )
    rows = [
        {
            "user_input": result["question"],
            "retrieved_contexts": result["contexts"],
            "response": result["answer"],
        }
        for result in results
    ]
    for row, reference in zip(rows, references or (), strict=False):
        if reference is not None:
            row["reference"] = reference
    return rows


@dataclass(frozen=True)
class SeedRun:
    """A trace, the models behind it, and the seconds it took."""

    trace: Trace
    llms: Mapping[str, Llm]
    embedding: str
    seconds: float

    @property
    def answer(self) -> str:
        answer = self.trace.answer
        return answer.text if answer else ""

    @property
    def contexts(self) -> list[str]:
        return [hit.passage.text for hit in self.trace.ranking]

    @property
    def documents(self) -> list[Any]:
        return [found.node for found in as_nodes(self.trace.ranking)]

    @property
    def rewrites(self) -> list[str]:
        return [query.text for query in self.trace.final.queries if query.origin != "question"]

    def evaluated(self) -> dict[str, Any]:
        return {
            "question": self.trace.question,
            "answer": self.answer,
            "contexts": self.contexts,
            "source_documents": self.documents,
            "metadata": self.metadata(),
        }

    def processed(self) -> dict[str, Any]:
        """The keys that both `process` functions return."""
        return {
            "answer": self.answer,
            "contexts": self.contexts,
            "retrieved_documents": self.documents,
            "metrics": metrics(self.trace.calls),
        }

    def metadata(self) -> dict[str, Any]:
        trace, bill = self.trace, metrics(self.trace.calls)
        roles = {call.purpose for call in trace.calls}.union(_declared_roles(trace.strategy))
        sent, received = bill["total_input_tokens"], bill["total_output_tokens"]
        with_controls = trace.strategy not in WITHOUT_CONTROLS
        return {
            "num_contexts": len(trace.ranking),
            "retrieval_method": RETRIEVAL_METHODS.get(trace.strategy, trace.strategy),
            **({"rewrite_count": len(self.rewrites)} if "rewrite" in roles else {}),
            **(trace.controls if with_controls else {}),
            **_named(self.llms["answer"], "llm_model", ""),
            **(_named(self.llms["rewrite"], "rewriter_model", "rewriter_") if "rewrite" in roles else {}),
            **(_named(self.llms["judge"], "judge_model", "judge_") if "judge" in roles else {}),
            **({"embedding_model": self.embedding} if with_controls else {}),
            "execution_time": self.seconds,
            "input_tokens": sent,
            "output_tokens": received,
            "total_cost": bill["total_cost"],
            "tokens_used": sent + received,
            "usage_source": bill["usage_source"],
            "cost_source": bill["cost_source"],
            "abstained": bool(trace.answer and trace.answer.abstained),
            "warnings": list(trace.warnings),
        }


def _declared_roles(strategy: str) -> Iterable[str]:
    """The roles a catalogued strategy uses by default, so that their keys are always present."""
    try:
        return recipe_of(strategy).calls
    except ConfigError:
        return ()


def _named(llm: Llm, key: str, prefix: str) -> dict[str, str]:
    provider = llm.provider if isinstance(llm, LlamaLlm | OfflineLlm) else "unknown"
    return {key: llm.name, f"{prefix}provider": provider, f"{prefix}model_id": f"{provider}/{llm.name}"}


def run(
    question: str,
    strategy: StrategySpec,
    controls: Mapping[str, object],
    models: Mapping[Role, Any],
    lab: Lab,
) -> SeedRun:
    """A strategy on a question, with these models in place of the lab's: names or objects, None for the lab's."""
    engines = lab.engines.with_models(lab.settings, models)
    if engines is not lab.engines:
        lab = lab.with_engines(engines)
    started = time.perf_counter()
    trace = lab.run(question, strategy, **controls)
    seconds = time.perf_counter() - started
    return SeedRun(trace, lab.services().llms, engines.embedder.name, seconds)


def first_given(*models: Any) -> Any:
    """The first one given; an empty name does not count."""
    return next((model for model in models if model is not None and model != ""), None)


def lab_of(corpus: str = BUILTIN, settings: Settings | None = None) -> Lab:
    """The lab of a corpus and settings, opened at the first call."""
    with _opening:
        return _opened(corpus, settings or read_settings())


@functools.lru_cache(maxsize=OPEN_LABS)
def _opened(corpus: str, settings: Settings) -> Lab:
    return open_lab(corpus, settings=settings)
