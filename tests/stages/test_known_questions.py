"""Retrieval and reranking by known questions, and what is decided by them for every column."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from rag_core.runtime.context import Context
from rag_core.stages import Asked, RerankByQuestions, Retrieve
from rag_core.testing import ranking_of, sample_context, sample_services
from rag_core.values.types import Hit, State


class Known:
    """Cosines by passage id, and how well the words of its questions tell each from the others."""

    def __init__(self, cosines: dict[str, float], words: dict[str, float] | None = None) -> None:
        self.cosines, self.words = cosines, words or {}

    def search(self, question: str, k: int) -> Sequence[Hit]:
        raise NotImplementedError

    def likeness(self, question: str, passages: Sequence[str]) -> Sequence[float | None]:
        return [self.cosines.get(one) for one in passages]

    def words_among(self, question: str, passages: Sequence[str]) -> Sequence[float | None]:
        return [self.words.get(one) for one in passages]


def knowing(cosines: dict[str, float], words: dict[str, float] | None = None) -> Context:
    return Context(replace(sample_services(), asked=Known(cosines, words)))


def test_each_vote_names_the_question_that_was_matched():
    after = Retrieve((Asked(k=2),))(State.start("What about fish?"), sample_context())
    (vote,) = after.ranking.hits[0].votes
    assert (vote.stage, vote.rank) == ("Asked", 1)
    assert vote.note == "What about Fish swim in schools and never close their eyes."


@pytest.mark.parametrize("alone", [True, False])
def test_without_known_questions_nothing_is_found_and_a_lone_search_says_so(alone):
    ctx = Context(replace(sample_services(), asked=None))
    after = Retrieve((Asked(k=2, alone=alone),))(State.start("What about fish?"), ctx)
    assert len(after.ranking) == 0
    assert [str(one) for one in ctx.meter.warnings] == alone * [
        "No questions are known that this corpus's passages answer."
    ]


def test_reranking_adds_the_weighted_likeness_to_the_standardised_score():
    found = ranking_of({"a": 3.0, "b": 2.0, "c": 1.0})  # mean 2, standard deviation (2/3) ** 0.5
    hits = list(RerankByQuestions(weight=2).rerank(found, knowing({"a": 0.1, "b": 0.9})))
    z = 1 / (2 / 3) ** 0.5
    # c has no known question: the mean of the others, 0.5
    assert [hit.score for hit in hits] == pytest.approx([z + 0.2, 0 + 1.8, -z + 1.0])
    assert [term.name for term in hits[0].terms] == ["standardised", "known questions", "their words"]
    assert [sum(one.value * one.weight for one in hit.terms) for hit in hits] == pytest.approx(
        [hit.score for hit in hits]
    )


def test_words_of_known_questions_count_among_the_first_ten_only():
    scores = {str(n): 12.0 - n for n in range(12)}
    asked = dict.fromkeys(scores, 0.0)
    hits = list(RerankByQuestions(weight=4).rerank(ranking_of(scores), knowing(asked, asked | {"9": 0.75, "10": 0.75})))
    told = {hit.id: [term.value * term.weight for term in hit.terms[2:]] for hit in hits}
    assert told["9"] == [4 * 0.75]
    assert told["10"] == told["11"] == []
    assert max(hits, key=lambda hit: hit.score).id == "9"  # 3 more than standard scores from -1.6 to 1.6


def test_equal_scores_are_reranked_by_the_questions_alone():
    hits = list(RerankByQuestions(weight=3).rerank(ranking_of({"a": 1.0, "b": 1.0}), knowing({"b": 0.5})))
    assert [hit.score for hit in hits] == pytest.approx([1.5, 1.5])


def test_a_corpus_without_known_questions_keeps_its_scores():
    ctx, found = Context(replace(sample_services(), asked=None)), ranking_of({"a": 3.0, "b": 2.0})
    assert list(RerankByQuestions().rerank(found, ctx)) == list(found)


def test_the_usual_hits_are_those_of_both_searches_each_once():
    ctx = sample_context()
    ids = [hit.id for hit in ctx.usual_hits("Fish in schools", 2)]
    by_question = [hit.id for hit in ctx.services.asked.search("Fish in schools", 2)]
    by_words = [hit.id for hit in ctx.services.index.lexical("Fish in schools", 2, 1.5, 0.75)]
    assert ids == list(dict.fromkeys([*by_question, *by_words]))
    assert Context(replace(ctx.services, asked=None)).usual_hits("Fish in schools", 2) == ()
