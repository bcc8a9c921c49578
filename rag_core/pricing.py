"""Tokens to dollars, from the dated price list `data/prices.toml`."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import DataError

PER = 1_000_000  # prices are per million tokens


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens on a date."""

    input: float
    output: float
    date: datetime.date
    source: str

    def cost_usd(self, input_tokens: int, output_tokens: int) -> float:
        """The bill of one call, in US dollars."""
        return (input_tokens * self.input + output_tokens * self.output) / PER


class PriceList:
    """Prices by model name; a model that is not listed has an unknown price."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self._prices = dict(prices)

    @classmethod
    def read(cls, path: Path) -> PriceList:
        """Read a price list.

        Raises:
            DataError: the file is missing, not TOML, or an entry lacks a field.
        """
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
            return cls(
                {
                    name: Price(float(row["input"]), float(row["output"]), row["date"], row["source"])
                    for name, row in table["models"].items()
                }
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"The price list {path} cannot be read: {error!r}.", "Restore data/prices.toml."
            ) from error

    def get(self, model: str) -> Price | None:
        """The price of a model, dated snapshots ("gpt-4o-2024-08-06") included; None when unknown."""
        if model in self._prices:
            return self._prices[model]
        base, dash, day = model[:-11], model[-11:-10], model[-10:]
        try:
            datetime.date.fromisoformat(day)
        except ValueError:
            return None
        return self._prices.get(base) if dash == "-" else None

    def cost_usd(self, model: str, input_tokens: int, output_tokens: int) -> float | None:
        """The bill of one call; None when the model's price is unknown."""
        price = self.get(model)
        return None if price is None else price.cost_usd(input_tokens, output_tokens)
