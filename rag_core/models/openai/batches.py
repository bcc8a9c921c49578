"""Embedding requests of a size that the server takes: fewer texts, and shorter ones, where it refuses."""

import json
import re
from collections.abc import Callable, Sequence

from ...values.errors import ProviderError
from ...values.message import Message
from .errors import TRY_AGAIN, told
from .transport import Call

REFUSED = (400, 413, 422)  # HTTP statuses that can mean too many texts, or one that is too long
# what llama.cpp says with a 500
TOO_MUCH = re.compile(r"too (?:large|long|big|many)|exceed|maximum", re.IGNORECASE)
SHORTEST = 200  # characters that every model reads; a shorter text was refused for another reason

Vectors = list[list[float]]
Ask = Callable[[list[str]], Vectors]


class Batches:
    """Asks for vectors in requests as large as the server takes; what it refuses is remembered."""

    def __init__(self, most: int, count: Callable[[str], int]) -> None:
        self._most = most
        self._count = count
        self._read = 0  # tokens of the longest text that fitted when shortened
        self._unread = float("inf")  # tokens of the shortest that was refused

    def vectors(self, texts: Sequence[str], ask: Ask, most: int | None = None) -> tuple[Vectors, int]:
        """The vectors of texts, from requests of at most `most`, and how many texts were shortened."""
        found: Vectors = []
        shortened: list[str] = []
        while len(found) < len(texts):
            part = texts[len(found) : len(found) + min(self._most, most or self._most)]
            taken: list[int] = []
            found += self._part(part, ask, taken, shortened)
            if taken and max(taken) < len(part):
                self._most = min(self._most, max(taken))
        return found, len(shortened)

    def _part(self, texts: Sequence[str], ask: Ask, taken: list[int], shortened: list[str]) -> Vectors:
        """Args: taken, shortened: receive the sizes of the requests that were taken, and the texts that were cut."""
        cut = [self._cut(text) for text in texts]
        try:
            vectors = ask(cut)
        except Exception as error:
            if not _too_much(error):
                raise
            if len(texts) == 1:
                shortened.append(texts[0])
                return self._shorter(cut[0], ask, error)
            half = len(texts) // 2
            halves = texts[:half], texts[half:]
            return [row for each in halves for row in self._part(each, ask, taken, shortened)]
        taken.append(len(texts))
        shortened += [text for text, sent in zip(texts, cut, strict=True) if sent != text]
        return vectors

    def _shorter(self, text: str, ask: Ask, refusal: Exception) -> Vectors:
        """The vector of as much of a text as is read; a quarter is taken off its end until it is."""
        while len(text) > SHORTEST:
            self._unread = min(self._unread, self._count(text))
            text = _at_word(text, len(text) * 3 // 4)
            try:
                vectors = ask([text])
            except Exception as error:
                if not _too_much(error):
                    raise
            else:
                self._read = self._count(text)
                return vectors
        raise refusal

    def _cut(self, text: str) -> str:
        while self._read and (tokens := self._count(text)) >= self._unread:
            text = _at_word(text, min(len(text) * self._read // tokens, len(text) - 1))
        return text


def _at_word(text: str, end: int) -> str:
    return text[:end].rsplit(None, 1)[0] or text[:end]


def _too_much(error: Exception) -> bool:
    status = getattr(error, "status_code", None)
    return status in REFUSED or (status == 500 and TOO_MUCH.search(told(getattr(error, "body", None))) is not None)


def in_order(vectors: Vectors, call: Call, model: str) -> Vectors:
    """The vectors of one response by their `index`, if they have one; raises ProviderError if one is missing or repeated."""
    assert call.response is not None  # it was read
    places = [row.get("index") for row in json.loads(call.response.content)["data"]]
    if len(vectors) < 2 or all(place is None for place in places):
        return vectors
    by_place = dict(zip(places, vectors, strict=True))
    if by_place.keys() != set(range(len(vectors))):
        said = {"model": model, "places": ", ".join(map(str, places))}
        raise ProviderError(Message("Model {model} numbered its vectors {places}.", **said), TRY_AGAIN)
    return [by_place[place] for place in range(len(vectors))]
