"""What a result took: seconds, tokens and dollars of every stage, at other prices, and over a month."""

from .lines import Bill, BillLine, Counting, bill_of
from .monthly import DAYS, Projection, project
from .quotes import TYPED, Quote, Tokeniser, cost_at, of_offline_engine, quotes, texts_of
from .spans import Span, spans

__all__ = [
    "DAYS",
    "TYPED",
    "Bill",
    "BillLine",
    "Counting",
    "Projection",
    "Quote",
    "Span",
    "Tokeniser",
    "bill_of",
    "cost_at",
    "of_offline_engine",
    "project",
    "quotes",
    "spans",
    "texts_of",
]
