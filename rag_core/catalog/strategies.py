"""The built-in strategies: `strategies.toml` declares them, and here are the stages that their controls build."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..prompts.prompt import ANSWER, JUDGE_PASSAGE
from ..prompts.templates import (
    ANALYSIS,
    HYPOTHETICAL,
    IMPROVED,
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
    Hyde,
    LlmRerank,
    MaxFusion,
    Mmr,
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
from .prompt_controls import PromptText, Templates
from .recipe import Choice, Control, Number, Preset, Recipe, Switch, Values, Weights, count

_KINDS: Mapping[str, Callable[..., Control]] = {
    "count": count,
    "number": Number,
    "switch": Switch,
    "choice": Choice,
    "weights": Weights,
    "templates": Templates,
    "prompt": PromptText,
}
# control -> the fields of it that are code
_IN_CODE: Mapping[str, Mapping[str, Any]] = {
    "answer_prompt": {"default": ANSWER, "fills": Generate.fills},
    "hyde_prompt": {"default": HYPOTHETICAL, "fills": Hyde.fills},
    "transform_prompt": {"default": TRANSFORM, "fills": Rephrase.fills},
    "analysis_prompt": {"default": ANALYSIS, "fills": AnalyseQueryByLlm.fills},
    "judge_prompt": {"default": JUDGE_PASSAGE, "fills": LlmRerank.fills},
    "original_templates": {"ready": ORIGINAL},
    "improved_templates": {"ready": IMPROVED},
    "query_weights": {"in_force": lambda c: tuple(map(_fusion(c).weight, range(len(c["templates"]))))},
}
_DECLARED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_SHARED = _DECLARED.pop("shared")


def _declared(name: str, stages: Callable[[Values], tuple[Stage, ...]]) -> Recipe:
    """The strategy of that name in the file, with these stages."""
    given = _DECLARED[name]
    controls = tuple(_control(one, fields) for one, fields in given.pop("controls").items())
    presets = tuple(_preset(one, **fields) for one, fields in given.pop("presets").items())
    return Recipe(name, controls=controls, presets=presets, stages=stages, **given)


def _preset(name: str, values: Values, published: int = 0, **texts: str) -> Preset:
    """A preset; `published` so many of the published templates are among its values, word for word."""
    words = [{"name": one.name, "text": one.text, "system": one.system} for one in PUBLISHED.values()]
    return Preset(name, {"templates": words[:published], **values} if published else values, **texts)


def _control(name: str, own: Mapping[str, Any]) -> Control:
    fields = {**_SHARED.get(name, {}), **own, **_IN_CODE.get(name, {})}
    needs = tuple((other, tuple(acting)) for other, acting in fields.pop("needs", {}).items())
    kind = _KINDS[fields.pop("kind")]
    frozen = {one: tuple(value) if isinstance(value, list) else value for one, value in fields.items()}
    return kind(name, needs=needs, **frozen)


def _fusion(c: Values) -> WeightedFusion:
    """With step and custom weights each only where the weighting uses it, so equal behaviour has an equal fingerprint."""
    step = c["weight_step"] if c["weighting"] == "linear" else 0.0
    weights = c["query_weights"] if c["weighting"] == "custom" else ()
    return WeightedFusion(c["weighting"], step, weights, c["merge"])


def _search_once(c: Values, search: Retriever) -> tuple[Stage, ...]:
    return Retrieve((search,), c["deduplicate"]), Generate(c["answer_prompt"])


def _hyde(c: Values) -> tuple[Stage, ...]:
    template = replace(c["hyde_prompt"], temperature=c["rewriter_temperature"])
    hyde = Hyde(include_question=c["include_question"], template=template, samples=c["hypotheses"])
    return hyde, *_search_once(c, Dense(k=c["k_final"], control="k_final"))


def _hybrid_rrf(c: Values) -> tuple[Stage, ...]:
    words = Bm25(k=c["k_bm25_candidates"], control="k_bm25_candidates")
    meaning = Dense(k=c["k_semantic_candidates"], control="k_semantic_candidates")
    return (
        Retrieve((words, meaning), c["deduplicate"]),
        ReciprocalRankFusion(k=c["rrf_k"]),
        Top(k=c["k_rrf_pool"], control="k_rrf_pool"),
        Mmr(c["k_final"], c["mmr_lambda"], "k_final") if c["mmr"] else Top(c["k_final"], "k_final"),
        Generate(c["answer_prompt"]),
    )


def _multi_query(c: Values) -> tuple[Stage, ...]:
    return (
        Rewrite(with_temperature(c["templates"], c["rewriter_temperature"])),
        Retrieve((Dense(k=c["k_per_query"], control="k_per_query"),), c["deduplicate"]),
        _fusion(c),
        Top(c["k_final"], "k_final"),
        Generate(c["answer_prompt"]),
    )


def _contextual(c: Values) -> tuple[Stage, ...]:
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


def _rag_msr(c: Values) -> tuple[Stage, ...]:
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


def _ensemble(c: Values) -> tuple[Stage, ...]:
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


SIMPLE_SEMANTIC = _declared(
    "simple_semantic", lambda c: _search_once(c, Dense(k=c["k_final"], control="k_final"))
)
BM25 = _declared(
    "bm25", lambda c: _search_once(c, Bm25(k=c["k_final"], k1=c["k1"], b=c["b"], control="k_final"))
)
HYDE = _declared("hyde", _hyde)
QUESTION_INDEX = _declared(
    "question_index", lambda c: _search_once(c, Asked(k=c["k_final"], alone=True, control="k_final"))
)
HYBRID_RRF = _declared("hybrid_rrf", _hybrid_rrf)
MULTI_QUERY_REWRITER = _declared("multi_query", _multi_query)
CONTEXTUAL = _declared("contextual", _contextual)
RAG_MSR = _declared("rag_msr", _rag_msr)
ENSEMBLE = _declared("ensemble", _ensemble)

BUILT_IN = (
    SIMPLE_SEMANTIC, BM25, HYDE, QUESTION_INDEX, HYBRID_RRF, MULTI_QUERY_REWRITER, CONTEXTUAL, RAG_MSR, ENSEMBLE,
)  # fmt: skip
