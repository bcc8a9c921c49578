"""Equal text in two documents is one candidate that names both, or two where the control keeps them apart."""

from dataclasses import replace

import pytest
from helpers.looping import for_each
from llama_index.core.schema import NodeWithScore, TextNode

import rag_core
from rag_core.catalog import RECIPES, build
from rag_core.evaluation.records import Record
from rag_core.explain import fates, summary_of_fates
from rag_core.llamaindex import as_nodes
from rag_core.stages import Dense, Retrieve
from rag_core.testing.collection import PASSAGES, sample_context, sample_services
from rag_core.values.packed import pack, unpack
from rag_core.values.sources import Source
from rag_core.values.trace import Trace
from rag_core.values.types import Passage, State

WHO, NICE = Source("WHO", "Antenatal care", 2016), Source("NICE", "Antenatal care", 2021)
CALL = "Call the stable at once."
HANDBOOK = Passage("a", "handbook", "Handbook", CALL, heading="Help", source=str(WHO), sources=(WHO,))
LEAFLET = Passage("b", "leaflet", "Leaflet", CALL, source=str(NICE), sources=(NICE,))
OTHER = Passage("c", "other", "Other", "A stable is warm.")
FILLERS = [replace(OTHER, id=f"f{n}", doc_id=f"f{n}", text=f"Cats hunt mouse {n}.") for n in range(9)]
BOTH = f"{WHO}. Also in “Leaflet” ({NICE})"


THREE = {"k_bm25_candidates": 3, "k_semantic_candidates": 3}


def asked(strategy: str = "hybrid_rrf", **values: object) -> Trace:
    chosen = build((strategy, {**THREE, **values})).without_answer()
    return chosen.run("Call the stable", sample_services([HANDBOOK, LEAFLET, OTHER, *FILLERS]))


def test_fusion_builds_its_pool_of_different_texts():
    trace = asked(mmr=False)
    first, second = trace.ranking
    assert (first.id, second.id) == ("a", "c")
    assert first.score == pytest.approx(1 / 61 + 1 / 61)  # first in both lists
    assert second.score == pytest.approx(1 / 62 + 1 / 62)  # second: no copy stands before it
    assert [len(ranking) for ranking in trace.steps[0].after.rankings] == [2, 2]
    apart = asked(mmr=False, deduplicate=False)
    assert {hit.id for hit in apart.ranking} == {"a", "b", "c"}
    assert not any(hit.passage.copies for hit in apart.ranking)


def test_the_passage_names_all_its_sources():
    trace = asked()
    passage = trace.ranking.hits[0].passage
    assert (passage.source, passage.sources, passage.copies) == (BOTH, (WHO, NICE), (LEAFLET,))
    context, *_ = trace.as_json()["contexts"]
    assert context["source"] == BOTH
    assert as_nodes(trace.ranking)[0].metadata["source"] == BOTH
    assert unpack(pack(trace)).ranking == trace.ranking
    plain = replace(HANDBOOK, source="", title="Help", heading="")
    named = plain.with_copies([replace(plain, id="b", doc_id="leaflet")]).source
    assert named == "“Help [handbook]”. Also in “Help [leaflet]”"


def test_its_copy_met_a_fate_of_its_own():
    trace = asked(k_final=1)
    told = {fate.passage.id: (fate.kind, fate.text, fate.stage, fate.near) for fate in fates(trace)}
    assert told["b"] == ("merged", "same text as passage 1, and named there", "Bm25 ∥ Dense", "a")
    assert summary_of_fates(fates(trace)) == "3 passages: 1 used, 1 cut by MMR, 1 of equal text with another"


def test_a_found_copy_counts_for_both_documents_in_an_evaluation():
    assert Record.of("1", asked()).ranked == ("handbook", "leaflet", "other")


def test_the_best_score_of_its_copies_counts():
    """The copy whose title has the question's words scores higher, but the lowest id stands for both."""
    titled = replace(LEAFLET, title="Call the stable")
    services = sample_services([HANDBOOK, titled])
    state, ctx = State.start("Call the stable"), sample_context(services)
    apart, together = (Retrieve((Dense(k=2),), deduplicate)(state, ctx).rankings[0] for deduplicate in (False, True))
    assert [hit.id for hit in apart] == ["b", "a"]
    assert [(hit.id, hit.score) for hit in together] == [("a", apart.hits[0].score)]


def test_one_sentence_about_a_mother_and_a_baby_stays_two():
    of_baby = replace(LEAFLET, patient="baby")
    state, ctx = State.start("Call the stable"), sample_context(sample_services([HANDBOOK, of_baby]))
    (found,) = Retrieve((Dense(k=5),))(state, ctx).rankings
    assert {hit.id for hit in found} == {"a", "b"}


@for_each("name", RECIPES)
def test_no_strategy_uses_one_text_twice(name):
    """With every passage of the sample in a second document."""
    copies = [replace(one, id=f"{one.id}-copy", doc_id="leaflet") for one in PASSAGES]
    services = sample_services((*PASSAGES, *copies))
    for deduplicate in (True, False):
        chosen = build((name, {"deduplicate": deduplicate})).without_answer()
        texts = [hit.passage.text for hit in chosen.run("stable horses", services).ranking]
        assert (len(texts) == len(set(texts))) is deduplicate
        assert texts


def test_without_equal_texts_it_changes_nothing():
    for name in RECIPES:
        on, off = (
            build((name, {"deduplicate": value})).without_answer().run("stable horses", sample_services(PASSAGES[:-1]))
            for value in (True, False)
        )
        assert [step.after for step in on.steps] == [step.after for step in off.steps]


def test_the_seeds_fusion_takes_equal_texts_as_one():
    def node(identity: str, text: str) -> NodeWithScore:
        return NodeWithScore(node=TextNode(id_=identity, text=text), score=1.0)

    fused = rag_core.reciprocal_rank_fusion(
        [[node("a", CALL), node("c", "Other.")], [node("d", "Third."), node("b", CALL)]]
    )
    assert [found.node.node_id for found in fused] == ["a", "d", "c"]
    assert fused[0].score == pytest.approx(1 / 61 + 1 / 62)
