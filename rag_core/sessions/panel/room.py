"""A room, its questions, which are comparisons, and the votes in it, as values; wrong codes of rooms."""

import dataclasses
import functools
import hashlib
import secrets
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations
from typing import Literal, TypeAlias, get_args

from ...catalog.setup import titles_of
from ...language.analysis import language_of
from ...stages.citations import unmarked
from ...values.errors import DataError, PanelError
from ...values.message import Message
from ...values.packed import pack, unpack
from ...values.trace import Trace
from ...values.triage import ROUTINE, Triage

Choice: TypeAlias = Literal["left", "right", "tie", "neither", "both_unsafe"]
CHOICES: tuple[Choice, ...] = get_args(Choice)
REASONS = ("correct", "complete", "sources", "clear", "safe")
COMMENT_CHARACTERS = 500
LEAST, MOST = 2, 4  # answers to a question
LETTERS = "34679ACDEFHJKMNPQRTUWXY"  # of codes: none looks like another
CODE_CHARACTERS = 5
TOKEN_CHARACTERS = 32
OPEN_FOR = timedelta(hours=12)  # as long as a comparison stays in memory


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer that is judged, its run, and the label that the ranking goes by, shown once names are."""

    label: str
    trace: Trace


@dataclass(frozen=True, slots=True)
class Question:
    """A question for the room in a language (ISO 639-1), with 2 to 4 answers; `kind` as in "dose", or empty."""

    text: str
    answers: tuple[Candidate, ...]
    language: str = "en"
    triage: Triage = ROUTINE
    kind: str = ""

    def __post_init__(self) -> None:
        labels = {one.label for one in self.answers}
        if not LEAST <= len(self.answers) <= MOST or len(labels) < len(self.answers):
            raise ValueError(f"a question has {LEAST} to {MOST} answers of different labels: {labels}")

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The places, from 0, of every two answers that differ: nobody can judge two of the same words."""
        return tuple(pair for pair in combinations(range(len(self.answers)), 2) if len(self.words(pair)) == 2)

    def words(self, pair: tuple[int, int]) -> frozenset[int]:
        """What a person reads in a pair: for each answer the first place with its words. Nobody reads it twice.

        Its markers do not count: on a phone, passages are numbered as each answer cites them.
        """
        said = [unmarked(one.trace.answer.text) if one.trace.answer else "" for one in self.answers]
        return frozenset(said.index(said[place]) for place in pair)

    @property
    def readings(self) -> int:
        return len({self.words(pair) for pair in self.pairs})


@dataclass(frozen=True, slots=True)
class Room:
    """A room, opened at a time in UTC, with its code; `presenter_token` is empty if it was looked up by that."""

    code: str
    title: str
    opened: datetime
    presenter_token: str = dataclasses.field(default="", repr=False)

    @property
    def closes(self) -> datetime:
        """From when on nobody comes in, is asked or votes; what was said stays."""
        return self.opened + OPEN_FOR


@dataclass(frozen=True, slots=True)
class Round:
    """A question as it was asked in a room, numbered from 1: are votes refused, are names shown?"""

    room: str
    number: int
    asked: datetime
    question: Question
    closed: bool = False
    revealed: bool = False


@dataclass(frozen=True, slots=True)
class Pair:
    """The places, from 0, of the two answers in front of a person."""

    left: int
    right: int

    @property
    def key(self) -> str:
        """The same for both orders."""
        return f"{min(self.left, self.right)}-{max(self.left, self.right)}"


@dataclass(frozen=True, slots=True)
class Vote:
    """What a person, a digest that differs by room, thinks of one pair, last changed at `voted`, UTC."""

    round: int
    person: str
    pair: Pair
    choice: Choice
    voted: datetime
    reasons: tuple[str, ...] = ()
    comment: str = ""

    @property
    def better(self) -> int | None:
        """The place of the preferred answer; None without a preference."""
        return {"left": self.pair.left, "right": self.pair.right}.get(self.choice)


@dataclass(frozen=True, slots=True)
class Count:
    """People in the room, those of them who voted in this round, and their votes."""

    joined: int
    voted: int
    votes: int


def can_be_asked(traces: Sequence[Trace]) -> bool:
    """Whether there are as many answers as a room can judge, and not all are the same."""
    said = [unmarked(trace.answer.text) for trace in traces if trace.answer]
    return LEAST <= len(said) <= MOST and len(set(said)) > 1


def as_question(traces: Sequence[Trace], kind: str = "") -> Question:
    """The answers to one question, labelled by strategy and changes, numbered where equal; ValueError for too few or many."""
    asked, answered = traces[0], [trace for trace in traces if trace.answer]
    titles = [str(title) for title in titles_of(answered)]
    before = [titles[:place].count(title) for place, title in enumerate(titles)]
    labels = [f"{title} ({count + 1})" if count else title for title, count in zip(titles, before, strict=True)]
    candidates = map(Candidate, labels, answered)
    return Question(asked.question, tuple(candidates), language_of(asked.question), asked.triage, kind)


def new_code() -> str:
    """A random code."""
    return "".join(secrets.choice(LETTERS) for _ in range(CODE_CHARACTERS))


def as_code(typed: str) -> str:
    """A code without what people add to it or type small."""
    return "".join(letter for letter in typed.upper() if letter in LETTERS)


def new_token() -> str:
    """A random token: 128 bits."""
    return secrets.token_hex(TOKEN_CHARACTERS // 2)


def token_from(*parts: object) -> str:
    """The token that belongs to these values, of which one is secret."""
    return digest(*parts)[:TOKEN_CHARACTERS]


def is_token(text: str) -> bool:
    """Whether a text can be a token; what browsers send back may be anything."""
    return len(text) == TOKEN_CHARACTERS and text.isascii() and text.isalnum()


def digest(*parts: object) -> str:
    """SHA-256 of values, in hexadecimal."""
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


def sides(token: str, room: str, number: int, pair: tuple[int, int]) -> Pair:
    """On which side a person sees each answer: by chance over people, the same at every look."""
    swapped = int(digest("sides", token, room, number, *pair), 16) % 2
    return Pair(*(pair[::-1] if swapped else pair))


def to_json(question: Question) -> str:
    """A question with its traces."""
    fields = {one.name: getattr(question, one.name) for one in dataclasses.fields(question)}
    return pack({**fields, "answers": [[one.label, one.trace] for one in question.answers]})


def from_json(text: str | bytes) -> Question:
    """The question that `to_json` wrote; raises DataError if it is damaged, or another version wrote it."""
    try:
        fields = unpack(text)
        return Question(**{**fields, "answers": tuple(Candidate(*one) for one in fields["answers"])})
    except (TypeError, KeyError, ValueError) as error:
        raise _unreadable(error) from error


def to_bytes(question: Question) -> bytes:
    """What `to_json` gives, compressed."""
    return zlib.compress(to_json(question).encode())


@functools.lru_cache(maxsize=16)  # every phone in a room asks for the same one, again and again
def from_bytes(stored: bytes) -> Question:
    """The question that `to_bytes` wrote, or DataError as of `from_json`."""
    try:
        return from_json(zlib.decompress(stored))
    except zlib.error as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> DataError:
    return DataError(
        Message("This question of the room cannot be opened: {kind}.", kind=type(error).__name__),
        Message("It is damaged, or another version wrote it; ask it again."),
    )


WINDOW_S = 60.0
MOST_WRONG = 30  # codes in a window, from an address
MOST_OF_ALL = 100  # and from all: of 23**5 codes, 1.1 % in the 12 h of a room


class Guesses:
    """Wrong codes of rooms, counted in memory, of one process; shared by threads. `now` gives seconds and never goes back."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._wrong: deque[tuple[float, str]] = deque()

    @contextmanager
    def guess(self, address: str) -> Iterator[None]:
        """Try a code in the block, counted as wrong from the start unless it ends well; PanelError after too many."""
        attempt = (self._now(), address)
        with self._lock:
            while self._wrong and self._wrong[0][0] <= attempt[0] - WINDOW_S:
                self._wrong.popleft()
            theirs = sum(one == address for _, one in self._wrong)
            if theirs >= MOST_WRONG or len(self._wrong) >= MOST_OF_ALL:
                said = Message("Too many wrong codes were typed.")
                raise PanelError(said, Message("Wait a minute, then type the code again."))
            self._wrong.append(attempt)
        wrong = False
        try:
            yield
        except PanelError:
            wrong = True
            raise
        finally:
            if not wrong:
                with self._lock:
                    if attempt in self._wrong:
                        self._wrong.remove(attempt)
