"""Every control that another one caps is named in a warning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest
from helpers.fakes import QUESTION, score, talker

from rag_core.catalog import RECIPES, build
from rag_core.pipeline.strategy import Strategy
from rag_core.runtime.context import Context
from rag_core.runtime.services import Services
from rag_core.stages import Bm25, Dense, Generate, ReciprocalRankFusion, Retrieve, SelectStage, Top
from rag_core.testing import sample_services
from rag_core.testing.collection import PASSAGES
from rag_core.values.trace import Trace
from rag_core.values.types import Hit, Ranking


def run(full: Services, name: str, values: Mapping[str, object], question: str = QUESTION) -> Trace:
    llm = talker(judge_passage=score(90))
    return build((name, values)).run(question, replace(full, llms=dict.fromkeys(full.llms, llm)))


CAPPED = [
    ("hybrid_rrf", {"k_rrf_pool": 3, "k_final": 8}, "k_final is 8, but k_rrf_pool passes on only 3."),
    ("hybrid_rrf", {"k_rrf_pool": 3, "k_final": 8, "mmr": False}, "k_final is 8, but k_rrf_pool passes on only 3."),
    (
        "hybrid_rrf",
        {"k_bm25_candidates": 4, "k_semantic_candidates": 3, "k_rrf_pool": 8, "k_final": 2},
        "k_rrf_pool is 8, but k_bm25_candidates and k_semantic_candidates pass on only 7 (4 + 3).",
    ),
    ("multi_query", {"k_per_query": 2, "k_final": 12}, "k_final is 12, but k_per_query passes on only 6 (3 × 2)."),
    (
        "rag_msr",
        {"k_final": 50, "k_per_query": 2, "theta": 0},
        "m_per_query is 3, but k_per_query passes on only 2.\nk_final is 50, but k_per_query passes on only 6 (3 × 2).",
    ),
    ("rag_msr", {"k_final": 4, "m_per_query": 1}, "k_final is 4, but m_per_query passes on only 3 (3 × 1)."),
    (
        "rag_msr",
        {"prompt_set": "none", "rerank": False, "k_final": 5, "k_per_query": 3},
        "k_final is 5, but k_per_query passes on only 3.",
    ),
    (
        "contextual",
        {"search_type": "vector", "k_candidates": 3},
        "k_final is 5, but k_candidates passes on only 3.",
    ),
]


@pytest.mark.parametrize(("name", "values", "warnings"), CAPPED, ids=lambda value: str(value)[:60])
def test_a_control_that_another_one_caps_is_named_with_it(full, name, values, warnings):
    trace = run(full, name, values)
    assert list(trace.warnings) == trace.as_json()["warnings"] == warnings.split("\n")


def test_what_several_searches_find_twice_is_no_controls_fault(full):
    """3 × 15 passages of a collection of 42: some are found twice."""
    trace = run(full, "multi_query", {"k_final": 45, "k_per_query": 15})
    assert len(trace.ranking) == len({hit.id for ranking in trace.steps[1].after.rankings for hit in ranking}) < 45
    assert trace.warnings == ()


def test_few_matching_passages_are_no_controls_fault(full):
    few = run(full, "bm25", {"k_final": 40}, "horses snow")
    assert 0 < len(few.ranking) < 40
    assert few.warnings == ()


def test_what_theta_drops_is_no_shortage(full):
    llm = talker()
    trace = build(("rag_msr", {"theta": 0.6})).run(QUESTION, replace(full, llms=dict.fromkeys(full.llms, llm)))
    assert 0 < len(trace.ranking) < 5
    assert trace.warnings == ()


def test_nothing_found_has_its_own_sentence(full):
    assert run(full, "bm25", {}, "zebra xylophone").warnings == ()


@pytest.mark.parametrize("name", RECIPES)
def test_the_defaults_warn_of_nothing(full, name):
    """Nor of a collection with fewer passages than are used."""
    for services in (full, sample_services(PASSAGES[:4]), sample_services(PASSAGES[:6])):
        trace = run(services, name, {})
        assert [one for one in trace.warnings if " is " in one and ", but " in one] == []


def test_stages_without_controls_are_named_by_themselves(full):
    stages = (Retrieve((Bm25(k=2), Dense(k=2))), ReciprocalRankFusion(), Top(9))
    trace = Strategy("mine", stages).run(QUESTION, full)
    assert trace.warnings == ("k of Top is 9, but k of bm25 and k of dense pass on only 4 (2 × 2).",)


def test_what_a_control_is_called_is_no_part_of_a_fingerprint():
    assert Top(5, "k_final") == Top(5)
    assert repr(Dense(control="k_final")) == repr(Dense())
    assert Strategy("a", (Retrieve((Dense(control="x"),)),)).stages[0].params == {
        "retrievers": [{"retriever": "Dense", "k": 5, "enriched": False}],
        "deduplicate": True,
    }


@dataclass(frozen=True)
class EachDocument(SelectStage):
    """A cut that another package might bring."""

    n: int = 9
    control: str = field(default="n_documents", compare=False, repr=False)

    @property
    def most(self) -> int:
        return self.n

    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        seen = {hit.passage.doc_id: hit for hit in reversed(ranking.hits)}
        return [hit for hit in ranking if seen[hit.passage.doc_id] is hit][: self.n]


def test_a_cut_of_another_package_is_named_by_its_own_control():
    found = (Retrieve((Bm25(k=3, control="k_bm25"),)), EachDocument())
    trace = Strategy("mine", (*found, Generate())).run("cats sleep", sample_services())
    assert "n_documents is 9, but k_bm25 passes on only 3." in trace.warnings
    deep = (Retrieve((Bm25(k=9, control="k_bm25"),)), EachDocument(n=2), Top(4, "k_final"))
    trace = Strategy("mine", (*deep, Generate())).run("cats sleep", sample_services())
    assert "k_final is 4, but n_documents passes on only 2." in trace.warnings
