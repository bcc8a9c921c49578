"""Why a result is what it is: fates of passages, parts of scores, and how far a control is from another result."""

from .fates import Fate, fates
from .lanes import Lane, Place, lanes
from .scores import Part, ScoreLine, decompose
from .tipping import ControlTips, TippingPoint, tipping_points

__all__ = [
    "ControlTips",
    "Fate",
    "Lane",
    "Part",
    "Place",
    "ScoreLine",
    "TippingPoint",
    "decompose",
    "fates",
    "lanes",
    "tipping_points",
]
