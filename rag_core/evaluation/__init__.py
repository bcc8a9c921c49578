"""Measuring strategies on judged questions: metrics, intervals, paired tests, sweeps, answer checks."""

from .ablation import FormErrors, RewriteEffect, StageEffect, rewrite_effects, stage_effects
from .cost_estimate import CostEstimate, Workload, estimate, plan_of
from .datasets import (
    document_titles,
    kind_of,
    open_judged,
    quality_of,
    read_answers,
    read_judged,
    source_of,
    splits_of,
    verdict_of,
)
from .manifest import BUILTIN_DATA, Manifest, MeasuredStrategy, RunFile, data_title, describe_run, titles
from .metrics import DEFAULT_METRICS, parse_metric
from .records import Record, StageRecord
from .results import (
    Change,
    Groups,
    MeanScore,
    Point,
    Results,
    StrategyResult,
    Verdict,
    changes,
    choose_metrics,
    compare_runs,
    conclude,
    in_words,
    on_front,
    pareto_front,
    scores,
    stored_results,
    summarise,
)
from .run_folder import RunFolder, differences, folder_for, past_runs, run_title
from .runner import RunProgress, build_strategies, evaluate, take_run_file
from .statistics import Comparison, compare_all, detectable, questions_for, verdict
from .sweep import (
    Setting,
    SweepResult,
    axis_values,
    grid,
    grid_size,
    list_sweeps,
    parse_axis,
    sample,
    save_sweep,
    settings_of,
    sweep_title,
    value_order,
)
from .tables import markdown, put_table
from .trust import Measure, SafetyReport, trust_measures, urgent_only
from .tuning import plan, tune
from .unjudged import unjudged
from .verdicts import VerdictShares
from .which_answers import (
    ColumnVerdict,
    bill_of_verdicts,
    column_verdicts,
    estimates,
    verdicts_by_model,
    would_answer,
)
