"""How steps, kinds of questions, durations, prices, numbers of calls and errors are written; tracebacks go to the log."""

import logging

import rag_core
from pages.drawing.translate import LANGUAGES, plural, t, translated, words_for
from rag_core.values.errors import StorageError, in_our_words, whose_fault
from rag_core.values.pricing import Price

FRESH_MONTHS = 6  # of an older price it is said how old it is
KINDS = words_for("question_kinds")
STEPS = words_for("steps")


def seconds(duration: float) -> str:
    """A duration in s, short ones in ms: 1.25 s, 3.4 ms."""
    return f"{duration:.2f} s" if duration >= 0.1 else f"{1000 * duration:.1f} ms"


def money(dollars: float | None) -> str:
    """US dollars with as many digits as they need: $0, $0.000123, $12.34, $1,234; n/a when a price is unknown."""
    if dollars is None:
        return "n/a"
    if not dollars:
        return "$0"
    return f"${dollars:,.0f}" if dollars >= 1_000 else f"${dollars:.2f}" if dollars >= 1 else f"${dollars:.6f}"


def price_age(price: Price) -> str:
    """That a price is old, and may have changed; empty for one of the last `FRESH_MONTHS` months, and for none."""
    months = price.months_old()
    if months < FRESH_MONTHS or not (price.input or price.output):
        return ""
    return t("{months} months old: check it", months=months)


def model_calls(purpose: str, count: int) -> str:
    """How many calls for a purpose: "3 rewriting calls"."""
    known = {
        "rewrite": plural("{count} rewriting call", "{count} rewriting calls", count),
        "rerank": plural("{count} reranking call", "{count} reranking calls", count),
        "judge": plural("{count} judging call", "{count} judging calls", count),
        "answer": plural("{count} answering call", "{count} answering calls", count),
        "embed": plural("{count} embedding call", "{count} embedding calls", count),
    }
    return known.get(purpose) or plural("{count} other model call", "{count} other model calls", count)


def kind(name: str) -> str:
    """What a group of questions is called: a kind, a language or a topic; a name of another set as it is."""
    return translated(KINDS.get(name, LANGUAGES.get(name, name)))


def metric(name: str) -> str:
    """The title of a metric: "nDCG@10"."""
    from rag_core import evaluation as ev  # not with the first page

    return translated(ev.parse_metric(name).title)


def step(name: str) -> str:
    """A step in words, with its count if it has one ("embed 5/20"); one without a title by its name."""
    what, _, count = name.rpartition(" ")
    if "/" in count:
        return f"{step(what)} {count}"
    return translated(STEPS.get(name, name))


def strategy(name: str) -> str:
    """The title of a strategy; the name of one that is no longer there."""
    return translated(rag_core.RECIPES[name].title) if name in rag_core.RECIPES else name


_log = logging.getLogger(__name__)


def unforeseen(error: Exception) -> rag_core.RagError:
    """An error of any kind as one that a page can show."""
    if isinstance(error, rag_core.RagError):
        return error
    _log.error("An unexpected error", exc_info=error)
    known = in_our_words(error)
    if isinstance(known, StorageError):
        return known
    step = whose_fault(error) or rag_core.Message("This is a bug; please report it with the server's log.")
    return rag_core.RagError(_unexpected(error), step)


def reason(error: rag_core.RagError) -> str:
    """What went wrong, without the strategy and stage: what shows it says those."""
    cause = error.__cause__
    if not isinstance(cause, Exception):
        return error.message
    known = in_our_words(cause)
    return known.message if known is cause or isinstance(known, StorageError) else _unexpected(cause)


def _unexpected(error: Exception) -> rag_core.Message:
    if told := " ".join(str(error).split()):
        return rag_core.Message("Something unexpected went wrong: {reason}", reason=told)
    return rag_core.Message("Something unexpected went wrong.")
