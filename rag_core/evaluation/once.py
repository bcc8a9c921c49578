"""Measuring in one call, for programs and notebooks: what `rag eval` does with a lab that is open."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..catalog import StrategySpec, recipe_of
from ..documents.benchmark import Benchmark
from ..indexing import Progress, no_progress
from ..lab.lab import Lab
from ..values.errors import ConfigError
from .cost_estimate import Workload, estimate, plan_of
from .datasets import read_judged, source_of
from .manifest import BUILTIN_DATA, describe_run
from .metrics import DEFAULT_METRICS, parse_metric
from .results import Results, choose_metrics, conclude
from .run_folder import RunFolder, folder_for
from .runner import build_strategies
from .runner import evaluate as run_all
from .sweep import SweepResult, grid, sample, save_sweep
from .tuning import plan, tune


def evaluate(
    lab: Lab,
    strategies: str | Sequence[str] | Mapping[str, StrategySpec],
    data: str | Path = BUILTIN_DATA,
    *,
    split: str = "test",
    metrics: str | Sequence[str] = (),
    baseline: str = "",
    depth: int | None = None,
    progress: Progress = no_progress,
    yes: bool = False,
) -> Results:
    """Measure strategies on judged questions, without writing answers. The run is kept in RAG_HOME, as by `rag eval`.

    Args:
        lab: over the documents of the data; what people taught it does not count.
        strategies: names, or label -> a strategy with its values.
        data: "builtin", or a BEIR folder, whose documents `evaluation.open_judged` opens.
        metrics: the first is compared; the usual ones by default.
        baseline: label that each other strategy is compared with; every pair by default.
        depth: raises every count of passages to at least this; as configured by default.
        yes: agrees to what a run costs, which is refused by default; the error says how much at most.

    Raises:
        ConfigError: a name or a value is wrong, the cost is not agreed to, or the lab has none of the judged documents.
        RagError: the data cannot be read, or the run cannot be stored.
    """
    names = [strategies] if isinstance(strategies, str) else strategies
    chosen = build_strategies(names if isinstance(names, Mapping) else {one: one for one in names}, depth)
    measured = choose_metrics([metrics] if isinstance(metrics, str) else metrics, depth)
    judged = read_judged(str(data), split, lab.settings)
    if baseline and baseline not in chosen:
        raise ConfigError(f"The baseline {baseline!r} is not measured.", f"Choose {', '.join(chosen)}.")
    _check_documents(lab, judged, data)
    lab = lab.untaught()
    pairs = [(label, baseline) for label in chosen if label != baseline] if baseline else []
    source, share = source_of(str(data)), lab.engines.billed
    manifest = describe_run(judged, chosen, depth=depth, engine=lab.engine, source=source, pairs=pairs)
    with RunFolder.create(folder_for(manifest, lab.settings), manifest, judged) as run:
        _check_cost(plan_of(run, chosen, share=share), lab, yes=yes)
        for now in run_all(run, chosen, lab.services, share=share):
            progress("measuring", now.done, now.total)
        results = conclude(run, measured)
    results._run = run
    return results


def sweep(
    lab: Lab,
    strategy: str | tuple[str, Mapping[str, object]],
    vary: Mapping[str, Sequence[object]],
    data: str | Path = BUILTIN_DATA,
    *,
    tune_on: str = "dev",
    report_on: str = "test",
    metric: str = DEFAULT_METRICS[0],
    most: int | None = None,
    progress: Progress = no_progress,
    yes: bool = False,
) -> SweepResult:
    """Try every combination of control values; report the best on one split by another. Kept as by `rag sweep`.

    Raises RagError as `evaluate` does, or if there are too many combinations or a stage failed.

    Args:
        strategy: a name, or (name, values for all settings).
        vary: control -> the values to try.
        tune_on, report_on: the splits that the winner is chosen and reported on.
        most: try at most this many combinations, at random; all by default, 20,000 at most.
    """
    name, base = (strategy, {}) if isinstance(strategy, str) else strategy
    recipe, measured = recipe_of(name), parse_metric(metric)
    combinations = grid(vary) if most is None else sample(vary, most)
    dev, test = (read_judged(str(data), split, lab.settings) for split in (tune_on, report_on))
    planned = plan(recipe, combinations, dev, test, base)
    _check_documents(lab, dev, data)
    lab = lab.untaught()
    _check_cost(planned, lab, yes=yes)
    result = tune(recipe, combinations, measured, dev, test, lab.services, base=base, progress=progress)
    save_sweep(result, lab.settings)
    return result


def _check_documents(lab: Lab, judged: Benchmark, data: str | Path) -> None:
    if judged.exam_of == lab.corpus:
        return
    documents = {name for grades in judged.qrels.values() for name in grades}
    if documents.isdisjoint(lab.index.manifest.documents):
        raise ConfigError(
            f"Corpus {lab.corpus!r} has none of the documents that {data} judges.",
            f"Open them with rag_core.evaluation.open_judged({str(data)!r}, lab.settings).",
        )


def _check_cost(planned: Sequence[Workload], lab: Lab, *, yes: bool) -> None:
    bill = estimate(planned, lab.rehearsal())
    if not (bill.free or yes):
        raise ConfigError(f"This run would cost {bill}.", "Pass yes=True to run it.")
