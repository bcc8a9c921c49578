"""The models of a lab, loaded once, and the roles they play."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .context import Index, Reranker
from .labels import LabelRules
from .models import (
    LlamaEmbedder,
    LlamaLlm,
    OfflineScorer,
    RehearsedEmbedder,
    load_embedder,
    load_offline,
    load_openai,
    load_reranker,
    load_scorer,
)
from .pricing import PriceList
from .settings import Settings
from .text import warm_up
from .thesaurus import Thesaurus

ROLES = ("answer", "rewrite", "judge", "enrich")  # purposes of prompts


@dataclass(frozen=True)
class Engines:
    """The models of a lab; another lab can share them.

    Args:
        scorer: the offline scorer: the default reranker, and the offline engine's judge of passages.
        reranker: the same, or a cross-encoder.
        paid: a provider's or caller's model by role; the offline engine plays the others.
    """

    prices: PriceList
    labels: LabelRules
    embedder: LlamaEmbedder | RehearsedEmbedder
    scorer: OfflineScorer
    reranker: Reranker
    thesaurus: Thesaurus
    paid: Mapping[str, LlamaLlm]

    def offline(self, index: Index) -> LlamaLlm:
        """The offline engine, which searches `index` for its rewrites."""
        return load_offline(self.prices, self.embedder, self.scorer, self.thesaurus, index)


def load_engines(settings: Settings, tell: Callable[[str], None] = lambda what: None) -> Engines:
    """Load the models the settings name; `tell` hears what is being loaded.

    Raises:
        RagError: a model, key or data file is missing.
    """
    prices = PriceList.read(settings.data / "prices.toml")
    labels = LabelRules.read(settings.data / "labels.toml", settings.labels)
    thesaurus = Thesaurus.read(settings.data / "thesaurus.toml")
    tell("loading the embedding model")
    embedder = load_embedder(settings, prices)
    tell("loading the language tools")
    warm_up()
    tell("loading the answer engine")
    scorer = load_scorer(settings, embedder, prices)
    reranker = load_reranker(settings, scorer)
    return Engines(prices, labels, embedder, scorer, reranker, thesaurus, load_paid(settings, prices))


def load_paid(settings: Settings, prices: PriceList) -> Mapping[str, LlamaLlm]:
    """The provider's model of each role; none without a provider. Roles that name the same one share it."""
    if not settings.uses_openai:
        return {}
    names = {
        "answer": settings.answer_model,
        "rewrite": settings.rewriter_model,
        "judge": settings.judge_model,
        "enrich": settings.rewriter_model,
    }
    loaded = {name: load_openai(settings, name, prices) for name in set(names.values())}
    return {role: loaded[name] for role, name in names.items()}
