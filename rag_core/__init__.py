"""Retrieval strategies side by side, on one question, with the evidence, the cost and the reasons.

    import rag_core
    lab = rag_core.open_lab()
    trace = lab.run("When is anti-D given?", "hybrid_rrf", mmr_lambda=0.5)
    print(trace.answer.text)

Importing this package loads no model and reads no file; `open_lab` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .catalog import RECIPES, Chosen, Control, Recipe, build
from .compare import Done, Event, Failed, StageFinished, StageStarted, StoppedEarly, Token, collect
from .corpus import BUILTIN, Document, builtin_documents
from .errors import RagError
from .questions import check_question, question_notice
from .settings import Settings, read_settings
from .strategy import Strategy
from .text import matches
from .trace import Step, Trace, total_cost
from .types import Answer, Hit, ModelCall, Passage, Query, Ranking

if TYPE_CHECKING:
    from .lab import Lab, index_path, open_lab

__all__ = [
    "BUILTIN",
    "RECIPES",
    "Answer",
    "Chosen",
    "Control",
    "Document",
    "Done",
    "Event",
    "Failed",
    "Hit",
    "Lab",
    "ModelCall",
    "Passage",
    "Query",
    "RagError",
    "Ranking",
    "Recipe",
    "Settings",
    "StageFinished",
    "StageStarted",
    "Step",
    "StoppedEarly",
    "Strategy",
    "Token",
    "Trace",
    "build",
    "builtin_documents",
    "check_question",
    "collect",
    "index_path",
    "matches",
    "open_lab",
    "question_notice",
    "read_settings",
    "total_cost",
]

_LAZY = {"Lab", "index_path", "open_lab"}


def __getattr__(name: str) -> Any:
    """`lab` imports LlamaIndex and Chroma, which takes seconds; it is loaded when first asked for."""
    if name in _LAZY:
        from . import lab

        return getattr(lab, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
