"""Moving the controls of one result: what a move would ask of models is known beforehand, and what it changed after."""

from collections import Counter
from dataclasses import replace

import pytest
from helpers.controls import every_recipe
from helpers.fakes import QUESTION, talker
from helpers.silenced import silenced

from rag_core.catalog import build
from rag_core.explain import Tuner, Work, answer_changes, rank_changes, tipping, tipping_points
from rag_core.explain.tipping import CALLS
from rag_core.pipeline.stream import collect, stream
from rag_core.runtime.services import Services
from rag_core.values.answers import Answer, Grounded
from rag_core.values.trace import Trace


def retrieve(full: Services, name: str, **values: object) -> Trace:
    return build((name, values)).without_answer().run(QUESTION, full)


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
        assert [(hit.id, hit.score) for hit in move.trace.ranking] == [
            (hit.id, hit.score) for hit in again.ranking
        ]


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
