"""Many rows of data, or many random cases, in one test."""

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

FUZZ = os.environ.get("FUZZ") == "all"  # as `make bench` sets it


def fuzzed(few: int) -> settings:
    """So many random cases, always the same ones; with FUZZ=all thousands, others on every run."""
    return settings(
        derandomize=not FUZZ,
        max_examples=5_000 if FUZZ else few,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


def for_each(
    names: str | Sequence[str],
    rows: Iterable[Any],
    ids: Iterable[object] | Callable[[Any], object] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Like `pytest.mark.parametrize`, but one test for all rows, which names every row that fails.

    For rows that are data. A behaviour of its own has a case of its own. Fixtures are made once for all rows.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = list(rows)
    assert not any(isinstance(row, type(pytest.param())) for row in rows), "marks need a case of their own"
    values = [(row,) if len(names) == 1 else tuple(row) for row in rows]
    assert values, "no rows: the test would pass by doing nothing"
    if ids is None or callable(ids):
        tell = ids or repr
        labels = [", ".join(str(tell(value)) for value in row) for row in values]
    else:
        labels = [str(label) for label in ids]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        taken = inspect.signature(test)

        @functools.wraps(test)
        def looped(*given: Any, **fixtures: Any) -> None:
            failed = []
            for label, row in zip(labels, values, strict=True):
                try:
                    test(*given, **fixtures, **dict(zip(names, row, strict=True)))
                except (Exception, pytest.fail.Exception) as error:
                    failed.append(f"{label}: {type(error).__name__}: {error}")
            if failed:
                pytest.fail(f"{len(failed)} of {len(values)} rows fail:\n\n" + "\n\n".join(failed))

        looped.__signature__ = taken.replace(  # type: ignore[attr-defined]
            parameters=[one for name, one in taken.parameters.items() if name not in names]
        )
        return looped

    return decorate
