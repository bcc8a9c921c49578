"""Measuring strategies on judged questions: metrics, intervals, paired tests, sweeps, answer checks."""

from .ablation import RewriteEffect, StageEffect, rewrite_effects, stage_effects
from .background import start_run, start_sweep
from .estimate import Batch, Estimate, estimate, plan_of
from .metrics import DEFAULT_METRICS, Metric, parse_metric
from .pareto import front
from .records import Record, RunFolder, StageRecord, read_json
from .results import Change, changes, choose_metrics, conclude, differences, scores, summarise
from .runner import Progress, describe, evaluate, settle, take_run_file
from .session import (
    BUILTIN_DATA,
    document_titles,
    folder_for,
    grades_of,
    open_judged,
    past_runs,
    read_judged,
    source_of,
    title_of,
)
from .statistics import Comparison, Interval, compare_all, interval
from .sweep import draw, grid, parse_axis, settings_of, spread
from .tables import markdown, put_table
from .tuning import keep, kept, plan, read_sweep, sweep_title, tune
from .variants import Then, compare_runs, in_words, titles
from .works import Kind, RunningMean, Status, Work, Works

__all__ = [
    "BUILTIN_DATA",
    "DEFAULT_METRICS",
    "Batch",
    "Change",
    "Comparison",
    "Estimate",
    "Interval",
    "Kind",
    "Metric",
    "Progress",
    "Record",
    "RewriteEffect",
    "RunFolder",
    "RunningMean",
    "StageEffect",
    "StageRecord",
    "Status",
    "Then",
    "Work",
    "Works",
    "changes",
    "choose_metrics",
    "compare_all",
    "compare_runs",
    "conclude",
    "describe",
    "differences",
    "document_titles",
    "draw",
    "estimate",
    "evaluate",
    "folder_for",
    "front",
    "grades_of",
    "grid",
    "in_words",
    "interval",
    "keep",
    "kept",
    "markdown",
    "open_judged",
    "parse_axis",
    "parse_metric",
    "past_runs",
    "plan",
    "plan_of",
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
    "start_run",
    "start_sweep",
    "summarise",
    "sweep_title",
    "take_run_file",
    "title_of",
    "titles",
    "tune",
]
