"""What a run says: metrics with intervals, paired comparisons, groups of questions, regressions."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from ..values.errors import InputError
from ..values.types import Cost
from .ablation import rewrite_effects
from .metrics import DEFAULT_METRICS, Metric, judged_at, parse_metric
from .records import Calls, Record, RunFolder, write_atomically
from .runfiles import write_run
from .statistics import compare_all, interval

Scores = Mapping[str, Mapping[str, float]]  # label -> question id -> score
Verdict = Literal["better", "worse", "different", "same", "failed"]


def choose_metrics(names: Sequence[str] = (), depth: int | None = None) -> list[Metric]:
    """The metrics of these names, the first being the one that comparisons go by.

    Without names the usual ones; Recall@100 among them where rankings are that deep.

    Raises:
        ConfigError: an unknown metric.
    """
    deep = ("recall@100",) if depth is not None and depth >= 100 else ()
    chosen = (parse_metric(name) for name in names or (*DEFAULT_METRICS, *deep))
    return list({metric.name: metric for metric in chosen}.values())


def scores(run: RunFolder, metric: Metric) -> dict[str, dict[str, float]]:
    """A metric of every measured question that ran; a failed one has no score."""
    grades = run.judged.qrels
    return {
        label: {
            question: metric(record.ranked, grades[question])
            for question, record in held.items()
            if not record.error
        }
        for label, held in run.records.items()
    }


def conclude(run: RunFolder, metrics: Sequence[Metric]) -> dict[str, Any]:
    """Write a run's results and its rankings as TREC run files; the results."""
    results = {**summarise(run, metrics), "peak_memory_mb": _peak_memory_mb(), "run_files": {}}
    for label, held in run.records.items():
        path = run.folder / "runs" / f"{label}.trec"
        ranked = {question: record.ranked for question, record in held.items() if not record.error}
        try:
            write_run(path, ranked, label)
            results["run_files"][label] = path.name
        except InputError as error:  # the format has no place for such an id
            results["run_files"][label] = f"not written: {error.message}"
    write_atomically(run.folder / "results.json", json.dumps(results, ensure_ascii=False, indent=1))
    return results


def _peak_memory_mb() -> float:
    """The most memory this process has held, in megabytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)  # macOS counts bytes


def summarise(run: RunFolder, metrics: Sequence[Metric]) -> dict[str, Any]:
    """The shape `rag eval --json` prints, but for what belongs to the process that ran it.

    Comparisons are of the first metric, over every pair or those of the manifest, p values corrected over
    all of them; the pairs of the manifest are compared in each group of questions too, corrected there.
    """
    by_metric = {metric.name: scores(run, metric) for metric in metrics}
    primary = metrics[0]
    pairs = [(a, b) for a, b in run.manifest.get("pairs", [])] or None
    return {
        "data": run.judged.name,
        "split": run.judged.split,
        "queries": len(run.judged.measured),
        "judged_by": run.judged.judged_by,
        "primary": primary.name,
        "strategies": {label: _strategy(run, label, by_metric) for label in run.labels},
        "comparisons": [asdict(pair) for pair in compare_all(primary.title, by_metric[primary.name], pairs)],
        "groups": {
            "kind": groups(run, by_metric, primary, pairs, lambda question: question.kind),
            "language": groups(run, by_metric, primary, pairs, lambda question: question.language),
        },
        "rewrites": {
            label: [asdict(effect) for effect in effects]
            for label in run.labels
            if (effects := rewrite_effects(run, label))
        },
        "manifest": dict(run.manifest),
    }


def _strategy(run: RunFolder, label: str, by_metric: Mapping[str, Scores]) -> dict[str, Any]:
    ran = [record for record in run.records[label].values() if not record.error]
    failures = [record for record in run.records[label].values() if record.error]
    records = list(run.records[label].values())
    cost = sum((record.cost for record in records), Cost())
    declared = run.manifest["strategies"][label]
    ours = "controls" in declared  # a run file of another system tells no times
    grades = run.judged.qrels
    return {
        "metrics": {name: _mean(list(held[label].values())) for name, held in by_metric.items()},
        "queries": len(ran),
        "failed": len(failures),
        "failures": sorted({record.error for record in failures}),
        "judged@10": float(np.mean([judged_at(r.ranked, grades[r.question], 10) for r in ran]))
        if ran
        else None,
        "seconds_per_query": float(np.mean([record.seconds for record in ran])) if ran and ours else None,
        "stage_seconds": _stage_seconds(ran),
        "calls": _calls(records),
        "cost_usd": cost.usd,
        "cost_known_usd": cost.known,
        "calls_without_price": cost.unpriced,
        "warnings": sum(len(record.warnings) for record in ran),
        "fingerprint": declared.get("fingerprint"),
        "controls": declared.get("controls"),
    }


def _mean(values: Sequence[float]) -> dict[str, float] | None:
    if not values:
        return None
    found = interval(np.array(values))
    return {"mean": found.mean, "ci_low": found.low, "ci_high": found.high}


def _stage_seconds(ran: Sequence[Record]) -> dict[str, float]:
    """Mean seconds per query of each stage, by position and name."""
    seconds: dict[str, list[float]] = {}
    for record in ran:
        for position, stage in enumerate(record.stages, start=1):
            seconds.setdefault(f"{position} {stage.stage}", []).append(stage.seconds)
    return {name: float(np.mean(values)) for name, values in seconds.items()}


def _calls(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Model calls of the whole run by purpose and model, those of attempts that failed included."""
    rows: dict[tuple[str, str], list[Calls]] = {}
    for record in records:
        for calls in (*record.calls, *record.earlier):
            rows.setdefault((calls.purpose, calls.model), []).append(calls)
    return [
        {
            "purpose": purpose,
            "model": model,
            **{
                key: sum(getattr(calls, key) for calls in group)
                for key in ("count", "input_tokens", "output_tokens")
            },
            "cost_usd": sum((calls.cost for calls in group), Cost()).usd,
        }
        for (purpose, model), group in rows.items()
    ]


def groups(
    run: RunFolder,
    by_metric: Mapping[str, Scores],
    primary: Metric,
    pairs: Sequence[tuple[str, str]] | None,
    group_of: Callable[[Any], str],
) -> dict[str, dict[str, Any]]:
    """The metrics for each group of questions, and the pairs compared in it; empty for a single group."""
    members: dict[str, list[str]] = {}
    for question in run.judged.measured:
        members.setdefault(group_of(question), []).append(question.id)
    if len(members) < 2:
        return {}
    return {
        group: {
            "queries": len(ids),
            "strategies": {
                label: {
                    name: _mean([held[label][one] for one in ids if one in held[label]])
                    for name, held in by_metric.items()
                }
                for label in run.labels
            },
            "comparisons": [
                asdict(pair)
                for pair in (
                    compare_all(primary.title, _only(by_metric[primary.name], ids), pairs) if pairs else ()
                )
            ],
        }
        for group, ids in members.items()
    }


def _only(held: Scores, ids: Sequence[str]) -> dict[str, dict[str, float]]:
    return {label: {one: values[one] for one in ids if one in values} for label, values in held.items()}


@dataclass(frozen=True, slots=True)
class Change:
    """One question under a strategy, set beside the baseline.

    Args:
        verdict: "different" when the score is the same and the first `cutoff` documents are not.
    """

    question: str
    verdict: Verdict
    baseline: float | None
    score: float | None


def changes(run: RunFolder, metric: Metric, baseline: str, label: str) -> list[Change]:
    """Every question's fate, worst first: what a mean hides."""
    held = scores(run, metric)
    found = [
        _change(run, metric, question.id, baseline, label, held)
        for question in run.judged.measured
        if question.id in run.records[baseline] and question.id in run.records[label]
    ]
    return sorted(found, key=lambda change: (_difference(change), change.question))


def _change(run: RunFolder, metric: Metric, question: str, baseline: str, label: str, held: Scores) -> Change:
    before, after = held[baseline].get(question), held[label].get(question)
    if before is None or after is None:
        return Change(question, "failed", before, after)
    if abs(after - before) > 1e-9:
        return Change(question, "better" if after > before else "worse", before, after)
    first = slice(metric.cutoff)
    same = run.records[baseline][question].ranked[first] == run.records[label][question].ranked[first]
    return Change(question, "same" if same else "different", before, after)


def _difference(change: Change) -> float:
    if change.score is None or change.baseline is None:
        return -np.inf
    return change.score - change.baseline


def differences(older: RunFolder, newer: RunFolder) -> list[str]:
    """What two runs do not share, one sentence each, so that nobody reads more into their figures."""
    told = []
    for key, said in (
        ("checksum", "The questions or judgements are not the same; only those in both are compared."),
        ("engine", "The models or the index are not the same."),
        ("depth", "The depth is not the same."),
        ("versions", "The versions of the libraries are not the same."),
    ):
        if older.manifest[key] != newer.manifest[key]:
            told.append(said)
    return told
