"""What a result took: seconds, tokens and dollars of every stage, at other prices, and over a month."""

import functools
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from ..stages import Blend, LlmRerank
from ..values.pricing import Price
from ..values.trace import Step, Trace
from ..values.types import Cost, ModelCall, token_counts

Counting = Literal["", "measured", "estimated", "partly estimated"]
Part = Literal["rewrite", "retrieval", "rerank", "judge", "answer"]
PARTS: tuple[Part, ...] = get_args(Part)  # in the order in which they run
KINDS: Mapping[str, Part] = {"transform": "rewrite", "rerank": "rerank", "answer": "answer"}
JUDGES = (LlmRerank.__name__, Blend.__name__)  # reranking stages that score by what a language model judged


def part_of(kind: str, stage: str) -> Part:
    """The part of a bill that a stage belongs to, from its kind and its name; merging and selecting are retrieval."""
    return "judge" if stage in JUDGES else KINDS.get(kind, "retrieval")


@dataclass(frozen=True, slots=True)
class BillLine:
    """What one stage or several of them took; `seconds` are 0 for a stage that was taken over.

    `reused`, `shared`: whether every stage, and how many more calls, ran and were paid for elsewhere.
    """

    stage: str
    kind: str
    seconds: float
    reused: bool
    calls: tuple[ModelCall, ...]
    shared: int

    @property
    def tokens(self) -> tuple[int, int]:
        return token_counts(self.calls)

    @property
    def cost(self) -> Cost:
        return Cost.of(self.calls)

    @property
    def counting(self) -> Counting:
        """Whether the providers measured the tokens or a tokeniser here estimated them; empty without a call."""
        found = {call.counted_by for call in self.calls}
        if not found:
            return ""
        return "partly estimated" if len(found) > 1 else "measured" if "provider" in found else "estimated"


@dataclass(frozen=True, slots=True)
class Bill:
    """A trace's lines, in order, and their total, which was paid for in this run; `alone` is the cost without reuse."""

    lines: tuple[BillLine, ...]
    total: BillLine
    alone: Cost

    @property
    def parts(self) -> Mapping[Part, BillLine]:
        """The lines of each part that the strategy has, added up, in the order of `PARTS`."""
        grouped = {part: [line for line in self.lines if part_of(line.kind, line.stage) == part] for part in PARTS}
        return {part: _sum(part, lines) for part, lines in grouped.items() if lines}

    @property
    def shares(self) -> Mapping[Part, float]:
        """The share of each part, 0 to 1, of the money, or of the time where nothing is billed or a price is unknown."""
        costs = {
            part: (line.cost.usd if self.total.cost.usd else line.seconds) or 0.0 for part, line in self.parts.items()
        }
        spent = sum(costs.values())
        return {part: cost / spent for part, cost in costs.items()} if spent else {}


def bill_of(trace: Trace) -> Bill:
    """The bill of a trace, where a call counts only in the stage that made it.

    A stage that was taken over, or a call whose reply was already paid for, adds nothing. So the totals of strategies
    that ran together add up to what was paid for all of them.
    """
    lines: list[BillLine] = []
    counted: set[ModelCall] = set()
    for step in trace.steps:
        used = tuple(dict.fromkeys(step.calls))
        new = [call for call in used if not (step.reused or call in counted or call in step.shared)]
        seconds = 0.0 if step.reused else step.seconds
        lines.append(BillLine(step.stage, step.kind, seconds, step.reused, tuple(new), len(used) - len(new)))
        counted.update(used)
    made = tuple(call for line in lines for call in line.calls)
    elsewhere = sum(call not in set(made) for call in trace.calls)
    total = BillLine("Total", "", sum(line.seconds for line in lines), False, made, elsewhere)
    return Bill(tuple(lines), total, trace.cost)


def _sum(name: str, lines: Sequence[BillLine]) -> BillLine:
    calls = tuple(call for line in lines for call in line.calls)
    seconds, shared = sum(line.seconds for line in lines), sum(line.shared for line in lines)
    return BillLine(name, "", seconds, all(line.reused for line in lines), calls, shared)


Level = Literal["stage", "search", "call"]


@dataclass(frozen=True, slots=True)
class Span:
    """One bar of a waterfall.

    Args:
        name: of the stage; of a search its retriever; of a call its purpose.
        detail: of a search who wrote its query, empty for the question as asked; of a call the model.
        started: seconds after the run began.
        seconds: >= 0; 0 for what an earlier run did.
        reused: another strategy of the same run did it at this time, or an earlier run did.
    """

    level: Level
    name: str
    detail: str
    kind: str
    position: int
    started: float
    seconds: float
    reused: bool = False

    @property
    def ended(self) -> float:
        return self.started + self.seconds


def spans(trace: Trace) -> tuple[Span, ...]:
    """Every stage, each followed by the searches and calls that were timed within it.

    Stages of an earlier run take no time in this one. Where starts are unknown, the stages alone follow each other.
    """
    found: list[Span] = []
    end = 0.0
    for position, step in enumerate(trace.steps):
        earlier = step.reused and step.started is None
        started = end if step.started is None else step.started
        seconds = 0.0 if earlier else step.seconds
        found.append(Span("stage", step.stage, "", step.kind, position, started, seconds, step.reused))
        end = started + seconds
        if step.started is not None:
            found += sorted(_within(step, position), key=lambda span: span.started)
    return tuple(found)


def _within(step: Step, position: int) -> Iterator[Span]:
    """The searches and the calls of a stage whose start is known; of calls only those it made."""
    span = functools.partial(Span, kind=step.kind, position=position, reused=step.reused)
    for ranking in step.after.rankings if step.kind == "retrieve" else ():
        if ranking.started is not None:
            origin = "" if ranking.query.origin == "question" else ranking.query.origin
            yield span("search", ranking.retriever, origin, started=ranking.started, seconds=ranking.seconds)
    for call in dict.fromkeys(step.calls):
        if call.started is not None and call.seconds is not None and call not in step.shared:
            yield span("call", call.purpose, call.model, started=call.started, seconds=call.seconds)


TYPED = "your price"  # in place of a model's name
Tokeniser = Literal["same", "counted again", "another", "unknown"]
Texts = Mapping[ModelCall, tuple[str, str]]  # what was sent, and what came back
DAYS = 30  # of a month
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Quote:
    """What the calls would cost if one model, or `TYPED`, had received those of language models, or None.

    `tokeniser`: its own counted them in the first place, or again; another one did; or it is not known whose they are.
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
    """
    once = tuple(dict.fromkeys(calls))
    found = (_quote(model, price, once, texts) for model, price in prices.items())
    return tuple(
        sorted(
            found,
            key=lambda one: (math.inf if one.cost_usd is None else one.cost_usd, one.price.input, one.model),
        )
    )


def _quote(model: str, price: Price, calls: Sequence[ModelCall], texts: Texts) -> Quote:
    from ..models.tokenizer import (
        FALLBACK,
        count_tokens,
        encoding_name,
    )  # slow to import, and only quotes count

    own, language = encoding_name(model), [call for call in calls if call.of_language_model]
    counted_by = {
        encoding_name(call.model) or (FALLBACK if call.counted_by == "tokenizer" else None) for call in language
    }
    tokeniser: Tokeniser = "same" if counted_by <= {own} else "another"
    if own is None or None in counted_by:
        tokeniser = "unknown"
    if tokeniser == "same" or own is None or not all(call in texts for call in language):
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
    """US dollars of calls, language models' at this price if given; None if a price is unknown."""
    once = tuple(dict.fromkeys(calls))
    if price is None:
        return Cost.of(once).usd
    rest = Cost.of(call for call in once if not call.of_language_model).usd
    at_price = price.cost_usd(*token_counts(call for call in once if call.of_language_model))
    return None if rest is None else at_price + rest


@dataclass(frozen=True, slots=True)
class Projection:
    """A month's cost in US dollars by the mean of `n` questions, and its 95 % interval: None for a single one."""

    n: int
    per_question: float
    per_month: float
    low: float | None
    high: float | None


def project(costs: Sequence[float], per_day: float) -> Projection:
    """The cost of `DAYS` days of `per_day` questions, by the US dollars of at least one measured question.

    The interval is that of the mean by Student's t, mean ± t(0.975, n − 1) · s / √n, cut at 0: it covers how much the
    measured questions differ, not that other questions may be asked.

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
