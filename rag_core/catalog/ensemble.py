"""Our own strategy: the combination of stages that ranked best on the dev questions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..prompts.templates import EXPANDED, with_temperature
from ..stages import (
    Asked,
    Bm25,
    Dense,
    Generate,
    ReciprocalRankFusion,
    Rerank,
    RerankByQuestions,
    Retrieve,
    Rewrite,
    Spread,
    Stage,
    Top,
)
from .basic import DEDUPLICATE, K_FINAL, RRF_K, TEMPERATURE, TUNED
from .controls import Number, Switch, count
from .prompt_controls import ANSWER_PROMPT, Templates
from .recipe import Preset, Recipe

ENSEMBLE = Recipe(
    name="ensemble",
    title="Ensemble (ours)",
    summary="Searches with the question and a rewrite, by keywords, by embedding and by known questions, fuses all by rank, reranks, then prefers new documents and the question's language.",
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
            10,
            "Weight, after reranking, of the cosine to the nearest known question, beside the standardised score.",
            min=0,
            max=30,
            step=1,
            needs=(("asked", (True,)),),
            label="weight of known questions",
        ),
        Number(
            "foreign_weight",
            0.9,
            "Worth of a passage in another language than the question's, as a share of its own; 1 for no difference.",
            label="weight of other languages",
        ),
        replace(K_FINAL, default=8),
        DEDUPLICATE,
        ANSWER_PROMPT,
    ),
    stages=lambda c: _stages(c),
    helps="When the best passages matter more than speed; questions of every kind, in both languages.",
    hurts="The slowest retrieval here, and hard to explain: each passage owes its rank to six lists and a reranker.",
    calls={"rewrite": 1, "answer": 1},
    presets=(Preset("tuned", {}, f"{TUNED}: the defaults, nDCG@10 0.833."),),
)


def _stages(c: Mapping[str, Any]) -> tuple[Stage, ...]:
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
        Spread(foreign=c["foreign_weight"]),
        Top(c["k_final"], "k_final"),
        Generate(c["answer_prompt"]),
    )
