"""What the operator of a server sees: a log of one JSON object a line, and counters for Prometheus.

Neither has a word of a question, an answer, a prompt or a document: a message of an error may repeat one, so errors are
named by their class, and a visitor is not named at all.
"""

import logging
import sys
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from pythonjsonlogger.json import JsonFormatter

import rag_core
from rag_core.runtime.spending import on_spent

REGISTRY = CollectorRegistry()  # without those of the process, which Streamlit's own /_stcore/metrics has

_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_columns = Counter("rag_columns", "Strategies run on a question", ["strategy", "outcome"], registry=REGISTRY)
_stages = Histogram("rag_stage_seconds", "Seconds of a stage that ran", ["stage"], buckets=_SECONDS, registry=REGISTRY)
_waits = Histogram(
    "rag_wait_seconds", "Seconds that a question waited for its turn", buckets=_SECONDS, registry=REGISTRY
)
_calls = Counter("rag_model_calls", "Calls of model servers", ["purpose", "model"], registry=REGISTRY)
_dollars = Counter("rag_cost_usd", "US dollars, as far as prices are known", ["model"], registry=REGISTRY)
_unpriced = Counter("rag_unpriced_calls", "Model calls at an unknown price", ["model"], registry=REGISTRY)
_errors = Counter("rag_errors", "Failures", ["where", "error"], registry=REGISTRY)
_questions = Gauge("rag_questions", "Questions now", ["state"], registry=REGISTRY)

_log = logging.getLogger("rag_lab")


def start_log() -> None:
    """Write what happens to stderr, one JSON object a line, in this process."""
    if not _log.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(JsonFormatter("%(asctime)s %(levelname)s %(message)s", rename_fields={"asctime": "time"}))
        _log.addHandler(handler)
        _log.setLevel(logging.INFO)
        _log.propagate = False


def opened(seconds: float, error: rag_core.RagError | None) -> None:
    """Record that the engine has started, or why it did not."""
    if error:
        failed("engine failed", "start", error)
    else:
        _log.info("engine ready", extra={"seconds": round(seconds, 1)})


def waited(seconds: float, running: int, waiting: int) -> None:
    """Record that a question got its turn, and how many questions run and wait then."""
    _waits.observe(seconds)
    _questions.labels("running").set(running)
    _questions.labels("waiting").set(waiting)


def happened(strategy: str, event: rag_core.Event) -> None:
    """Record what came of a stage or of a strategy."""
    match event:
        case rag_core.StageFinished(step=step) if not step.reused:
            _stages.labels(step.stage).observe(step.seconds)
        case rag_core.Done(trace=trace):
            outcome = "declined" if trace.answer and trace.answer.abstained else "answered"
            _columns.labels(strategy, outcome).inc()
            facts = {"strategy": strategy, "outcome": outcome, "seconds": round(trace.seconds, 3)}
            _log.info("column done", extra={**facts, "usd": trace.cost_usd})
        case rag_core.Failed(error=error):
            _columns.labels(strategy, "failed").inc()
            failed("column failed", getattr(error, "stage", ""), error, strategy=strategy)
        case rag_core.StoppedEarly():
            _columns.labels(strategy, "stopped").inc()


def paid(calls: Iterable[rag_core.ModelCall]) -> None:
    """Record calls of model servers, each once: of questions, measurements, documents and maps."""
    for call in calls:
        _calls.labels(call.purpose, call.model).inc()
        if call.cost_usd is None:
            _unpriced.labels(call.model).inc()
        else:
            _dollars.labels(call.model).inc(call.cost_usd)


on_spent(paid)


def failed(what: str, where: str, error: BaseException, **facts: str) -> None:
    """Record a failure by the class of its first cause."""
    while error.__cause__:  # the library's own error tells a refused key from a lost connection
        error = error.__cause__
    _errors.labels(where, type(error).__name__).inc()
    _log.warning(what, extra={**facts, "where": where, "error": type(error).__name__})
