"""Fakes that go by a prompt's template, a reranker that counts words, and enough documents for every cut."""

import itertools
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rag_core.documents.documents import Document
from rag_core.prompts.prompt import Prompt
from rag_core.prompts.templates import REWRITER_TEMPERATURE, Form
from rag_core.runtime.run import Run
from rag_core.runtime.services import Index
from rag_core.values.errors import ProviderError
from rag_core.values.types import Hit, ModelCall, Scale, Vectors

from .small import WordEmbedder

Reply = str | Exception
Said = Reply | Callable[[Prompt], Reply]

QUESTION = "Do cats sleep in the house with dogs?"
KEYWORDS = "cats house sleep"


class Told:
    """Says what it was told to say to each template; keeps every prompt. An exception is raised.

    Args:
        replies: reply by template name, or a function of the prompt; a tuple is said in turn, its last
            one from then on.
    """

    name = key = "told"

    def __init__(
        self,
        replies: Mapping[str, Said | tuple[Said, ...]],
        *,
        cost_usd: float | None = 0.25,
        offline: bool = False,
    ) -> None:
        self.replies = {name: list(said) if isinstance(said, tuple) else [said] for name, said in replies.items()}
        self.cost_usd = cost_usd
        self.offline = offline
        self.prompts: list[Prompt] = []
        self._lock = threading.Lock()

    @property
    def asked(self) -> Counter[str]:
        """How often each template was sent."""
        return Counter(prompt.template.name for prompt in self.prompts)

    @property
    def purposes(self) -> Counter[str]:
        """How often each purpose was asked for."""
        return Counter(prompt.purpose for prompt in self.prompts)

    def stream(self, prompt: Prompt, stop: Callable[[], bool]) -> Iterator[str | ModelCall]:
        with self._lock:
            self.prompts.append(prompt)
            turns = self.replies[prompt.template.name]
            said = turns.pop(0) if len(turns) > 1 else turns[0]
        reply = said(prompt) if callable(said) else said
        if isinstance(reply, Exception):
            raise reply
        yield reply
        yield ModelCall(prompt.purpose, self.name, 100, 10, self.cost_usd, "provider")


class WordReranker:
    """Scores a passage by the query's words in its text; records what it was asked."""

    name = key = "words"

    def __init__(self, scale: Scale = "cross_encoder") -> None:
        self.scale: Scale = scale
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    def score(self, query: str, hits: Sequence[Hit]) -> tuple[list[float], ModelCall]:
        self.asked.append((query, tuple(hit.id for hit in hits)))
        wanted = set(re.findall(r"\w+", query.lower()))
        scores = [float(len(wanted & set(re.findall(r"\w+", hit.passage.text.lower())))) for hit in hits]
        return scores, ModelCall("rerank", self.name, 10 * len(hits), 0, 0.0, "tokenizer")


class CountingIndex:
    """The index it is given, and what it was asked."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.name = index.name
        self.asked: list[str] = []

    def dense(self, vector: Vectors, k: int) -> Sequence[Hit]:
        self.asked.append("dense")
        return self.index.dense(vector, k)

    def lexical(self, text: str, k: int, k1: float, b: float) -> Sequence[Hit]:
        self.asked.append("lexical")
        return self.index.lexical(text, k, k1, b)

    def document_frequency(self, text: str) -> int:
        return self.index.document_frequency(text)

    def vectors(self, ids: Sequence[str]) -> Vectors:
        return self.index.vectors(ids)


@dataclass(frozen=True)
class Scores:
    """A reranker that gives the scores it holds, whatever it is asked."""

    scores: tuple[float, ...]
    name: str = "scores"
    key: str = "scores"
    scale: Scale = "cross_encoder"

    def score(self, query: str, hits: Sequence[Hit]) -> tuple[tuple[float, ...], ModelCall]:
        return self.scores, ModelCall("rerank", self.name, 7, 0, 0.5, "tokenizer")


def stopped() -> Run:
    """A run that the user has stopped."""
    flag = threading.Event()
    flag.set()
    return Run(stop=flag)


class Unfitted:
    """An offline measure without thresholds: it labels nothing, and is never asked."""

    name = key = "unfitted"
    embedder = WordEmbedder()


WORDS = {
    "standalone": "cats and dogs sleep at night",
    "synonyms": "kittens puppies rest indoors",
    "expanded": "food water care for cats",
    "complications": "fights bites illness",
    "paraphrasing": "cats and dogs live in one house",
    "aspect_specific": "cats stay out in the snow of winter",
    "entity_aware": "a basket near the door",
    "clarification": "which cats with which dogs",
    "entity_expansion": "cats felines dogs hounds house",
    "retrieval_condense": "cats dogs house",
    "transform": "feline canine sleep",
    "hypothetical": "Cats sleep in a basket and dogs near the door of the house.",
}


def rewritten(prompt: Prompt) -> str:
    """Other words for every template; more of them when it is hot, or when keywords were asked."""
    words = WORDS.get(prompt.template.name) or prompt.render()
    if prompt.template.temperature > REWRITER_TEMPERATURE:
        words += " snow winter"
    return f"{words} question garden" if prompt.fields.get("form") == Form("keywords") else words


def judged(prompt: Prompt) -> str:
    """A score by the words that question and source share: 15 for each, 100 at most."""
    (source,) = prompt.fields["sources"]
    shared = words(str(prompt.fields["question"])) & words(source.passage.text)
    return json.dumps({"reason": "It shares words.", "score": min(100, 15 * len(shared))})


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def analysed(prompt: Prompt) -> str:
    """A question is a sentence as it stands."""
    return json.dumps({"form": "sentence", "question": ""})


def talker(**replies: Said | tuple[Said, ...]) -> Told:
    """A model for every template; `replies` stand in place of the usual ones."""
    usual: dict[str, Said | tuple[Said, ...]] = dict.fromkeys(WORDS, rewritten)
    return Told({**usual, "analysis": analysed, "judge_passage": judged, "answer": "Cats sleep [1].", **replies})


def score(value: object) -> str:
    """A judge's reply with this as its score."""
    return json.dumps({"reason": "Because.", "score": value})


def refused(what: str = "The provider refused.") -> ProviderError:
    return ProviderError(what, "Try again.")


WHO = ("Cats", "Dogs", "Kittens", "Puppies", "Horses", "Ducks", "Hens")
DOES = (
    "sleep in the house at night",
    "rest in a basket near the door",
    "eat food and drink water in the garden",
    "live with dogs and cats in one house",
    "get ill from bites and fights",
    "stay out in the snow of winter",
)
OFTEN = ("always", "often", "sometimes", "rarely", "seldom", "mostly")  # one more each, so that no two tie
MANY = tuple(
    Document(
        f"{who.lower()}-{n}",
        f"{who} {n}",
        "es" if who == "Dogs" and n == 0 else "en",
        f"{who} {does}. They like cats, question {n}. {' '.join(OFTEN[:place])}",
    )
    for (place, who), (n, does) in itertools.product(enumerate(WHO), enumerate(DOES))
)
