"""Measuring strategies on judged questions: metrics, intervals, paired tests, sweeps, answer checks."""

from .ablation import RewriteEffect, StageEffect, rewrite_effects, stage_effects
from .estimate import Estimate, estimate, estimate_all
from .metrics import DEFAULT_METRICS, Metric, parse_metric
from .pareto import front
from .records import Record, RunFolder, StageRecord, read_json
from .results import Change, changes, choose_metrics, conclude, differences, scores, summarise
from .runner import Progress, describe, evaluate, settle, take_run_file
from .session import (
    BUILTIN_DATA,
    document_titles,
    folder_for,
    open_judged,
    past_runs,
    read_judged,
    source_of,
    title_of,
)
from .statistics import Comparison, Interval, compare_all, interval
from .sweep import draw, grid, parse_axis, settings_of, spread
from .tables import markdown, put_table
from .tuning import keep, kept, read_sweep, tune

__all__ = [
    "BUILTIN_DATA",
    "DEFAULT_METRICS",
    "Change",
    "Comparison",
    "Estimate",
    "Interval",
    "Metric",
    "Progress",
    "Record",
    "RewriteEffect",
    "RunFolder",
    "StageEffect",
    "StageRecord",
    "changes",
    "choose_metrics",
    "compare_all",
    "conclude",
    "describe",
    "differences",
    "document_titles",
    "draw",
    "estimate",
    "estimate_all",
    "evaluate",
    "folder_for",
    "front",
    "grid",
    "interval",
    "keep",
    "kept",
    "markdown",
    "open_judged",
    "parse_axis",
    "parse_metric",
    "past_runs",
    "put_table",
    "read_json",
    "read_judged",
    "read_sweep",
    "rewrite_effects",
    "scores",
    "settings_of",
    "settle",
    "source_of",
    "spread",
    "stage_effects",
    "summarise",
    "take_run_file",
    "title_of",
    "tune",
]
