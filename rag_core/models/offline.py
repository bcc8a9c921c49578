"""The offline engine: answers without a language model, by extraction.

Deterministic and made of classical parts: every sentence of the passages is scored against the
question, and the best ones are quoted, each with its citation, or the engine abstains.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from numpy.typing import NDArray
from pydantic import PrivateAttr

from ..context import Embedder
from ..prompts import NO_EVIDENCE, Sources
from ..text import language_of, sentences, tokens

NAME = "offline-extractive"
MAX_SENTENCES = 5
SHORTEST = 5  # words; shorter pieces are headings and fragments
DENSE_SHARE = 0.7  # of a sentence's score; the rest is the share of the question's terms it covers
ENOUGH = 0.42  # best sentence below this: no answer. Fitted as labels are; see tests/benchmarks
NEAR_BEST = 0.7  # a sentence is quoted when it scores at least this share of the best one
REPEATS = 0.8  # cosine to a quoted sentence from which another one says the same
CACHED = 8192  # sentence vectors kept; strategies side by side share most of their passages


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence, the number of the source it stands in, and its place there."""

    n: int
    position: int
    text: str
    context: str
    language: str


class OfflineLLM(CustomLLM):
    """Extractive answers behind LlamaIndex's LLM interface.

    With `fields` (a prompt's values) it answers from the numbered sources; with text alone, as
    LlamaIndex's own synthesizers send it, from the paragraphs before the question.
    """

    _score: SentenceScorer = PrivateAttr()

    def __init__(self, embedder: Embedder, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._score = SentenceScorer(embedder)

    @property
    def metadata(self) -> LLMMetadata:
        """No window to speak of: passages are read one sentence at a time."""
        return LLMMetadata(context_window=1_000_000, num_output=512, model_name=NAME, is_chat_model=False)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """The whole answer."""
        return CompletionResponse(text="".join(self._pieces(prompt, kwargs.get("fields"))))

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        """The answer word by word."""

        def stream() -> CompletionResponseGen:
            text = ""
            for piece in self._pieces(prompt, kwargs.get("fields")):
                for word in re.findall(r"\s*\S+", piece):
                    text += word
                    yield CompletionResponse(text=text, delta=word)

        return stream()

    def _pieces(self, prompt: str, fields: Mapping[str, Any] | None) -> Iterator[str]:
        if fields is None:
            question, candidates = _read_text(prompt)
            chosen = self._score.best(question, candidates)
            yield " ".join(candidate.text for candidate in chosen) or "No answer was found in the context."
            return
        chosen = self._score.best(fields["question"], _read_sources(fields["sources"]))
        if not chosen:
            yield f"{NO_EVIDENCE}. {self._score.why_not(fields['question'])}"
        for i, candidate in enumerate(chosen):
            yield f"{' ' if i else ''}{candidate.text} [{candidate.n}]"


class SentenceScorer:
    """Scores sentences against a question; keeps the vectors of the sentences it has seen."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    def best(self, question: str, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The sentences that answer best, in reading order; none when the evidence is too thin."""
        if not candidates:
            return []
        vectors = self._embed([f"{candidate.context} {candidate.text}" for candidate in candidates])
        asked = self._embed([question])[0]
        wanted = set(tokens(question, language_of(question)))
        scores = DENSE_SHARE * (vectors @ asked) + (1 - DENSE_SHARE) * np.array(
            [_coverage(wanted, candidate) for candidate in candidates]
        )
        scores = _prefer_language(scores, candidates, language_of(question))
        order = sorted(
            range(len(candidates)), key=lambda i: (-scores[i], candidates[i].n, candidates[i].position)
        )
        if scores[order[0]] < ENOUGH:
            return []
        chosen: list[int] = []
        for i in order:
            if len(chosen) == MAX_SENTENCES or scores[i] < NEAR_BEST * scores[order[0]]:
                break
            if all(float(vectors[i] @ vectors[j]) < REPEATS for j in chosen):
                chosen.append(i)
        return [
            candidates[i] for i in sorted(chosen, key=lambda i: (candidates[i].n, candidates[i].position))
        ]

    def why_not(self, question: str) -> str:
        """The reason for an abstention, in the question's language."""
        if language_of(question) == "es":
            return "Ninguna frase de los pasajes responde con suficiente claridad a la pregunta"
        return "No sentence of the passages answers the question clearly enough"

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        with self._lock:
            held = {text: self._vectors[text] for text in texts if text in self._vectors}
        missing = [text for text in dict.fromkeys(texts) if text not in held]
        if missing:
            fresh, _ = self._embedder.embed(missing, "passage")
            held.update(zip(missing, fresh, strict=True))
            with self._lock:
                self._vectors.update((text, held[text]) for text in missing)
                while len(self._vectors) > CACHED:
                    self._vectors.popitem(last=False)
        return np.array([held[text] for text in texts])


def _coverage(wanted: set[str], candidate: Candidate) -> float:
    held = set(tokens(f"{candidate.context} {candidate.text}", candidate.language))
    return len(wanted & held) / len(wanted) if wanted else 0.0


def _prefer_language(
    scores: NDArray[np.float64], candidates: Sequence[Candidate], language: str
) -> NDArray[np.float64]:
    """Leave out other languages when the question's own has a sentence that is good enough."""
    own = np.array([candidate.language == language for candidate in candidates])
    return np.where(own, scores, -1.0) if np.any(scores[own] >= ENOUGH) else scores


def _read_sources(sources: Sources) -> list[Candidate]:
    return [
        candidate
        for n, hit in enumerate(sources, start=1)
        for candidate in _candidates(n, hit.passage.text, hit.passage.full_title, hit.passage.language)
    ]


def _read_text(prompt: str) -> tuple[str, list[Candidate]]:
    """Question and paragraphs of a free-form prompt: the last line that is not a label is the question."""
    lines = [line.strip() for line in prompt.splitlines() if line.strip()]
    labelled = [line for line in lines if not line.endswith(":")]
    question = re.sub(r"^\w+:\s*", "", labelled[-1]) if labelled else ""
    body = prompt[: prompt.rfind(question)] if question else ""
    paragraphs = [part for part in re.split(r"\n\s*\n|-{5,}", body) if part.strip()]
    return question, [
        candidate
        for n, paragraph in enumerate(paragraphs, start=1)
        for candidate in _candidates(n, paragraph, "", language_of(paragraph))
    ]


def _candidates(n: int, text: str, context: str, language: str) -> Iterable[Candidate]:
    for position, sentence in enumerate(sentences(text, language)):
        if len(sentence.split()) >= SHORTEST:
            yield Candidate(n, position, sentence, context, language)
