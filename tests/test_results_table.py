"""The README's figures are those of the stored result, and the stored result is what the code gives now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rag_core import evaluation as ev
from rag_core.evaluation.tables import BEGIN, END
from rag_core.lab import Lab

ROOT = Path(__file__).resolve().parents[1]
STORED = ev.read_json(ROOT / "data" / "results.json")


def test_the_readme_holds_the_stored_figures() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.partition(BEGIN)[2].partition(END)[0]
    assert table.strip() == ev.markdown(STORED).strip(), "run `make results`"


def test_the_stored_result_is_of_these_questions_and_strategies() -> None:
    manifest = STORED["manifest"]
    judged = ev.read_judged("builtin", STORED["split"], ev_settings())
    assert manifest["checksum"] == judged.checksum, "run `make results`"
    for label, row in manifest["strategies"].items():
        built = ev.settle({label: (row["strategy"], row["controls"])}, manifest["depth"])[label]
        assert built.fingerprint == row["fingerprint"], f"{label}: run `make results`"


def ev_settings():  # type: ignore[no-untyped-def]
    from rag_core.settings import read_settings

    return read_settings()


def test_measuring_again_gives_the_stored_figures(tmp_path: Path, lab: Lab) -> None:
    """Every question of the test split through every strategy: the same scores, not only the same means."""
    manifest = STORED["manifest"]
    strategies = ev.settle(
        {label: (row["strategy"], row["controls"]) for label, row in manifest["strategies"].items()}
    )
    judged = ev.read_judged("builtin", STORED["split"], lab.settings)
    run = ev.RunFolder.create(
        tmp_path / "run",
        ev.describe(judged, strategies, depth=None, engine=lab.engine, source="builtin"),
        judged,
    )
    for _ in ev.evaluate(run, strategies, lab.context, share=True):
        pass
    again = json.loads(json.dumps(ev.summarise(run, ev.choose_metrics(list(next(iter(STORED["strategies"].values()))["metrics"])))))  # fmt: skip
    for label, row in STORED["strategies"].items():
        for name, value in row["metrics"].items():
            assert again["strategies"][label]["metrics"][name] == pytest.approx(value, abs=1e-9), (
                label,
                name,
            )
    assert [pair["verdict"] for pair in again["comparisons"]] == [
        pair["verdict"] for pair in STORED["comparisons"]
    ]
