"""Documents into a searchable index, incrementally and safely."""

from .build import CorpusStore, Progress, Report, chunked, silent
from .readers import Reading, read_path
from .store import CorpusIndex
from .vectors import read_shipped, text_key, write_shipped

__all__ = [
    "CorpusIndex",
    "CorpusStore",
    "Progress",
    "Reading",
    "Report",
    "chunked",
    "read_path",
    "read_shipped",
    "silent",
    "text_key",
    "write_shipped",
]
