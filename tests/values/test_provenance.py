"""What each query found, and which lists share a passage."""

from rag_core.values.provenance import QueryResults, results_by_query, shared_passages
from rag_core.values.types import Hit, Passage, Query, Ranking


def ranking(query: str, *ids: str) -> Ranking:
    return Ranking(Query(query), tuple(Hit(Passage(one, one, one, one), 1.0, "cosine") for one in ids))


def test_each_query_counts_its_passages_and_those_no_other_query_found():
    found = results_by_query(
        [ranking("cats", "a", "b"), ranking("dogs", "b", "c"), ranking("cats", "b", "d"), ranking("none")]
    )
    assert found == {"cats": QueryResults(3, 2), "dogs": QueryResults(2, 1), "none": QueryResults(0, 0)}


def test_nothing_searched_is_nothing_found():
    assert results_by_query([]) == {}


def test_the_most_widely_found_passages_come_first_then_the_best_ranked():
    rows = shared_passages([ranking("q", "c", "a", "b"), None, ranking("q", "d", "b")])
    assert [(row.passage.id, dict(row.ranks)) for row in rows] == [
        ("b", {0: 3, 2: 2}), ("c", {0: 1}), ("d", {2: 1}), ("a", {0: 2}),
    ]  # fmt: skip


def test_no_list_shares_nothing():
    assert shared_passages([None, ranking("q")]) == []
