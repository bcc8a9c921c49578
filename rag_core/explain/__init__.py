"""Why a result is what it is: fates of passages, parts of scores, tipping points, and where a passage was lost."""

from .answers import (
    AnswerDifferences,
    Quoted,
    RankChange,
    answer_changes,
    answer_differences,
    answer_without,
    rank_changes,
    together,
)
from .fate import Fate, WhyNot, fates, fates_json, summary_of_fates, why_not
from .flow import FlowColumn, flow_columns, lanes, query_title, query_weights, stage_title
from .scores import Part, ScoreLine, decompose
from .tipping import ControlTips, Move, TippingPoint, Tuner, Work, tipping_points
