"""Tuning: a sweep on one split, its winner reported on another, with the gap between the two."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..catalog import Recipe, describe
from ..data.benchmark import Benchmark, Question
from ..pipeline.strategy import Strategy
from ..runtime.run import Run
from ..runtime.services import Services
from ..values.errors import DataError, Stopped, attach_calls_to_errors
from ..values.settings import Settings
from ..values.types import Cost, ModelCall
from .estimate import Batch
from .metrics import Metric
from .pareto import mark_front
from .records import write_atomically
from .statistics import Interval, compare_all, intervals
from .sweep import SweepScores, Values, settings_of, sweep

BATCH = 200  # settings whose intervals are resampled together
K_FINAL = "k_final"  # the control that says how many passages a strategy ends with
FINALISTS = 8  # settings run again from scratch, beside the default
TIMED = 10  # questions they are run on, at least where there are so many
REPORTED = 3  # settings put to the test questions: the winner, the same at the default k_final, the default


def plan(
    recipe: Recipe, settings: Sequence[Values], dev: Benchmark, test: Benchmark, base: Values | None = None
) -> tuple[Batch, ...]:
    """Everything that `tune` runs: the sweep, the report on `test`, the finalists from scratch.

    Which settings reach the report and the finals is known only after the sweep.

    Raises:
        ConfigError: a value is wrong.
    """
    default = recipe.build(**(base or {})).without_answer()
    built = tuple({**settings_of(recipe, base or {}, settings), default: {}})
    at_equal_k = [_at_k(recipe, strategy, default) for strategy in built]
    reported = tuple(dict.fromkeys([*built, *(one for one in at_equal_k if one)]))
    return (
        Batch(dev.measured, built),
        Batch(test.measured, reported, REPORTED),
        Batch(_timed(dev.measured), built, FINALISTS + 1, shared=False),
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
    told: Callable[[str, int, int], None] = lambda doing, done, total: None,
) -> dict[str, Any]:
    """Sweep on `dev`, choose the best mean, and report it and the defaults on `test`.

    A few settings, the best and others down the order, are run again from scratch, one alone: that
    gives their seconds, and shows that the sweep's scores are theirs.

    Args:
        base: control values all settings share, the defaults' included.
        told: receives what is being done, and how much of how much is.

    Raises:
        ConfigError: a value is wrong.
        StageError: a stage failed.
        Stopped: it was stopped. Both carry every call of the tuning till then.
    """
    started = time.perf_counter()
    base = base or {}
    default = recipe.build(**base).without_answer()
    on_dev, _, finals = plan(recipe, settings, dev, test, base)
    calls: list[ModelCall] = []
    with attach_calls_to_errors(calls):
        swept = sweep(
            dev,
            on_dev.strategies,
            metric,
            services,
            stop=stop,
            told=partial(told, f"sweeping on {dev.split}"),
        )
        calls += swept.calls
        seconds = time.perf_counter() - started
        order = np.argsort(-swept.scores.mean(axis=1), kind="stable")
        rows = [_row(swept, row, span) for row, span in enumerate(_spans(swept.scores))]
        best = swept.strategies[order[0]]
        cut = _at_k(recipe, best, default)
        reported = list(dict.fromkeys(one for one in (best, cut, default) if one))
        on_test = sweep(
            test, reported, metric, services, stop=stop, told=partial(told, f"reporting on {test.split}")
        )
        calls += on_test.calls
        finalists = _again(swept, order, default, dev, metric, services, finals, stop, told, calls)
    cost = Cost.of(calls)
    report = dict(zip(on_test.strategies, _spans(on_test.scores), strict=True))
    held = {name: dict(zip(on_test.questions, map(float, on_test.scores[row]), strict=True))
            for name, row in (("best", 0), ("default", -1))}  # fmt: skip
    return {
        "data": dev.name,
        "judged_by": dev.judged_by,
        "strategy": recipe.name,
        "base": dict(base),
        "metric": metric.name,
        "tune": {"split": dev.split, "queries": len(dev.measured), "checksum": dev.checksum},
        "report": {"split": test.split, "queries": len(test.measured), "checksum": test.checksum},
        "varied": _varied(swept.strategies),
        "settings": rows,
        "best": {
            "controls": dict(best.controls),
            "tuned": rows[order[0]]["score"],
            "reported": asdict(report[best]),
            "gap": rows[order[0]]["score"]["mean"] - report[best].mean,
        },
        "default": {
            "controls": dict(default.controls),
            "tuned": rows[swept.strategies.index(default)]["score"],
            "reported": asdict(report[default]),
        },
        "equal_k": _equal_k(best, cut, default, report, metric),
        "comparison": asdict(compare_all(metric.title, held)[0]),
        "finalists": finalists,
        "cost_usd": cost.usd,
        "cost_known_usd": cost.known,
        "calls_without_price": cost.unpriced,
        "seconds": seconds,
        "runs": swept.scores.size,
        "at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def _spans(scores: NDArray[np.float64]) -> list[Interval]:
    parts = [scores[start : start + BATCH] for start in range(0, len(scores), BATCH)]
    return [span for part in parts for span in intervals(part.T)]


def _row(swept: SweepScores, row: int, span: Interval) -> dict[str, Any]:
    cost = float(swept.cost_usd[row]) / len(swept.questions)
    return {
        "controls": dict(swept.strategies[row].controls),
        "score": asdict(span),
        "cost_usd_per_query": None if np.isnan(cost) else cost,
    }


def _varied(strategies: Sequence[Strategy]) -> list[str]:
    """The controls that do not have the same value everywhere."""
    first = strategies[0].controls
    return [name for name in first if any(one.controls[name] != first[name] for one in strategies)]


def _again(
    swept: SweepScores,
    order: NDArray[np.intp],
    default: Strategy,
    judged: Benchmark,
    metric: Metric,
    services: Callable[[], Services],
    finals: Batch,
    stop: threading.Event | None,
    told: Callable[[str, int, int], None],
    calls: list[ModelCall],
) -> list[dict[str, Any]]:
    """Settings run from scratch on a few questions: their seconds, and whether the scores are the same.

    Args:
        calls: receives the billed ones as they are made.
    """
    spread = np.linspace(0, len(order) - 1, FINALISTS).astype(int)
    chosen = list(dict.fromkeys([swept.strategies[order[place]] for place in spread] + [default]))
    rows = []
    for done, strategy in enumerate(chosen):
        told("running again from scratch", done, len(chosen))
        row = swept.strategies.index(strategy)
        traces = {}
        for question in finals.questions:
            if stop and stop.is_set():
                raise Stopped
            trace = strategy.run(question.text, services(), Run(stop=stop))
            calls += [call for call in trace.calls if call.cost_usd != 0]
            traces[swept.questions.index(question.id)] = trace
        same = all(
            metric(
                list(dict.fromkeys(hit.passage.doc_id for hit in trace.ranking)),
                judged.qrels[swept.questions[column]],
            )
            == swept.scores[row, column]
            for column, trace in traces.items()
        )
        cost = float(swept.cost_usd[row]) / len(swept.questions)
        rows.append(
            {
                "controls": dict(strategy.controls),
                "default": strategy == default,
                "mean": float(swept.scores[row].mean()),
                "seconds": float(np.median([trace.seconds for trace in traces.values()])),
                "cost_usd": None if np.isnan(cost) else cost,
                "same": same,
            }
        )
    return mark_front(rows)


def _timed(questions: Sequence[Question]) -> tuple[Question, ...]:
    """The questions that settings are run on again, spread over the set."""
    return tuple(questions[:: max(1, len(questions) // TIMED)])


def _at_k(recipe: Recipe, strategy: Strategy, default: Strategy) -> Strategy | None:
    """A setting with as many passages as the default; None when it has them already."""
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
) -> dict[str, Any] | None:
    """How much of the winner's gain comes from the number of passages alone; None when it is the default's.

    A longer list has more chances to hold what is relevant: most metrics rise with it by themselves.
    """
    if cut is None:
        return None
    k, k_best = default.controls[K_FINAL], best.controls[K_FINAL]
    gain, left = (report[one].mean - report[default].mean for one in (best, cut))
    return {
        "k_final": k,
        "controls": dict(cut.controls),
        "reported": asdict(report[cut]),
        "gain": gain,
        "gain_at_equal_k": left,
        "from_passages": gain - left,
        "sentence": (
            f"The winner returns up to {k_best} passages, the defaults {k}. Cut to {k} as well, it scores "
            f"{report[cut].mean:.3f} {metric.title}: of its difference of {gain:+.3f} to the defaults, "
            f"{left:+.3f} remains; {gain - left:+.3f} comes from the number of passages alone."
        ),
    }


def sweeps_folder(settings: Settings) -> Path:
    """Where sweeps are kept."""
    return settings.home / "sweeps"


def save_sweep(result: Mapping[str, Any], settings: Settings) -> Path:
    """Write a sweep's result; its file, which no other sweep's result shares."""
    text = json.dumps(result, ensure_ascii=False)
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{result['strategy']}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    path = sweeps_folder(settings) / f"{name}.json"
    write_atomically(path, text)
    return path


def list_sweeps(settings: Settings) -> list[Path]:
    """Files of past sweeps, the newest first."""
    return sorted(sweeps_folder(settings).glob("*.json"), reverse=True)


def sweep_title(path: Path) -> str:
    """A past sweep in one line, from its file's name: when, which strategy."""
    day, clock, name, *_ = [*path.stem.split("-"), "", ""]
    return f"{day[:4]}-{day[4:6]}-{day[6:]} {clock[:2]}:{clock[2:4]} · {describe(name)}"


def read_sweep(path: Path) -> dict[str, Any]:
    """A past sweep.

    Raises:
        DataError: it cannot be read.
    """
    try:
        held: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}.", "Delete it and sweep again.") from error
    return held
