"""What the benchmarks measured: a table at the end of `make bench`, and the same as JSON in .rag/bench.json."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

Record = Callable[[str, str, Sequence[float]], float]  # (what, unit, values) -> median
REPORT = Path(".rag") / "bench.json"


@pytest.fixture(scope="session")
def record() -> Iterator[Record]:
    """Notes the values of one measurement; returns their median."""
    rows: list[dict[str, object]] = []

    def note(what: str, unit: str, values: Sequence[float]) -> float:
        median = statistics.median(values)
        rows.append(
            {
                "what": what,
                "unit": unit,
                "n": len(values),
                "median": median,
                "min": min(values),
                "max": max(values),
            }
        )
        return median

    yield note
    machine = {"cores": os.cpu_count(), "python": platform.python_version()}
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(json.dumps({"machine": machine, "measured": rows}, indent=1), encoding="utf-8")
    print(f"\n{'measured':<58}{'median':>10}{'min':>10}{'max':>10}  n  unit")
    for row in rows:
        print(
            f"{row['what']:<58}{row['median']:>10.2f}{row['min']:>10.2f}{row['max']:>10.2f}{row['n']:>3}  {row['unit']}"
        )
