"""The models of a lab, loaded once, and the roles they play."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..indexing import CorpusIndex, OfflineEnricher, keep_vectors, stored_vectors
from ..language.analysis import warm_up
from ..language.questions import is_maternity
from ..language.spelling import Spelling, count_words
from ..language.thesaurus import Thesaurus, WrittenOut
from ..language.unpacked import unpack_in
from ..models import LlamaEmbedder, LlamaLlm, Rerankers, load_embedder, load_openai
from ..models.embedding import embedder_of
from ..models.llm import wrap_custom_llm
from ..models.minilm import MINILM_WEIGHTS
from ..offline import NAME as OFFLINE
from ..offline.asked import AskedIndex
from ..offline.evidence import PassageEvidence, Thresholds, read_thresholds
from ..offline.grounding import OfflineGrounder
from ..offline.loading import load_offline, load_scorer
from ..offline.scorer import OfflineScorer
from ..runtime.services import Grounder, Index, Llm, Reranker
from ..values.errors import SettingsError
from ..values.labels import LabelRules
from ..values.message import Message
from ..values.model_choice import OFFLINE_MODEL, ModelChoice
from ..values.pricing import PriceList
from ..values.settings import Role, Server, Settings, read_settings

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding

    from ..offline.llm import OfflineLlm


ROLES: tuple[Role, ...] = ("answer", "rewrite", "judge", "enrich")  # purposes of prompts
MOST_LOADED = 16  # models; people may type any name
NEEDS = "Set OPENAI_API_KEY or OPENAI_BASE_URL, and RAG_LLM=auto; or choose the offline engine."


class PaidModels:
    """A provider's models, one per server and name; the least recently used goes first. Thread-safe."""

    def __init__(self, settings: Settings, prices: PriceList) -> None:
        self._settings = settings
        self._prices = prices
        self._loaded: OrderedDict[tuple[Server | None, str], LlamaLlm] = OrderedDict()
        self._lock = threading.Lock()

    def of_settings(self) -> dict[str, LlamaLlm]:
        """The model of each role that has one; roles with the same model and server share it."""
        return {
            role: self.load(role, self._settings.model(role)) for role in ROLES if self._settings.asks_provider(role)
        }

    def chosen(self, choice: ModelChoice, others: Mapping[str, LlamaLlm]) -> dict[str, LlamaLlm]:
        """The model of each role as chosen or in `others`; a missing role is the offline engine's.

        The model that writes the answers plays the other roles too, on its own server, unless they have
        theirs. Raises SettingsError if a model needs a provider, and there is none.
        """
        found = dict(others)
        own: dict[Role, str] = {"rewrite": choice.rewriter_model, "judge": choice.judge_model}
        roles: dict[Role, tuple[Role, str]] = {"answer": ("answer", choice.model)}
        roles |= {role: (role, name) if name else ("answer", choice.model) for role, name in own.items()}
        for role, (server_of, name) in roles.items():
            if name == OFFLINE_MODEL:
                found.pop(role, None)
            elif name:
                if not self._settings.asks_provider(server_of):
                    raise SettingsError(Message("The model {name} needs a provider.", name=name), NEEDS)
                found[role] = self.load(server_of, name)
        return found

    def load(self, role: Role, name: str) -> LlamaLlm:
        """A model of a role's server; it and its connections are kept between calls."""
        key = (self._settings.server(role), name)
        with self._lock:
            if key not in self._loaded:
                self._loaded[key] = load_openai(self._settings, name, self._prices, role)
            self._loaded.move_to_end(key)
            while len(self._loaded) > MOST_LOADED:
                self._loaded.popitem(last=False)
            return self._loaded[key]


@dataclass(frozen=True)
class Engines:
    """The models of a lab; another lab can share them.

    Args:
        scorer: the offline scorer: the default reranker, and the offline engine's judge of passages.
        reranker: the same, or a cross-encoder.
        paid: a provider's or the caller's model by role; the offline engine fills the other roles.
        grounder: marks the sentences of answers, whoever wrote them.
        thresholds: of the evidence for an answer, by embedding model; None to write one from any passages.
        models: loads those that a column chooses; None if it can choose the offline engine alone.
        rerankers: loads those that a column chooses; None if it can choose the offline scorer alone.
    """

    prices: PriceList
    labels: LabelRules
    embedder: LlamaEmbedder
    scorer: OfflineScorer
    reranker: Reranker
    thesaurus: Thesaurus
    paid: Mapping[str, LlamaLlm]
    grounder: Grounder | None = None
    thresholds: Mapping[str, Thresholds] | None = None
    models: PaidModels | None = None
    rerankers: Rerankers | None = None

    @property
    def billed(self) -> bool:
        """Whether a run can cost anything; if so, equal calls are shared where possible."""
        return bool(self.paid) or not self.embedder.local

    def about(self, subject: str) -> Engines:
        """The same for a corpus about this subject: without the thesaurus, which is of maternity, if it is another."""
        return self if is_maternity(subject) else self._of_another

    @functools.cached_property
    def _of_another(self) -> Engines:
        return replace(self, thesaurus=Thesaurus(()))

    @functools.cached_property
    def elsewhere(self) -> Engines:
        """The same for other documents than the built-in ones: there, most sections have no known question to compare with."""
        if self.thresholds is None:
            return self
        return replace(self, thresholds={key: replace(one, known=None) for key, one in self.thresholds.items()})

    def enricher(self, subject: str) -> OfflineEnricher:
        return OfflineEnricher(self.about(subject).thesaurus)

    def choosing(self, models: ModelChoice) -> Engines:
        """The same with a column's models; SettingsError if one is not set up, MissingResource if it does not load."""
        if not models:
            return self
        loader = self.models or PaidModels(read_settings(llm="offline"), self.prices)
        reranker = self.reranker
        if models.reranker:
            offered = self.rerankers or Rerankers(read_settings(reranker="auto"), self.scorer)
            reranker = offered.chosen(models.reranker)
        return replace(self, paid=loader.chosen(models, self.paid), reranker=reranker)

    def with_models(
        self, settings: Settings, models: Mapping[Role, Any], embed_model: BaseEmbedding | None = None
    ) -> Engines:
        """The same with other models in some roles, each given by name or as an object; None leaves a role as it is.

        Raises ConfigError for an object that is no model, and RagError for a name that no server has.
        """
        loader, paid = self.models or PaidModels(settings, self.prices), dict(self.paid)
        for role, model in models.items():
            match model:
                case None:
                    pass
                case str() if model == OFFLINE:
                    paid.pop(role, None)
                case str():
                    paid[role] = loader.load(role, model)
                case _:
                    paid[role] = wrap_custom_llm(model, self.prices)
        embedder = self.embedder if embed_model is None else embedder_of(embed_model, self.prices)
        same = paid == self.paid and embedder is self.embedder
        return self if same else replace(self, paid=paid, embedder=embedder)

    def identity(
        self, llms: Mapping[str, Llm], index: CorpusIndex, enriched: CorpusIndex | None
    ) -> dict[str, str | None]:
        """Everything that can change a result: runs with equal values here used the same engine.

        The first four are display names. The others distinguish what can share a name: a model on different
        servers, a folder's weights, generations of an index, edited thresholds. Temperatures are not
        included: they belong to the templates, and so to a strategy's fingerprint.
        """
        embedder = self.embedder
        return {
            "llm": llms["answer"].name,
            "embedding": embedder.name,
            "reranker": self.reranker.name,
            "index": index.name,
            "answer_model": llms["answer"].key,
            "rewriter": llms["rewrite"].key,
            "judge": llms["judge"].key,
            "enricher": llms["enrich"].key,
            "embedding_model": f"{embedder.key} at {embedder.server}" if embedder.server else embedder.key,
            "reranker_model": self.reranker.key,
            "assessor": self.scorer.key,
            "index_content": index.manifest.digest,
            "enriched_index": f"{enriched.name}, {enriched.manifest.digest}" if enriched else None,
            "profile": " · ".join((index.profile.subject, index.profile.audience, *index.profile.languages)),
            "labels": self.labels.key,
            "abstention": self.evidence.key if self.evidence else "off",
        }

    @functools.cached_property
    def evidence(self) -> PassageEvidence | None:
        if self.thresholds is None:
            return None
        return PassageEvidence(self.scorer, self.thresholds)

    def reading(self, index: CorpusIndex) -> WrittenOut:
        """How questions are read: spelt in words of `index`, counted when first needed, and written out."""
        spelling = Spelling(
            lambda: count_words(
                ((f"{one.full_title}\n{one.text}", one.language) for one in index.passages.values()),
                self.thesaurus.clinical_terms(),
            )
        )
        return WrittenOut(self.thesaurus, spelling.read)

    def offline(self, index: Index, asked: AskedIndex | None) -> OfflineLlm:
        """The offline engine, which searches `index` and known questions for its rewrites."""
        return load_offline(self.prices, self.embedder, self.scorer, self.thesaurus, index, asked)


def load_engines(settings: Settings, tell: Callable[[str], None] = lambda what: None) -> Engines:
    """Load the settings' models, and `tell` which; raises RagError if a model, key or file is missing."""
    unpack_in(settings.home)
    prices = PriceList.of(settings)
    labels = LabelRules.read(settings.data / "labels.toml", settings.labels)
    thesaurus = Thesaurus.read(settings.data / "thesaurus.toml")
    tell("loading the embedding model")
    embedder = load_embedder(settings, prices, thesaurus)
    tell("loading the language tools")
    warm_up()
    tell("loading the answer engine")
    made, shipped = vector_files(settings, MINILM_WEIGHTS)
    stored, keep = functools.partial(stored_vectors, made, shipped), functools.partial(keep_vectors, made)
    scorer = load_scorer(settings, embedder, prices, thesaurus, stored, keep)
    scorer.warm_up()
    rerankers = Rerankers(settings, scorer)
    models = PaidModels(settings, prices)
    return Engines(
        prices,
        labels,
        embedder,
        scorer,
        rerankers.of_settings(),
        thesaurus,
        models.of_settings(),
        OfflineGrounder(scorer.embedder, thesaurus),
        read_thresholds(settings.data / "abstention.toml") if settings.abstain == "auto" else None,
        models,
        rerankers,
    )


def vector_files(settings: Settings, weights: str) -> tuple[Path, Path]:
    """A model's file of cached vectors, and the folder of its shipped ones."""
    return settings.home / "vectors" / f"{weights}.sqlite", settings.data / "vectors" / weights
