"""The stored measurement of the built-in questions, and some of its questions measured again.

`python -m helpers.stored_results` (part of `make results`) writes the rows that the suite compares with.
"""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

from rag_core import evaluation as ev
from rag_core.evaluation.answers import evenly_spaced
from rag_core.lab.lab import Lab
from rag_core.lab.opening import open_lab
from rag_core.values.settings import Settings

from .small import ROOT

STORED = ev.Results.read(ROOT / "data" / "results.json")
STRATEGIES = ev.build_strategies(
    {
        label: (row.strategy, row.controls)
        for label, row in STORED.manifest.strategies.items()
        if isinstance(row, ev.MeasuredStrategy)
    }
)
ROWS = ROOT / "tests" / "evaluation" / "stored_rows.json"
SAMPLE = 5

Rows = dict[str, dict[str, list[str]]]  # label -> question id -> documents, best first


def measured_again(lab: Lab, folder: Path, limit: int | None = None) -> ev.RunFolder:
    """The stored run made again in an empty folder, on `limit` of its questions, evenly spaced; on all for None.

    Every strategy at once, since they share calls and first stages.
    """
    judged = ev.read_judged("builtin", STORED.split, lab.settings)
    judged = replace(judged, questions=tuple(evenly_spaced(judged.measured, limit)))
    manifest = ev.describe_run(
        judged, STRATEGIES, depth=None, engine=lab.engine, source="builtin", pairs=STORED.manifest.pairs
    )
    run = ev.RunFolder.create(folder, manifest, judged)
    for _ in ev.evaluate(run, STRATEGIES, lab.services, share=True):
        pass
    return run


def rows(run: ev.RunFolder) -> Rows:
    """The documents that each strategy found for each question of a run."""
    return {
        label: {question: list(record.ranked) for question, record in records.items()}
        for label, records in run.records.items()
    }


def main() -> None:
    lab = open_lab(settings=Settings(llm="offline"))
    with tempfile.TemporaryDirectory() as folder, measured_again(lab, Path(folder), SAMPLE) as run:
        ROWS.write_text(json.dumps(rows(run), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
