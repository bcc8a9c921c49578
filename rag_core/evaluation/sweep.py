"""Sweeps: many settings of one strategy over judged questions, each stage run once per prefix; their results, stored.

For each question, all settings share their equal prefixes (`Strategy.run` with one `Run`) and a cache of
index searches, so that one retrieval serves every setting; those that allow it are computed together
(`pipeline/together.py`). The results equal those of the same settings run from scratch.
"""

import hashlib
import itertools
import math
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..catalog import MAX_PASSAGES, Number, Recipe, describe, describe_changes, format_value
from ..documents.benchmark import Benchmark
from ..pipeline.cached_index import CachedIndex
from ..pipeline.strategy import Strategy
from ..pipeline.together import gather
from ..runtime.run import Run
from ..runtime.services import Services
from ..values.errors import ConfigError, Stopped, attach_calls_to_errors
from ..values.message import Message
from ..values.owner_only import write_atomically
from ..values.settings import Settings
from ..values.types import Cost, ModelCall
from ..values.visible import as_json
from .manifest import Stored
from .metrics import Metric
from .results import Point
from .runner import services_for
from .statistics import Comparison, Interval

if TYPE_CHECKING:
    from pandas import DataFrame


class Split(Stored):
    """The questions of a split."""

    split: str
    queries: int
    checksum: str


class Setting(Stored):
    """A setting's score on the tuning split, and its US dollars per query if run alone (None if unknown)."""

    controls: dict[str, Any]
    score: Interval
    cost_usd_per_query: float | None


class ReportedSetting(Stored):
    """A setting's scores on both splits."""

    controls: dict[str, Any]
    tuned: Interval
    reported: Interval


class Winner(ReportedSetting):
    """The best setting on the tuning split; `gap` is its mean there minus its mean on the reporting split."""

    gap: float


class EqualK(Stored):
    """How much of the winner's gain on the reporting split comes from returning more passages.

    `controls` are the winner's with the defaults' `k_final`; both gains are over the defaults, and
    `from_passages` is the difference between them.
    """

    k_final: int
    controls: dict[str, Any]
    reported: Interval
    gain: float
    gain_at_equal_k: float
    from_passages: float
    sentence: str


class Finalist(Stored):
    """A setting run again from scratch: median seconds and US dollars per question (None if unknown).

    `mean` is its score in the sweep, `same` whether it scored exactly that again, and `front` whether it is
    on the Pareto front of the finalists.
    """

    controls: dict[str, Any]
    default: bool
    mean: float
    seconds: float
    cost_usd: float | None
    same: bool
    front: bool


class SweepResult(Stored):
    """The settings of a sweep, its winner, and what they took: what `rag sweep --json` prints.

    Args:
        tune: the split that the winner was chosen on.
        report: the split that it is reported on.
        equal_k: None when the winner returns as many passages as the defaults.
        cost_usd: US dollars of the complete sweep; None when a price is unknown.
        runs: settings × questions on the tuning split.
        at: when it ended, local time with its offset.
    """

    data: str
    judged_by: str
    strategy: str
    base: dict[str, Any]
    metric: str
    tune: Split
    report: Split
    varied: tuple[str, ...]
    settings: tuple[Setting, ...]
    best: Winner
    default: ReportedSetting
    equal_k: EqualK | None = None
    comparison: Comparison
    finalists: tuple[Finalist, ...]
    cost_usd: float | None
    cost_known_usd: float
    calls_without_price: int
    seconds: float
    runs: int
    at: str

    def __repr__(self) -> str:
        changed = ", ".join(f"{name}={self.best.controls[name]!r}" for name in self.varied) or "the defaults"
        means = f"{self.best.reported.mean:.3f}, by default {self.default.reported.mean:.3f}"
        return (
            f"<Sweep of {len(self.settings)} settings of {self.strategy} on {self.data}: best with {changed}; "
            f"{self.metric} on {self.report.split} {means}>"
        )

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html())  # which escapes what it shows

    def to_frame(self) -> "DataFrame":
        """A row for each setting, best first: what was varied, and on the tuned split "ndcg@10", its interval, and the cost."""
        from pandas import DataFrame

        rows = [
            {
                **{name: row.controls[name] for name in self.varied},
                self.metric: row.score.mean,
                f"{self.metric}.ci_low": row.score.low,
                f"{self.metric}.ci_high": row.score.high,
                "cost_usd_per_query": row.cost_usd_per_query,
            }
            for row in sorted(self.settings, key=lambda row: -row.score.mean)
        ]
        return DataFrame(rows)

    @property
    def gain(self) -> float:
        """The winner's mean minus the defaults', on the reporting split."""
        return self.best.reported.mean - self.default.reported.mean

    @property
    def cost(self) -> Cost:
        return Cost(self.cost_known_usd, self.calls_without_price)

    def title_of(self, controls: dict[str, Any]) -> str:
        """The strategy with these settings, in words."""
        return describe((self.strategy, controls))

    def best_along(self, *controls: str) -> list[Setting]:
        """The best setting for each combination of values of some controls, in the order of the values."""
        best: dict[tuple[str, ...], Setting] = {}
        for row in self.settings:
            values = tuple(format_value(row.controls[name]) for name in controls)
            if values not in best or row.score.mean > best[values].score.mean:
                best[values] = row
        return sorted(best.values(), key=lambda row: [value_order(row.controls[name]) for name in controls])

    def front(self) -> list[Point]:
        """The finalists by quality, time and cost, named by the settings that differ from the defaults."""
        return [
            Point(
                describe_changes((self.strategy, row.controls)) or Message("the defaults"),
                row.mean,
                row.seconds,
                row.cost_usd,
                row.front,
            )
            for row in self.finalists
        ]


def value_order(value: object) -> tuple[float, str]:
    """Sorts the values of a control: numbers by size, everything else by name."""
    return (float(value), "") if isinstance(value, int | float) else (0.0, format_value(value))


def save_sweep(result: SweepResult, settings: Settings) -> Path:
    """Write a sweep's result to a file of its own and return it; raises StorageError if that fails."""
    text = as_json(result.as_json(), indent=None)
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    path = _sweeps_folder(settings) / f"{time.strftime('%Y%m%d-%H%M%S')}-{result.strategy}-{digest}.json"
    write_atomically(path, text)
    return path


def list_sweeps(settings: Settings) -> list[Path]:
    """Files of past sweeps, newest first."""
    return sorted(_sweeps_folder(settings).glob("*.json"), reverse=True)


def sweep_title(path: Path) -> str:
    """A past sweep in one line, from its file name: when, and which strategy."""
    day, clock, name, *_ = [*path.stem.split("-"), "", ""]
    when = f"{day[:4]}-{day[4:6]}-{day[6:]} {clock[:2]}:{clock[2:4]}"
    return Message.joined([when, describe(name)], " · ")


def _sweeps_folder(settings: Settings) -> Path:
    return settings.home / "sweeps"


MOST = 20_000  # settings of one sweep
SEED = 20_261

Values = Mapping[str, object]


def parse_axis(recipe: Recipe, text: str) -> tuple[str, tuple[object, ...]]:
    """A control and its values, from "rrf_k=1,10,60" or "mmr_lambda=0:1:0.1" (both ends included).

    Semicolons separate values that contain commas, such as weights, and custom templates, which are JSON
    lists. Raises ConfigError if there is no such control, or it cannot take a value.
    """
    name, equals, written = text.partition("=")
    controls = {control.name: control for control in recipe.controls if control.changes_passages}
    control = controls.get(name.strip())
    if control is None or not equals:
        raise ConfigError(
            Message("{text!r} varies no control of {name}.", text=text, name=recipe.name),
            Message("Write CONTROL=A,B,C or CONTROL=FROM:TO:STEP with one of {names}.", names=", ".join(controls)),
        )
    if not isinstance(control, Number) or ":" not in written:
        parts = written.split(",") if isinstance(control, Number) else _parts(written)
        return control.name, tuple(dict.fromkeys(control.parse(part.strip()) for part in parts))
    try:
        low, high, step = (float(part) for part in written.split(":"))
        count = math.floor((high - low) / step + 1e-9) + 1
        if not 1 <= count <= MOST:
            raise ValueError
        values = low + step * np.arange(count)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise ConfigError(
            Message("{written!r} is not FROM:TO:STEP.", written=written),
            Message("Write 0:1:0.1, for instance."),
        ) from None
    return control.name, tuple(dict.fromkeys(control.parse(f"{value:.10g}") for value in values))


def _parts(written: str) -> list[str]:
    """The values of an axis as typed; a JSON list is one value."""
    if written.lstrip().startswith("["):
        return re.split(r"(?<=\])\s*;", written)
    return written.split(";") if ";" in written else written.split(",")


def grid(axes: Mapping[str, Sequence[object]]) -> list[dict[str, object]]:
    """Every combination of the values of the axes, in their order."""
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def grid_size(axes: Mapping[str, Sequence[object]]) -> int:
    """How many settings `grid` makes; 0 without an axis."""
    return math.prod(len(values) for values in axes.values()) if axes else 0


def sample(axes: Mapping[str, Sequence[object]], n: int, seed: int = SEED) -> list[dict[str, object]]:
    """At most `n` different combinations, at random.

    Random search finds as good settings as a grid with fewer trials when few controls matter: Bergstra
    and Bengio, "Random search for hyper-parameter optimization", JMLR 13, 2012.
    """
    sizes = [len(values) for values in axes.values()]
    total = int(np.prod(sizes, dtype=object))
    chosen = np.random.default_rng(seed).choice(total, size=min(n, total), replace=False)
    return [
        {name: values[place] for (name, values), place in zip(axes.items(), np.unravel_index(one, sizes), strict=True)}
        for one in chosen
    ]


def axis_values(control: Number, low: float, high: float, most: int = 11) -> tuple[object, ...]:
    """At most `most` values of a control from low to high, evenly spaced on its steps, both ends included."""
    steps = round((high - low) / control.step)
    places = np.unique(np.linspace(0, steps, min(most, steps + 1)).round())
    return tuple(control.parse(f"{low + place * control.step:.10g}") for place in places)


def settings_of(recipe: Recipe, base: Values, settings: Sequence[Values]) -> dict[Strategy, Values]:
    """The distinct strategies that settings build on `base`; raises ConfigError for a wrong value or too many."""
    if not 0 < len(settings) <= MOST:
        raise ConfigError(
            Message("A sweep takes 1 to {most:,} settings, not {count:,}.", most=MOST, count=len(settings)),
            Message("Take fewer values, or a sample."),
        )
    built: dict[Strategy, Values] = {}
    for values in settings:
        strategy = recipe.build(**{**base, **values}).without_answer()
        built.setdefault(strategy, strategy.controls)
    return built


@dataclass(frozen=True, slots=True)
class ScoreMatrix:
    """Scores of every setting on every question, and the billed calls, shared ones once.

    `cost_usd` is in US dollars per setting for all questions, as if it had run alone; NaN when unknown.
    """

    strategies: tuple[Strategy, ...]
    questions: tuple[str, ...]
    scores: NDArray[np.float64]
    cost_usd: NDArray[np.float64]
    calls: tuple[ModelCall, ...] = ()

    def cost_of(self, row: int) -> float | None:
        """US dollars per question of one setting; None when a price is unknown."""
        cost = float(self.cost_usd[row]) / len(self.questions)
        return None if math.isnan(cost) else cost


def sweep(
    judged: Benchmark,
    strategies: Sequence[Strategy],
    metric: Metric,
    services: Callable[[], Services],
    *,
    stop: threading.Event | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> ScoreMatrix:
    """Run every setting on every measured question, with services made for each; shows progress by questions.

    Raises StageError if a stage failed, since a sweep has no gaps, or Stopped; both carry the calls made so far.
    """
    questions = judged.measured
    scores = np.empty((len(strategies), len(questions)))
    cost = np.zeros(len(strategies))
    together, alone = gather(strategies)
    order = sorted(alone, key=lambda row: [repr(stage) for stage in strategies[row].stages])
    calls: list[ModelCall] = []
    with attach_calls_to_errors(calls):
        for column, question in enumerate(questions):
            if stop and stop.is_set():
                raise Stopped
            current = services_for(question, judged, services())
            current = replace(
                current,
                index=CachedIndex(current.index, MAX_PASSAGES),
                enriched=CachedIndex(current.enriched, MAX_PASSAGES) if current.enriched else None,
                workers=1,
            )
            run = Run(stop=stop)
            grades, billed = judged.qrels[question.id], dict[ModelCall, None]()
            with attach_calls_to_errors(billed):
                for settings in together:
                    outcome = settings.run(question.text, current, run)
                    values = [metric(judged.judged_ids(passages), grades) for passages in outcome.rankings]
                    rows = list(settings.places)
                    scores[rows, column] = [values[place] for place in outcome.which]
                    cost[rows] += _price(outcome.calls, billed)
                for row, following in itertools.zip_longest(order, order[1:]):
                    strategy = strategies[row]
                    trace = strategy.run(question.text, current, run)
                    passages = [hit.passage for hit in trace.ranking]
                    scores[row, column] = metric(judged.judged_ids(passages), grades)
                    cost[row] += _price(trace.calls, billed)
                    kept = 0 if following is None else _common_stages(strategy, strategies[following])
                    for position in range(kept, len(strategy.stages)):
                        run.shared.forget(strategy.prefix(question.text, position, current))
            calls += billed
            progress(column + 1, len(questions))
    return ScoreMatrix(tuple(strategies), tuple(question.id for question in questions), scores, cost, tuple(calls))


def _common_stages(strategy: Strategy, following: Strategy) -> int:
    """How many first stages two strategies share; keeping later steps too would cost memory and garbage collection."""
    pairs = zip(strategy.stages, following.stages, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _price(calls: Sequence[ModelCall], billed: dict[ModelCall, None]) -> float:
    """US dollars of calls, NaN when unknown; adds those that are not free to `billed`."""
    price = Cost.of(calls).usd
    if price != 0:
        billed.update((call, None) for call in calls if call.cost_usd != 0)
    return np.nan if price is None else price
