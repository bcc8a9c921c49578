"""Every control of every strategy moved once: what must change, and what must not while it cannot act."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from helpers.controls import CONTROLS, DEFAULTS, every_control, run
from helpers.fakes import KEYWORDS, QUESTION
from helpers.looping import for_each

from rag_core.catalog import RECIPES, format_value
from rag_core.testing.collection import PASSAGES, sample_services
from rag_core.values.trace import Trace


@dataclass(frozen=True)
class Move:
    """A control's other value, what of the result must then differ, and in which setting."""

    value: object
    differs: str
    question: str = QUESTION
    base: Mapping[str, object] = field(default_factory=dict)
    copied: bool = False  # whether it takes passages that stand in two documents


MOVES: dict[tuple[str, str], Move] = {
    ("simple_semantic", "k_final"): Move(2, "membership"),
    ("bm25", "k_final"): Move(2, "membership"),
    ("bm25", "k1"): Move(0.0, "scores"),
    ("bm25", "b"): Move(0.0, "scores"),
    ("hyde", "k_final"): Move(2, "membership"),
    ("hyde", "include_question"): Move(False, "scores"),
    ("hyde", "hypotheses"): Move(3, "sent"),
    ("hyde", "rewriter_temperature"): Move(0.5, "queries"),
    ("question_index", "k_final"): Move(2, "membership"),
    ("hybrid_rrf", "k_bm25_candidates"): Move(1, "votes"),
    ("hybrid_rrf", "k_semantic_candidates"): Move(1, "scores"),
    ("hybrid_rrf", "rrf_k"): Move(0, "scores"),
    ("hybrid_rrf", "k_rrf_pool"): Move(2, "membership"),
    ("hybrid_rrf", "mmr"): Move(False, "order"),
    ("hybrid_rrf", "mmr_lambda"): Move(0.0, "order"),
    ("hybrid_rrf", "k_final"): Move(2, "membership"),
    ("multi_query", "templates"): Move(["standalone", "complications"], "queries"),
    ("multi_query", "rewriter_temperature"): Move(0.5, "queries"),
    ("multi_query", "k_per_query"): Move(2, "membership"),
    ("multi_query", "weighting"): Move("equal", "scores"),
    ("multi_query", "weight_step"): Move(0.5, "membership"),
    ("multi_query", "query_weights"): Move([0.1, 1.0, 1.0], "membership", base={"weighting": "custom"}),
    ("multi_query", "merge"): Move("sum", "scores", base={"k_per_query": 20}),
    ("multi_query", "k_final"): Move(3, "membership"),
    ("contextual", "transform"): Move(True, "queries"),
    ("contextual", "search_type"): Move("vector", "scores"),
    ("contextual", "enriched"): Move(False, "votes"),
    ("contextual", "k_candidates"): Move(1, "membership"),
    ("contextual", "vector_weight"): Move(0.0, "scores"),
    ("contextual", "bm25_weight"): Move(0.0, "scores"),
    ("contextual", "rrf_k"): Move(0, "scores"),
    ("contextual", "rerank"): Move(True, "order"),
    ("contextual", "k_final"): Move(2, "membership"),
    ("rag_msr", "prompt_set"): Move("improved", "queries"),
    ("rag_msr", "dynamic_analysis"): Move("off", "queries", KEYWORDS),
    ("rag_msr", "rewriter_temperature"): Move(0.5, "queries"),
    ("rag_msr", "k_per_query"): Move(1, "membership"),
    ("rag_msr", "rerank"): Move(False, "votes"),
    ("rag_msr", "m_per_query"): Move(1, "membership"),
    ("rag_msr", "judge"): Move(False, "scores"),
    ("rag_msr", "alpha"): Move(0.9, "scores"),
    ("rag_msr", "theta"): Move(0.65, "membership"),
    ("rag_msr", "k_final"): Move(2, "membership"),
    ("ensemble", "templates"): Move(["complications"], "queries"),
    ("ensemble", "rewriter_temperature"): Move(0.5, "queries"),
    ("ensemble", "rewrite_weight"): Move(0.0, "scores", base={"rerank": False}),
    ("ensemble", "k_candidates"): Move(1, "membership"),
    ("ensemble", "rrf_k"): Move(0, "scores", base={"rerank": False}),
    ("ensemble", "rerank"): Move(False, "scores"),
    ("ensemble", "k_rerank"): Move(2, "membership"),
    ("ensemble", "asked"): Move(False, "scores"),
    ("ensemble", "asked_weight"): Move(30, "scores"),
    ("ensemble", "k_final"): Move(2, "membership"),
}
COPIES = [replace(one, id=f"{one.id}-copy", doc_id="leaflet", title="Leaflet") for one in PASSAGES]
BRIEFLY = {"system": "Be brief.", "text": "{question}\n{sources}"}
BRIEF_REWRITE = {"system": "Be brief.", "text": "Again: {question}"}
MOVES |= {(name, "deduplicate"): Move(False, "membership", "stable horses", copied=True) for name in RECIPES}
MOVES |= {(name, "answer_prompt"): Move(BRIEFLY, "sent") for name in RECIPES} | {
    ("hyde", "hyde_prompt"): Move(BRIEF_REWRITE, "sent"),
    ("contextual", "transform_prompt"): Move(BRIEF_REWRITE, "sent", base={"transform": True}),
    ("rag_msr", "original_templates"): Move(["paraphrasing"], "queries"),
    ("rag_msr", "improved_templates"): Move(["clarification"], "queries", base={"prompt_set": "improved"}),
    ("rag_msr", "analysis_prompt"): Move(BRIEF_REWRITE, "sent", base={"dynamic_analysis": "model"}),
    ("rag_msr", "judge_prompt"): Move(BRIEFLY, "sent"),
}
SEEN: Mapping[str, Callable[[Trace], object]] = {
    "membership": lambda trace: {hit.id for hit in trace.ranking},
    "order": lambda trace: [hit.id for hit in trace.ranking],
    "scores": lambda trace: {hit.id: hit.score for hit in trace.ranking},
    "votes": lambda trace: {hit.id: hit.votes for hit in trace.ranking},
    "queries": lambda trace: [query.text for query in trace.final.queries],
    "sent": lambda trace: [(one.system, one.text) for step in trace.steps for one in step.exchanges],
}
# What each control needs before it acts, and a setting in which it does not.
IDLE: Mapping[tuple[str, str], tuple[Mapping[str, object], str]] = {
    ("hybrid_rrf", "mmr_lambda"): ({"mmr": False}, "Acts only while MMR is on."),
    ("multi_query", "weight_step"): (
        {"weighting": "equal"},
        "Acts only while “Weights of the rewrites” is set to linear.",
    ),
    ("multi_query", "query_weights"): (
        {"weighting": "linear"},
        "Acts only while “Weights of the rewrites” is set to custom.",
    ),
    ("contextual", "vector_weight"): (
        {"search_type": "vector"},
        "Acts only while “Search by” is set to hybrid.",
    ),
    ("contextual", "bm25_weight"): ({"search_type": "bm25"}, "Acts only while “Search by” is set to hybrid."),
    ("contextual", "rrf_k"): ({"search_type": "bm25"}, "Acts only while “Search by” is set to hybrid."),
    ("rag_msr", "dynamic_analysis"): (
        {"prompt_set": "none"},
        "Acts only while “Reformulations” is set to original, improved.",
    ),
    ("rag_msr", "rewriter_temperature"): (
        {"prompt_set": "none"},
        "Acts only while “Reformulations” is set to original, improved.",
    ),
    ("rag_msr", "m_per_query"): ({"rerank": False}, "Acts only while “Reranking” is on."),
    ("rag_msr", "alpha"): ({"judge": False}, "Acts only while “Relevance judge” is on."),
    ("rag_msr", "theta"): ({"judge": False}, "Acts only while “Relevance judge” is on."),
    ("ensemble", "k_rerank"): ({"rerank": False}, "Acts only while “Reranking” is on."),
    ("ensemble", "asked_weight"): ({"asked": False}, "Acts only while “Known questions” is on."),
    ("contextual", "transform_prompt"): (
        {"transform": False},
        "Acts only while “Question rewritten first” is on.",
    ),
    ("rag_msr", "original_templates"): (
        {"prompt_set": "improved"},
        "Acts only while “Reformulations” is set to original.",
    ),
    ("rag_msr", "improved_templates"): ({}, "Acts only while “Reformulations” is set to improved."),
    ("rag_msr", "analysis_prompt"): ({}, "Acts only while “Query analysis” is set to model."),
    ("rag_msr", "judge_prompt"): ({"judge": False}, "Acts only while “Relevance judge” is on."),
}

TYPES = {
    "int": int, "float": float, "bool": bool, "choice": str, "weights": list, "templates": list, "prompt": str | dict,
}  # fmt: skip


@every_control
def test_a_moved_control_acts(full, recipe, control):
    """The only walk of all controls that looks at results: what a move changes, its text, and its fingerprint."""
    case = (recipe.name, control.name)
    assert case in MOVES, f"add to MOVES a value of {'.'.join(case)} that changes a result, and what it changes"
    move, default = MOVES[case], DEFAULTS[recipe.name][control.name]
    services = sample_services((*PASSAGES, *COPIES)) if move.copied else full
    before = run(services, recipe, move.question, **move.base)
    after = run(services, recipe, move.question, **move.base, **{control.name: format_value(move.value)})
    seen = SEEN[move.differs]
    assert seen(before) != seen(after)
    assert seen(before) == seen(run(services, recipe, move.question, **move.base)), "the same twice"
    moved = after.controls[control.name]
    assert moved == move.value != default
    assert isinstance(moved, TYPES[control.type])
    assert isinstance(moved, bool) == (control.type == "bool")
    plain = recipe.build(**move.base)
    assert recipe.build(**move.base, **{control.name: move.value}).fingerprint != plain.fingerprint
    for same in (default, format_value(default)):
        built = recipe.build(**move.base, **{control.name: same})
        assert (built.fingerprint, built.controls) == (plain.fingerprint, plain.controls)


@for_each("case", IDLE, ids=map(".".join, IDLE))
def test_a_control_that_cannot_act_says_so_and_changes_nothing(full, case):
    recipe, (setting, reason) = RECIPES[case[0]], IDLE[case]
    control = next(control for control in recipe.controls if control.name == case[1])
    moved = {**setting, control.name: MOVES[case].value}
    assert recipe.idle(control, recipe.parse_values(setting)) == reason
    assert recipe.idle(control, recipe.parse_values(MOVES[case].base)) == ""
    assert recipe.build(**moved).fingerprint == recipe.build(**setting).fingerprint
    before, after = run(full, recipe, **setting), run(full, recipe, **moved)
    assert [step.after for step in before.steps] == [step.after for step in after.steps]
    assert after.controls[control.name] == MOVES[case].value


def test_only_controls_that_need_another_can_be_idle_and_no_case_is_of_one_that_is_gone():
    assert set(IDLE) == {(recipe.name, control.name) for recipe, control in CONTROLS if control.needs}
    assert set(MOVES) == {(recipe.name, control.name) for recipe, control in CONTROLS}
