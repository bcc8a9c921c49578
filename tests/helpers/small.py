"""A small collection, fakes that record what they were asked, and a command that was run."""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rag_core.documents.documents import Document
from rag_core.values.types import ModelCall, Vectors

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = (
    "OPENAI_API_KEY", "OPENAI_BASE_URL", "RAG_LLM", "RAG_ANSWER_MODEL", "RAG_REWRITER_MODEL", "RAG_JUDGE_MODEL", "RAG_MODELS",
    "RAG_EMBEDDING", "RAG_GLOSS", "RAG_RERANKER", "RAG_LABELS", "RAG_ABSTAIN", "RAG_COUNTRY", "RAG_PRIVATE", "RAG_HOME", "RAG_DATA", "RAG_REWRITER_BASE_URL",
    "RAG_REWRITER_API_KEY", "RAG_JUDGE_BASE_URL", "RAG_JUDGE_API_KEY", "RAG_TIMEOUT", "RAG_MAX_CALLS", "RAG_MAX_COST_USD",
    "RAG_HISTORY", "RAG_HISTORY_DAYS", "RAG_DATABASE_URL", "RAG_VECTORS", "RAG_BENCHMARKS", "RAG_OPERATORS", "RAG_QUESTIONS_AT_ONCE", "RAG_VISITOR_CALLS", "RAG_VISITOR_DOLLARS", "RAG_DAY_CALLS", "RAG_DAY_DOLLARS",
)  # fmt: skip


class ToyEmbedder:
    """Vectors without a model: a subclass's `vectors`. A token is a word. Records its calls, in `kinds` with what for."""

    name: str
    server = ""
    local = True

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.kinds: list[tuple[str, tuple[str, ...]]] = []

    def count(self, text: str) -> int:
        return len(text.split())

    def read(self, text: str, language: str = "") -> str:
        return text

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """One row per text, of length 1."""
        raise NotImplementedError

    def embed(
        self, texts: Sequence[str], kind: str = "query", languages: Sequence[str] = ()
    ) -> tuple[Vectors, tuple[ModelCall, ...]]:
        self.asked.append(tuple(texts))
        self.kinds.append((kind, tuple(texts)))
        return self.vectors(texts), (self.bill(texts),)

    def bill(self, texts: Sequence[str]) -> ModelCall:
        tokens = sum(self.count(text) for text in texts)
        return ModelCall("embed", self.name, tokens, 0, 0.0, "tokenizer")


class WordEmbedder(ToyEmbedder):
    """A bag of words hashed into 64 axes: the same words give the same direction."""

    name = "words"
    weights = key = "words-1"
    dimensions = 64

    def vectors(self, ids: Sequence[str]) -> Vectors:
        vectors = np.full((len(ids), self.dimensions), 1e-3, np.float32)
        for row, text in enumerate(ids):
            for word in re.findall(r"\w+", text.lower()):
                axis = hashlib.sha256(word.encode()).digest()[0] % self.dimensions
                vectors[row, axis] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


DOCUMENTS = (
    Document("a", "Cats", "en", "Cats purr when they are happy.\n\nCats sleep most of the day."),
    Document("b", "Dogs", "en", "Dogs bark at strangers and guard the house."),
    Document("c", "Birds", "en", "Birds sing at dawn. Some birds, like ducks, swim."),
    Document("d", "Gatos", "es", "Los gatos ronronean cuando están contentos y duermen mucho."),
    Document("e", "Cats and dogs", "en", "Cats and dogs can live in one house when they meet young."),
    Document("f", "Fish", "en", "Fish swim in schools and never sleep with closed eyes."),
)


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Rag = Callable[..., Ran]


class Terminal(io.StringIO):
    """What somebody types at a terminal."""

    def isatty(self) -> bool:
        return True


def python(*arguments: str, **environment: str) -> Ran:
    """A new Python, run in the repository with these variables beside the test's."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return Ran(done.returncode, done.stdout, done.stderr)
