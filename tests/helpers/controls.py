"""Every recipe and control as the design has them, and a run of a recipe."""

from collections.abc import Mapping, Sequence
from typing import Any

from rag_core.catalog import RECIPES, Number, Recipe, build
from rag_core.runtime.services import Services
from rag_core.values.trace import Trace

from .fakes import QUESTION
from .looping import for_each

MULTI_QUERY = ("standalone", "synonyms", "expanded")
# Design 2.3: control -> default, as JSON has it. The counts that it leaves open are the seeds' or our own.
DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "simple_semantic": {"k_final": 5, "deduplicate": True, "answer_prompt": "answer"},
    "bm25": {"k_final": 5, "k1": 1.5, "b": 0.75, "deduplicate": True, "answer_prompt": "answer"},
    "hyde": {
        "k_final": 5,
        "include_question": True,
        "hypotheses": 1,
        "rewriter_temperature": 0.3,
        "deduplicate": True,
        "hyde_prompt": "hypothetical",
        "answer_prompt": "answer",
    },
    "question_index": {"k_final": 5, "deduplicate": True, "answer_prompt": "answer"},
    "hybrid_rrf": {
        "k_bm25_candidates": 15,
        "k_semantic_candidates": 15,
        "rrf_k": 60,
        "k_rrf_pool": 10,
        "mmr": True,
        "mmr_lambda": 0.7,
        "k_final": 5,
        "deduplicate": True,
        "answer_prompt": "answer",
    },
    "multi_query": {
        "templates": list(MULTI_QUERY),
        "rewriter_temperature": 0.3,
        "k_per_query": 5,
        "weighting": "linear",
        "weight_step": 0.05,
        "query_weights": [1.0, 0.95, 0.9],
        "merge": "max",
        "k_final": 8,
        "deduplicate": True,
        "answer_prompt": "answer",
    },
    "contextual": {
        "transform": False,
        "search_type": "hybrid",
        "enriched": True,
        "k_candidates": 50,
        "vector_weight": 0.6,
        "bm25_weight": 0.4,
        "rrf_k": 60,
        "rerank": False,
        "k_final": 5,
        "deduplicate": True,
        "transform_prompt": "transform",
        "answer_prompt": "answer",
    },
    "rag_msr": {
        "prompt_set": "original",
        "dynamic_analysis": "rules",
        "rewriter_temperature": 0.3,
        "k_per_query": 5,
        "rerank": True,
        "m_per_query": 3,
        "judge": True,
        "alpha": 0.4,
        "theta": 0.5,
        "k_final": 5,
        "deduplicate": True,
        "original_templates": ["paraphrasing", "aspect_specific", "entity_aware"],
        "improved_templates": ["clarification", "entity_expansion", "retrieval_condense"],
        "analysis_prompt": "analysis",
        "judge_prompt": "judge_passage",
        "answer_prompt": "answer",
    },
    "ensemble": {
        "templates": ["expanded"],
        "rewriter_temperature": 0.3,
        "rewrite_weight": 0.5,
        "k_candidates": 100,
        "rrf_k": 20,
        "rerank": True,
        "k_rerank": 100,
        "asked": True,
        "asked_weight": 15.0,
        "k_final": 8,
        "deduplicate": True,
        "answer_prompt": "answer",
    },
}


# Design 2.3's stages with its numbers, written out per stage; a template stands as (name, temperature).
# Every search takes equal texts as one: the test adds that.
def searched(*retrievers: tuple[str, int], enriched: bool = False) -> tuple[str, str, Mapping[str, object]]:
    """The stage of these retrievers, with how many passages each finds."""
    index = {"enriched": enriched}
    usual = {
        "Bm25": {"k1": 1.5, "b": 0.75, **index},
        "Dense": index,
        "Asked": {"alone": len(retrievers) == 1},
    }
    rows = [{"retriever": name, "k": k, **usual[name]} for name, k in retrievers]
    return " ∥ ".join(name for name, _ in retrievers), "retrieve", {"retrievers": rows}


def rrf(
    k: int, weights: Sequence[Sequence[object]] = (), rewrites: float = 1.0
) -> tuple[str, str, Mapping[str, object]]:
    return "ReciprocalRankFusion", "fuse", {"k": k, "weights": list(weights), "rewrites": rewrites}


def rewritten(*names: str, keep_question: bool = False) -> tuple[str, str, Mapping[str, object]]:
    return (
        "Rewrite",
        "transform",
        {"templates": [(name, 0.3) for name in names], "keep_question": keep_question},
    )


GENERATE = ("Generate", "answer", {"template": ("answer", 0.0)})
STAGES: Mapping[str, list[tuple[str, str, Mapping[str, object]]]] = {
    "simple_semantic": [searched(("Dense", 5)), GENERATE],
    "bm25": [searched(("Bm25", 5)), GENERATE],
    "hyde": [
        ("Hyde", "transform", {"include_question": True, "template": ("hypothetical", 0.3), "samples": 1}),
        searched(("Dense", 5)),
        GENERATE,
    ],
    "question_index": [searched(("Asked", 5)), GENERATE],
    "hybrid_rrf": [
        searched(("Bm25", 15), ("Dense", 15)),
        rrf(60),
        ("Top", "select", {"k": 10}),
        ("Mmr", "select", {"k": 5, "lambda_": 0.7}),
        GENERATE,
    ],
    "multi_query": [
        rewritten(*MULTI_QUERY),
        searched(("Dense", 5)),
        ("WeightedFusion", "fuse", {"weighting": "linear", "step": 0.05, "weights": [], "combine": "max"}),
        ("Top", "select", {"k": 8}),
        GENERATE,
    ],
    "contextual": [
        searched(("Bm25", 50), ("Dense", 50), enriched=True),
        rrf(60, [["bm25", 0.4], ["dense", 0.6]]),
        ("Top", "select", {"k": 5}),
        GENERATE,
    ],
    "rag_msr": [
        ("AnalyseQuery", "transform", {}),
        rewritten("paraphrasing", "aspect_specific", "entity_aware"),
        searched(("Dense", 5)),
        ("Rerank", "rerank", {}),
        ("Top", "select", {"k": 3}),
        ("MaxFusion", "fuse", {}),
        ("LlmRerank", "rerank", {"template": ("judge_passage", 0.0)}),
        ("Blend", "rerank", {"alpha": 0.4}),
        ("Threshold", "select", {"theta": 0.5}),
        ("Top", "select", {"k": 5}),
        GENERATE,
    ],
    "ensemble": [
        rewritten("expanded", keep_question=True),
        searched(("Bm25", 100), ("Dense", 100), ("Asked", 100)),
        rrf(20, rewrites=0.5),
        ("Top", "select", {"k": 100}),
        ("Rerank", "rerank", {}),
        ("RerankByQuestions", "rerank", {"weight": 15.0}),
        ("Spread", "select", {"weight": 0.85}),
        ("Top", "select", {"k": 8}),
        GENERATE,
    ],
}


CONTROLS = [(recipe, control) for recipe in RECIPES.values() for control in recipe.controls]
every_recipe = for_each("recipe", RECIPES.values(), ids=RECIPES)
every_control = for_each(
    ("recipe", "control"), CONTROLS, ids=[f"{recipe.name}.{control.name}" for recipe, control in CONTROLS]
)
NUMBERS = [(recipe, control) for recipe, control in CONTROLS if isinstance(control, Number)]
every_number = for_each(
    ("recipe", "control"), NUMBERS, ids=[f"{recipe.name}.{control.name}" for recipe, control in NUMBERS]
)
PRESETS = [(recipe, preset) for recipe in RECIPES.values() for preset in recipe.presets]
every_preset = for_each(
    ("recipe", "preset"), PRESETS, ids=[f"{recipe.name}.{preset.name}" for recipe, preset in PRESETS]
)


def shown(params: Any) -> Any:
    """A stage's parameters with each template as (name, temperature)."""
    if isinstance(params, Mapping):
        if set(params) == {"name", "text", "temperature"}:
            return params["name"], params["temperature"]
        return {name: shown(value) for name, value in params.items()}
    return [shown(value) for value in params] if isinstance(params, list) else params


def retrieve(services: Services, name: str, question: str = QUESTION, **values: object) -> Trace:
    """What a strategy finds, without its answer."""
    return build((name, values)).without_answer().run(question, services)


def run(services: Services, recipe: Recipe, question: str = QUESTION, **values: object) -> Trace:
    return recipe.build(**values).run(question, services)
