"""The weight of each query as the fusion used it."""

from rag_core.catalog import build
from rag_core.explain import query_weights


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
