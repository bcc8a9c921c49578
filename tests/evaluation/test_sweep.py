"""Sweeps: the scores of each setting alone, every control of every strategy, the winner and what it is told by."""

import dataclasses
import json
import random
import threading
from collections.abc import Callable

import numpy as np
import pytest
from helpers.controls import every_control, every_recipe
from helpers.fakes import CountingIndex, rewritten, talker
from helpers.judged import JUDGED
from helpers.looping import for_each
from hypothesis import given
from hypothesis import strategies as st

from rag_core import evaluation as ev
from rag_core.catalog import (
    RECIPES,
    Choice,
    Control,
    Number,
    PromptText,
    Switch,
    Templates,
    Weights,
    format_value,
)
from rag_core.documents.benchmark import Benchmark, Question
from rag_core.evaluation.sweep import MOST, sweep
from rag_core.evaluation.tuning import TuningProgress
from rag_core.pipeline.strategy import Strategy
from rag_core.runtime.context import Context
from rag_core.runtime.services import Services
from rag_core.stages import Dense, Retrieve, TransformStage
from rag_core.values.errors import ConfigError, Stopped
from rag_core.values.settings import read_settings
from rag_core.values.types import Query

HYBRID = RECIPES["hybrid_rrf"]
NDCG = ev.parse_metric("ndcg@10")


def scratch(strategy: Strategy, judged: Benchmark, services: Services) -> list[float]:
    """A setting's scores, each question run alone on the index itself."""
    scores = []
    for question in judged.measured:
        trace = strategy.run(question.text, services)
        ranked = list(dict.fromkeys(hit.passage.doc_id for hit in trace.ranking))
        scores.append(NDCG(ranked, judged.qrels[question.id]))
    return scores


def test_every_setting_gets_the_scores_it_gets_alone(services):
    axes = {
        "rrf_k": (0, 60),
        "mmr_lambda": (0.0, 0.5, 1.0),
        "k_semantic_candidates": (1, 3, 9),
        "k_final": (1, 4),
    }
    built = list(ev.settings_of(HYBRID, {}, ev.grid(axes)))
    swept = sweep(JUDGED, built, NDCG, lambda: services)
    assert swept.scores.shape == (36, 3)
    assert swept.questions == ("q1", "q2", "q3")
    for row, strategy in enumerate(swept.strategies):
        assert list(swept.scores[row]) == scratch(strategy, JUDGED, services)


def test_settings_of_a_thousand_on_the_built_in_questions(lab):
    """The real models, over every control at once; four dev questions here, all of them in the benchmark."""
    judged = ev.read_judged("builtin", "dev", lab.settings)
    few = dataclasses.replace(judged, questions=judged.measured[::30])
    axes = {
        control.name: ev.axis_values(control, control.min, min(control.max, 30))
        for control in HYBRID.controls
        if isinstance(control, Number)
    } | {"mmr": (True, False)}
    built = list(ev.settings_of(HYBRID, {}, ev.sample(axes, 60)))
    swept = sweep(few, built, NDCG, lab.services)
    for strategy in random.Random(1).sample(built, 4):
        row = swept.strategies.index(strategy)
        assert list(swept.scores[row]) == scratch(strategy, few, lab.services())


def test_one_retrieval_serves_every_setting(services, embedder):
    index = CountingIndex(services.index)
    counted = dataclasses.replace(services, index=index)
    axes = {"k_bm25_candidates": (1, 2, 3), "k_semantic_candidates": (1, 2, 3), "rrf_k": tuple(range(10))}
    embedder.asked.clear()  # the documents
    sweep(JUDGED, list(ev.settings_of(HYBRID, {}, ev.grid(axes))), NDCG, lambda: counted)  # fmt: skip
    assert sorted(index.asked) == ["dense"] * 3 + ["lexical"] * 3
    assert len(embedder.asked) == 3


def test_costs_are_those_of_each_setting_alone(services):
    @dataclasses.dataclass(frozen=True)
    class Paid(TransformStage):
        def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
            from test_consent import ASK

            ctx.complete(ASK.fill(question=question.text, sources=()))
            return (question,)

    from rag_core.stages import ReciprocalRankFusion

    settings = [Strategy("paid", (Paid(), Retrieve((Dense(k=k),)), ReciprocalRankFusion())) for k in (1, 2)]
    swept = sweep(JUDGED, settings, NDCG, lambda: services)
    assert list(swept.cost_usd) == [0.75, 0.75], "3 questions at 0.25 each, whoever paid"
    assert len(services.llms["rewrite"].prompts) == 3, "and each was sent once"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("rrf_k=1,10, 60", (1, 10, 60)),
        ("mmr_lambda=0:1:0.25", (0.0, 0.25, 0.5, 0.75, 1.0)),
        ("mmr_lambda=0:0.3:0.1", (0.0, 0.1, 0.2, 0.3)),
        ("k_final=5:4:1", ()),
        ("rrf_k=7,7", (7,)),
    ],
)
def test_axes_as_they_are_typed(text, values):
    if not values:
        with pytest.raises(ConfigError, match="is not FROM:TO:STEP"):
            ev.parse_axis(HYBRID, text)
        return
    assert ev.parse_axis(HYBRID, text) == (text.partition("=")[0], values)


@for_each(
    ("text", "says"),
    [
        ("nothing=1", "varies no control of hybrid_rrf"),
        ("rrf_k", "varies no control"),
        ("rrf_k=a", "must be a whole number"),
        ("rrf_k=999", "from 0 to 200"),
        ("mmr_lambda=0:1", "is not FROM:TO:STEP"),
        ("mmr_lambda=0:1:0", "is not FROM:TO:STEP"),
        ("mmr_lambda=0:1:x", "is not FROM:TO:STEP"),
        ("mmr_lambda=0:1e9:1e-9", "is not FROM:TO:STEP"),
    ],
)
def test_wrong_axes(text, says):
    with pytest.raises(ConfigError, match=says):
        ev.parse_axis(HYBRID, text)


def test_a_sample_has_no_setting_twice_and_comes_from_the_grid():
    axes = {"rrf_k": (1, 2, 3), "k_final": (1, 2, 3, 4)}
    drawn = ev.sample(axes, 7)
    every = ev.grid(axes)
    assert len(every) == ev.grid_size(axes) == 12
    assert ev.grid_size({}) == 0
    assert len({tuple(one.values()) for one in drawn}) == 7
    assert all(one in every for one in drawn)
    assert ev.sample(axes, 7) == drawn, "the same sample every time"
    assert len(ev.sample(axes, 99)) == 12


def test_settings_that_are_the_same_run_once_and_too_many_are_refused():
    same = ev.settings_of(HYBRID, {}, [{"rrf_k": 60}, {}, {"k_final": 5}])
    assert len(same) == 1
    based = ev.settings_of(HYBRID, {"k_final": 9}, [{"rrf_k": 1}])
    assert next(iter(based)).controls["k_final"] == 9
    with pytest.raises(ConfigError, match="1 to 20,000 settings, not 0"):
        ev.settings_of(HYBRID, {}, [])
    with pytest.raises(ConfigError, match="not 20,001"):
        ev.settings_of(HYBRID, {}, [{}] * (MOST + 1))


@given(
    st.sampled_from([one for one in HYBRID.controls if isinstance(one, Number)]),
    st.integers(2, 30),
    st.data(),
)
def test_spread_values_are_values_of_the_control(control, most, data):  # type: ignore[no-untyped-def]
    steps = round((control.max - control.min) / control.step)
    low, high = sorted(data.draw(st.tuples(st.integers(0, steps), st.integers(0, steps))))
    values = ev.axis_values(control, control.min + low * control.step, control.min + high * control.step, most)
    assert 1 <= len(values) <= most
    assert values[0] == pytest.approx(control.min + low * control.step)
    assert values[-1] == pytest.approx(control.min + high * control.step)
    assert list(values) == sorted(set(values))


def tuned(services: Services) -> ev.SweepResult:
    settings = ev.grid({"mmr_lambda": (0.0, 0.3, 1.0), "k_final": (1, 2, 5)})
    test = dataclasses.replace(JUDGED, split="other", questions=JUDGED.questions[1:])
    return ev.tune(HYBRID, settings, NDCG, JUDGED, test, lambda: services)


def test_the_winner_is_chosen_on_one_split_and_reported_on_the_other(services):
    result = tuned(services)
    rows, best, default = result.settings, result.best, result.default
    assert len(rows) == 10, "the nine, and the defaults"
    means = [row.score.mean for row in rows]
    assert best.tuned.mean == max(means)
    winner = HYBRID.build(**best.controls).without_answer()
    other = dataclasses.replace(JUDGED, questions=JUDGED.questions[1:])
    assert best.reported.mean == pytest.approx(np.mean(scratch(winner, other, services)))
    assert default.reported.mean == pytest.approx(np.mean(scratch(HYBRID.build().without_answer(), other, services)))
    assert best.gap == pytest.approx(best.tuned.mean - best.reported.mean)
    assert result.varied == ("mmr_lambda", "k_final")
    assert result.comparison.a == "best"


def test_a_gain_from_more_passages_is_told_apart(services):
    """Recall of what is kept: it can only rise with the number of passages."""
    recall = ev.parse_metric("recall@10")
    settings = ev.grid({"k_final": (1, 5), "rrf_k": (60,)})
    fresh = lambda: services  # noqa: E731
    result = ev.tune(HYBRID, settings, recall, JUDGED, JUDGED, fresh, base={"k_final": 1})
    share = result.equal_k
    assert (share.k_final, share.controls["k_final"]) == (1, 1)
    gain = result.gain
    assert gain > 0
    assert (share.gain, share.gain_at_equal_k, share.from_passages) == (gain, 0, gain)
    assert "comes from the number of passages alone" in share.sentence

    held = ev.tune(HYBRID, ev.grid({"rrf_k": (1, 60)}), recall, JUDGED, JUDGED, fresh)
    assert held.equal_k is None, "nothing to tell apart"


def test_the_plan_of_a_sweep_covers_every_question_it_asks(services):
    test = dataclasses.replace(JUDGED, split="other", questions=JUDGED.questions[1:])
    settings = ev.grid({"mmr_lambda": (0.0, 0.3, 1.0), "k_final": (1, 2, 5)})
    on_dev, on_test, again = ev.plan(HYBRID, settings, JUDGED, test)
    assert (len(on_dev.strategies), on_dev.most, on_dev.shared) == (10, None, True)
    assert on_dev.questions == JUDGED.measured
    assert (on_test.questions, on_test.most, on_test.shared) == (test.measured, 3, True)
    assert (again.questions, again.most, again.shared) == (JUDGED.measured, 9, False)
    result = ev.tune(HYBRID, settings, NDCG, JUDGED, test, lambda: services)
    assert len(result.finalists) <= again.most
    reported = [result.best, result.default, *([result.equal_k] if result.equal_k else [])]
    built = {HYBRID.build(**row.controls).without_answer() for row in reported}
    assert built <= set(on_test.strategies)


def test_settings_run_again_from_scratch_agree(services):
    finalists = tuned(services).finalists
    assert len(finalists) >= 8
    assert all(row.same for row in finalists)
    assert all(row.seconds > 0 for row in finalists)
    assert sum(row.default for row in finalists) == 1
    assert any(row.front for row in finalists)


def test_a_scratch_run_that_differs_is_shown(services, monkeypatch):
    """An index that answers otherwise the second time, as one that loses rows would."""
    from rag_core.evaluation import sweep as module

    honest = module.CachedIndex.dense
    monkeypatch.setattr(module.CachedIndex, "dense", lambda self, vector, k: honest(self, vector, k)[2:])
    assert not all(row.same for row in tuned(services).finalists)


PHASES = ("sweeping on test", "computing the intervals", "reporting on test", "running again from scratch")


def tune_watched(services: Services, stop: threading.Event, progress: TuningProgress) -> None:
    settings = ev.grid({"rrf_k": (1, 10, 60), "k_final": (1, 4)})
    ev.tune(HYBRID, settings, NDCG, JUDGED, JUDGED, lambda: services, stop=stop, progress=progress)


def test_every_phase_of_a_sweep_reports_its_steps_to_the_last(services):
    told: dict[str, list[tuple[int, int]]] = {}
    tune_watched(
        services,
        threading.Event(),
        lambda doing, done, total: told.setdefault(doing, []).append((done, total)),
    )
    assert list(told) == list(PHASES)
    for steps in told.values():
        assert steps == sorted(steps)
        assert steps[-1][0] == steps[-1][1] > 0


@pytest.mark.parametrize("phase", PHASES)
def test_a_sweep_can_be_stopped_in_every_phase(services, phase):
    stop = threading.Event()
    after: list[str] = []

    def watch(doing: str, done: int, total: int) -> None:
        if stop.is_set():
            after.append(doing)
        if doing == phase:
            stop.set()

    with pytest.raises(Stopped):
        tune_watched(services, stop, watch)
    assert after == []


OWN = {"name": "plainly", "text": "Say it plainly, please: {question}"}
QUESTIONS = tuple(
    Question(f"q{place}", text, "en", "", "")
    for place, text in enumerate(("Do cats sleep?", "What do ducks eat in winter?"))
)
GRADES = {"q0": {"cats-0": 2, "kittens-0": 1}, "q1": {"ducks-2": 2, "hens-5": 1}}
DEV = Benchmark("farm", "dev", QUESTIONS, GRADES, "0123456789abcdef")
TEST = dataclasses.replace(DEV, split="test", questions=QUESTIONS[1:])


def values_of(control: Control) -> list[object]:
    """Two or three values of any control, its default among them."""
    match control:
        case Number():
            return [control.min, control.default, control.max]
        case Switch():
            return [True, False]
        case Choice():
            return list(control.choices[:3])
        case Weights():
            return [control.default, [0.1, 1.0, 0.5]]
        case Templates():
            return [control.default, control.names[:1], [control.names[1], OWN]]
        case PromptText():
            return [control.default, {"text": f"{control.default.text} Briefly."}]
    raise TypeError(type(control))


def fresh(services: Services) -> Callable[[], Services]:
    llm = talker(plainly=rewritten)
    roles = {"answer": llm, "rewrite": llm, "judge": llm}
    return lambda: dataclasses.replace(services, llms=roles)


@every_control
def test_every_control_of_every_strategy_sweeps(recipe, control, full):
    if not control.changes_passages:
        return
    base = {other: acting[0] for other, acting in control.needs}
    settings = ev.grid({control.name: values_of(control)})
    result = ev.tune(recipe, settings, NDCG, DEV, TEST, fresh(full), base=base)
    assert result.varied == (control.name,), "what was varied is what differs"
    assert json.loads(json.dumps(result.as_json())) == result.as_json(), "its JSON form is JSON as it is"
    plain = {format_value(control.plain(control.parse(value))) for value in values_of(control)}
    assert {format_value(row.controls[control.name]) for row in result.settings} <= plain
    assert all(row.same for row in result.finalists), "the sweep's scores are those of the setting alone"


@every_recipe
def test_a_sweep_of_several_controls_is_kept_and_read_back(recipe, full, tmp_path):
    axes = {control.name: values_of(control)[:2] for control in recipe.controls}
    settings = read_settings(home=tmp_path)
    result = ev.tune(recipe, ev.sample(axes, 6), NDCG, DEV, TEST, fresh(full))
    assert ev.SweepResult.read(ev.save_sweep(result, settings)) == result
    assert recipe.build(**result.best.controls).controls == result.best.controls


@for_each(
    ("text", "values"),
    [
        ("templates=standalone;synonyms,expanded", [["standalone"], ["synonyms", "expanded"]]),
        (f"templates={json.dumps(['standalone', OWN])}; {json.dumps([OWN])}", [["standalone", OWN], [OWN]]),
        ("query_weights=1,0.5;1", [[1.0, 0.5], [1.0]]),
        ("merge=max,first", ["max", "first"]),
    ],
)
def test_axes_of_any_kind_as_they_are_typed(text, values):
    recipe = RECIPES["multi_query"]
    name, parsed = ev.parse_axis(recipe, text)
    control = next(one for one in recipe.controls if one.name == name)
    assert [control.plain(value) for value in parsed] == values
