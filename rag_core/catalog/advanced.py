"""Strategies of several steps: rewritten queries, enriched passages, reranking and judging."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..prompts.templates import (
    IMPROVED,
    MULTI_QUERY,
    ORIGINAL,
    REWRITER_TEMPERATURE,
    TRANSFORM,
    with_temperature,
)
from ..stages import (
    AnalyseQuery,
    AnalyseQueryByLlm,
    Blend,
    Bm25,
    Dense,
    Generate,
    LlmRerank,
    MaxFusion,
    ReciprocalRankFusion,
    Rephrase,
    Rerank,
    Retrieve,
    Retriever,
    Rewrite,
    Stage,
    Threshold,
    Top,
    WeightedFusion,
)
from .basic import K_FINAL
from .controls import Choice, Number, Switch, Templates, Weights, count, share
from .recipe import Preset, Recipe

TEMPERATURE = Number(
    "rewriter_temperature",
    REWRITER_TEMPERATURE,
    "Of the rewriting model: 0.1 faithful, 0.3 balanced, 0.5 creative (Multi-Query Rewriter RAG, Rewriter Model Temperature); the offline engine has none.",
    min=0,
    max=1.5,
    step=0.05,
)

MULTI_QUERY_REWRITER = Recipe(
    name="multi_query",
    title="Multi-query",
    summary="The question is rewritten several ways, each is searched by embedding, the finds are merged by weight.",
    source="Multi-Query Rewriter RAG (src.rag.rewriter), obstetrics-rag-benchmark documentation.",
    controls=(
        Templates(
            "templates",
            tuple(template.name for template in MULTI_QUERY),
            "The rewrites to make, in order of trust (Multi-Query Rewriter RAG, Query Rewriting Templates: standalone, synonyms, expanded); edit, remove, add.",
        ),
        TEMPERATURE,
        count(
            "k_per_query", 5, "Passages each rewrite brings (Multi-Query Rewriter RAG, Pipeline Steps: 5)."
        ),
        Choice(
            "weighting",
            "linear",
            "How much later rewrites count: linear 1, 0.95, 0.90; exponential 1, 0.9, 0.81; equal (Multi-Query Rewriter RAG, Query Weighting Strategy); or custom.",
            choices=("linear", "exponential", "equal", "custom"),
        ),
        share(
            "weight_step",
            0.05,
            "Taken from the weight at each further rewrite (Multi-Query Rewriter RAG, Query Weighting Strategy: 0.05).",
            needs=(("weighting", ("linear",)),),
        ),
        Weights(
            "query_weights",
            (1.0, 0.95, 0.9),
            "One weight per template, in their order; those that are missing are 1.",
            needs=(("weighting", ("custom",)),),
        ),
        Choice(
            "merge",
            "max",
            "Score of a passage several rewrites found: its best one, that of the first rewrite (Multi-Query Rewriter RAG, Core Processing Function), or the sum.",
            choices=("max", "first", "sum"),
        ),
        count(
            "k_final",
            8,
            "Passages the answer is written from (Multi-Query Rewriter RAG, Number of Final Documents: 8).",
        ),
    ),
    stages=lambda c: (
        Rewrite(with_temperature(c["templates"], c["rewriter_temperature"])),
        Retrieve((Dense(k=c["k_per_query"], control="k_per_query"),)),
        WeightedFusion(c["weighting"], *_weights(c), combine=c["merge"]),
        Top(c["k_final"], "k_final"),
        Generate(),
    ),
    helps="Everyday or ambiguous wording, half-said questions, subjects with many names; when nothing may be missed.",
    hurts="Exact questions, which rewriting can only blur; three more calls, and finds of speculative rewrites among the passages.",
    calls={"rewrite": 3, "answer": 1},
    presets=(
        Preset(
            "concise",
            {"k_final": 5},
            "5 passages: faster, cheaper answers (Multi-Query Rewriter RAG, Number of Final Documents).",
        ),
        Preset(
            "balanced",
            {"k_final": 8},
            "8 passages: the default (Multi-Query Rewriter RAG, Number of Final Documents).",
        ),
        Preset(
            "comprehensive",
            {"k_final": 12},
            "12 passages: the most evidence (Multi-Query Rewriter RAG, Number of Final Documents).",
        ),
    ),
)

CONTEXTUAL = Recipe(
    name="contextual",
    title="Contextual retrieval",
    summary="Passages are indexed with a sentence that places them in their document; keyword and embedding search are fused by weight.",
    source="Query System with Contextual Retrieval (Epic Documentation RAG), after Anthropic's Contextual Retrieval (2024).",
    controls=(
        Switch(
            "transform",
            False,
            "Put the question in the documents' terminology first (Query System with Contextual Retrieval, Query Transformation: optional).",
        ),
        Choice(
            "search_type",
            "hybrid",
            "Keyword search, embedding search, or both (Query System with Contextual Retrieval, Query Command Usage: both).",
            choices=("bm25", "vector", "hybrid"),
        ),
        Switch("enriched", True, "Search the passages with their contexts; off: the same passages without."),
        count(
            "k_candidates",
            50,
            "Candidates of each search, and of the fused list that is reranked (chosen on dev questions).",
        ),
        share(
            "vector_weight",
            0.6,
            "Weight of embedding search in the fusion (Query System with Contextual Retrieval, Rank Fusion: 0.6); 0 leaves it out.",
            needs=(("search_type", ("hybrid",)),),
        ),
        share(
            "bm25_weight",
            0.4,
            "Weight of keyword search in the fusion (Query System with Contextual Retrieval, Rank Fusion: 0.4); 0 leaves it out.",
            needs=(("search_type", ("hybrid",)),),
        ),
        Number(
            "rrf_k",
            60,
            "RRF constant (2009 paper: 60). Query System with Contextual Retrieval, Rank Fusion, has weight/(k + rank + 1) with ranks from 0: the same as weight/(k + rank) here, from 1.",
            min=0,
            max=200,
            step=1,
            whole=True,
            needs=(("search_type", ("hybrid",)),),
        ),
        Switch(
            "rerank",
            False,
            "Order the candidates by the reranker before the cut (Query System with Contextual Retrieval, Reranking: optional).",
        ),
        K_FINAL,
    ),
    stages=lambda c: _contextual(c),
    helps="Long documents whose passages do not name their own subject; with reranking, the best order measured here.",
    hurts="Short documents with telling headings, where the context repeats what is there; indexing costs a call per passage with a language model.",
    calls={"answer": 1},
    presets=(
        Preset(
            "hybrid",
            {"search_type": "hybrid"},
            "Both searches, 60 to 40: the default (Query System with Contextual Retrieval, Rank Fusion).",
        ),
        Preset(
            "everything",
            {"transform": True, "rerank": True},
            "With transformation and reranking (Query System with Contextual Retrieval, Query Command Usage).",
        ),
    ),
)

RAG_MSR = Recipe(
    name="rag_msr",
    title="RAG-MSR",
    summary="Three reformulations, each searched and reranked; every find is judged, and only those above a threshold are used.",
    source="RAG-MSR, README (torijune/RAG-MSR on GitHub); α and θ are defaults of its code (scoring.py).",
    controls=(
        Choice(
            "prompt_set",
            "original",
            "Reformulations: paraphrasing, aspect-specific, entity-aware (original); clarification, entity expansion, "
            "retrieval condense (improved); or none.",
            choices=("original", "improved", "none"),
        ),
        Choice(
            "dynamic_analysis",
            "rules",
            "Who tells keywords, made a full question first, from a sentence: rules, the rewriting model in one more "
            "call (RAG-MSR README, Reformulation Improvement), or nobody (off).",
            choices=("rules", "model", "off"),
            needs=(("prompt_set", ("original", "improved")),),
        ),
        Number(
            TEMPERATURE.name,
            TEMPERATURE.default,
            TEMPERATURE.help,
            min=0,
            max=1.5,
            step=0.05,
            needs=(("prompt_set", ("original", "improved")),),
        ),
        count("k_per_query", 5, "Passages each reformulation brings (RAG-MSR README, Step 2: 5)."),
        Switch("rerank", True, "Rerank each reformulation's passages against it (RAG-MSR README, Step 2)."),
        count(
            "m_per_query",
            3,
            "Reranked passages each reformulation keeps (RAG-MSR README, Step 2: m, without a figure).",
            needs=(("rerank", (True,)),),
        ),
        Switch(
            "judge",
            True,
            "Score every passage by S_final and drop those below θ; off: the merged order stands.",
        ),
        share(
            "alpha",
            0.4,
            "S_final = α · cosine + (1 − α) · judge (RAG-MSR README, Step 3, gives no figure; its code, scoring.py: 0.4); 1 asks no judge.",
            symbol="α",
            needs=(("judge", (True,)),),
        ),
        share(
            "theta",
            0.5,
            "Least S_final of a passage that is used (RAG-MSR README, Step 3, gives no figure; its code, scoring.py: 0.5); 0 keeps all.",
            symbol="θ",
            needs=(("judge", (True,)),),
        ),
        count("k_final", 5, "Passages the answer is written from, at most."),
    ),
    stages=lambda c: _rag_msr(c),
    helps="Short, vague or many-sided questions; when a wrong passage is worse than none: it abstains by itself.",
    hurts="The most calls of all; a judge that is too strict drops what was needed.",
    calls={"rewrite": 3, "judge": 9, "answer": 1},
    presets=(
        Preset("full", {}, "Everything (RAG-MSR README, Experiment Results: “Origin RAG-MSR”)."),
        Preset(
            "raw",
            {"prompt_set": "none", "rerank": False, "judge": False},
            "The question's own five passages (RAG-MSR README, Experiment Results: “Raw Retrieval”).",
        ),
        Preset(
            "reformulation only",
            {"rerank": False, "judge": False},
            "Three reformulations, merged by best score (RAG-MSR README, Experiment Results: “Reformulation Retrieval”).",
        ),
        Preset(
            "reranking only",
            {"prompt_set": "none", "m_per_query": 5, "judge": False},
            "The question's passages, reranked (RAG-MSR README, Experiment Results: “Reranking Retrieval”).",
        ),
    ),
)


def _weights(c: Mapping[str, Any]) -> tuple[float, tuple[float, ...]]:
    """Step and custom weights, each only where the weighting uses it: equal behaviour, equal fingerprint."""
    linear, custom = c["weighting"] == "linear", c["weighting"] == "custom"
    return (c["weight_step"] if linear else 0.0, c["query_weights"] if custom else ())


def _contextual(c: Mapping[str, Any]) -> tuple[Stage, ...]:
    k, enriched = c["k_candidates"], c["enriched"]
    searches: dict[str, Retriever] = {
        "bm25": Bm25(k=k, enriched=enriched, control="k_candidates"),
        "vector": Dense(k=k, enriched=enriched, control="k_candidates"),
    }
    stages: list[Stage] = [Rephrase((TRANSFORM,))] if c["transform"] else []
    if c["search_type"] == "hybrid":
        weights = ((Bm25.name, c["bm25_weight"]), (Dense.name, c["vector_weight"]))
        stages += [
            Retrieve((searches["bm25"], searches["vector"])),
            ReciprocalRankFusion(k=c["rrf_k"], weights=weights),
        ]
    else:
        stages.append(Retrieve((searches[c["search_type"]],)))
    if c["rerank"]:
        stages += [Top(k, "k_candidates"), Rerank()]
    return (*stages, Top(c["k_final"], "k_final"), Generate())


def _rag_msr(c: Mapping[str, Any]) -> tuple[Stage, ...]:
    stages: list[Stage] = []
    several = c["prompt_set"] != "none"
    if several:
        analyses: Mapping[str, list[Stage]] = {
            "rules": [AnalyseQuery()],
            "model": [AnalyseQueryByLlm()],
            "off": [],
        }
        stages += analyses[c["dynamic_analysis"]]
        templates = ORIGINAL if c["prompt_set"] == "original" else IMPROVED
        stages.append(Rewrite(with_temperature(templates, c["rewriter_temperature"])))
    stages.append(Retrieve((Dense(k=c["k_per_query"], control="k_per_query"),)))
    stages += [Rerank(), Top(c["m_per_query"], "m_per_query")] if c["rerank"] else []
    stages += [MaxFusion()] if several else []
    if c["judge"]:
        stages += [LlmRerank()] if c["alpha"] < 1 else []
        stages.append(Blend(alpha=c["alpha"]))
        stages += [Threshold(c["theta"])] if c["theta"] > 0 else []
    return (*stages, Top(c["k_final"], "k_final"), Generate())
