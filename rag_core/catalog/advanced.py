"""Multi-step strategies: query rewriting, enriched passages, reranking and judging."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..prompts.prompt import JUDGE_PASSAGE
from ..prompts.templates import (
    ANALYSIS,
    EXPANDED,
    IMPROVED,
    MULTI_QUERY,
    ORIGINAL,
    PUBLISHED,
    TRANSFORM,
    with_temperature,
)
from ..stages import (
    AnalyseQuery,
    AnalyseQueryByLlm,
    Asked,
    Blend,
    Bm25,
    Dense,
    Generate,
    LlmRerank,
    MaxFusion,
    ReciprocalRankFusion,
    Rephrase,
    Rerank,
    RerankByQuestions,
    Retrieve,
    Retriever,
    Rewrite,
    Spread,
    Stage,
    Threshold,
    Top,
    WeightedFusion,
)
from .basic import DEDUPLICATE, K_FINAL, RRF_K, TEMPERATURE, TUNED
from .prompt_controls import ANSWER_PROMPT, PromptText, Templates
from .recipe import Choice, Number, Preset, Recipe, Switch, Weights, count

_PUBLISHED = [{"name": one.name, "text": one.text, "system": one.system} for one in PUBLISHED.values()]

MULTI_QUERY_REWRITER = Recipe(
    name="multi_query",
    title="Multi-query",
    summary="Rewrites the question several ways, searches with each by embedding, and fuses the results by weight.",
    source="Multi-Query Rewriter RAG (src.rag.rewriter), obstetrics-rag-benchmark documentation.",
    controls=(
        Templates(
            "templates",
            tuple(template.name for template in MULTI_QUERY),
            "Rewriting templates, most trusted first; you can edit, remove or add them (Multi-Query Rewriter RAG, Query Rewriting Templates: standalone, synonyms, expanded).",
            label="rewriting templates",
        ),
        TEMPERATURE,
        count(
            "k_per_query",
            5,
            "Passages retrieved per rewrite (Multi-Query Rewriter RAG, Pipeline Steps: 5).",
            label="passages per rewrite",
        ),
        Choice(
            "weighting",
            "linear",
            "Weights of the rewrites, in order: linear 1, 0.95, 0.90; exponential 1, 0.9, 0.81; equal (Multi-Query Rewriter RAG, Query Weighting Strategy); or custom.",
            choices=("linear", "exponential", "equal", "custom"),
            label="weights of the rewrites",
        ),
        Number(
            "weight_step",
            0.05,
            "How much less each further rewrite weighs (Multi-Query Rewriter RAG, Query Weighting Strategy: 0.05).",
            needs=(("weighting", ("linear",)),),
            label="weight step",
        ),
        Weights(
            "query_weights",
            (1.0, 0.95, 0.9),
            "One weight per template, in the same order; missing weights are 1. Moving one sets the weighting to custom.",
            of="templates",
            needs=(("weighting", ("custom",)),),
            sets_needs=True,
            in_force=lambda c: tuple(map(_fusion(c).weight, range(len(c["templates"])))),
            label="custom weights",
        ),
        Choice(
            "merge",
            "max",
            "Score of a passage that several rewrites found: the highest, the first rewrite's (Multi-Query Rewriter RAG, Core Processing Function), or the sum.",
            choices=("max", "first", "sum"),
            label="score when found twice",
        ),
        replace(
            K_FINAL,
            default=8,
            help="Passages given to the answer (Multi-Query Rewriter RAG, Number of Final Documents: 8).",
        ),
        DEDUPLICATE,
        ANSWER_PROMPT,
    ),
    stages=lambda c: (
        Rewrite(with_temperature(c["templates"], c["rewriter_temperature"])),
        Retrieve((Dense(k=c["k_per_query"], control="k_per_query"),), c["deduplicate"]),
        _fusion(c),
        Top(c["k_final"], "k_final"),
        Generate(c["answer_prompt"]),
    ),
    helps="Everyday or ambiguous wording, incomplete questions, complex topics and subjects with many names; when recall matters most.",
    hurts="Exact questions, which rewriting only blurs; it makes three more calls, and speculative rewrites bring in noise.",
    calls={"rewrite": 3, "answer": 1},
    presets=(
        *(
            Preset(
                name,
                {"k_final": k},
                f"{k} passages: {why} (Multi-Query Rewriter RAG, Number of Final Documents).",
            )
            for name, k, why in (
                ("concise", 5, "faster, cheaper answers"),
                ("balanced", 8, "the default"),
                ("comprehensive", 12, "most evidence"),
            )
        ),
        Preset("tuned", {"k_per_query": 40, "merge": "sum"}, f"{TUNED}: nDCG@10 0.746 instead of 0.720."),
        Preset(
            "source",
            {"templates": _PUBLISHED[: len(MULTI_QUERY)], "merge": "first"},
            "Its three templates word for word, and the first rewrite's score for a passage (Multi-Query Rewriter RAG, Core "
            "Processing Function); its models are the settings' defaults. Ours also name the documents' subject and the "
            "question's language, and the best score hides no late find.",
        ),
        Preset(
            "source with complications",
            {"templates": _PUBLISHED, "merge": "first"},
            "The same with the fourth template (Multi-Query Rewriter RAG, Advanced): one more call.",
        ),
    ),
)

CONTEXTUAL = Recipe(
    name="contextual",
    title="Contextual retrieval",
    summary="Indexes each passage with a sentence on its place in the document, then fuses keyword and embedding search by weight.",
    source="Query System with Contextual Retrieval (Epic Documentation RAG), after Anthropic's Contextual Retrieval (2024).",
    controls=(
        Switch(
            "transform",
            False,
            "First rewrite the question in the documents' terminology (Query System with Contextual Retrieval, Query Transformation: optional).",
            label="question rewritten first",
        ),
        Choice(
            "search_type",
            "hybrid",
            "Keyword search, embedding search, or both (Query System with Contextual Retrieval, Query Command Usage: both).",
            choices=("bm25", "vector", "hybrid"),
            label="search by",
        ),
        Switch(
            "enriched",
            True,
            "Search passages together with their contexts; off searches the same passages without.",
            label="passages with context",
        ),
        count(
            "k_candidates",
            50,
            "Candidates from each search, and in the fused list for reranking (chosen on dev questions).",
            label="candidates",
            limit="the {value}-candidate limit",
        ),
        Number(
            "vector_weight",
            0.6,
            "Weight of embedding search in the fusion; 0 turns it off (Query System with Contextual Retrieval, Rank Fusion: 0.6).",
            needs=(("search_type", ("hybrid",)),),
            label="weight of embeddings",
        ),
        Number(
            "bm25_weight",
            0.4,
            "Weight of keyword search in the fusion; 0 turns it off (Query System with Contextual Retrieval, Rank Fusion: 0.4).",
            needs=(("search_type", ("hybrid",)),),
            label="weight of keywords",
        ),
        replace(
            RRF_K,
            help="RRF constant (2009 paper: 60). Query System with Contextual Retrieval, Rank Fusion, writes weight/(k + rank + 1) with ranks from 0, which equals weight/(k + rank) with ranks from 1.",
            needs=(("search_type", ("hybrid",)),),
        ),
        Switch(
            "rerank",
            False,
            "Rerank the candidates before keeping the top ones (Query System with Contextual Retrieval, Reranking: optional).",
            label="reranking",
        ),
        K_FINAL,
        DEDUPLICATE,
        PromptText(
            "transform_prompt",
            TRANSFORM,
            "Instructions to the model that rewrites the question.",
            Rephrase.fills,
            needs=(("transform", (True,)),),
            label="rewriting prompt",
        ),
        ANSWER_PROMPT,
    ),
    stages=lambda c: _contextual(c),
    helps="Long documents whose passages do not name their subject; reranking orders what it finds better.",
    hurts="Short documents with informative headings, which the context only repeats; with a language model, indexing costs one call per passage.",
    calls={"answer": 1},
    most_calls={"rewrite": 1, "answer": 1},
    presets=(
        Preset(
            "hybrid",
            {"search_type": "hybrid"},
            "Both searches, weighted 60 to 40: the default (Query System with Contextual Retrieval, Rank Fusion).",
        ),
        Preset(
            "everything",
            {"transform": True, "rerank": True},
            "With question rewriting and reranking (Query System with Contextual Retrieval, Query Command Usage).",
        ),
        Preset("tuned", {"rerank": True, "enriched": False}, f"{TUNED}: nDCG@10 0.719 instead of 0.656."),
        Preset(
            "source",
            {"vector_weight": 0.6, "bm25_weight": 0.4},
            "Its plain command (Query System with Contextual Retrieval, Query Command Usage): our defaults. It gives no number "
            "of candidates. A model writes contexts once one is set, and RAG_RERANKER names its reranker, "
            "mixedbread-ai/mxbai-rerank-large-v1; without them nothing is sent or downloaded.",
        ),
    ),
)

REFORMULATED = ("prompt_set", ("original", "improved"))

RAG_MSR = Recipe(
    name="rag_msr",
    title="RAG-MSR",
    summary="Searches with three reformulations, reranks each, then scores every passage and uses only those that reach a threshold.",
    source="RAG-MSR, README (torijune/RAG-MSR on GitHub); α and θ are defaults of its code (scoring.py).",
    controls=(
        Choice(
            "prompt_set",
            "original",
            "Reformulations: paraphrasing, aspect-specific, entity-aware (original); clarification, entity expansion, "
            "retrieval condense (improved); or none.",
            choices=("original", "improved", "none"),
            label="reformulations",
        ),
        Choice(
            "dynamic_analysis",
            "rules",
            "Detect keyword queries and expand them to a full question first: by rules, by the rewriting model in one "
            "more call (RAG-MSR README, Reformulation Improvement), or off.",
            choices=("rules", "model", "off"),
            needs=(REFORMULATED,),
            label="query analysis",
        ),
        replace(TEMPERATURE, needs=(REFORMULATED,)),
        count(
            "k_per_query",
            5,
            "Passages retrieved per reformulation (RAG-MSR README, Step 2: 5).",
            label="passages per rewrite",
        ),
        Switch(
            "rerank",
            True,
            "Rerank each reformulation's passages against it (RAG-MSR README, Step 2).",
            label="reranking",
        ),
        count(
            "m_per_query",
            3,
            "Reranked passages kept per reformulation (RAG-MSR README, Step 2: m, no value given).",
            needs=(("rerank", (True,)),),
            label="kept per reformulation",
            limit="the limit of {value} per reformulation",
        ),
        Switch(
            "judge",
            True,
            "Score every passage by S_final and drop those below θ; off keeps the fused order.",
            label="relevance judge",
        ),
        Number(
            "alpha",
            0.4,
            "S_final = α · cosine + (1 − α) · judge (RAG-MSR README, Step 3, gives no value; its code, scoring.py: 0.4); 1 skips the judge.",
            symbol="α",
            needs=(("judge", (True,)),),
            label="cosine against judge (α)",
        ),
        Number(
            "theta",
            0.5,
            "Lowest S_final a passage needs to be used (RAG-MSR README, Step 3, gives no value; its code, scoring.py: 0.5); 0 keeps all.",
            symbol="θ",
            needs=(("judge", (True,)),),
            label="lowest score used (θ)",
        ),
        replace(K_FINAL, help="Maximum number of passages given to the answer."),
        DEDUPLICATE,
        Templates(
            "original_templates",
            tuple(template.name for template in ORIGINAL),
            "Prompts of the original reformulations (RAG-MSR README, Step 1).",
            ready=ORIGINAL,
            needs=(("prompt_set", ("original",)),),
            label="original reformulation prompts",
        ),
        Templates(
            "improved_templates",
            tuple(template.name for template in IMPROVED),
            "Prompts of the improved reformulations (RAG-MSR README, Reformulation Improvement).",
            ready=IMPROVED,
            needs=(("prompt_set", ("improved",)),),
            label="improved reformulation prompts",
        ),
        PromptText(
            "analysis_prompt",
            ANALYSIS,
            "Instructions to the model that analyses the question; it must reply in the same JSON.",
            AnalyseQueryByLlm.fills,
            needs=(("dynamic_analysis", ("model",)), REFORMULATED),
            label="query analysis prompt",
        ),
        PromptText(
            "judge_prompt",
            JUDGE_PASSAGE,
            "Instructions to the model that judges passages; it must reply in the same JSON.",
            LlmRerank.fills,
            needs=(("judge", (True,)),),
            label="judge prompt",
        ),
        ANSWER_PROMPT,
    ),
    stages=lambda c: _rag_msr(c),
    helps="Short, vague or many-sided questions; when a wrong passage is worse than none, since it can abstain.",
    hurts="Makes the most calls; a judge that is too strict drops passages the answer needs.",
    calls={"rewrite": 3, "judge": 9, "answer": 1},
    most_calls={"rewrite": 4, "judge": 15, "answer": 1},  # analysis by a model; without reranking none is cut
    presets=(
        Preset("full", {}, "All steps (RAG-MSR README, Step 1 to Step 3)."),
        Preset(
            "origin",
            {"judge": False},
            "Reformulation and reranking without judge and θ: what was measured (RAG-MSR README, Experiment Results: “Origin RAG-MSR”).",
        ),
        Preset(
            "raw",
            {"prompt_set": "none", "rerank": False, "judge": False},
            "The question's top five passages (RAG-MSR README, Experiment Results: “Raw Retrieval”).",
        ),
        Preset(
            "reformulation only",
            {"rerank": False, "judge": False},
            "Three reformulations, fused by best score (RAG-MSR README, Experiment Results: “Reformulation Retrieval”).",
        ),
        Preset(
            "reranking only",
            {"prompt_set": "none", "m_per_query": 5, "judge": False},
            "The question's passages, reranked (RAG-MSR README, Experiment Results: “Reranking Retrieval”).",
        ),
        Preset("tuned", {"k_per_query": 10, "theta": 0.3}, f"{TUNED}: nDCG@10 0.693 instead of 0.668."),
        *(
            Preset(
                name,
                {"dynamic_analysis": "model", "m_per_query": 2, "theta": theta, "k_final": 6},
                f"{whence} Analysis by a model, 2 passages of each reformulation, and every passage from θ on is used. "
                "Llama-3.1-8B-Instruct rewrites where RAG_MODELS names it. We analyse by rules, which cost "
                "no call, and use five passages at most.",
                rewriter="Llama-3.1-8B",  # Ollama and Groq call it so, without "Instruct"
            )
            for name, theta, whence in (
                ("source", 0.2, "θ of its script (scoring.py, main)."),
                ("source function", 0.5, "θ of its function (scoring.py, score_documents)."),
            )
        ),
    ),
)

# ours: the combination of stages that ranked best on the dev questions
ENSEMBLE = Recipe(
    name="ensemble",
    title="Ensemble (ours)",
    summary="Searches with the question and a rewrite, by keywords, by embedding and by known questions, fuses all by rank, reranks, then prefers new documents.",
    source="Ours: chosen on the dev questions of the built-in set and of NFCorpus; no paper proposes this combination.",
    controls=(
        Templates(
            "templates",
            (EXPANDED.name,),
            "Rewriting templates; the question itself is always searched too.",
            label="rewriting templates",
        ),
        replace(TEMPERATURE, help="Temperature of the rewriting model; no effect on the offline engine."),
        Number(
            "rewrite_weight",
            0.5,
            "Weight of the rewrites in the fusion; the question weighs 1.",
            label="weight of the rewrites",
        ),
        count("k_candidates", 100, "Candidates from each search of each query.", label="candidates"),
        replace(RRF_K, default=20),
        Switch("rerank", True, "Rerank the fused list.", label="reranking"),
        count(
            "k_rerank",
            100,
            "Fused passages that are reranked.",
            needs=(("rerank", (True,)),),
            label="passages reranked",
            limit="the reranking limit of {value}",
        ),
        Switch(
            "asked",
            True,
            "Search the questions that passages are known to answer, too.",
            label="known questions",
        ),
        Number(
            "asked_weight",
            15,
            "Weight, after reranking, of the likeness to the known questions and of their words, beside the standardised score.",
            min=0,
            max=40,
            step=1,
            needs=(("asked", (True,)),),
            label="weight of known questions",
        ),
        replace(K_FINAL, default=8),
        DEDUPLICATE,
        ANSWER_PROMPT,
    ),
    stages=lambda c: _ensemble(c),
    helps="When the best passages matter more than speed; questions of every kind, in both languages.",
    hurts="The slowest retrieval here, and hard to explain: each passage owes its rank to six lists and a reranker.",
    calls={"rewrite": 1, "answer": 1},
    presets=(Preset("tuned", {}, f"{TUNED}: the defaults, nDCG@10 0.837."),),
)


def _fusion(c: Mapping[str, Any]) -> WeightedFusion:
    """With step and custom weights each only where the weighting uses it, so equal behaviour has an equal fingerprint."""
    step = c["weight_step"] if c["weighting"] == "linear" else 0.0
    weights = c["query_weights"] if c["weighting"] == "custom" else ()
    return WeightedFusion(c["weighting"], step, weights, c["merge"])


def _contextual(c: Mapping[str, Any]) -> tuple[Stage, ...]:
    k, enriched = c["k_candidates"], c["enriched"]
    searches: dict[str, Retriever] = {
        "bm25": Bm25(k=k, enriched=enriched, control="k_candidates"),
        "vector": Dense(k=k, enriched=enriched, control="k_candidates"),
    }
    stages: list[Stage] = [Rephrase((c["transform_prompt"],))] if c["transform"] else []
    if c["search_type"] == "hybrid":
        weights = ((Bm25.name, c["bm25_weight"]), (Dense.name, c["vector_weight"]))
        stages += [
            Retrieve((searches["bm25"], searches["vector"]), c["deduplicate"]),
            ReciprocalRankFusion(k=c["rrf_k"], weights=weights),
        ]
    else:
        stages.append(Retrieve((searches[c["search_type"]],), c["deduplicate"]))
    if c["rerank"]:
        stages += [Top(k, "k_candidates"), Rerank()]
    return (*stages, Top(c["k_final"], "k_final"), Generate(c["answer_prompt"]))


def _rag_msr(c: Mapping[str, Any]) -> tuple[Stage, ...]:
    stages: list[Stage] = []
    several = c["prompt_set"] != "none"
    if several:
        if c["dynamic_analysis"] == "rules":
            stages.append(AnalyseQuery())
        elif c["dynamic_analysis"] == "model":
            stages.append(AnalyseQueryByLlm(c["analysis_prompt"]))
        templates = c[f"{c['prompt_set']}_templates"]
        stages.append(Rewrite(with_temperature(templates, c["rewriter_temperature"])))
    stages.append(Retrieve((Dense(k=c["k_per_query"], control="k_per_query"),), c["deduplicate"]))
    stages += [Rerank(), Top(c["m_per_query"], "m_per_query")] if c["rerank"] else []
    stages += [MaxFusion()] if several else []
    if c["judge"]:
        stages += [LlmRerank(c["judge_prompt"])] if c["alpha"] < 1 else []
        stages.append(Blend(alpha=c["alpha"]))
        stages += [Threshold(c["theta"])] if c["theta"] > 0 else []
    return (*stages, Top(c["k_final"], "k_final"), Generate(c["answer_prompt"]))


def _ensemble(c: Mapping[str, Any]) -> tuple[Stage, ...]:
    k = c["k_candidates"]
    searches = (Bm25(k=k, control="k_candidates"), Dense(k=k, control="k_candidates"))
    asked = (Asked(k=k, control="k_candidates"),) if c["asked"] else ()
    stages: list[Stage] = [
        Rewrite(with_temperature(c["templates"], c["rewriter_temperature"]), keep_question=True),
        Retrieve((*searches, *asked), c["deduplicate"]),
        ReciprocalRankFusion(k=c["rrf_k"], rewrites=c["rewrite_weight"]),
    ]
    if c["rerank"]:
        stages += [Top(c["k_rerank"], "k_rerank"), Rerank()]
    if c["asked"]:
        stages.append(RerankByQuestions(c["asked_weight"]))
    return (
        *stages,
        Spread(),
        Top(c["k_final"], "k_final"),
        Generate(c["answer_prompt"]),
    )
