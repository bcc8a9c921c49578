"""Contract tests for your own stages and strategies, and the sample collection they run on.

    from rag_core.testing import check_stage, check_strategy

    def test_my_strategy():
        check_strategy(MY_RECIPE)

Both raise an `AssertionError` that says what is wrong. They need no test framework, network or model:
`sample_services` has a dozen passages, a bag-of-words embedder and a scripted LLM.
"""

from .checks import check_stage
from .collection import (
    PASSAGES,
    BagOfWords,
    MemoryIndex,
    ScriptedLlm,
    WordOverlap,
    ranking_of,
    sample_context,
    sample_services,
)
from .recipes import check_strategy
