"""A few judged questions on the small collection, and a run folder for them."""

from collections.abc import Mapping
from pathlib import Path

from rag_core import evaluation as ev
from rag_core.documents.benchmark import Benchmark, Question
from rag_core.evaluation.run_folder import RunFolder
from rag_core.pipeline.strategy import Strategy
from rag_core.runtime.services import Services

QUESTIONS = (
    Question("q1", "cats sleep", "en", "clear", "routine"),
    Question("q2", "dogs guard the house", "en", "clear", "routine"),
    Question("q3", "birds that swim", "en", "lay", "routine"),
    Question("q4", "what is a volcano", "en", "outside", "routine"),
)
GRADES: Mapping[str, Mapping[str, int]] = {
    "q1": {"a": 2, "e": 1, "f": 0},
    "q2": {"b": 2},
    "q3": {"c": 1, "f": 1},
    "q4": {"a": 0},
}
JUDGED = Benchmark("animals", "test", QUESTIONS, GRADES, "0123456789abcdef")


def opened(folder: Path, strategies: Mapping[str, Strategy], judged: Benchmark = JUDGED) -> RunFolder:
    manifest = ev.describe_run(judged, strategies, depth=None, engine={}, source="builtin")
    return RunFolder.create(folder, manifest, judged)


def finish(run: RunFolder, strategies: Mapping[str, Strategy], services: Services) -> list[ev.RunProgress]:
    return list(ev.evaluate(run, strategies, lambda: services))
