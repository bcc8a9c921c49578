import math
import random

from helpers.controls import every_recipe, retrieve
from helpers.looping import for_each
from helpers.questions import random_questions, random_values

from rag_core.catalog import RECIPES, build
from rag_core.explain import decompose, query_weights
from rag_core.explain.flow import outline


@every_recipe
def test_the_parts_add_up_to_the_score(full, recipe):
    chosen = random.Random(recipe.name)
    for question in random_questions(25):
        trace = recipe.build(**random_values(recipe, chosen)).without_answer().run(question, full)
        for hit in trace.ranking:
            lines = decompose(trace, hit.id)
            assert [(line.stage, line.rank, line.score) for line in lines] == [
                (vote.stage, vote.rank, vote.score) for vote in hit.votes
            ]
            for line in lines:
                if line.scale in ("rrf", "weighted_cosine", "s_final", "mmr"):
                    total = math.fsum(part.value for part in line.parts if part.counted)
                    assert line.parts
                    assert math.isclose(total, line.score, rel_tol=1e-12, abs_tol=1e-12)


def test_a_share_of_rrf_is_weight_over_k_plus_rank(full):
    trace = retrieve(full, "contextual", **{"rrf_k": 7})
    best = trace.ranking.hits[0]
    lexical, dense = (
        next(rank for rank, hit in enumerate(ranking, start=1) if hit.id == best.id)
        for ranking in trace.steps[0].after.rankings
    )
    *_, fused = decompose(trace, best.id)
    assert [(part.name, part.formula) for part in fused.parts] == [
        ("bm25", f"0.4 / (7 + {lexical})"),
        ("dense", f"0.6 / (7 + {dense})"),
    ]
    assert [part.value for part in fused.parts] == [0.4 / (7 + lexical), 0.6 / (7 + dense)]


def test_where_the_best_part_counts_the_others_are_shown_and_do_not(full):
    trace = retrieve(full, "multi_query", **{"k_per_query": 42, "merge": "max"})
    line = decompose(trace, trace.ranking.hits[0].id)[-1]
    assert [part.name for part in line.parts] == [
        "dense · standalone",
        "dense · synonyms",
        "dense · expanded",
    ]
    assert sum(part.counted for part in line.parts) == 1
    assert line.score == max(part.value for part in line.parts)
    first = retrieve(full, "multi_query", **{"k_per_query": 42, "merge": "first"})
    line = decompose(first, first.ranking.hits[0].id)[-1]
    assert [part.counted for part in line.parts] == [True, False, False]


def test_both_parts_of_s_final_and_the_judges_reason(full):
    trace = retrieve(full, "rag_msr", **{"alpha": 0.4, "theta": 0})
    lines = decompose(trace, trace.ranking.hits[0].id)
    judged = next(line for line in lines if line.stage == "LlmRerank")
    cosine, final = [line for line in lines if line.stage == "Blend"]
    assert judged.note == "It shares words."
    assert [part.name for part in final.parts] == ["cosine", "judge"]
    assert [part.value for part in final.parts] == [0.4 * cosine.score, (1 - 0.4) * judged.score]


def test_a_passage_that_was_never_retrieved_has_no_scores(full):
    assert decompose(retrieve(full, "bm25"), "nobody") == ()


def test_a_rewrite_has_the_weight_of_the_fusion_that_used_it(full):
    trace = build(("ensemble", {"rewrite_weight": 0.3})).run("Where do cats sleep at night?", full)
    question, rewrite = trace.final.queries
    assert query_weights(trace.steps) == {question.text: 1.0, rewrite.text: 0.3}


def test_custom_weights_stand_in_the_order_of_the_templates(full):
    values = {"weighting": "custom", "query_weights": [0.2, 1.5, 0.7]}
    trace = build(("multi_query", values)).run("Where do cats sleep at night?", full)
    assert list(query_weights(trace.steps).values()) == [0.2, 1.5, 0.7]


def test_there_is_no_weight_before_the_fusion_nor_where_it_weighs_nothing(full):
    multi = build("multi_query").run("Where do cats sleep at night?", full)
    assert query_weights(multi.steps[:2]) == {}  # Rewrite, Retrieve
    assert query_weights(build("rag_msr").run("Where do cats sleep at night?", full).steps) == {}


@for_each("name", list(RECIPES))
def test_every_stage_has_its_kind_its_parts_and_one_sentence(name):
    strategy = build(name)
    drawn = outline(strategy)
    assert [stage.kind for stage in drawn] == [stage.kind for stage in strategy.stages]
    names = [" ∥ ".join(part.name for part in stage.parts) for stage in drawn]
    assert names == [stage.name for stage in strategy.stages]
    for stage in drawn:
        for part in stage.parts:
            assert part.summary
            assert "`" not in part.summary
            assert not part.summary.endswith(".")


def test_parameters_that_are_set_are_shown():
    searches, fusion, *_ = outline(build(("contextual", {"k_candidates": 30})))
    assert [part.params for part in searches.parts] == [
        "keeps 30 · k1 1.5 · b 0.75 · passages with context", "keeps 30 · passages with context",
    ]  # fmt: skip
    assert fusion.parts[0].params == "RRF k 60 · BM25 0.4 · Dense 0.6"


def test_templates_are_shown_by_name():
    assert outline(build("multi_query"))[0].parts[0].params == "standalone, synonyms, expanded"
