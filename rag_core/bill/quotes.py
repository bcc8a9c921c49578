"""What the language model calls of a result would cost with other models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..models.tokenizer import FALLBACK, encoding_name
from ..values.pricing import Price
from ..values.types import Cost, ModelCall, token_counts

TYPED = "your price"  # in place of a model's name
Tokeniser = Literal["same", "another", "unknown"]


@dataclass(frozen=True, slots=True)
class Quote:
    """What the calls would cost if one model had received all of them.

    Args:
        model: its name, or `TYPED`.
        cost_usd: of the language model calls at its price, and of the other calls as they were; None if the price of
            one of those is unknown.
        tokeniser: whether the counts are those of its own tokeniser, of another one, or it is not known.
    """

    model: str
    price: Price
    cost_usd: float | None
    tokeniser: Tokeniser


def quotes(calls: Sequence[ModelCall], prices: Mapping[str, Price]) -> tuple[Quote, ...]:
    """One quote a model, the cheapest first.

    The token counts are the original's. Where the tokeniser of the other model differs, its own count differs too,
    usually by a few percent. A model's own replies would be longer or shorter.

    Args:
        calls: of one result, each once; embeddings and reranking keep their cost.
        prices: by model, `TYPED` among them if someone typed one.

    Example:
        >>> import datetime
        >>> price = Price(2.0, 8.0, datetime.date(2025, 6, 1), "a page")
        >>> call = ModelCall("answer", "gpt-4o", 1_000, 100, 0.0035, "provider")
        >>> [(quote.model, quote.cost_usd, quote.tokeniser) for quote in quotes([call], {"gpt-4.1": price})]
        [('gpt-4.1', 0.0028, 'same')]
    """
    language = [call for call in calls if call.of_language_model]
    rest = Cost.of(call for call in calls if not call.of_language_model).usd
    sent, received = token_counts(language)
    found = [
        Quote(
            model,
            price,
            None if rest is None else math.fsum((price.cost_usd(sent, received), rest)),
            _tokeniser(model, language),
        )
        for model, price in prices.items()
    ]
    return tuple(
        sorted(
            found,
            key=lambda quote: (
                math.inf if quote.cost_usd is None else quote.cost_usd,
                quote.price.input,
                quote.model,
            ),
        )
    )


def _tokeniser(model: str, calls: Sequence[ModelCall]) -> Tokeniser:
    """How the counts of the calls relate to the tokeniser of a model."""
    own = encoding_name(model)
    counted = {
        encoding_name(call.model) or (FALLBACK if call.counted_by == "tokenizer" else None) for call in calls
    }
    if own is None or None in counted:
        return "unknown"
    return "same" if counted <= {own} else "another"
