"""What the benchmarks measured: notes, and the goals of the table in README.md beside what was found."""

import json
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

REPORT = Path(".rag") / "bench.json"


@dataclass(frozen=True)
class Note:
    """A measurement by itself."""

    what: str
    unit: str
    values: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.values)


@dataclass(frozen=True)
class Goal(Note):
    """A measurement beside the value to reach.

    Args:
        number: the row of the table of goals.
        against: the other side of a ratio; empty for a plain value.
        limit: the goal; the median must not be above it, or not below where `at_least`.
    """

    number: int
    against: str
    limit: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        return self.median >= self.limit if self.at_least else self.median <= self.limit


class Results:
    """Collects what one run measures; the file on disk is whole after every measurement."""

    def __init__(self, report: Path = REPORT) -> None:
        self.report = report
        self.notes: list[Note] = []
        self.goals: list[Goal] = []
        self.missing: list[tuple[int, str, str]] = []

    def note(self, what: str, unit: str, values: Sequence[float]) -> float:
        """Note a measurement; returns its median."""
        self.notes.append(Note(what, unit, list(values)))
        self._write()
        return self.notes[-1].median

    def goal(
        self,
        number: int,
        what: str,
        against: str,
        values: Sequence[float],
        limit: float,
        unit: str = "×",
        *,
        at_least: bool = False,
    ) -> bool:
        """Note a measurement that has a goal; whether it is met."""
        self.goals.append(Goal(what, unit, list(values), number, against, limit, at_least))
        self._write()
        return self.goals[-1].met

    def not_measured(self, number: int, what: str, reason: str) -> None:
        """Say why a goal has no measurement in this run."""
        self.missing.append((number, what, reason))
        self._write()

    def _write(self) -> None:
        def row(one: Note) -> dict[str, object]:
            found: dict[str, object] = asdict(one)
            values = found.pop("values")
            return found | {
                "n": len(values),
                "median": one.median,
                "min": min(values),
                "max": max(values),
                **({"met": one.met} if isinstance(one, Goal) else {}),
            }

        machine = {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "load": [round(one, 1) for one in os.getloadavg()],
        }
        found = {
            "machine": machine,
            "goals": sorted(map(row, self.goals), key=lambda one: one["number"]),  # type: ignore[arg-type,return-value]
            "not measured": [dict(zip(("number", "what", "reason"), one, strict=True)) for one in self.missing],
            "notes": [row(one) for one in self.notes],
        }
        self.report.parent.mkdir(exist_ok=True)
        self.report.write_text(json.dumps(found, indent=1, ensure_ascii=False), encoding="utf-8")

    def table(self) -> str:
        """The goals as a Markdown table, and below them the notes."""
        lines = ["| # | what | against | median | spread | goal | met |", "|---|---|---|---|---|---|---|"]
        rows: list[tuple[int, str]] = []
        for one in self.goals:
            sign = "≥" if one.at_least else "≤"
            rows.append(
                (
                    one.number,
                    f"| {one.number} | {one.what} | {one.against or '–'} | {figure(one.median)} {one.unit} "
                    f"| {figure(min(one.values))}–{figure(max(one.values))} (n {len(one.values)}) "
                    f"| {sign} {figure(one.limit)} {one.unit} | {'yes' if one.met else '**no**'} |",
                )
            )
        for number, what, reason in self.missing:
            rows.append((number, f"| {number} | {what} | – | – | – | – | not measured: {reason} |"))
        lines += [line for _, line in sorted(rows, key=lambda row: row[0])]
        lines += ["", "| also measured | median | spread |", "|---|---|---|"]
        lines += [
            f"| {one.what} | {figure(one.median)} {one.unit} "
            f"| {figure(min(one.values))}–{figure(max(one.values))} (n {len(one.values)}) |"
            for one in self.notes
        ]
        return "\n".join(lines)


def figure(value: float) -> str:
    """Three significant digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Turn by turn, since a busy machine slows both sides of a turn."""
    return [one / other for one, other in zip(ours, theirs, strict=True)]


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values do not exceed."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))]
