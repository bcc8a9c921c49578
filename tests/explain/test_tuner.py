"""What a moved control changes, and why a passage is not among those used, without a model call."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest
from helpers.controls import every_recipe, retrieve
from helpers.fakes import QUESTION, talker
from helpers.silenced import silenced

from rag_core.catalog import build
from rag_core.explain import (
    Tuner,
    Work,
    answer_changes,
    fates,
    rank_changes,
    tipping,
    tipping_points,
    why_not,
)
from rag_core.explain.tipping import CALLS
from rag_core.indexing import CorpusIndex
from rag_core.pipeline.stream import collect, stream
from rag_core.values.answers import Answer, Grounded
from rag_core.values.errors import InputError
from rag_core.values.types import Passage


def asked(works: tuple[Work, ...]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for work in works:
        counts[work.purpose] += work.calls
    return counts


@pytest.mark.parametrize(
    ("name", "moved"),
    [
        ("multi_query", {"templates": ["standalone", "complications"]}),
        ("multi_query", {"rewriter_temperature": 0.5}),
        ("hyde", {"include_question": False}),
        ("contextual", {"transform": True}),
        ("rag_msr", {"prompt_set": "improved"}),
        ("rag_msr", {"m_per_query": 1}),
    ],
)
def test_what_a_setting_needs_is_what_a_run_of_it_then_asks(full, name, moved):
    trace = retrieve(full, name)
    move = Tuner(trace, silenced(full), full).move(moved)
    assert (move.trace, move.calls) == (None, 0)
    llm = talker()
    services = replace(full, llms=dict.fromkeys(full.llms, llm))
    strategy = build((name, {**trace.controls, **moved})).without_answer()
    collect(stream(QUESTION, [strategy], services, reuse=[trace]))
    needed = asked(move.needs)
    assert {purpose: needed[purpose] for purpose in ("rewrite", "judge") if needed[purpose]} == llm.purposes


@every_recipe
def test_a_control_without_a_tipping_point_because_it_calls_a_model_says_which(full, recipe):
    trace = retrieve(full, recipe.name)
    reach = Tuner(trace, silenced(full), full).reach
    assert set(reach) == {control.name for control in recipe.controls}
    for tips in tipping_points(trace, silenced(full)):
        control = tips.control.partition("[")[0]
        assert bool(reach[control]) or tips.why_not != CALLS


def test_a_long_session_forgets_its_settings_and_not_the_result(full, monkeypatch):
    monkeypatch.setattr(tipping, "MOST_KEPT", 3)
    trace = retrieve(full, "hybrid_rrf")
    bench = Tuner(trace, silenced(full), full)
    lengths = [len(bench.move({"k_final": k}).trace.ranking) for k in (1, 2, 3, 4, 1, 2, 3)]
    assert lengths == [1, 2, 3, 4, 1, 2, 3]


def test_tips_around_a_move_are_those_of_a_run_there(full):
    trace = retrieve(full, "hybrid_rrf", k_rrf_pool=20)
    bench = Tuner(trace, silenced(full), full)
    moved = bench.move({"mmr_lambda": 0.3}).trace
    assert moved
    there = tipping_points(retrieve(full, "hybrid_rrf", k_rrf_pool=20, mmr_lambda=0.3), full)
    assert [one for _, tips in bench.tips(moved) for one in tips] == list(there)


def test_the_lab_moves_as_it_answers_what_if(lab):
    trace = lab.run("When is anti-D given?", "hybrid_rrf")
    bench = lab.tuner(trace)
    for values in ({"mmr_lambda": 0.1}, {"k_bm25_candidates": 40}, {"rrf_k": 3, "mmr": False}):
        move = bench.move(values)
        assert move.trace
        assert move.calls == 0
        assert bench.move(**values).trace == move.trace
        again = lab.what_if(trace, **values)
        assert [(hit.id, hit.score) for hit in move.trace.ranking] == [(hit.id, hit.score) for hit in again.ranking]


def test_passages_enter_leave_and_move(full):
    before = retrieve(full, "hybrid_rrf", mmr_lambda=1.0, k_rrf_pool=20)
    after = retrieve(full, "hybrid_rrf", mmr_lambda=0.1, k_rrf_pool=20)
    was, now = ([hit.id for hit in trace.ranking] for trace in (before, after))
    assert was != now
    changes = rank_changes(before, after)
    assert [one.passage.id for one in changes] == now + [name for name in was if name not in now]
    for one in changes:
        name = one.passage.id
        assert one.before == (was.index(name) + 1 if name in was else None)
        assert one.after == (now.index(name) + 1 if name in now else None)
        expected = (
            "entered" if one.before is None
            else "left" if one.after is None
            else "same" if one.after == one.before
            else "up" if one.after < one.before
            else "down"
        )  # fmt: skip
        assert one.kind == expected
        assert one.fate.startswith(f"used at {one.after}" if one.after else "cut by MMR")


@pytest.mark.parametrize(
    ("name", "moved", "why"),
    [
        ("bm25", {"k_final": 3}, "cut by the 3-passage limit"),
        ("simple_semantic", {"k_final": 3}, "cut by the 3-passage limit"),
        ("bm25", {"k_final": 3, "b": 0.0}, "cut by the 3-passage limit"),
        ("multi_query", {"templates": ["standalone"]}, "no search found it"),
    ],
)
def test_a_passage_below_the_depth_of_a_search_was_cut_by_that_depth(full, name, moved, why):
    before, after = retrieve(full, name), retrieve(full, name, **moved)
    gone = [one for one in rank_changes(before, after) if one.kind == "left"]
    assert gone
    assert {one.fate for one in gone} == {why}


def test_an_answer_is_compared_by_its_sentences_and_not_by_its_numbers():
    def said(*sentences: str, n: int) -> Answer:
        grounded = tuple(Grounded(0, 0, text, "supported", (n,), n) for text in sentences)
        return Answer(" ".join(f"{text} [{n}]" for text in sentences), sentences=grounded)

    changes = answer_changes(said("Rest.", "Drink.", n=1), said("Drink.", "Call.", n=2))
    assert [(one.text, one.kind) for one in changes] == [
        ("Drink.", "same"),
        ("Call.", "new"),
        ("Rest.", "gone"),
    ]


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
    trace = retrieve(full, "bm25", "snow")
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
