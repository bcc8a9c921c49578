"""Saved sessions, the output of `rag query --json` or `rag compare --json`: run again, or exported."""

from .replay import Difference, Replayed, replay
from .report import report
from .saved import Saved, parse_session, read_session, session_json, session_text
from .tables import passages_csv, trec_runs

__all__ = [
    "Difference",
    "Replayed",
    "Saved",
    "parse_session",
    "passages_csv",
    "read_session",
    "replay",
    "report",
    "session_json",
    "session_text",
    "trec_runs",
]
