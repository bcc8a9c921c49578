import json
from types import SimpleNamespace
from typing import cast

import httpx
import openai

import rag_core
from pages.shared import observing
from pages.shared.engine import Admission, Engine
from pages.shared.live import LiveRun
from rag_core.runtime.spending import spent
from rag_core.values.errors import ProviderError, StageError
from rag_core.values.types import ModelCall

QUESTION = "Where does Mrs Lopez's cat sleep?"
BM25 = rag_core.build("bm25")


def counted(name: str, **labels: str) -> float:
    return observing.REGISTRY.get_sample_value(name, labels) or 0.0


def ask(*events: rag_core.Event) -> None:
    lab = SimpleNamespace(stream=lambda *_, **__: iter(events))
    engine = SimpleNamespace(settings=None, admission=Admission(1), wait=lambda corpus: lab)
    assert LiveRun(cast(Engine, engine), QUESTION, [BM25]).wait(60)


def refused() -> StageError:
    """A model server's 401, as it reaches a column: ours, with the library's error behind it."""
    response = httpx.Response(401, request=httpx.Request("POST", "http://127.0.0.1/v1/chat"))
    error = ProviderError(f"The key was refused for {QUESTION}")
    error.__cause__ = openai.AuthenticationError("refused", response=response, body=None)
    failed = StageError("bm25", "Generate", error)
    failed.__cause__ = error
    return failed


def test_what_came_of_a_question_is_counted(services):
    trace = BM25.run(QUESTION, services)
    answered = {"strategy": "bm25", "outcome": "answered"}
    before = counted("rag_columns_total", **answered), counted("rag_stage_seconds_count", stage="Bm25")
    ask(
        *(rag_core.StageFinished(0, place, step) for place, step in enumerate(trace.steps)),
        rag_core.Done(0, trace),
    )
    assert counted("rag_columns_total", **answered) == before[0] + 1
    assert counted("rag_stage_seconds_count", stage="Bm25") == before[1] + 1


def test_what_a_model_server_was_sent_is_counted_whoever_sent_it():
    called = {"purpose": "judge", "model": "gpt-4o"}
    calls, dollars, unpriced = (
        counted("rag_model_calls_total", **called), counted("rag_cost_usd_total", model="gpt-4o"),
        counted("rag_unpriced_calls_total", model="gpt-4o"),
    )  # fmt: skip
    spent([ModelCall("judge", "gpt-4o", 1000, 200, usd, "provider") for usd in (0.25, None)])
    assert counted("rag_model_calls_total", **called) == calls + 2
    assert counted("rag_cost_usd_total", model="gpt-4o") == dollars + 0.25
    assert counted("rag_unpriced_calls_total", model="gpt-4o") == unpriced + 1


def test_a_refused_key_is_told_from_other_failures():
    labels = {"where": "Generate", "error": "AuthenticationError"}
    before = counted("rag_errors_total", **labels)
    ask(rag_core.Failed(0, refused()))
    assert counted("rag_errors_total", **labels) == before + 1


def test_the_log_is_json_and_has_no_word_of_a_question(services, capfd):
    observing.start_log()
    ask(rag_core.Done(0, BM25.run(QUESTION, services)))
    ask(rag_core.Failed(0, refused()))
    written = capfd.readouterr().err
    done, failed = (json.loads(line) for line in written.splitlines())
    assert (done["message"], done["strategy"], done["outcome"]) == ("column done", "bm25", "answered")
    assert (failed["message"], failed["where"], failed["error"]) == (
        "column failed",
        "Generate",
        "AuthenticationError",
    )
    assert not any(word in written for word in ("Lopez", "cat sleep", "refused for"))
