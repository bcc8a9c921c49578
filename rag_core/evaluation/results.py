"""The results of a run: metrics with intervals, paired comparisons, groups of questions; what changed between runs."""

import math
import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from pydantic import Field, PrivateAttr, model_validator

from ..documents.benchmark import trec_lines
from ..values.errors import DataError, InputError
from ..values.message import Message
from ..values.owner_only import write_atomically
from ..values.types import Cost
from ..values.visible import as_json
from .ablation import RewriteEffect, rewrite_effects
from .manifest import Manifest, MeasuredStrategy, Stored, strategy_title
from .metrics import DEFAULT_METRICS, Metric, judged_at, parse_metric
from .records import Calls, Record
from .run_folder import RunFolder
from .statistics import Comparison, compare_all, interval

if TYPE_CHECKING:
    from pandas import DataFrame

Scores = Mapping[str, Mapping[str, float]]  # label -> question id -> score


class MeanScore(Stored):
    """The mean of a metric over questions, and its 95 % interval."""

    mean: float
    ci_low: float
    ci_high: float


Means = dict[str, MeanScore | None]  # metric -> mean; None where no question has a score


class StrategyResult(Stored):
    """What one strategy scored, took and cost.

    Args:
        queries: questions without a failure; all means are over these.
        judged_at_10: mean share of the first ten documents that were judged; None without a success.
        stage_seconds: mean seconds per query by "position name", positions from 1.
        cost_usd: US dollars of the whole run; None when a price is unknown.
        calls: by purpose and model, including those of failed attempts.
    """

    metrics: Means
    queries: int
    failed: int
    failures: tuple[str, ...]
    judged_at_10: float | None = Field(validation_alias="judged@10", serialization_alias="judged@10")
    seconds_per_query: float | None
    stage_seconds: dict[str, float]
    calls: tuple[Calls, ...]
    cost_usd: float | None
    cost_known_usd: float
    calls_without_price: int
    warnings: int
    fingerprint: str | None
    controls: dict[str, Any] | None

    @property
    def cost_per_query(self) -> float | None:
        return None if self.cost_usd is None else self.cost_usd / self.queries


class GroupResult(Stored):
    """Scores of the questions of one kind or language, by label and metric; p is corrected within it."""

    queries: int
    strategies: dict[str, Means]
    comparisons: tuple[Comparison, ...] = ()


Groups = dict[str, GroupResult]  # kind or language -> its questions' scores


class Results(Stored):
    """The results of a run: what `rag eval --json` prints and results.json holds.

    Args:
        comparisons: of every pair, or those of the manifest; p corrected over all of them.
        groups: "kind" and "language" -> group -> scores; empty where there is one group only.
        rewrites: label -> effects, for strategies that search with several queries.
        run_files: label -> name of its TREC run file, or why there is none.
    """

    data: str
    split: str
    queries: int
    judged_by: str
    primary: str
    strategies: dict[str, StrategyResult]
    comparisons: tuple[Comparison, ...]
    groups: dict[str, Groups]
    rewrites: dict[str, tuple[RewriteEffect, ...]]
    manifest: Manifest
    peak_memory_mb: float | None = None
    run_files: dict[str, str] = Field(default_factory=dict)
    _run: RunFolder | None = PrivateAttr(default=None)

    def __repr__(self) -> str:
        means = ", ".join(f"{label} {mean:.3f}" for label, mean in self.primary_means.items())
        return f"<Results of {self.queries} questions of {self.data}, {self.split}: {self.primary} {means}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html())  # labels and metrics, which it escapes

    def to_frame(self) -> "DataFrame":
        """A row for each strategy: "ndcg@10", "ndcg@10.ci_low", "ndcg@10.ci_high", ..., questions, failures, seconds, cost."""
        from pandas import json_normalize

        kept = {"metrics", "queries", "failed", "seconds_per_query", "cost_usd"}
        rows = [{"strategy": label, **one.model_dump(include=kept)} for label, one in self.strategies.items()]
        frame = json_normalize(rows).set_index("strategy")
        return frame.rename(columns=lambda name: name.removeprefix("metrics.").removesuffix(".mean"))

    @property
    def run(self) -> RunFolder:
        """The run behind them; a DataError if they were read from a file."""
        if self._run is None:
            raise DataError("These results came without their run.", "Open it: RunFolder.open(its folder).")
        return self._run

    def per_question(self) -> "DataFrame":
        """A row for each question, by id; columns by metric and strategy, as in `["ndcg@10"]["bm25"]`; NaN for a failure."""
        from pandas import DataFrame, concat

        names = next(iter(self.strategies.values())).metrics
        frames = {name: DataFrame(scores(self.run, parse_metric(name))) for name in names}
        return concat(frames, axis=1, names=["metric", "strategy"]).rename_axis("question")

    def qrels(self) -> dict[str, dict[str, int]]:
        """Question -> document -> grade, as pytrec_eval and ranx take them."""
        return {one.id: dict(self.run.judged.qrels[one.id]) for one in self.run.judged.measured}

    def runs(self) -> dict[str, dict[str, dict[str, float]]]:
        """Label -> question -> document -> score, likewise, without the questions that failed.

        Tools sort by score: one that does not fall, after a tie or a stage that reorders, is lowered to just below the
        one before. In a run that an older version began, without scores, it is 1 / rank.
        """
        return {
            label: {name: _falling(one) for name, one in records.items() if not one.error}
            for label, records in self.run.records.items()
        }

    @model_validator(mode="after")
    def _complete(self) -> Self:
        """Every group has every strategy, and every strategy the primary metric: what prints results relies on it."""
        rows = [group.strategies for groups in self.groups.values() for group in groups.values()]
        if any(set(row) != set(self.strategies) for row in rows):
            raise ValueError("a group of questions lacks a strategy")
        means = [one.metrics for one in self.strategies.values()]
        means += [metrics for row in rows for metrics in row.values()]
        if any(self.primary not in metrics for metrics in means):
            raise ValueError(f"a strategy has no {self.primary}")
        return self

    @property
    def primary_means(self) -> dict[str, float]:
        found = {label: row.metrics[self.primary] for label, row in self.strategies.items()}
        return {label: score.mean for label, score in found.items() if score}

    @property
    def leader(self) -> str | None:
        """The label of the strategy with the best primary mean; None without a mean."""
        means = self.primary_means
        return max(means, key=means.__getitem__, default=None)

    def best_kind(self, label: str, metric: str, baseline: str | None = None) -> tuple[str, float] | None:
        """The kind with the best mean, or gain over a baseline, and that figure; None without kinds."""
        scores = {}
        for kind, row in self.groups["kind"].items():
            mean = row.strategies[label][metric]
            base = row.strategies[baseline][metric] if baseline else None
            if mean and (base or not baseline):
                scores[kind] = mean.mean - (base.mean if base else 0.0)
        best = max(scores, key=scores.__getitem__, default=None)
        return None if best is None else (best, scores[best])


def in_words(results: Results, names: Mapping[str, str]) -> Message | None:
    """Which strategies, by name, are ahead of which, and which the leader is not told apart from; None if nothing was compared."""
    leader, means = results.leader, results.primary_means
    pairs = [pair for pair in results.comparisons if {pair.a, pair.b} <= means.keys()]
    if leader is None or not pairs:
        return None
    named = {one: f"{names[one]} ({mean:.2f})" for one, mean in means.items()}
    behind: dict[str, list[str]] = {}
    close = []
    for pair in pairs:
        first, second = sorted((pair.a, pair.b), key=lambda one: (one != leader, -means[one]))
        if pair.different:
            behind.setdefault(first, []).append(named[second])
        elif first == leader:
            close.append(named[second])
    told = [
        Message("{first} is ahead of {others}.", first=named[one], others=", ".join(behind[one]))
        for one in sorted(behind, key=lambda one: (one != leader, -means[one]))
    ]
    if close and leader in behind:
        told.insert(1, Message("It is not told apart from {others}.", others=", ".join(close)))
    elif close:
        highest = Message(
            "{first} has the highest figure, but is not told apart from {others}.",
            first=named[leader],
            others=", ".join(close),
        )
        told.insert(0, highest)
    return Message.joined(told, " ")


def _falling(record: Record) -> dict[str, float]:
    """Document -> score, each below the one before also in 32 bits, which trec_eval reads."""
    scores = record.scores or [1 / rank for rank in range(1, len(record.ranked) + 1)]
    found: dict[str, float] = {}
    last = math.inf
    for name, score in zip(record.ranked, scores, strict=True):
        last = found[name] = min(score, float(np.nextafter(np.float32(last), np.float32(-math.inf))))
    return found


def stored_results(run: RunFolder) -> Results | None:
    """The stored results of a run; None until it has ended; raises DataError if they cannot be read."""
    return Results.read(run.results_file) if run.results_file.is_file() else None


def choose_metrics(names: Sequence[str] = (), depth: int | None = None) -> list[Metric]:
    """The metrics of these names, the primary first; by default the usual ones. Raises ConfigError if one is unknown."""
    deep = ("recall@100",) if depth is not None and depth >= 100 else ()
    chosen = (parse_metric(name) for name in names or (*DEFAULT_METRICS, *deep))
    return list({metric.name: metric for metric in chosen}.values())


def scores(run: RunFolder, metric: Metric) -> dict[str, dict[str, float]]:
    """A metric of every measured question by label; a failed question has no score."""
    grades = run.judged.qrels
    return {
        label: {
            question: metric(record.ranked, grades[question])
            for question, record in records.items()
            if not record.error
        }
        for label, records in run.records.items()
    }


def conclude(run: RunFolder, metrics: Sequence[Metric]) -> Results:
    """Write a run's results and TREC run files; returns the results, or raises StorageError."""
    run_files = {}
    for label, records in run.records.items():
        path = run.folder / "runs" / f"{label}.trec"
        ranked = {question: record.ranked for question, record in records.items() if not record.error}
        try:
            write_atomically(path, trec_lines(ranked, label))
            run_files[label] = path.name
        except InputError as error:  # the format cannot express such an id
            run_files[label] = f"not written: {error.message}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    memory = round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)  # macOS counts bytes
    results = summarise(run, metrics).model_copy(update={"peak_memory_mb": memory, "run_files": run_files})
    write_atomically(run.results_file, as_json(results.as_json(), indent=1))
    return results


def summarise(run: RunFolder, metrics: Sequence[Metric]) -> Results:
    """The results of a run, without those of the process that ran it.

    Comparisons use the first metric. They cover every pair, or the manifest's pairs, which are then also
    compared within each group of questions; p values are corrected over each such set.
    """
    by_metric = {metric.name: scores(run, metric) for metric in metrics}
    primary, pairs = metrics[0], run.manifest.pairs or None
    return Results(
        data=run.judged.name,
        split=run.judged.split,
        queries=len(run.judged.measured),
        judged_by=run.judged.judged_by,
        primary=primary.name,
        strategies={label: _strategy_result(run, label, by_metric) for label in run.labels},
        comparisons=tuple(compare_all(primary.title, by_metric[primary.name], pairs)),
        groups={name: _group_results(run, by_metric, primary, name) for name in ("kind", "language")},
        rewrites={label: tuple(effects) for label in run.labels if (effects := rewrite_effects(run, label))},
        manifest=run.manifest,
    )


def _strategy_result(run: RunFolder, label: str, by_metric: Mapping[str, Scores]) -> StrategyResult:
    records = list(run.records[label].values())
    succeeded = [record for record in records if not record.error]
    cost = sum((record.cost for record in records), Cost())
    entry = run.manifest.strategies[label]
    timed = isinstance(entry, MeasuredStrategy)
    grades = run.judged.qrels
    judged = [judged_at(record.ranked, grades[record.question], 10) for record in succeeded]
    seconds = [record.seconds for record in succeeded]
    return StrategyResult(
        metrics=_means(by_metric, label),
        queries=len(succeeded),
        failed=len(records) - len(succeeded),
        failures=tuple(sorted({record.error for record in records if record.error})),
        judged_at_10=float(np.mean(judged)) if judged else None,
        seconds_per_query=float(np.mean(seconds)) if seconds and timed else None,
        stage_seconds=_stage_seconds(succeeded),
        calls=_call_totals(records),
        cost_usd=cost.usd,
        cost_known_usd=cost.known,
        calls_without_price=cost.unpriced,
        warnings=sum(len(record.warnings) for record in succeeded),
        fingerprint=entry.fingerprint,
        controls=entry.controls if isinstance(entry, MeasuredStrategy) else None,
    )


def _means(by_metric: Mapping[str, Scores], label: str) -> Means:
    means: Means = {}
    for name, found in by_metric.items():
        span = interval(list(found[label].values())) if found[label] else None
        means[name] = MeanScore(mean=span.mean, ci_low=span.low, ci_high=span.high) if span else None
    return means


def _stage_seconds(records: Sequence[Record]) -> dict[str, float]:
    seconds: dict[str, list[float]] = {}
    for record in records:
        for position, stage in enumerate(record.stages, start=1):
            seconds.setdefault(f"{position} {stage.stage}", []).append(stage.seconds)
    return {name: float(np.mean(values)) for name, values in seconds.items()}


def _call_totals(records: Sequence[Record]) -> tuple[Calls, ...]:
    totals: dict[tuple[str, str], Calls] = {}
    for record in records:
        for calls in (*record.calls, *record.earlier):
            key = calls.purpose, calls.model
            totals[key] = totals[key] + calls if key in totals else calls
    return tuple(totals.values())


def _group_results(
    run: RunFolder, by_metric: Mapping[str, Scores], primary: Metric, attribute: Literal["kind", "language"]
) -> Groups:
    """The scores of each group of questions, and the manifest's pairs compared in it; empty for one group."""
    members: dict[str, list[str]] = {}
    for question in run.judged.measured:
        members.setdefault(getattr(question, attribute), []).append(question.id)
    if len(members) < 2:
        return {}
    found = {}
    for group, ids in members.items():
        within = {
            name: {label: {one: of[one] for one in ids if one in of} for label, of in labels.items()}
            for name, labels in by_metric.items()
        }
        pairs = run.manifest.pairs
        found[group] = GroupResult(
            queries=len(ids),
            strategies={label: _means(within, label) for label in run.labels},
            comparisons=tuple(compare_all(primary.title, within[primary.name], pairs) if pairs else ()),
        )
    return found


SLOWER = 1.1  # times within this ratio count as equal


@dataclass(frozen=True, slots=True)
class Point:
    """A strategy or setting by quality, seconds and US dollars per question; is it on the Pareto front?"""

    name: str
    mean: float
    seconds: float
    cost_usd: float | None
    front: bool = False


def on_front(points: Sequence[Point]) -> list[bool]:
    """Whether no other point is better in one respect and worse in none; an unknown cost counts as 0."""
    return [not any(_dominates(other, point) for other in points) for point in points]


def pareto_front(results: Results) -> list[Point]:
    """The strategies that ran here, by their primary metric, time and cost."""
    points = [
        Point(label, mean, row.seconds_per_query, row.cost_per_query)
        for label, mean in results.primary_means.items()
        if (row := results.strategies[label]).seconds_per_query is not None
    ]
    return [replace(point, front=front) for point, front in zip(points, on_front(points), strict=True)]


def _dominates(a: Point, b: Point) -> bool:
    cost_a, cost_b = a.cost_usd or 0.0, b.cost_usd or 0.0
    worse = a.mean < b.mean or a.seconds > SLOWER * b.seconds or cost_a > cost_b
    better = a.mean > b.mean or SLOWER * a.seconds < b.seconds or cost_a < cost_b
    return better and not worse


Verdict = Literal["better", "worse", "different", "same", "failed"]


@dataclass(frozen=True, slots=True)
class Change:
    """One question's score under a strategy and the baseline; None where that failed.

    The verdict is "different" when the scores are equal but the first `cutoff` documents are not.
    """

    question: str
    verdict: Verdict
    baseline: float | None
    score: float | None

    @property
    def difference(self) -> float:
        """Score minus baseline; minus infinity after a failure, so that failures sort first."""
        if self.score is None or self.baseline is None:
            return -math.inf
        return self.score - self.baseline


def changes(run: RunFolder, metric: Metric, baseline: str, label: str) -> list[Change]:
    """Every question's change, worst first: what a mean hides."""
    found, top = scores(run, metric), slice(metric.cutoff)
    rows = []
    for name in (question.id for question in run.judged.measured):
        if name not in run.records[baseline] or name not in run.records[label]:
            continue
        before, after = found[baseline].get(name), found[label].get(name)
        first, second = (run.records[one][name].ranked[top] for one in (baseline, label))
        verdict: Verdict = "same" if first == second else "different"
        if before is None or after is None:
            verdict = "failed"
        elif abs(after - before) > 1e-9:
            verdict = "better" if after > before else "worse"
        rows.append(Change(name, verdict, before, after))
    return sorted(rows, key=lambda change: (change.difference, change.question))


@dataclass(frozen=True, slots=True)
class StrategyInTwoRuns:
    """A strategy's means in two runs, None where it has none, and newer − older on the questions of both."""

    title: str
    older: float | None
    newer: float | None
    comparison: Comparison | None


def compare_runs(older: RunFolder, newer: RunFolder, metric: Metric) -> list[StrategyInTwoRuns]:
    """The strategies in both runs, then those in one only."""
    before, after = _labels_by_title(older), _labels_by_title(newer)
    old, new = scores(older, metric), scores(newer, metric)
    both = [title for title in after if title in before]
    paired = {f"{title} (older)": old[before[title]] for title in both}
    paired |= {f"{title} (newer)": new[after[title]] for title in both}
    pairs = compare_all(metric.title, paired, [(f"{title} (newer)", f"{title} (older)") for title in both])
    compared = dict(zip(both, pairs, strict=True))
    return [
        StrategyInTwoRuns(
            title,
            _mean(old[before[title]]) if title in before else None,
            _mean(new[after[title]]) if title in after else None,
            compared.get(title),
        )
        for title in [*both, *(title for title in {**before, **after} if title not in compared)]
    ]


def _labels_by_title(run: RunFolder) -> dict[str, str]:
    found: dict[str, str] = {}
    for label in run.labels:
        found.setdefault(strategy_title(label, run.manifest), label)
    return found


def _mean(values: Mapping[str, float]) -> float | None:
    return float(np.mean(list(values.values()))) if values else None
