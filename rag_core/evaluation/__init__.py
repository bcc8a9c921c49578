"""Measuring strategies on judged questions: metrics, intervals, paired tests, sweeps, answer checks."""

from .ablation import RewriteEffect, StageEffect, rewrite_effects, stage_effects
from .background import start_run, start_sweep
from .estimate import Batch, Estimate, estimate, plan_of
from .jobs import Job, JobKind, Jobs, RunningMean, Status
from .metrics import DEFAULT_METRICS, Metric, parse_metric
from .pareto import pareto_front
from .records import Record, RunFolder, StageRecord, read_json
from .results import Change, changes, choose_metrics, conclude, differences, scores, summarise
from .runner import RunProgress, build_strategies, describe, evaluate, take_run_file
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
from .sweep import axis_values, grid, parse_axis, sample, settings_of
from .tables import markdown, put_table
from .tuning import list_sweeps, plan, read_sweep, save_sweep, sweep_title, tune
from .variants import VariantChange, compare_runs, in_words, titles

__all__ = [
    "BUILTIN_DATA",
    "DEFAULT_METRICS",
    "Batch",
    "Change",
    "Comparison",
    "Estimate",
    "Interval",
    "Job",
    "JobKind",
    "Jobs",
    "Metric",
    "Record",
    "RewriteEffect",
    "RunFolder",
    "RunProgress",
    "RunningMean",
    "StageEffect",
    "StageRecord",
    "Status",
    "VariantChange",
    "axis_values",
    "build_strategies",
    "changes",
    "choose_metrics",
    "compare_all",
    "compare_runs",
    "conclude",
    "describe",
    "differences",
    "document_titles",
    "estimate",
    "evaluate",
    "folder_for",
    "grades_of",
    "grid",
    "in_words",
    "interval",
    "list_sweeps",
    "markdown",
    "open_judged",
    "pareto_front",
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
    "sample",
    "save_sweep",
    "scores",
    "settings_of",
    "source_of",
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
