from collections.abc import Mapping
from dataclasses import replace

import pytest
from helpers.controls import every_recipe
from helpers.fakes import QUESTION
from helpers.silenced import silenced

from rag_core.catalog import build
from rag_core.explain import fates, why_not
from rag_core.indexing import CorpusIndex
from rag_core.runtime.services import Services
from rag_core.values.errors import InputError
from rag_core.values.trace import Trace
from rag_core.values.types import Passage


def retrieve(full: Services, name: str, **values: object) -> Trace:
    return build((name, values)).without_answer().run(QUESTION, full)


@pytest.fixture
def passages(many: tuple[CorpusIndex, CorpusIndex]) -> Mapping[str, Passage]:
    return many[0].passages


@every_recipe
def test_every_passage_of_the_collection_has_a_reason_and_no_model_is_called(full, passages, recipe):
    trace = recipe.build().without_answer().run(QUESTION, full)
    retrieved = {fate.passage.id: fate for fate in fates(trace)}
    for identity in passages:
        told = why_not(trace, identity, silenced(full), passages)
        assert told.passage.id == identity
        assert told.fate == retrieved.get(identity)
        assert told.text.endswith(".")
        if told.fate is None:
            searches = [ranking for step in trace.steps if step.kind == "retrieve" for ranking in step.after.rankings]  # fmt: skip
            assert [(one.retriever, one.query) for one in told.searches] == [
                (ranking.retriever, ranking.query.text) for ranking in searches
            ]


@pytest.mark.parametrize("name", ["simple_semantic", "bm25", "hyde"])
def test_the_rank_is_the_one_a_deeper_search_gives(full, passages, name):
    trace, deep = retrieve(full, name, k_final=3), retrieve(full, name, k_final=42)
    last = trace.ranking.hits[-1].score
    for rank, hit in enumerate(deep.ranking.hits[3:], start=4):
        (missed,) = why_not(trace, hit.id, full, passages).searches
        assert missed.score == pytest.approx(hit.score, abs=1e-6)
        assert missed.rank is not None
        there = deep.ranking.hits[missed.rank - 1].score
        assert missed.rank == rank or there == pytest.approx(hit.score, abs=1e-6), "equal but for rounding"
        assert (missed.admitted, missed.last) == (3, last)


def test_a_sentence_for_a_passage_that_was_not_retrieved(full, passages):
    trace, deep = retrieve(full, "bm25", k_final=3), retrieve(full, "bm25", k_final=4)
    fourth, last = deep.ranking.hits[3], trace.ranking.hits[-1]
    assert why_not(trace, fourth.id, full, passages).text == (
        f"Never retrieved: BM25: rank 4, score {fourth.score:.2f}, the last of 3 returned has {last.score:.2f}."
    )


def test_a_passage_without_a_word_of_the_question(full, passages):
    trace = build("bm25").without_answer().run("snow", full)
    without = next(name for name, one in passages.items() if "snow" not in one.text)
    assert why_not(trace, without, full, passages).text == "Never retrieved: BM25: it has none of the query's words."  # fmt: skip


def test_a_retrieved_passage_has_its_fate(full, passages):
    trace = retrieve(full, "hybrid_rrf")
    used = why_not(trace, trace.ranking.hits[1].id, full, passages)
    assert (used.text, used.searches) == ("Used at 2.", ())


def test_a_large_corpus_tells_the_score_without_the_rank(full, passages, monkeypatch):
    trace = retrieve(full, "simple_semantic", k_final=1)
    missing = next(name for name in passages if name != trace.ranking.hits[0].id)
    (exact,) = why_not(trace, missing, full, passages).searches
    monkeypatch.setattr("rag_core.explain.fate.MOST_RANKED", 10)
    (missed,) = why_not(trace, missing, full, passages).searches
    assert missed == replace(exact, rank=None, score=missed.score, text=missed.text)
    assert missed.score == pytest.approx(exact.score, abs=1e-6)  # one vector's product, not a matrix's
    assert "rank" not in missed.text


def test_a_passage_of_another_corpus_is_refused(full, passages):
    with pytest.raises(InputError, match="no passage 'nobody'"):
        why_not(retrieve(full, "bm25"), "nobody", full, passages)
