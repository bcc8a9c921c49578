from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.values.trace import QueryResults, results_by_query, shared_passages
from rag_core.values.types import (
    Cost,
    Hit,
    ModelCall,
    Passage,
    Query,
    Ranking,
    State,
    Vote,
    ordered_votes,
    token_counts,
)

QUESTION = Query("which animal?")


def hit(identity: str, score: float, votes: tuple[Vote, ...] = ()) -> Hit:
    return Hit(Passage(identity, identity, "", f"text of {identity}"), score, "cosine", votes)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({}, []),
        ({"a": 0.0}, ["a"]),
        ({"c": 1.0, "a": 1.0, "b": 1.0}, ["a", "b", "c"]),
        ({"z": 2.0, "c": 1.0, "a": 1.0}, ["z", "a", "c"]),
        ({"doc:10:x": 1.0, "doc:2:x": 1.0}, ["doc:10:x", "doc:2:x"]),
        ({"b": 0.0, "a": -0.0}, ["a", "b"]),
    ],
    ids=["empty", "one", "all tied", "tied behind the best", "ids compare as text", "zero and minus zero"],
)
def test_equal_scores_are_ordered_by_passage_id(scores, expected):
    ranking = Ranking.sort(QUESTION, [hit(name, score) for name, score in scores.items()], "Dense")
    assert [found.id for found in ranking] == expected


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from([0.0, 0.5, 1.0])).flatmap(
        lambda scores: st.tuples(st.just(scores), st.permutations(sorted(scores)))
    )
)
def test_the_order_hits_come_in_never_matters(drawn):
    scores, order = drawn
    ranking = Ranking.sort(QUESTION, [hit(name, scores[name]) for name in order], "Dense")
    by_name = Ranking.sort(QUESTION, [hit(name, scores[name]) for name in sorted(scores)], "Dense")
    assert ranking == by_name


def test_sorting_gives_every_hit_one_vote_with_its_rank_from_one():
    ranking = Ranking.sort(QUESTION, [hit("a", 0.1), hit("b", 0.9)], "Dense")
    assert [found.votes for found in ranking] == [
        (Vote("Dense", "which animal?", 1, 0.9, "cosine"),),
        (Vote("Dense", "which animal?", 2, 0.1, "cosine"),),
    ]


def test_earlier_votes_are_kept_before_the_new_one():
    earlier = Vote("Bm25", "another query", 7, 3.25, "bm25")
    ranking = Ranking.sort(QUESTION, [hit("a", 0.4, (earlier,))], "Dense")
    assert ranking.hits[0].votes == (earlier, Vote("Dense", "which animal?", 1, 0.4, "cosine"))


def test_votes_can_follow_an_order_that_is_not_the_scores():
    with_votes = ordered_votes([hit("a", 0.1), hit("b", 0.9)], QUESTION, "Mmr")
    assert [(found.id, found.votes[0].rank, found.votes[0].score) for found in with_votes] == [
        ("a", 1, 0.1),
        ("b", 2, 0.9),
    ]


@pytest.mark.parametrize(
    ("title", "heading", "full", "indexed"),
    [
        ("Cats", "Sleep › Night", "Cats › Sleep › Night", "Cats › Sleep › Night\nThey nap."),
        ("Cats", "", "Cats", "Cats\nThey nap."),
        ("", "Sleep", "Sleep", "Sleep\nThey nap."),
        ("", "", "", "They nap."),
    ],
)
def test_title_and_headings_are_indexed_above_the_text(title, heading, full, indexed):
    passage = Passage("a:0:1", "a", title, "They nap.", heading)
    assert (passage.full_title, passage.indexed_text) == (full, indexed)


def test_before_retrieval_the_ranking_is_empty_and_belongs_to_the_question():
    assert State.start("which animal?").ranking == Ranking(QUESTION, ())


def test_a_state_with_several_rankings_has_no_single_one():
    two = replace(State.start("q"), rankings=(Ranking(QUESTION, ()), Ranking(QUESTION, ())))
    with pytest.raises(ValueError, match="too many values"):
        _ = two.ranking


def test_tokens_of_calls_are_summed_by_direction():
    calls = [
        ModelCall("answer", "m", 10, 3, None, "provider"),
        ModelCall("embed", "m", 5, 0, 0.0, "tokenizer"),
    ]
    assert token_counts(calls) == (15, 3)
    assert token_counts([]) == (0, 0)


@pytest.mark.parametrize(("cost", "free"), [(Cost(), True), (Cost(0.01), False), (Cost(0.0, 1), False)])
def test_only_what_is_known_to_cost_nothing_is_free(cost, free):
    assert cost.free is free


def test_a_passage_in_several_rankings_counts_once():
    rankings = tuple(Ranking(QUESTION, tuple(hit(one, 1.0) for one in ids)) for ids in ("ab", "bc"))
    assert State(QUESTION, (QUESTION,), rankings).passage_count == 3
    assert State.start("q").passage_count == 0


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
