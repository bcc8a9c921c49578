"""Sweeps: many settings of one strategy over judged questions, each stage run once per prefix.

For each question, all settings share their equal prefixes (`Strategy.run` with one `Run`) and a cache of
index searches, so that one retrieval serves every setting; those that allow it are computed together
(`pipeline/together.py`). The results equal those of the same settings run from scratch.
"""

import dataclasses
import itertools
import math
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..catalog import MAX_PASSAGES, Number, Recipe
from ..documents.benchmark import Benchmark
from ..pipeline.cached_index import CachedIndex
from ..pipeline.strategy import Strategy
from ..pipeline.together import gather
from ..runtime.run import Run
from ..runtime.services import Services
from ..values.errors import ConfigError, Stopped, attach_calls_to_errors
from ..values.message import Message
from ..values.types import Cost, ModelCall, document_ids
from .metrics import Metric
from .runner import services_for

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
            Message(
                "Write CONTROL=A,B,C or CONTROL=FROM:TO:STEP with one of {names}.", names=", ".join(controls)
            ),
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
        {
            name: values[place]
            for (name, values), place in zip(axes.items(), np.unravel_index(one, sizes), strict=True)
        }
        for one in chosen
    ]


def axis_values(control: Number, low: float, high: float, most: int = 11) -> tuple[object, ...]:
    """At most `most` values of a control from low to high, evenly spaced on its steps, both ends included."""
    steps = round((high - low) / control.step)
    places = np.unique(np.linspace(0, steps, min(most, steps + 1)).round())
    return tuple(control.parse(f"{low + place * control.step:.10g}") for place in places)


def settings_of(recipe: Recipe, base: Values, settings: Sequence[Values]) -> dict[Strategy, Values]:
    """The distinct strategies that settings build on common values, each with its control values.

    Raises ConfigError if a value is wrong, or there are too many settings.
    """
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

    Raises StageError if a stage failed, since a sweep has no gaps, or Stopped; both carry the calls made so
    far.
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
            current = dataclasses.replace(
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
                    values = [metric(document_ids(passages), grades) for passages in outcome.rankings]
                    rows = list(settings.places)
                    scores[rows, column] = [values[place] for place in outcome.which]
                    cost[rows] += _price(outcome.calls, billed)
                for row, following in itertools.zip_longest(order, order[1:]):
                    strategy = strategies[row]
                    trace = strategy.run(question.text, current, run)
                    passages = [hit.passage for hit in trace.ranking]
                    scores[row, column] = metric(document_ids(passages), grades)
                    cost[row] += _price(trace.calls, billed)
                    kept = 0 if following is None else _common_stages(strategy, strategies[following])
                    for position in range(kept, len(strategy.stages)):
                        run.shared.forget(strategy.prefix(question.text, position, current))
            calls += billed
            progress(column + 1, len(questions))
    ids = tuple(question.id for question in questions)
    return ScoreMatrix(tuple(strategies), ids, scores, cost, tuple(calls))


def _common_stages(strategy: Strategy, following: Strategy) -> int:
    """How many first stages two strategies share.

    Later steps are not kept: thousands of them would cost memory and the garbage collector's time.
    """
    pairs = zip(strategy.stages, following.stages, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _price(calls: Sequence[ModelCall], billed: dict[ModelCall, None]) -> float:
    """US dollars of calls, NaN when unknown; adds those that are not free to `billed`."""
    price = Cost.of(calls).usd
    if price != 0:
        billed.update((call, None) for call in calls if call.cost_usd != 0)
    return np.nan if price is None else price
