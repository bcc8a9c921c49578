"""The result of a sweep, and the files that past sweeps are stored in."""

import hashlib
import time
from pathlib import Path
from typing import Any

from ..catalog import describe, describe_changes, format_value
from ..values.message import Message
from ..values.owner_only import write_atomically
from ..values.settings import Settings
from ..values.types import Cost
from ..values.visible import as_json
from .manifest import Stored
from .results import Point
from .statistics import Comparison, Interval


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
