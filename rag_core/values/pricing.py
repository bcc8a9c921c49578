"""Tokens to dollars, from the dated price list `data/prices.toml`."""

import datetime
import tomllib
from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from .errors import read_data_file
from .settings import Settings

TOKENS_PER_PRICE = 1_000_000  # prices are per million tokens


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens on a date."""

    input: float
    output: float
    date: datetime.date
    source: str

    def months_old(self, today: datetime.date | None = None) -> int:
        """Whole months since the price was published, up to today unless another day is given.

        >>> Price(1.0, 2.0, datetime.date(2026, 1, 31), "a list").months_old(datetime.date(2026, 3, 30))
        1
        """
        now = today or datetime.datetime.now(datetime.UTC).date()
        return max(12 * (now.year - self.date.year) + now.month - self.date.month - (now.day < self.date.day), 0)

    def cost_usd(self, input_tokens: int, output_tokens: int) -> float:
        return (input_tokens * self.input + output_tokens * self.output) / TOKENS_PER_PRICE


class PriceList:
    """Prices by model name; unlisted models have no known price."""

    def __init__(self, prices: Mapping[str, Price], snapshots: Set[str] = frozenset()) -> None:
        self._prices = dict(prices)
        self._snapshots = snapshots

    @classmethod
    def read(cls, path: Path) -> Self:
        """A price list, an entry a model, maybe with snapshots; raises DataError if it is missing, malformed or ambiguous."""
        return read_data_file(path, cls._parsed)

    @classmethod
    def _parsed(cls, text: str) -> Self:
        prices: dict[str, Price] = {}
        snapshots: set[str] = set()
        for model, row in tomllib.loads(text)["models"].items():
            price = Price(float(row["input"]), float(row["output"]), row["date"], row["source"])
            dated = [f"{model}-{snapshot}" for snapshot in row.get("snapshots", ())]
            for name in (model, *dated):
                if name in prices:
                    raise ValueError(f"{name} is listed twice")
                prices[name] = price
            snapshots.update(dated)
        return cls(prices, snapshots)

    @classmethod
    def of(cls, settings: Settings) -> Self:
        return cls.read(settings.data / "prices.toml")

    def get(self, model: str) -> Price | None:
        """The price of a model or snapshot; None if not listed. A snapshot can cost more than its model."""
        return self._prices.get(model)

    @property
    def writers(self) -> Mapping[str, Price]:
        """The models that charge for what they write, each without its snapshots: not embedding or local models."""
        return {model: price for model, price in self._prices.items() if price.output and model not in self._snapshots}

    def cost_usd(self, model: str, input_tokens: int, output_tokens: int) -> float | None:
        price = self.get(model)
        return None if price is None else price.cost_usd(input_tokens, output_tokens)
