"""Taking a model's reasoning off its reply, for servers that send it inside the content.

A block is opened by a tag whose name says so and closed by its matching tag, whatever the brackets: `<think>`,
`[THINK]`, `◁think▷`, `<|begin_of_thought|>`. Only such names count: other tags, as `<b>` or `<answer>`, hold the answer.
At its start, a reply can also have the forms below, which are no tag and its match. Reasoning in plain prose, with
nothing that marks it, is not recognised.
"""

from __future__ import annotations

import re

from ..prompts.replies import Restart

MAX_REASONING = 200_000  # characters; a model that has not begun to answer by then is not waited for
LONGEST_TAG = 100  # characters
SHOUTED = (
    r"[A-Z_]*(?:THINK|REASON)[A-Z_]*"  # in square brackets, where "[reason]" may be a word of the answer
)
UNSIGNED = "assistantfinal"  # begins the answer of gpt-oss where the signs of its channels are left out


def _begun(word: str) -> str:
    """A pattern of a word's beginnings."""
    return rf"(?:{'|'.join(word[:end] for end in range(len(word), 0, -1))})"


_NAME = r"[\w:.-]*(?:think|thought|reason|reflect|analysis|scratchpad)[\w:.-]*"
_OPEN = re.compile(
    rf"(?:<\|?(?P<name>(?!(?i:end_))(?i:{_NAME}))(?:\s[^<>]*)?\|?>|\[(?P<shouted>{SHOUTED})\]|◁(?P<moon>{_NAME})▷)"
)
_CLOSE = re.compile(
    rf"(?:<\|?(?:/|(?=end_))(?i:{_NAME})\|?>|\[/{SHOUTED}\]|◁/{_NAME}▷|(?-i:{UNSIGNED}))", re.IGNORECASE
)
_PARTLY = re.compile(
    rf"(?:<[/|]?(?:[a-zA-Z_][^<>]{{0,{LONGEST_TAG}}})?|\[/?[A-Z_]*|◁[^▷]{{0,{LONGEST_TAG}}}|{_begun(UNSIGNED)})\Z"
)
_BY_FORM = (
    # the channels of gpt-oss, with their signs and without
    (
        re.compile(r"(?=<\|channel\|>)"),
        re.compile(r"<\|channel\|>final(?:\s*<\|constrain\|>\w+)?<\|message\|>"),
    ),
    (re.compile(r'analysis(?=[A-Z"“¿¡])'), re.compile(UNSIGNED)),
    # the spare tokens that MedGemma uses
    (re.compile(r"<unused94>"), re.compile(r"<unused95>")),
    # a fold of Open WebUI or a proxy; other folds are the answer's
    (
        re.compile(
            r"<details(?:\s[^<>]*)?(?:(?<=\s)(?:type|class)=[\"'](?:think|thinking|reasoning)[\"'][^<>]*>"
            r"|>\s{0,9}<summary(?:\s[^<>]*)?>[^\w<]*(?:thinking|thought|reasoning)(?: process)?"
            r"(?: for (?:\d|a )[^<]{0,40})?[^\w<]*</summary>)",
            re.IGNORECASE,
        ),
        re.compile(r"</details>", re.IGNORECASE),
    ),
)
_FORM_BEGUN = re.compile(  # at the start of a reply: the next piece tells
    rf"\s{{0,9}}(?:{_begun('analysis')}|<details(?:\s[^<>]*)?>\s{{0,9}}(?:<(?:s[^<>]{{0,{LONGEST_TAG}}}"
    rf"(?:>[^<]{{0,{LONGEST_TAG}}}(?:<(?:/[a-z]{{0,7}})?)?)?)?)?)\Z",
    re.IGNORECASE,
)


class WithoutReasoning:
    """A reply's text as it arrives, without its reasoning.

    Args:
        begun: whether the reply is likely to begin inside a block, because the server's template opens it; the
            text is then held back until it is closed, or the reply ends.

    Attributes:
        unopened: whether a block was closed that had not been opened.
    """

    def __init__(self, *, begun: bool = False) -> None:
        self.unopened = False
        self._held = ""
        self._begun = begun
        self._at_start = True
        self._stripping = False  # of the space between a block and the text after it
        self._close: re.Pattern[str] | None = None
        self._length = 0

    @property
    def inside(self) -> bool:
        """Whether a block is open; a reply that ends so has no answer."""
        return self._close is not None

    @property
    def too_long(self) -> bool:
        """Whether there is more of it than is waited for."""
        return self._length + len(self._held) > MAX_REASONING

    def take(self, piece: str, *, last: bool = False) -> str:
        """The text that is certain after this piece; a `Restart` when all before it was reasoning."""
        self._held += piece
        said, restarted = "", False
        while True:
            if self._close:
                closed = self._close.search(self._held)
                end = closed.end() if closed else max(len(self._held) - LONGEST_TAG, 0)
                self._length += end
                self._held = self._held[end:]
                if not closed:
                    break
                self._close, self._stripping = None, True
            if closed := _CLOSE.search(self._held):
                before = _opening(self._held[: closed.start()], at_start=self._at_start)
                if before is None:  # the template opened it, and all so far was reasoning
                    said, restarted, self.unopened = "", not self._begun, True
                    self._length += closed.end()
                    self._held = self._held[closed.end() :]
                    self._begun, self._at_start, self._stripping = False, True, True
                    continue
            if found := _opening(self._held, at_start=self._at_start):
                start, end, self._close = found
                self._begun = False
                said += self._text(self._held[:start])
                self._held = self._held[end:]
                continue
            if not last and (self._begun or (self._at_start and _FORM_BEGUN.match(self._held))):
                break
            partly = None if last else _PARTLY.search(self._held)
            cut = partly.start() if partly else len(self._held)
            if self._at_start and not self._held[:cut].strip() and not last:
                break
            said += self._text(self._held[:cut])
            self._held = self._held[cut:]
            break
        return Restart(said) if restarted else said

    def _text(self, text: str) -> str:
        if self._stripping or (self._at_start and not text.strip() and self.inside):
            text = text.lstrip()
        if text.strip():
            self._at_start = self._stripping = False
        return text


def _opening(text: str, *, at_start: bool) -> tuple[int, int, re.Pattern[str]] | None:
    """The first opening tag: where it starts and ends, and what closes it."""
    if at_start:
        start = len(text) - len(text.lstrip())
        for opened, closes in _BY_FORM:
            if found := opened.match(text, start):
                return found.start(), found.end(), closes
    found = _OPEN.search(text)
    if not found or (found["shouted"] and (not at_start or text[: found.start()].strip())):
        return None
    name = next(name for name in found.groups() if name)
    return found.start(), found.end(), _closing(name)


def _closing(name: str) -> re.Pattern[str]:
    ended, spelt_out = re.subn(r"^(?:begin|start)(?=_)", "end", name, flags=re.IGNORECASE)
    body = re.escape(ended) if spelt_out else rf"/{re.escape(name)}(?:\s[^<>]*)?"
    return re.compile(rf"(?:<\|?{body}\s*\|?>|\[{body}\]|◁{body}▷)", re.IGNORECASE)
