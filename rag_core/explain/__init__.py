"""Why a result is what it is: fates of passages, parts of scores, tipping points, and where a passage was lost."""

from .fate import Fate, fates, fates_json, summary
from .flow import FlowColumn, Lane, Place, flow_columns, lanes, stage_title
from .missed import Missed, WhyNot, why_not
from .scores import Part, ScoreLine, decompose
from .tipping import ControlTips, TippingPoint, tipping_points

__all__ = [
    "ControlTips",
    "Fate",
    "FlowColumn",
    "Lane",
    "Missed",
    "Part",
    "Place",
    "ScoreLine",
    "TippingPoint",
    "WhyNot",
    "decompose",
    "fates",
    "fates_json",
    "flow_columns",
    "lanes",
    "stage_title",
    "summary",
    "tipping_points",
    "why_not",
]
