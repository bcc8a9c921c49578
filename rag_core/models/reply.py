"""What is taken from a model's reply: its answer as valid text up to a limit, why it ended, and sane token counts."""

import codecs
import re
from typing import Any

from ..prompts.replies import COMPLETE, TOO_LONG, Restart
from .reasoning import WithoutReasoning

MAX_REPLY = 20_000  # characters: twenty times a long answer; the rest is not read
MAX_TOKENS = 10_000_000  # of one request; more than any model reads
MOST_PER_TOKEN = 50  # characters of a token, on average; a count below is no count of this text
LONGEST_REASON = 40  # characters of a finish reason
# a reply that was cut off, in the words of providers; every other word is one for a normal end
CUT = {
    "length": re.compile(r"length|max_|limit|window", re.IGNORECASE),
    "content_filter": re.compile(
        r"filter|safety|sensitive|prohibit|blocked|blocklist|recitation|refus", re.IGNORECASE
    ),
}
BROKEN_OFF = re.compile(r"error|abort|cancel|insufficient|interrupt", re.IGNORECASE)


class Reply:
    """A reply as it arrives.

    Args:
        says_end: whether the server reports why a reply ended; others are taken to be complete.

    Attributes:
        text: what has arrived, without the model's reasoning.
        whole: what has arrived, as it is billed.
        finish: why it ended, empty until then; see `ModelCall`.
        cached: whether the provider read a part of the prompt from its cache, which some do not count.
    """

    def __init__(self, *, says_end: bool, begins_inside: bool = False) -> None:
        self.text = ""
        self.whole = ""
        self.reasoning = WithoutReasoning(begun=begins_inside)
        self.finish = "" if says_end else COMPLETE
        self.model = ""
        self._usage: tuple[object, object] | None = None
        self.cached = False
        # joins surrogate pairs that were sent in two pieces, and replaces lone halves
        self._utf16 = codecs.getincrementaldecoder("utf-16-le")("replace")

    @property
    def full(self) -> bool:
        return self.finish == TOO_LONG or self.reasoning.too_long

    @property
    def no_answer(self) -> bool:
        return self.reasoning.inside or self.reasoning.too_long

    def take(self, delta: str | None, *, last: bool = False) -> str:
        """The part of the answer that is certain now, as valid Unicode; a `Restart` replaces what came before."""
        arrived = self._utf16.decode((delta or "").encode("utf-16-le", "surrogatepass"), last)
        self.whole += arrived
        piece = self.reasoning.take(arrived, last=last)
        if isinstance(piece, Restart):
            self.text = ""
        room = MAX_REPLY - len(self.text)
        if len(piece) > room:
            piece, self.finish = type(piece)(piece[:room]), TOO_LONG
        self.text += piece
        return piece

    def note(self, raw: object, counts: dict[str, Any]) -> None:
        """Note the finish reason of a chunk, its model, and the token counts in it."""
        for choice in getattr(raw, "choices", None) or ():
            if getattr(
                getattr(choice, "delta", None), "content", None
            ):  # some name what was asked for elsewhere
                self.model = str(getattr(raw, "model", None) or self.model)
            if reason := getattr(choice, "finish_reason", None):
                self.finish = self.finish if self.finish == TOO_LONG else _why_ended(str(reason))
        if "prompt_tokens" in counts:
            self._usage = counts["prompt_tokens"], counts.get("completion_tokens")
            details = getattr(getattr(raw, "usage", None), "prompt_tokens_details", None)
            self.cached = bool(getattr(details, "cached_tokens", 0))

    @property
    def reports_usage(self) -> bool:
        """Whether the provider reported token counts, sane or not."""
        return self._usage is not None

    def usage(self, characters: int) -> tuple[int, int] | None:
        """The provider's count of tokens sent and received, for a prompt's length; None for nonsense."""
        if self._usage is None:
            return None
        sent = token_count(self._usage[0], characters)
        received = token_count(self._usage[1], len(self.text))
        return None if sent is None or received is None else (sent, received)


def _why_ended(reason: str) -> str:
    for known, words in CUT.items():
        if words.search(reason):
            return known
    if BROKEN_OFF.search(reason):
        return "".join(char for char in reason if char.isprintable())[:LONGEST_REASON]
    return COMPLETE


def token_count(value: object, characters: int) -> int | None:
    """A reported token count of a text of so many characters; None for what is no sane number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    sane = characters <= value * MOST_PER_TOKEN and 0 <= value <= MAX_TOKENS and value == int(value)
    return int(value) if sane else None
