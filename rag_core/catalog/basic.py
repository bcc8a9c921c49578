"""Strategies that search with the question itself, and HyDE."""

from __future__ import annotations

from ..stages import Bm25, Dense, Generate, Hyde, Mmr, ReciprocalRankFusion, Retrieve, Top
from .controls import Number, Switch, count, share
from .recipe import Recipe

K_FINAL = count("k_final", 5, "Passages the answer is written from.")
RRF_K = Number(
    "rrf_k",
    60,
    "RRF constant; higher flattens the first ranks (2009 paper: 60).",
    min=0,
    max=200,
    step=1,
    whole=True,
)

SIMPLE_SEMANTIC = Recipe(
    name="simple_semantic",
    title="Simple semantic",
    summary="Passages whose embedding is nearest to the question's, by cosine similarity.",
    source="The baseline in Multi-Query Rewriter RAG, Comparison with Other Architectures (obstetrics-rag-benchmark documentation).",
    controls=(K_FINAL,),
    stages=lambda c: (Retrieve((Dense(k=c["k_final"], control="k_final"),)), Generate()),
    helps="Clear questions in whole sentences, in the documents' language; the cheapest and fastest.",
    hurts="Rare names, abbreviations and numbers, which an embedding blurs.",
    calls={"answer": 1},
)

BM25 = Recipe(
    name="bm25",
    title="BM25 keywords",
    summary="Passages that share the question's words, rare words counting more.",
    source="Robertson and Zaragoza 2009; k1 and b as in rank_bm25.",
    controls=(
        K_FINAL,
        Number("k1", 1.5, "How much a repeated word adds; 0 counts it once.", min=0, max=3, step=0.05),
        share("b", 0.75, "How much long passages are held back; 0 not at all."),
    ),
    stages=lambda c: (Retrieve((Bm25(k=c["k_final"], k1=c["k1"], b=c["b"], control="k_final"),)), Generate()),
    helps="Exact terms: drug names, abbreviations, numbers; languages the embedding model does not know.",
    hurts="Everyday words for what the documents say in clinical ones.",
    calls={"answer": 1},
)

HYDE = Recipe(
    name="hyde",
    title="HyDE",
    summary="A passage that might answer the question is written first, and its embedding searched with.",
    source="Gao et al. 2023 (HyDE), who average with the question; a rival in Multi-Query Rewriter RAG, Comparison with Other Architectures.",
    controls=(
        K_FINAL,
        Switch(
            "include_question",
            True,
            "Average the passage's embedding with the question's; off: the passage alone.",
        ),
    ),
    stages=lambda c: (
        Hyde(include_question=c["include_question"]),
        Retrieve((Dense(k=c["k_final"], control="k_final"),)),
        Generate(),
    ),
    helps="A gap between the asker's words and the documents': an answer resembles its passage more than a question does.",
    hurts="When the model imagines a wrong answer, it searches for that; the offline engine only quotes a first search.",
    calls={"rewrite": 1, "answer": 1},
)

HYBRID_RRF = Recipe(
    name="hybrid_rrf",
    title="Hybrid RRF + MMR",
    summary="Keyword and embedding search side by side, fused by rank, then picked for variety.",
    source="Hybrid RRF module (src.rag.hybrid_rrf), obstetrics-rag-benchmark documentation; Cormack et al. 2009 (RRF); Carbonell and Goldstein 1998 (MMR).",
    controls=(
        count(
            "k_bm25_candidates",
            15,
            "Candidates from keyword search (Hybrid RRF module, Retrieval Settings: 15).",
        ),
        count(
            "k_semantic_candidates",
            15,
            "Candidates from embedding search (Hybrid RRF module, Retrieval Settings: 15).",
        ),
        RRF_K,
        count(
            "k_rrf_pool",
            10,
            "Fused passages that MMR picks from (Hybrid RRF module, Retrieval Settings: 10).",
        ),
        Switch("mmr", True, "Pick from the pool for variety; off: RRF's order stands."),
        share(
            "mmr_lambda",
            0.7,
            "Lower picks for variety (Hybrid RRF module, Retrieval Settings: 0.7); 0 by novelty alone; 1 by cosine to the question alone.",
            symbol="λ",
            needs=(("mmr", (True,)),),
        ),
        K_FINAL,
    ),
    stages=lambda c: (
        Retrieve(
            (
                Bm25(k=c["k_bm25_candidates"], control="k_bm25_candidates"),
                Dense(k=c["k_semantic_candidates"], control="k_semantic_candidates"),
            )
        ),
        ReciprocalRankFusion(k=c["rrf_k"]),
        Top(k=c["k_rrf_pool"], control="k_rrf_pool"),
        Mmr(c["k_final"], c["mmr_lambda"], "k_final") if c["mmr"] else Top(c["k_final"], "k_final"),
        Generate(),
    ),
    helps="Questions that mix exact terms with meaning; answers that need several sides of a subject.",
    hurts="When one search is much better than the other, the worse one dilutes it; variety costs precision.",
    calls={"answer": 1},
)
