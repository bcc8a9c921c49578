"""What is taken from a model's reply: its answer without reasoning, up to a limit, why it ended, and sane token counts."""

import codecs
import re
from typing import Any

from ..prompts.replies import COMPLETE, TOO_LONG, Restart

MAX_REASONING = 200_000  # characters; a model that has not begun to answer by then is not waited for
LONGEST_TAG = 100  # characters
SHOUTED = r"[A-Z_]*(?:THINK|REASON)[A-Z_]*"  # in square brackets
UNSIGNED = "assistantfinal"  # begins the answer of gpt-oss where the signs of its channels are left out


def _begun(word: str) -> str:
    return rf"(?:{'|'.join(word[:end] for end in range(len(word), 0, -1))})"


_NAME = r"[\w:.-]{0,40}(?:think|thought|reason|reflect|analysis|scratchpad)[\w:.-]{0,40}"
_OPEN = re.compile(
    rf"<\|?(?P<name>(?!(?i:end_))(?i:{_NAME}))(?:\s[^<>]*)?\|?>|◁(?P<moon>{_NAME})▷"
    r"|(?P<channels>(?=<\|channel\|>))|(?P<spare><unused94>)"
    r"|(?P<fold>(?i:<details\s(?:[^<>]*\s)?(?:type|class)=[\"'](?:think|thinking|reasoning)[\"'][^<>]*>))"
)
_OPEN_AT_START = re.compile(
    rf"\s{{0,{LONGEST_TAG}}}(?:\[(?P<shouted>{SHOUTED})\]|(?P<unsigned>analysis(?=[^\W_]|[\"“¿¡]))"
    r"|(?P<fold>(?i:<details(?:\s[^<>]*)?>\s{0,9}<summary(?:\s[^<>]*)?>[^\w<]*(?:thinking|thought|reasoning)(?: process)?"
    r"(?: for (?:\d|a )[^<]{0,40})?[^\w<]*</summary>)))"
)
_CLOSES = {  # a fold can hold others
    "channels": re.compile(r"<\|channel\|>final(?:\s*<\|constrain\|>\w+)?<\|message\|>"),
    "spare": re.compile(r"<unused95>"),
    "unsigned": re.compile(UNSIGNED),
    "fold": re.compile(r"(?P<deeper><details(?=[\s>]))|</details\s*>", re.IGNORECASE),
}
_UNOPENED = re.compile(
    rf"(?:<\|?(?:/|(?=end_))(?i:{_NAME})\|?>|\[/{SHOUTED}\]|◁/{_NAME}▷|(?-i:{UNSIGNED}))", re.IGNORECASE
)
_PARTLY = re.compile(
    rf"(?:<[/|]?(?:[a-zA-Z_][^<>]{{0,{LONGEST_TAG}}})?|\[/?[A-Z_]*|◁[^▷]{{0,{LONGEST_TAG}}}|{_begun(UNSIGNED)})\Z"
)
_FORM_BEGUN = re.compile(  # at the start of a reply: the next piece tells
    rf"\s{{0,9}}(?:{_begun('analysis')}|<details(?:\s[^<>]*)?>\s{{0,9}}(?:<(?:s[^<>]{{0,{LONGEST_TAG}}}"
    rf"(?:>[^<]{{0,{LONGEST_TAG}}}(?:<(?:/[a-z]{{0,7}})?)?)?)?)?)\Z",
    re.IGNORECASE,
)


class WithoutReasoning:
    """A reply's text as it arrives, without its reasoning, for servers that send it inside the content.

    A block is opened by a tag whose name says so and closed by its matching tag, whatever the brackets: `<think>`,
    `◁think▷`, `<|begin_of_thought|>`. Other tags, as `<b>` or `<answer>`, hold the answer. The channels of gpt-oss, the
    spare tokens of MedGemma and folds of a type for reasoning count too. `[THINK]`, "analysis" without a sign and a fold
    by its title can be the answer's own, and count only where a reply starts. Unmarked reasoning is not recognised.

    `begun`: whether the reply is likely to begin inside a block, because the server's template opens it; the text is then
    held back until it is closed, or the reply ends. `unopened`: whether a block was closed that had not been opened.
    """

    def __init__(self, *, begun: bool = False) -> None:
        self.unopened = False
        self._held = ""
        self._searched = 0  # characters held in which no tag begins
        self._begun = begun
        self._at_start = True
        self._stripping = False  # of the space between a block and the text after it
        self._close: re.Pattern[str] | None = None
        self._depth = 0
        self._length = 0

    @property
    def inside(self) -> bool:
        """Whether a block is open; a reply that ends so has no answer."""
        return self._close is not None

    @property
    def too_long(self) -> bool:
        return self._length + len(self._held) > MAX_REASONING

    def take(self, piece: str, *, last: bool = False) -> str:
        """The text that is certain after this piece; a `Restart` when all before it was reasoning."""
        self._held += piece
        said, restarted = "", False
        while True:
            if self._close:
                if not self._left(self._close):
                    break
                continue
            at_start = _OPEN_AT_START.match(self._held) if self._at_start else None
            found = at_start or _OPEN.search(self._held, self._searched)
            before = found.start() if found else len(self._held)
            if closed := _UNOPENED.search(self._held, self._searched, before):
                # the template opened it, and all so far was reasoning
                said, restarted, self.unopened = "", not self._begun, True
                self._length += closed.end()
                self._cut(closed.end())
                self._begun, self._at_start, self._stripping = False, True, True
                continue
            if found:
                kind = found.lastgroup or ""
                self._close, self._depth = _CLOSES.get(kind) or _closing(found[kind]), 1
                self._begun = False
                said += self._text(self._held[:before])
                self._cut(found.end())
                continue
            if not last and (self._begun or (self._at_start and _FORM_BEGUN.match(self._held))):
                self._searched = max(len(self._held) - LONGEST_TAG, 0)
                break
            partly = None if last else _PARTLY.search(self._held)
            end = partly.start() if partly else len(self._held)
            if self._at_start and end <= LONGEST_TAG and not self._held[:end].strip() and not last:
                break
            said += self._text(self._held[:end])
            self._cut(end)
            break
        return Restart(said) if restarted else said

    def _left(self, close: re.Pattern[str]) -> bool:
        """Whether a tag of the open block was passed, which may have closed it."""
        closed = close.search(self._held)
        end = closed.end() if closed else max(len(self._held) - LONGEST_TAG, 0)
        self._length += end
        self._cut(end)
        if closed:
            self._depth += 1 if closed.lastgroup else -1
            if not self._depth:
                self._close, self._stripping = None, True
        return closed is not None

    def _cut(self, end: int) -> None:
        self._held, self._searched = self._held[end:], 0

    def _text(self, text: str) -> str:
        if self._stripping or (self._at_start and not text.strip() and self.inside):
            text = text.lstrip()
        if text.strip():
            self._at_start = self._stripping = False
        return text


def _closing(name: str) -> re.Pattern[str]:
    ended, spelt_out = re.subn(r"^(?:begin|start)(?=_)", "end", name, flags=re.IGNORECASE)
    body = re.escape(ended) if spelt_out else rf"/{re.escape(name)}(?:\s[^<>]*)?"
    return re.compile(rf"(?:<\|?{body}\s*\|?>|\[{body}\]|◁{body}▷)", re.IGNORECASE)


MAX_REPLY = 20_000  # characters: twenty times a long answer; the rest is not read
MAX_TOKENS = 10_000_000  # of one request; more than any model reads
MOST_PER_TOKEN = 50  # characters of a token, on average; a count below is no count of this text
LONGEST_REASON = 40  # characters of a finish reason
# a reply that was cut off, in the words of providers; every other word is one for a normal end
CUT = {
    "length": re.compile(r"length|max_|limit|window", re.IGNORECASE),
    "content_filter": re.compile(r"filter|safety|sensitive|prohibit|blocked|blocklist|recitation|refus", re.IGNORECASE),
}
# tokens read from a cache, as servers call them: cached_tokens, cache_read_input_tokens, prompt_cache_hit_tokens, cache_n
FROM_CACHE = re.compile(r"cache(?!\w*miss)\w*\W{1,3}[1-9]")
BROKEN_OFF = re.compile(r"error|abort|cancel|insufficient|interrupt", re.IGNORECASE)


class Reply:
    """A reply as it arrives.

    Attributes:
        says_end: whether the server reports why a reply ended; others are taken to be complete.
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
        for choice in getattr(raw, "choices", None) or ():
            # some name what was asked for elsewhere
            if getattr(getattr(choice, "delta", None), "content", None):
                self.model = str(getattr(raw, "model", None) or self.model)
            if reason := getattr(choice, "finish_reason", None):
                self.finish = self.finish if self.finish == TOO_LONG else _why_ended(str(reason))
        if "prompt_tokens" in counts:
            self._usage = counts["prompt_tokens"], counts.get("completion_tokens")
            self.cached = FROM_CACHE.search(repr(raw)) is not None

    @property
    def reports_usage(self) -> bool:
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
