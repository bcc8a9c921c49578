"""What visitors of an open app have spent today, and the budgets that end it."""

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, date, datetime

from ..values.errors import LimitReached
from ..values.message import Message
from ..values.pricing import PriceList
from ..values.settings import Settings
from ..values.types import ModelCall

YOURS = Message("Your budget of paid model calls for today is used up, or too small for this.")
EVERYBODYS = Message("This server's budget of paid model calls for today is used up, or too small for this.")


@dataclass
class _Used:
    calls: int = 0
    dollars: float = 0.0


class Spending:
    """What each visitor and all together have used since midnight UTC; shared by threads, kept in memory.

    A model without a known price counts as the dearest listed one: else the dearest of all would be free. Calls in
    progress when a budget of dollars is reached still finish.
    """

    def __init__(
        self,
        settings: Settings,
        prices: PriceList,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
    ) -> None:
        self._settings = settings
        self._prices = prices
        self._today = today
        self._day = today()
        self._lock = threading.Lock()
        self._all = _Used()
        self._visitors: dict[str, _Used] = defaultdict(_Used)

    def reserve(self, visitor: str, calls: int = 1, dollars: float = 0.0) -> None:
        """Count calls and their highest cost in dollars before they are made; raises LimitReached, with nothing counted."""
        settings = self._settings
        with self._lock:
            both = self._used(visitor)
            limits = (
                (YOURS, settings.visitor_calls, settings.visitor_dollars),
                (EVERYBODYS, settings.day_calls, settings.day_dollars),
            )
            for used, (refusal, most, highest) in zip(both, limits, strict=True):
                spent = used.dollars + dollars
                over = highest is not None and (spent > highest or used.dollars >= highest)
                if over or (most is not None and used.calls + calls > most):
                    raise LimitReached(refusal, Message("Ask again tomorrow (UTC)."))
            for used in both:
                used.calls += calls
                used.dollars += dollars

    def spend(self, visitor: str, calls: Sequence[ModelCall]) -> None:
        dollars = sum(
            self._dearest(call.input_tokens, call.output_tokens) if call.cost_usd is None else call.cost_usd
            for call in calls
        )
        with self._lock:
            for used in self._used(visitor):
                used.dollars += dollars

    def at_most(self, dollars: float, unpriced: tuple[int, int]) -> float:
        """Dollars, and with them what these tokens to and from models of unknown price count as."""
        return dollars + self._dearest(*unpriced)

    def _dearest(self, sent: int, received: int) -> float:
        return max((price.cost_usd(sent, received) for price in self._prices.writers.values()), default=0.0)

    def _used(self, visitor: str) -> tuple[_Used, _Used]:
        if self._day != self._today():
            self._day, self._all = self._today(), _Used()
            self._visitors.clear()
        return self._visitors[visitor], self._all


class Payer:
    """Who pays for the calls of the current thread: nobody in particular, without budgets."""

    def start_call(self) -> None:
        """Count a call that is about to be sent; raises LimitReached when a budget does not allow it."""

    def spend(self, calls: Sequence[ModelCall]) -> None:
        """Add what calls cost."""


class Visitor(Payer):
    """A visitor with budgets."""

    def __init__(self, spending: Spending, name: str) -> None:
        self._spending = spending
        self._name = name

    def start_call(self) -> None:
        self._spending.reserve(self._name)

    def spend(self, calls: Sequence[ModelCall]) -> None:
        self._spending.spend(self._name, calls)


payer: ContextVar[Payer] = ContextVar("payer", default=Payer())  # noqa: B039  # it has no state

# whether a request that was sent and not answered is not sent again: it may be billed, and was agreed to once
sent_once: ContextVar[bool] = ContextVar("sent_once", default=False)

_listeners: list[Callable[[Sequence[ModelCall]], None]] = []


def on_spent(listener: Callable[[Sequence[ModelCall]], None]) -> None:
    """Tell a function of all calls of model servers that this process makes from now on: by whom and for what, it is not told."""
    _listeners.append(listener)


def spent(calls: Sequence[ModelCall]) -> None:
    """Note calls that a model server was sent; every model notes its own, once, failed and stopped ones too."""
    payer.get().spend(calls)
    for listener in _listeners:
        listener(calls)
