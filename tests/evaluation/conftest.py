import pytest

from rag_core import evaluation as ev
from rag_core.pipeline.strategy import Strategy


@pytest.fixture
def strategies() -> dict[str, Strategy]:
    return ev.build_strategies({"bm25": "bm25", "hybrid": ("hybrid_rrf", {"mmr": False})})
