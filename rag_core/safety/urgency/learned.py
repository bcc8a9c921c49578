"""How urgently a question is worded, and of which sign: n-grams weighed by regressions fitted on labelled questions."""

import functools
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...values.letters import without_accents

_MARKS = re.compile(r"[\u2018\u2019'`´]")
_DECIMAL = re.compile(r"(?<=\d),(?=\d)")
# The lay name of anaemia, in which the wording of urgent questions ("blood") would be seen.
_ANAEMIA = re.compile(
    r"(?<!\w)(?:(?:weak|tired|poor) blood(?! (?:pressure|sugar|flow))|blood is (?:weak|tired|poor)|sangre (?:esta |muy )*(?:debil|baja|floja))(?!\w)"
)
# What a sticky eye lets out, in which jaundice ("yellow") would be seen.
_STICKY_EYE = re.compile(
    r"(?<!\w)(?:(?:liquido|secrecion|agu(?:a|ita)|pus|moco) amarill\w+ (?:del?|en) (?:los? |el |su |un )?oj(?:it)?os?|"
    r"yellow (?:discharge|goo|gunk|stuff|fluid|liquid|pus) (?:from|in|out of) (?:(?:the|his|her|babys|one|corner|of) )*eyes?)(?!\w)"
)
_WEEKS = re.compile(r"(?<!\w)w+e{0,3}i?k+e?s?(?!\w)")  # as misspelt


@functools.lru_cache(maxsize=8192)
def plain(text: str) -> str:
    """A text in lower case, without accents or apostrophes, numbers with a decimal point; "weak blood" is anaemia."""
    bare = without_accents(_MARKS.sub("", text))
    simple = _WEEKS.sub("weeks", _DECIMAL.sub(".", " ".join(bare.split())))
    return _STICKY_EYE.sub("sticky eye", _ANAEMIA.sub("anaemia", simple))


BUCKETS = 1 << 17  # of the hashed n-grams
SIGN_BUCKETS = 1 << 14  # the same for the signs, of which there are many: each has its row of weights
WORDS = (1, 2, 3)  # words in a word n-gram
LETTERS = (2, 3, 4, 5)  # letters in an n-gram within a word
DENIED = 3  # words that a denial reaches
NONE = ""  # the id of no sign

_WORD = re.compile(r"\w+")
_DENIAL = re.compile(
    r"no|not|nor|none|without|never|cant|isnt|arent|wasnt|dont|doesnt|didnt|havent|hasnt|denies|"
    r"sin|ni|nunca|nada|tampoco|ningun|ninguna|niega"
)


def urgency(text: str) -> float:
    """The probability that a text in plain letters describes something urgent."""
    fitted = _fitted()
    buckets, values = ngrams(text)
    score = fitted.urgent[buckets] @ values + fitted.urgent_bias
    return float(1 / (1 + np.exp(-score)))


def likeliest_sign(text: str) -> tuple[str, float]:
    """The id of the sign that a text in plain letters most likely describes, and its probability, beside none's."""
    fitted = _fitted()
    buckets, values = ngrams(text)
    scores = fitted.signs[:, buckets % SIGN_BUCKETS] @ values + fitted.signs_bias
    chances = np.exp(scores - scores.max())
    chances /= chances.sum()
    best = max(np.flatnonzero(fitted.ids != NONE), key=lambda at: chances[at])
    return str(fitted.ids[best]), float(chances[best])


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


class Fitted(NamedTuple):
    """Weights and biases of the buckets: whether a text is urgent, and each of `ids` (a row each)."""

    urgent: NDArray[np.float64]
    urgent_bias: float
    ids: NDArray[np.str_]
    signs: NDArray[np.float64]
    signs_bias: NDArray[np.float64]


@functools.cache
def _fitted() -> Fitted:
    with resources.files(__package__).joinpath("wording.npz").open("rb") as file, np.load(file) as fitted:
        return Fitted(
            fitted["urgent"] * fitted["urgent_step"],
            float(fitted["urgent_bias"]),
            fitted["ids"],
            fitted["signs"] * fitted["signs_step"],
            fitted["signs_bias"].astype(float),
        )
