"""Tuning: a sweep on one split, its winner reported on another, with the gap between the two."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..catalog import Recipe
from ..documents.benchmark import Benchmark, Question
from ..pipeline.strategy import Strategy
from ..runtime.run import Run
from ..runtime.services import Services
from ..values.errors import Stopped, attach_calls_to_errors
from ..values.message import Message
from ..values.types import Cost, ModelCall
from .cost_estimate import Workload
from .metrics import Metric
from .results import Point, on_front
from .runner import services_for
from .statistics import Interval, compare_all, intervals
from .sweep import (
    EqualK,
    Finalist,
    ReportedSetting,
    ScoreMatrix,
    Setting,
    Split,
    SweepResult,
    Values,
    Winner,
    settings_of,
    sweep,
)

BATCH = 200  # settings whose intervals are resampled together
K_FINAL = "k_final"  # the control for the number of passages a strategy returns
FINALISTS = 8  # settings run again from scratch, besides the defaults
TIMED = 10  # questions they are run on, at least, where there are so many
REPORTED = 3  # settings reported: the winner, the winner at the default k_final, the defaults

TuningProgress = Callable[[str, int, int], None]  # activity, steps done, steps in all


def plan(
    recipe: Recipe, settings: Sequence[Values], dev: Benchmark, test: Benchmark, base: Values | None = None
) -> tuple[Workload, ...]:
    """Everything that `tune` runs: the sweep, the report on `test`, the finalists; raises ConfigError for a wrong value."""
    default = recipe.build(**(base or {})).without_answer()
    built = tuple({**settings_of(recipe, base or {}, settings), default: {}})
    at_equal_k = [_at_default_k(recipe, strategy, default) for strategy in built]
    reported = tuple(dict.fromkeys([*built, *(strategy for strategy in at_equal_k if strategy)]))
    timed = dev.measured[:: max(1, len(dev.measured) // TIMED)]  # from the beginning of the set to its end
    return (
        Workload(dev.measured, built),
        Workload(test.measured, reported, REPORTED),
        Workload(timed, built, FINALISTS + 1, shared=False),
    )


def tune(
    recipe: Recipe,
    settings: Sequence[Values],
    metric: Metric,
    dev: Benchmark,
    test: Benchmark,
    services: Callable[[], Services],
    *,
    base: Values | None = None,
    stop: threading.Event | None = None,
    progress: TuningProgress = lambda doing, done, total: None,
) -> SweepResult:
    """Sweep on `dev`, choose the best mean, and report it and the defaults on `test`.

    Some settings, from best to worst, are run again from scratch, one at a time, to measure their seconds and check the
    sweep's scores. Raises ConfigError for a wrong value, StageError, or Stopped; each carries the calls so far.
    """
    started = time.perf_counter()
    base = base or {}
    default = recipe.build(**base).without_answer()
    on_dev, _, finals = plan(recipe, settings, dev, test, base)
    tuning = _Tuning(metric, services, stop, progress)
    with attach_calls_to_errors(tuning.calls):
        swept = tuning.sweep(f"sweeping on {dev.split}", dev, on_dev.strategies)
        seconds = time.perf_counter() - started
        order = np.argsort(-swept.scores.mean(axis=1), kind="stable").tolist()
        best = swept.strategies[order[0]]
        spans = tuning.intervals(swept.scores)
        rows = [
            Setting(controls=dict(strategy.controls), score=span, cost_usd_per_query=swept.cost_of(row))
            for row, (strategy, span) in enumerate(zip(swept.strategies, spans, strict=True))
        ]
        cut = _at_default_k(recipe, best, default)
        reported = list(dict.fromkeys(strategy for strategy in (best, cut, default) if strategy))
        on_test = tuning.sweep(f"reporting on {test.split}", test, reported)
        places = np.linspace(0, len(order) - 1, FINALISTS).astype(int)  # evenly from the best to the worst
        chosen = dict.fromkeys([*(swept.strategies[order[place]] for place in places), default])
        finalists = tuning.finalists(list(chosen), default, swept, dev, finals.questions)
    cost = Cost.of(tuning.calls)
    report = dict(zip(on_test.strategies, intervals(on_test.scores.T), strict=True))
    compared = {
        name: dict(zip(on_test.questions, map(float, on_test.scores[row]), strict=True))
        for name, row in (("best", 0), ("default", -1))
    }
    tuned = rows[order[0]].score
    return SweepResult(
        data=dev.name,
        judged_by=dev.judged_by,
        strategy=recipe.name,
        base=dict(base),
        metric=metric.name,
        tune=Split(split=dev.split, queries=len(dev.measured), checksum=dev.checksum),
        report=Split(split=test.split, queries=len(test.measured), checksum=test.checksum),
        varied=tuple(
            name
            for name, value in default.controls.items()
            if any(strategy.controls[name] != value for strategy in swept.strategies)
        ),
        settings=tuple(rows),
        best=Winner(
            controls=dict(best.controls),
            tuned=tuned,
            reported=report[best],
            gap=tuned.mean - report[best].mean,
        ),
        default=ReportedSetting(
            controls=dict(default.controls),
            tuned=rows[swept.strategies.index(default)].score,
            reported=report[default],
        ),
        equal_k=_equal_k(best, cut, default, report, metric),
        comparison=compare_all(metric.title, compared)[0],
        finalists=finalists,
        cost_usd=cost.usd,
        cost_known_usd=cost.known,
        calls_without_price=cost.unpriced,
        seconds=seconds,
        runs=swept.scores.size,
        at=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    )


@dataclass(frozen=True, slots=True)
class _Tuning:
    """The steps of a tuning, which the user can stop and watch; `calls` receives those that are billed."""

    metric: Metric
    services: Callable[[], Services]
    stop: threading.Event | None
    progress: TuningProgress
    calls: list[ModelCall] = field(default_factory=list)

    def sweep(self, doing: str, judged: Benchmark, strategies: Sequence[Strategy]) -> ScoreMatrix:
        progress = partial(self.progress, doing)
        found = sweep(judged, strategies, self.metric, self.services, stop=self.stop, progress=progress)
        self.calls.extend(found.calls)
        return found

    def intervals(self, scores: NDArray[np.float64]) -> list[Interval]:
        spans: list[Interval] = []
        for start in range(0, len(scores), BATCH):
            self._check_stop()
            spans += intervals(scores[start : start + BATCH].T)
            self.progress("computing the intervals", len(spans), len(scores))
        return spans

    def finalists(
        self,
        chosen: Sequence[Strategy],
        default: Strategy,
        swept: ScoreMatrix,
        judged: Benchmark,
        questions: Sequence[Question],
    ) -> tuple[Finalist, ...]:
        """Settings of a sweep run again from scratch on a few questions."""
        rows: list[Finalist] = []
        for strategy in chosen:
            row = swept.strategies.index(strategy)
            seconds, same = [], True
            for question in questions:
                self._check_stop()
                current = services_for(question, judged, self.services())
                trace = strategy.run(question.text, current, Run(stop=self.stop))
                self.calls.extend(call for call in trace.calls if call.cost_usd != 0)
                seconds.append(trace.seconds)
                ranked = judged.judged_ids(hit.passage for hit in trace.ranking)
                score = self.metric(ranked, judged.qrels[question.id])
                same &= bool(score == swept.scores[row, swept.questions.index(question.id)])
                done = len(rows) * len(questions) + len(seconds)
                self.progress("running again from scratch", done, len(chosen) * len(questions))
            rows.append(
                Finalist(
                    controls=dict(strategy.controls),
                    default=strategy == default,
                    mean=float(swept.scores[row].mean()),
                    seconds=float(np.median(seconds)),
                    cost_usd=swept.cost_of(row),
                    same=same,
                    front=False,
                )
            )
        front = on_front([Point("", row.mean, row.seconds, row.cost_usd) for row in rows])
        return tuple(row.model_copy(update={"front": on}) for row, on in zip(rows, front, strict=True))

    def _check_stop(self) -> None:
        if self.stop and self.stop.is_set():
            raise Stopped


def _at_default_k(recipe: Recipe, strategy: Strategy, default: Strategy) -> Strategy | None:
    """The setting with the defaults' number of passages; None when it has that number already."""
    k = default.controls.get(K_FINAL)
    if strategy.controls.get(K_FINAL) == k:
        return None
    return recipe.build(**{**strategy.controls, K_FINAL: k}).without_answer()


def _equal_k(
    best: Strategy,
    cut: Strategy | None,
    default: Strategy,
    report: Mapping[Strategy, Interval],
    metric: Metric,
) -> EqualK | None:
    """The winner's gain at the defaults' number of passages, since longer lists score higher; None at that number."""
    if cut is None:
        return None
    k, k_best = default.controls[K_FINAL], best.controls[K_FINAL]
    gain, left = (report[strategy].mean - report[default].mean for strategy in (best, cut))
    return EqualK(
        k_final=k,
        controls=dict(cut.controls),
        reported=report[cut],
        gain=gain,
        gain_at_equal_k=left,
        from_passages=gain - left,
        sentence=Message(
            "The winner returns up to {most} passages, the defaults {k}. Cut to {k} as well, it scores "
            "{score:.3f} {metric}: of its {gain:+.3f} over the defaults, {left:+.3f} remains; {passages:+.3f} comes "
            "from the number of passages alone.",
            most=k_best,
            k=k,
            score=report[cut].mean,
            metric=metric.title,
            gain=gain,
            left=left,
            passages=gain - left,
        ),
    )
