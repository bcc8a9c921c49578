"""Loading the offline engine and its scorer."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from ..language.thesaurus import Thesaurus
from ..models.embedding import LlamaEmbedder, load_embedder
from ..models.minilm import MINILM_WEIGHTS, MiniLM
from ..runtime.services import Embedder, Index
from ..values.pricing import PriceList
from ..values.settings import Settings
from .asked import AskedIndex
from .memory import Keep, RememberingEmbedder, Stored
from .scorer import OfflineScorer, read_calibrations
from .word_pieces import WordPieces

if TYPE_CHECKING:
    from .llm import OfflineLlm


def load_offline(
    prices: PriceList,
    embedder: Embedder,
    scorer: OfflineScorer | None = None,
    thesaurus: Thesaurus | None = None,
    index: Index | None = None,
    asked: AskedIndex | None = None,
) -> OfflineLlm:
    """The offline engine; see `OfflineEngine`, which without a scorer reads with `embedder`."""
    from .engine import OfflineEngine  # its patterns take a fifth of a second to compile
    from .llm import OfflineLlm

    parts = [
        embedder.key,
        scorer.key if scorer else "",
        thesaurus.digest if thesaurus else "",
        asked.key if asked else "",
    ]
    configuration = hashlib.sha256(repr(parts).encode()).hexdigest()[:8]
    reader = scorer.embedder if scorer else embedder
    searcher = reader if reader.key == embedder.key else embedder
    engine = OfflineEngine(searcher, scorer, thesaurus, index, reader, asked)
    return OfflineLlm(engine, prices, configuration)


def load_scorer(
    settings: Settings,
    embedder: LlamaEmbedder,
    prices: PriceList,
    thesaurus: Thesaurus | None = None,
    stored: Stored = lambda texts: {},
    keep: Keep = lambda vectors: None,
) -> OfflineScorer:
    """The offline scorer on the bundled model, sharing `embedder` if that is the same model.

    `stored` looks up the bundled model's vectors; `keep` stores more. Raises MissingResource if the bundled model is
    missing, and DataError if its calibration cannot be read.
    """
    if embedder.weights != MINILM_WEIGHTS:
        embedder = load_embedder(settings.model_copy(update={"embedding": "minilm"}), prices, thesaurus)
    assert isinstance(embedder.model, MiniLM)
    calibrations = read_calibrations(settings.data / "relevance.toml")
    return OfflineScorer(RememberingEmbedder(embedder, stored, keep), WordPieces(embedder.model), calibrations)
