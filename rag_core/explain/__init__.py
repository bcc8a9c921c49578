"""Why a result is what it is: fates of passages, and the parts of their scores."""

from .fates import Fate, fates
from .lanes import Lane, Place, lanes
from .scores import Part, ScoreLine, decompose

__all__ = ["Fate", "Lane", "Part", "Place", "ScoreLine", "decompose", "fates", "lanes"]
