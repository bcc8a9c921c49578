"""Tuning: a sweep on one split, its winner reported on another, with the gap between the two."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..catalog import Recipe
from ..context import Context
from ..errors import DataError
from ..judged import JudgedSet
from ..settings import Settings
from ..strategy import Strategy
from .metrics import Metric
from .pareto import mark_front
from .records import write_atomically
from .statistics import Interval, compare_all, intervals
from .sweep import Swept, Values, settings_of, sweep

BATCH = 200  # settings whose intervals are resampled together
FINALISTS = 8  # settings run again from scratch, beside the default
TIMED = 10  # questions they are run on


def tune(
    recipe: Recipe,
    settings: Sequence[Values],
    metric: Metric,
    dev: JudgedSet,
    test: JudgedSet,
    context: Callable[[], Context],
    *,
    base: Values | None = None,
    stop: threading.Event | None = None,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """Sweep on `dev`, choose the best mean, and report it and the defaults on `test`.

    A few settings, the best and others down the order, are run again from scratch, one alone: that
    gives their seconds, and shows that the sweep's scores are theirs.

    Args:
        base: control values all settings share, the defaults' included.

    Raises:
        ConfigError: a value is wrong.
        StageError: a stage failed.
        Stopped: it was stopped.
    """
    started = time.perf_counter()
    base = base or {}
    default = recipe.build(**base).without_answer()
    swept = sweep(
        dev, list({**settings_of(recipe, base, settings), default: {}}), metric, context, stop=stop, told=told
    )
    seconds = time.perf_counter() - started
    order = np.argsort(-swept.scores.mean(axis=1), kind="stable")
    rows = [_row(swept, row, span) for row, span in enumerate(_spans(swept.scores))]
    best = swept.strategies[order[0]]
    on_test = sweep(test, list(dict.fromkeys([best, default])), metric, context, stop=stop)
    report = dict(zip(on_test.strategies, _spans(on_test.scores), strict=True))
    held = {name: dict(zip(on_test.questions, map(float, on_test.scores[row]), strict=True))
            for name, row in (("best", 0), ("default", -1))}  # fmt: skip
    return {
        "data": dev.name,
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
        "comparison": asdict(compare_all(metric.title, held)[0]),
        "finalists": _again(swept, order, default, dev, metric, context),
        "seconds": seconds,
        "runs": swept.scores.size,
        "at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def _spans(scores: NDArray[np.float64]) -> list[Interval]:
    parts = [scores[start : start + BATCH] for start in range(0, len(scores), BATCH)]
    return [span for part in parts for span in intervals(part.T)]


def _row(swept: Swept, row: int, span: Interval) -> dict[str, Any]:
    cost = float(swept.cost_usd[row]) / len(swept.questions)
    return {
        "controls": dict(swept.strategies[row].controls),
        "score": asdict(span),
        "cost_usd_per_query": None if np.isnan(cost) else cost,
    }


def _varied(strategies: Sequence[Strategy]) -> list[str]:
    """The controls that do not have the same value everywhere."""
    names = strategies[0].controls
    return [name for name in names if len({strategy.controls[name] for strategy in strategies}) > 1]


def _again(
    swept: Swept,
    order: NDArray[np.intp],
    default: Strategy,
    judged: JudgedSet,
    metric: Metric,
    context: Callable[[], Context],
) -> list[dict[str, Any]]:
    """Settings run from scratch on a few questions: their seconds, and whether the scores are the same."""
    spread = np.linspace(0, len(order) - 1, FINALISTS).astype(int)
    chosen = list(dict.fromkeys([swept.strategies[order[place]] for place in spread] + [default]))
    rows = []
    columns = range(0, len(swept.questions), max(1, len(swept.questions) // TIMED))
    questions = {question.id: question for question in judged.measured}
    for strategy in chosen:
        row = swept.strategies.index(strategy)
        traces = {
            column: strategy.run(questions[swept.questions[column]].text, context()) for column in columns
        }
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


def sweeps_folder(settings: Settings) -> Path:
    """Where sweeps are kept."""
    return settings.home / "sweeps"


def keep(result: Mapping[str, Any], settings: Settings) -> Path:
    """Write a sweep's result; its file."""
    path = sweeps_folder(settings) / f"{time.strftime('%Y%m%d-%H%M%S')}-{result['strategy']}.json"
    write_atomically(path, json.dumps(result, ensure_ascii=False))
    return path


def kept(settings: Settings) -> list[Path]:
    """Files of past sweeps, the newest first."""
    return sorted(sweeps_folder(settings).glob("*.json"), reverse=True)


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
