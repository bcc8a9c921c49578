from helpers.looping import for_each

from rag_core.catalog import RECIPES, build
from rag_core.explain.flow import outline


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
