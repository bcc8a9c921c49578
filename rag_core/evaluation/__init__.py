"""Measuring strategies on judged questions: metrics, intervals, paired tests, sweeps, answer checks."""

from .ablation import FormErrors, RewriteEffect, StageEffect, rewrite_effects, stage_effects
from .changes import Change, Verdict, changes
from .cost_estimate import CostEstimate, Workload, estimate, plan_of
from .datasets import (
    document_titles,
    open_judged,
    quality_of,
    read_answers,
    read_judged,
    source_of,
)
from .manifest import BUILTIN_DATA, Manifest, MeasuredStrategy, RunFile, describe_run
from .metrics import DEFAULT_METRICS, Metric, parse_metric
from .pareto import Point, on_front, pareto_front
from .records import Record, StageRecord
from .results import (
    GroupResult,
    Groups,
    MeanScore,
    Results,
    StrategyResult,
    choose_metrics,
    conclude,
    scores,
    stored_results,
    summarise,
)
from .run_comparison import StrategyInTwoRuns, compare_runs
from .run_folder import RunFolder, differences, folder_for, past_runs, run_title
from .runner import RunProgress, build_strategies, evaluate, take_run_file
from .safety import SafetyReport, SafetyShares, urgent_only
from .statistics import Comparison, Interval, compare_all, interval, verdict
from .sweep import axis_values, grid, grid_size, parse_axis, sample, settings_of
from .sweep_results import Setting, SweepResult, list_sweeps, read_sweep, save_sweep, sweep_title, value_order
from .tables import markdown, put_table
from .titles import data_title, titles
from .trust import Measure, trust_measures
from .tuning import plan, tune

__all__ = [
    "BUILTIN_DATA",
    "DEFAULT_METRICS",
    "Change",
    "Comparison",
    "CostEstimate",
    "FormErrors",
    "GroupResult",
    "Groups",
    "Interval",
    "Manifest",
    "MeanScore",
    "Measure",
    "MeasuredStrategy",
    "Metric",
    "Point",
    "Record",
    "Results",
    "RewriteEffect",
    "RunFile",
    "RunFolder",
    "RunProgress",
    "SafetyReport",
    "SafetyShares",
    "Setting",
    "StageEffect",
    "StageRecord",
    "StrategyInTwoRuns",
    "StrategyResult",
    "SweepResult",
    "Verdict",
    "Workload",
    "axis_values",
    "build_strategies",
    "changes",
    "choose_metrics",
    "compare_all",
    "compare_runs",
    "conclude",
    "data_title",
    "describe_run",
    "differences",
    "document_titles",
    "estimate",
    "evaluate",
    "folder_for",
    "grid",
    "grid_size",
    "interval",
    "list_sweeps",
    "markdown",
    "on_front",
    "open_judged",
    "pareto_front",
    "parse_axis",
    "parse_metric",
    "past_runs",
    "plan",
    "plan_of",
    "put_table",
    "quality_of",
    "read_answers",
    "read_judged",
    "read_sweep",
    "rewrite_effects",
    "run_title",
    "sample",
    "save_sweep",
    "scores",
    "settings_of",
    "source_of",
    "stage_effects",
    "stored_results",
    "summarise",
    "sweep_title",
    "take_run_file",
    "titles",
    "trust_measures",
    "tune",
    "urgent_only",
    "value_order",
    "verdict",
]
