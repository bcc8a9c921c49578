"""What the language model calls of a result would cost with other models, and over a month."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ...models.tokenizer import FALLBACK, count_tokens, encoding_name
from ...offline import NAME as OFFLINE
from ...values.pricing import Price
from ...values.trace import Trace
from ...values.types import Cost, ModelCall, token_counts

TYPED = "your price"  # in place of a model's name
Tokeniser = Literal["same", "counted again", "another", "unknown"]
Texts = Mapping[ModelCall, tuple[str, str]]  # what was sent, and what came back
DAYS = 30  # of a month
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Quote:
    """What the calls would cost if one model had received all of them.

    Args:
        model: its name, or `TYPED`.
        cost_usd: of the language model calls at its price, and of the other calls as they were; None if the price of
            one of those is unknown.
        tokeniser: where the counts come from: its own tokeniser counted them in the first place, or again; they are
            those of another one; or it is not known whose they are.
    """

    model: str
    price: Price
    cost_usd: float | None
    tokeniser: Tokeniser


def quotes(calls: Iterable[ModelCall], prices: Mapping[str, Price], texts: Texts) -> tuple[Quote, ...]:
    """One quote a model, the cheapest first.

    The same texts are counted with the model's own tokeniser where that is known and all of them are; otherwise the
    counts are the original's, which differ by a few percent. A model's own replies would be longer or shorter.

    Args:
        calls: of one result; embeddings and reranking keep their cost.
        prices: by model, `TYPED` among them if someone typed one.
        texts: of the language model calls, as far as they are known; see `texts_of`.

    Example:
        >>> import datetime
        >>> price = Price(2.0, 8.0, datetime.date(2025, 6, 1), "a page")
        >>> call = ModelCall("answer", "gpt-4o", 1_000, 100, 0.0035, "provider")
        >>> [(quote.model, quote.cost_usd, quote.tokeniser) for quote in quotes([call], {"gpt-4.1": price}, {})]
        [('gpt-4.1', 0.0028, 'same')]
    """
    once = tuple(dict.fromkeys(calls))
    return tuple(
        sorted((_quote(model, price, once, texts) for model, price in prices.items()), key=_cheapest_first)
    )


def _quote(model: str, price: Price, calls: Sequence[ModelCall], texts: Texts) -> Quote:
    tokeniser = _tokeniser(model, calls)
    language = [call for call in calls if call.of_language_model]
    if tokeniser == "same" or encoding_name(model) is None or not all(call in texts for call in language):
        return Quote(model, price, cost_at(calls, price), tokeniser)
    again = {call: [count_tokens(text, model) for text in texts[call]] for call in language}
    counted = [
        replace(call, input_tokens=again[call][0], output_tokens=again[call][1]) if call in again else call
        for call in calls
    ]
    return Quote(model, price, cost_at(counted, price), "counted again")


def texts_of(trace: Trace) -> Texts:
    """What was sent with each language model call of a trace and what came back; the offline engine is sent no text."""
    return {
        exchange.calls[-1]: (exchange.system + exchange.text, exchange.reply)
        for step in trace.steps
        for exchange in step.exchanges
        if exchange.calls and not exchange.offline
    }


def cost_at(calls: Iterable[ModelCall], price: Price | None) -> float | None:
    """US dollars of calls, the language model calls among them at this price; None if a price is unknown.

    Args:
        price: None for what they cost as they were made.
    """
    once = tuple(dict.fromkeys(calls))
    if price is None:
        return Cost.of(once).usd
    rest = Cost.of(call for call in once if not call.of_language_model).usd
    at_price = price.cost_usd(*token_counts(call for call in once if call.of_language_model))
    return None if rest is None else at_price + rest


def of_offline_engine(calls: Iterable[ModelCall]) -> bool:
    """Whether the offline engine replied to any of them, so that its replies stand for a model's."""
    return any(call.model == OFFLINE for call in calls)


def _cheapest_first(quote: Quote) -> tuple[float, float, str]:
    return math.inf if quote.cost_usd is None else quote.cost_usd, quote.price.input, quote.model


def _tokeniser(model: str, calls: Iterable[ModelCall]) -> Tokeniser:
    """How the counts of the calls relate to the tokeniser of a model."""
    own = encoding_name(model)
    counted = {
        encoding_name(call.model) or (FALLBACK if call.counted_by == "tokenizer" else None)
        for call in calls
        if call.of_language_model
    }
    if own is None or None in counted:
        return "unknown"
    return "same" if counted <= {own} else "another"


@dataclass(frozen=True, slots=True)
class Projection:
    """What a month of questions costs.

    Args:
        n: how many questions were measured.
        per_question: mean cost of a question, in US dollars.
        per_month: `per_question` times the questions of a month.
        low, high: ends of the 95 % interval of `per_month`; None with a single question, whose spread is unknown.
    """

    n: int
    per_question: float
    per_month: float
    low: float | None
    high: float | None


def project(costs: Sequence[float], per_day: float) -> Projection:
    """The cost of `DAYS` days.

    The interval is that of the mean by Student's t, mean ± t(0.975, n − 1) · s / √n, cut at 0: it covers how
    much the measured questions differ, not that other questions may be asked.

    Args:
        costs: US dollars of each measured question, >= 0; at least one.
        per_day: questions a day, >= 0.

    Example:
        >>> month = project([0.01, 0.02, 0.03], 100)
        >>> month.per_month, round(month.low, 2), round(month.high, 2)  # 60 ± 4.3027 · 0.01 / √3 · 3,000
        (60.0, 0.0, 134.52)
    """
    mean, questions = statistics.fmean(costs), per_day * DAYS
    month = mean * questions
    if len(costs) < 2:
        return Projection(1, mean, month, None, None)
    from scipy.special import stdtrit

    quantile = float(stdtrit(len(costs) - 1, (1 + LEVEL) / 2))
    half = quantile * statistics.stdev(costs) / math.sqrt(len(costs)) * questions
    return Projection(len(costs), mean, month, max(0.0, month - half), month + half)
