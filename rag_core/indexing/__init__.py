"""Documents into a searchable index, incrementally and safely."""

from .build import CorpusStore, Progress, Report, silent
from .readers import Reading, read_path
from .store import CorpusIndex

__all__ = ["CorpusIndex", "CorpusStore", "Progress", "Reading", "Report", "read_path", "silent"]
