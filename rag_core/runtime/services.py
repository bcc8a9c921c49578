"""What lives as long as the lab: models, indexes and rules, behind small protocols."""

import functools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ..documents.asked import Asked
from ..language.thesaurus import Thesaurus
from ..prompts.prompt import Prompt
from ..values.answers import Claim, Grounded
from ..values.errors import ConfigError
from ..values.labels import EvidenceScore, LabelRules
from ..values.message import Message
from ..values.model_choice import AS_SET, ModelChoice
from ..values.profile import Profile
from ..values.triage import Triage
from ..values.types import Hit, ModelCall, Passage, Scale, Vectors
from .run import Limits

TextKind = Literal["query", "passage"]  # some models embed the two differently


class Llm(Protocol):
    """A language model, or the offline engine (`offline`), which reads a prompt's fields; `key` identifies it."""

    name: str
    key: str
    offline: bool

    def stream(self, prompt: Prompt, stop: Callable[[], bool]) -> Iterator[str | ModelCall]:
        """Yield the reply piece by piece and the bill last, even when the reply is stopped or cut off."""


class Embedder(Protocol):
    """A text embedding model; `count` counts a text's tokens.

    `weights` is its name and version; `key`, a part of an index's identity, also says how it reads other languages.
    """

    name: str
    weights: str
    key: str
    count: Callable[[str], int]

    def read(self, text: str, language: str = "") -> str:
        """The text as the model reads it, for example a gloss; the language is detected if not given."""

    def embed(
        self, texts: Sequence[str], kind: TextKind = "query", languages: Sequence[str] = ()
    ) -> tuple[Vectors, tuple[ModelCall, ...]]:
        """(n, d) L2-normalised vectors of n texts as read, and a call per request; errors carry them."""


class EmbedderOver:
    """Stands in for an embedding model: has its names and reads as it does, and here embeds as it does too."""

    def __init__(self, embedder: Embedder) -> None:
        self.name = embedder.name
        self.weights = embedder.weights
        self.key = embedder.key
        self.count = embedder.count
        self._embedder = embedder

    def read(self, text: str, language: str = "") -> str:
        return self._embedder.read(text, language)

    def embed(
        self, texts: Sequence[str], kind: TextKind = "query", languages: Sequence[str] = ()
    ) -> tuple[Vectors, tuple[ModelCall, ...]]:
        return self._embedder.embed(texts, kind, languages)


class Reranker(Protocol):
    """Scores passages against a query; `scale` names its score scale, `key` its name and version."""

    name: str
    key: str
    scale: Scale

    def score(self, query: str, hits: Sequence[Hit]) -> tuple[Sequence[float], ModelCall]:
        """One score per hit, in order, and the bill."""


class Assessor(Protocol):
    """Rates passages on this machine."""

    @property
    def name(self) -> str:
        """The name its label thresholds are stored under."""

    def relevance(self, question: str, hits: Sequence[Hit]) -> Sequence[float]:
        """One value per hit, 0 to 1, independent of the other hits."""

    def chances(self, question: str, hits: Sequence[Hit], among: Sequence[Hit] = ()) -> Sequence[float]:
        """How likely each hit is to answer, 0 to 1, for labels; compared with `among`, or the hits."""


class AskedQuestions(Protocol):
    """The questions that passages of the corpus are known to answer."""

    def search(self, question: str, k: int) -> Sequence[Hit]:
        """The k passages whose questions are most like one; each hit's note is its nearest question."""

    def of(self, passage: str) -> Sequence[Asked]:
        """The questions of a passage, by its id."""

    def likeness(self, question: str, passages: Sequence[str]) -> Sequence[float | None]:
        """The highest cosine of a question to those of each passage, by id; None for a passage without any."""

    def words_among(self, question: str, passages: Sequence[str]) -> Sequence[float | None]:
        """What to add to likenesses: how well the questions' words tell each passage from the others; None without any."""

    def contrast(self, question: str) -> float | None:
        """The highest cosine of a question to theirs less that to those known to be outside; None if no such is known."""

    def knows(self, question: str, passages: Sequence[str]) -> bool:
        """Whether one of the passages, by id, is known to answer this very question."""


class Evidence(Protocol):
    """Decides on this machine, before an answer is written, whether passages are enough for one.

    `model` names the embedding model it reads with, `key` its thresholds; not `fitted` if the model has none.
    """

    model: str
    key: str

    @property
    def fitted(self) -> bool:
        """Whether it can decide."""

    def score(
        self,
        question: str,
        hits: Sequence[Hit],
        triage: Triage,
        asked: AskedQuestions | None,
        *,
        offline: bool,
    ) -> EvidenceScore:
        """The evidence of passages, at least one, for an answer by the offline engine or a language model."""


class Grounder(Protocol):
    """Marks the sentences of an answer by how well passages support them, on this machine and without a model call."""

    def ground(self, claims: Sequence[Claim], passages: Sequence[Passage], language: str) -> Sequence[Grounded]:
        """The claims with their support; in order, but it may leave out the last of many."""


class Reader(Protocol):
    """Reads questions for retrieval and the offline engine: as spelt, and with abbreviations written out."""

    def read(self, question: str) -> str:
        """The question as read; the same text if there is nothing to change."""


class Index(Protocol):
    """The passages of one corpus, searchable two ways."""

    @property
    def name(self) -> str:
        """Corpus and generation."""

    def dense(self, vector: Vectors, k: int) -> Sequence[Hit]:
        """The k passages nearest to one (d,) vector, by cosine similarity."""

    def lexical(self, text: str, k: int, k1: float, b: float) -> Sequence[Hit]:
        """The k best BM25 hits; each contains a term of the text."""

    def document_frequency(self, text: str) -> int:
        """Number of passages that contain a term of the text."""

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """(n, d) stored vectors of n passages, rows L2-normalised; KeyError if one is not here."""


@dataclass(frozen=True)
class Services:
    """The models and indexes that strategies run on.

    Args:
        llms: language model by purpose ("answer", "rewrite", "judge").
        reranker: None when no strategy that runs needs one.
        evidence: decides whether an answer is written; None to write one from any passages.
        triage: reads how urgent a question is, never fails and sends nothing; None where every question is routine.
        reader: reads questions for retrieval and the offline engine; None to read them as typed, as language models do.
        thesaurus: lets a rewrite call a medicine by another of its names; None to compare the words alone.
        enriched: the same passages indexed with their contexts; None when the corpus has no such index.
        asked: the questions that its passages are known to answer; None when there are none.
        profile: the corpus's subject, audience and languages; prompts mention them.
        engine: all of the above that can change a result, by name (`Engines.identity`), the chosen country and the
            filter. Traces carry it, and no result is reused where it differs.
        models: those of `llms` that were chosen in place of the settings', for the trace.
        limits: what each run may use, shared calls included.
        workers: threads for the calls of one stage; 1 makes them one after the other.
    """

    index: Index
    embedder: Embedder
    llms: Mapping[str, Llm]
    labels: LabelRules
    reranker: Reranker | None = None
    assessor: Assessor | None = None
    evidence: Evidence | None = None
    triage: Callable[[str], Triage] | None = None
    grounder: Grounder | None = None
    reader: Reader | None = None
    thesaurus: Thesaurus | None = None
    enriched: Index | None = None
    asked: AskedQuestions | None = None
    profile: Profile = Profile()
    engine: Mapping[str, str | None] = field(default_factory=dict)
    models: ModelChoice = AS_SET
    limits: Limits = field(default_factory=Limits)
    workers: int = 16

    @property
    def country(self) -> str:
        """ISO 3166 code of the country whose guidance leads where passages differ; empty for none."""
        return self.engine.get("country") or ""

    @functools.cached_property
    def identity(self) -> Hashable:
        return tuple(sorted(self.engine.items()))

    def llm(self, purpose: str) -> Llm:
        """The language model for a purpose; raises ConfigError if there is none."""
        try:
            return self.llms[purpose]
        except KeyError:
            raise ConfigError(Message("No language model is set for {purpose!r}.", purpose=purpose)) from None
