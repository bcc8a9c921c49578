from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.stages import Spread
from rag_core.testing import ranking_of, sample_context
from rag_core.values.types import Ranking


def _ranking(rows: list[tuple[str, float]]) -> Ranking:
    """Passages 0, 1, ... of these documents with these scores."""
    ranking = ranking_of({str(at): score for at, (_, score) in enumerate(rows)})
    documents = {str(at): document for at, (document, _) in enumerate(rows)}
    hits = [replace(hit, passage=replace(hit.passage, doc_id=documents[hit.id])) for hit in ranking]
    return replace(ranking, hits=tuple(hits))


def _order(weight: float, rows: list[tuple[str, float]]) -> list[str]:
    return [hit.id for hit in Spread(weight).select(_ranking(rows), sample_context())]


def test_a_repeated_document_falls_behind_a_new_one_worth_more_than_its_discounted_share():
    # shares of the range 4: 1, 0.75, 0.5, 0.25, 0; a's second is worth 0.75 w, its third 0.5 w²
    rows = [("a", 5.0), ("a", 4.0), ("a", 3.0), ("b", 2.0), ("c", 1.0)]
    assert _order(0.9, rows) == ["0", "1", "2", "3", "4"]  # 1, 0.675, 0.405, 0.25, 0
    assert _order(0.6, rows) == ["0", "1", "3", "2", "4"]  # 1, 0.45, 0.18, 0.25, 0
    assert _order(0.3, rows) == ["0", "3", "1", "2", "4"]  # 1, 0.225, 0.045, 0.25, 0


@pytest.mark.parametrize("factor", [0.01, 1.0, 1000.0])
def test_neither_unit_nor_zero_of_the_scores_matters(factor):
    rows = [("a", 5.0), ("a", 4.0), ("b", 3.0), ("c", 1.0)]
    assert _order(0.5, [(name, factor * score - 7) for name, score in rows]) == _order(0.5, rows)


def test_equal_scores_are_ordered_by_how_often_their_document_came_before():
    assert _order(0.5, [("a", 2.0), ("a", 2.0), ("b", 2.0)]) == ["0", "2", "1"]


def test_an_empty_ranking_stays_empty():
    assert _order(0.9, []) == []


def test_scores_stay_and_the_stage_votes_for_the_new_ranks():
    after = Spread(0.3).select(_ranking([("a", 3.0), ("a", 2.0), ("b", 1.9), ("c", 1.0)]), sample_context())
    assert [(hit.id, hit.score) for hit in after] == [("0", 3.0), ("2", 1.9), ("1", 2.0), ("3", 1.0)]
    assert [vote.rank for hit in after if (vote := hit.vote("Spread"))] == [1, 2, 3, 4]


ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.floats(-1e3, 1e3)), max_size=20)


@given(ROWS, st.floats(0, 1))
def test_no_passage_is_lost_and_each_document_keeps_its_own_order(rows, weight):
    ranking = _ranking(rows)
    after = Spread(weight).select(ranking, sample_context())
    assert Counter(hit.id for hit in after) == Counter(hit.id for hit in ranking)
    for document in "abc":
        assert [hit.id for hit in after if hit.passage.doc_id == document] == [
            hit.id for hit in ranking if hit.passage.doc_id == document
        ]


@given(ROWS)
def test_weight_1_keeps_the_order(rows):
    assert _order(1.0, rows) == [hit.id for hit in _ranking(rows)]
