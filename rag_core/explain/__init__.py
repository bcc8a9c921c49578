"""Why a result is what it is: fates of passages, parts of scores, tipping points, and where a passage was lost."""

from .answers import AnswerDifferences, Quoted, answer_differences, together
from .changes import RankChange, SentenceChange, answer_changes, answer_without, rank_changes
from .fate import Fate, fates, fates_json, summary_of_fates
from .flow import FlowColumn, flow_columns, lanes, query_title, query_weights, stage_title
from .missed import WhyNot, why_not
from .scores import Part, ScoreLine, decompose
from .tipping import ControlTips, TippingPoint, tipping_points
from .tuner import Move, Tuner, Work
