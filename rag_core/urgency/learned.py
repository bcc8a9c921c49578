"""How urgently a question is worded: n-grams weighed by a regression fitted on labelled questions."""

from __future__ import annotations

import functools
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from ..values.triage import LEVELS

BUCKETS = 1 << 17  # of the hashed n-grams
WORDS = (1, 2, 3)  # words in a word n-gram
LETTERS = (2, 3, 4, 5)  # letters in an n-gram within a word
DENIED = 3  # words that a denial reaches

_WORD = re.compile(r"\w+")
_DENIAL = re.compile(
    r"no|not|nor|none|without|never|cant|isnt|arent|wasnt|dont|doesnt|didnt|havent|hasnt|denies|"
    r"sin|ni|nunca|nada|tampoco|ningun|ninguna|niega"
)


def probabilities(text: str) -> NDArray[np.float64]:
    """(3,) probability of each of LEVELS for a text in plain letters."""
    weights, bias = _fitted()
    buckets, values = ngrams(text)
    scores = weights[:, buckets] @ values + bias
    exponents = np.exp(scores - scores.max())
    return np.asarray(exponents / exponents.sum())


def ngrams(text: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The buckets of a text's n-grams, and their values: 1 + ln(count), divided by the norm of all."""
    counts = Counter(zlib.crc32(gram.encode()) % BUCKETS for gram in _ngrams(_marked(_WORD.findall(text))))
    values = 1 + np.log(np.fromiter(counts.values(), float, len(counts)))
    return np.fromiter(counts, np.int64, len(counts)), values / (np.linalg.norm(values) or 1.0)


def _marked(words: Sequence[str]) -> list[str]:
    """The words, with "!" before each that a denial reaches: "no pain" is not a kind of pain."""
    marked: list[str] = []
    reach = 0
    for word in words:
        marked.append(f"!{word}" if reach else word)
        reach = DENIED if _DENIAL.fullmatch(word) else max(0, reach - 1)
    return marked


def _ngrams(words: Sequence[str]) -> Iterator[str]:
    marked = ["<", *words, ">"]
    for size in WORDS:
        yield from ("w" + " ".join(marked[at : at + size]) for at in range(len(marked) - size + 1))
    for word in (f" {word} " for word in words):
        for size in LETTERS:
            yield from ("c" + word[at : at + size] for at in range(len(word) - size + 1))


@functools.cache
def _fitted() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights of the buckets (3, BUCKETS) and the bias (3,), in the order of LEVELS."""
    with resources.files(__package__).joinpath("wording.npz").open("rb") as file, np.load(file) as fitted:
        assert fitted["bias"].shape == (len(LEVELS),)
        return fitted["weights"] * fitted["step"], fitted["bias"].astype(float)
