"""What a result took: seconds, tokens and dollars of every stage, at other prices, and over a month."""

from .lines import Bill, BillLine, bill_of
from .quotes import TYPED, Projection, Quote, cost_at, of_offline_engine, project, quotes, texts_of
from .spans import Span, spans
