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

NOTHING = "No answer was found in the context."
_ASKED = re.compile(r"(?:query|question)(?: is as follows)?:[ \t]*(\S.*)", re.IGNORECASE)
_FENCED = re.compile(r"^-{5,}$(.*?)^-{5,}$", re.MULTILINE | re.DOTALL)
_KNOWN = re.compile(r"existing answer:[ \t]*(\S.*)", re.IGNORECASE)
_MARK = re.compile(r" ?\[\d+(?:\s*[,;]\s*\d+)*\]")  # a passage's own references are not ours
NAME = "offline-extractive"
SHORTEST = 5  # words; shorter pieces are headings and fragments
WEIGHTS = (
    0.55,
    0.20,
    0.25,
)  # of a sentence's cosine, its share of the question's terms, its passage's cosine
LEAD_BONUS = 0.04  # for a quotation that begins its passage: first sentences name their subject
LENGTH_BONUS = 0.03  # for each further sentence of a quotation, so that it reads on where it is good
LONGEST = (5, 2, 2)  # sentences quoted at most from the first passage and the two best others
NEAR_BEST = (
    0.85  # a further passage is quoted when its quotation scores at least this share of the best sentence
)
# Best sentence below this: no answer. By language of the question; the lowest value with which at least
# 85 % of the dev questions that the collection cannot answer get none (tests/benchmarks/fit.py).
ENOUGH = {"en": 0.50, "es": 0.53}
OTHER_LANGUAGE = 0.15  # taken from sentences not in the question's language, when there are some that are
REPEATS = 0.85  # cosine to a quoted sentence from which another one says the same
CACHED = 8192  # sentence vectors kept; strategies side by side share most of their passages


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence of a source.

    Args:
        n: number of the source.
        context: the source's title and headings.
        passage: cosine of the whole passage to the question; None when it is not known.
    """

    n: int
    text: str
    context: str
    language: str
    passage: float | None


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
            yield " ".join(candidate.text for candidate in chosen) or NOTHING
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
        """The sentences to quote, in reading order; none when the evidence is too thin.

        From each passage the run of neighbouring sentences with the best mean score is a candidate
        quotation. The first passage, the strategy's own first choice, is always quoted, and longest.
        """
        if not candidates:
            return []
        vectors = self._embed([candidate.text for candidate in candidates])
        scores = self._scores(question, candidates, vectors)
        if scores.max() < ENOUGH.get(language_of(question), ENOUGH["en"]):
            return []
        first, *others = _by_source(candidates)
        others.sort(key=lambda rows: -_best_run(rows, scores, LONGEST[1])[0])
        chosen: list[int] = []
        for rows, longest in zip([first, *others], LONGEST, strict=False):
            score, run = _best_run(rows, scores, longest)
            if rows is first or score >= NEAR_BEST * scores.max():
                for i in run:
                    if all(float(vectors[i] @ vectors[j]) < REPEATS for j in chosen):
                        chosen.append(i)
        return [candidates[i] for i in sorted(chosen)]

    def _scores(
        self, question: str, candidates: Sequence[Candidate], vectors: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """(sentences,) how well each answers the question, about 0 to 1."""
        language = language_of(question)
        wanted = set(tokens(question, language))
        cosine = (vectors @ self._embed([question])[0]).astype(float)
        passage = np.empty_like(cosine)
        for rows in _by_source(candidates):
            known = candidates[rows[0]].passage
            passage[rows] = cosine[rows].mean() if known is None else known
        covered = np.array([_coverage(wanted, candidate) for candidate in candidates])
        own = np.array([candidate.language == language for candidate in candidates])
        penalty = OTHER_LANGUAGE * ~own if own.any() else 0.0
        scores: NDArray[np.float64] = (
            WEIGHTS[0] * cosine + WEIGHTS[1] * covered + WEIGHTS[2] * passage - penalty
        )
        return scores

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


def _by_source(candidates: Sequence[Candidate]) -> list[list[int]]:
    """Rows of the candidates of each source, in order."""
    rows: dict[int, list[int]] = {}
    for i, candidate in enumerate(candidates):
        rows.setdefault(candidate.n, []).append(i)
    return list(rows.values())


def _best_run(rows: Sequence[int], scores: NDArray[np.float64], longest: int) -> tuple[float, list[int]]:
    """The neighbouring rows with the best mean score, and that score with its bonuses."""
    runs = [
        (
            float(scores[list(rows[start:end])].mean())
            + LENGTH_BONUS * (end - start - 1)
            + LEAD_BONUS * (start == 0),
            list(rows[start:end]),
        )
        for start in range(len(rows))
        for end in range(start + 1, min(start + longest, len(rows)) + 1)
    ]
    return max(runs)


def _read_sources(sources: Sources) -> list[Candidate]:
    candidates: list[Candidate] = []
    for n, hit in enumerate(sources, start=1):
        judged = hit.relevance
        cosine = judged.score if judged and judged.scorer == "cosine" else None
        candidates += _candidates(n, hit.passage.text, hit.passage.full_title, hit.passage.language, cosine)
    return candidates


def _read_text(prompt: str) -> tuple[str, list[Candidate]]:
    """Question and context of a prompt that comes as text, such as LlamaIndex's synthesizers send.

    The question stands behind "Query:", "Question:" or "... query is as follows:", or is the last
    line; the context stands between lines of dashes, or before the question. An answer that is to be
    refined is context too.
    """
    asked = _ASKED.findall(prompt)
    lines = [line.strip() for line in prompt.splitlines() if line.strip() and not line.strip().endswith(":")]
    question = (asked or lines or [""])[-1].strip()
    fenced = _FENCED.findall(prompt)
    known = [answer for answer in _KNOWN.findall(prompt) if answer.strip() != NOTHING]
    parts = [*known, *fenced] if fenced else [prompt.rpartition(question)[0] if question else ""]
    paragraphs = [part for text in parts for part in re.split(r"\n\s*\n", text) if part.strip()]
    return question, [
        candidate
        for n, paragraph in enumerate(paragraphs, start=1)
        for candidate in _candidates(n, paragraph, "", language_of(paragraph), None)
    ]


def _candidates(n: int, text: str, context: str, language: str, passage: float | None) -> Iterable[Candidate]:
    for sentence in sentences(_MARK.sub("", text), language):
        if len(sentence.split()) >= SHORTEST:
            yield Candidate(n, sentence, context, language, passage)
