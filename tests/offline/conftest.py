import pytest

from rag_core.models import LlamaEmbedder
from rag_core.offline.loading import load_scorer
from rag_core.offline.scorer import OfflineScorer
from rag_core.values.pricing import PriceList
from rag_core.values.settings import Settings


@pytest.fixture(scope="module")
def scorer(minilm: LlamaEmbedder, prices: PriceList) -> OfflineScorer:
    return load_scorer(Settings(), minilm, prices)
