"""Nothing that was sent is missing from a bill: finished, failed, stopped, shared and repeated calls.

The server counts what it was asked; each column's calls, priced, must be the same.
"""

import math
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from helpers.behaviours import Cut, Drop, Hang, Malformed, Reply, Status
from helpers.judged import GRADES, QUESTIONS
from helpers.openai_server import OpenAIServer, role_of
from helpers.provider_lab import QUESTION, billed, listed, obliging, owed, provider_lab
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from rag_core import Done, Failed, StoppedEarly
from rag_core import evaluation as ev
from rag_core.catalog import RECIPES, Choice, Number, Switch
from rag_core.documents.benchmark import Benchmark
from rag_core.evaluation.run_folder import RunFolder
from rag_core.indexing import LlmEnricher, OfflineEnricher
from rag_core.indexing.enrich import BATCH, DocumentPassages
from rag_core.lab.lab import Lab
from rag_core.language.thesaurus import Thesaurus
from rag_core.models import load_embedder
from rag_core.pipeline.stream import Event, Outcome, calls_of
from rag_core.runtime import spending
from rag_core.values.errors import ProviderError, RagError, StageError, Stopped, StorageError
from rag_core.values.settings import Settings
from rag_core.values.types import Cost, ModelCall, Passage, spent_so_far

DEV = Benchmark("animals", "dev", QUESTIONS[:2], GRADES, "dev")
TEST = Benchmark("animals", "test", QUESTIONS, GRADES, "test")
BAD_JUDGE = Status(500, headers={"retry-after-ms": "10"})


@pytest.fixture
def lab(server, read_only_store, embedder, labels) -> Lab:
    return provider_lab(server, read_only_store, embedder, labels)


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[ModelCall]:
    """What is noted as spent while the test runs."""
    calls: list[ModelCall] = []
    monkeypatch.setattr(spending, "_listeners", [calls.extend])
    return calls


def settled_in(events: Sequence[Event]) -> list[Outcome]:
    return [event for event in events if isinstance(event, Done | Failed | StoppedEarly)]


def dollars(server: OpenAIServer) -> float:
    """What the server is owed, at the listed prices."""
    total = 0.0
    for (_, model, sent, received, _), count in owed(server.requests).items():
        price = listed().get(model)
        total += count * (sent * price.input + received * price.output) / 1e6
    return total


def wait_for(arrived: Callable[[], bool]) -> None:
    """Wait until the server has read what was sent before a stop: the last may still be on their way."""
    deadline = time.monotonic() + 20
    while not arrived() and time.monotonic() < deadline:
        time.sleep(0.05)


def check_everything_is_billed(server: OpenAIServer, settled: Sequence[Outcome]) -> None:
    calls = calls_of(settled)
    assert billed(calls) == owed(server.requests)
    assert math.isclose(Cost.of(calls).known, dollars(server), rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.parametrize(
    ("prices", "says"),
    [
        ((), ""),
        ((0.0, 0.0), ""),
        ((0.0, 0.0123), "Spent so far: $0.0123 for 1 call."),
        ((0.01, 0.0023), "Spent so far: $0.0123 for 2 calls."),
        ((None,), "Spent so far: 1 call of unknown price."),
        ((0.0123, None, None), "Spent so far: $0.0123 and 2 calls of unknown price."),
    ],
)
def test_what_was_spent_in_words(prices, says):
    calls = [ModelCall("answer", "m", 1, 1, price, "provider") for price in prices]
    assert spent_so_far([*calls, *calls]) == says, "each call once"


def test_a_comparison_counts_finished_failed_and_stopped_columns_and_shared_calls_once(server, lab):
    """Two columns share three rewrites, one of them fails in its answer; a third is alone."""
    server.choose = lambda body: BAD_JUDGE if role_of(body) == "judge" else obliging(body)
    twice = [("multi_query", {"k_final": 2}), ("multi_query", {"k_final": 3})]
    events = list(lab.stream(QUESTION, [*twice, "rag_msr", "simple_semantic"]))
    settled = settled_in(events)
    assert [type(one) for one in sorted(settled, key=lambda one: one.column)] == [Done, Done, Failed, Done]
    rewrites = 6 * (100 * 0.50e-6 + 20 * 1.50e-6)  # three shared by two columns, three of the failed one
    answers = 3 * (1000 * 2.50e-6 + 200 * 10.00e-6)
    assert Cost.of(calls_of(settled)).usd == pytest.approx(rewrites + answers, rel=1e-12)
    check_everything_is_billed(server, settled)


def test_what_an_earlier_comparison_paid_for_is_left_out(server, lab):
    old = lab.run(QUESTION, "multi_query")
    server.requests.clear()
    settled = settled_in(list(lab.stream(QUESTION, [("multi_query", {"k_final": 2})], reuse=[old])))
    assert Cost.of(calls_of(settled)).usd == pytest.approx(
        3 * (100 * 0.50e-6 + 20 * 1.50e-6) + (1000 * 2.50e-6 + 200 * 10.00e-6)
    ), "what the result costs on its own"
    new = calls_of(settled, before=[old])
    assert billed(new) == owed(server.requests)
    assert [call.purpose for call in new if call.of_language_model] == ["answer"]


def test_two_columns_that_wait_for_one_failing_call_both_carry_it_and_it_is_paid_once(server, lab):
    server.choose = lambda body: Drop(2) if role_of(body) == "answer" else obliging(body)
    settled = settled_in(list(lab.stream(QUESTION, ["simple_semantic", ("simple_semantic", {})])))
    assert [len([call for call in one.calls if call.purpose == "answer"]) for one in settled] == [1, 1]
    check_everything_is_billed(server, settled)


class TestPaidEmbeddings:
    """An embedding model of the server; its words are its tokens."""

    @pytest.fixture
    def paid(self, server, lab: Lab, tmp_path) -> Lab:
        from dataclasses import replace

        from helpers.small import DOCUMENTS

        from rag_core.indexing import CorpusStore, SourceFiles

        wanted = Settings(openai_base_url=server.url, embedding="openai:text-embedding-3-small", timeout=0.5)
        embedder = load_embedder(wanted, listed())
        store = CorpusStore(tmp_path / "paid", "animals", embedder)
        store.update(SourceFiles("test", list(DOCUMENTS)))
        server.requests.clear()
        return Lab(lab.settings, "animals", replace(lab.engines, embedder=embedder), store)

    @staticmethod
    def embedded(server: OpenAIServer) -> int:
        """Tokens the server counted in embeddings."""
        inputs = [r.body["input"] for r in server.requests if r.path == "/v1/embeddings" and not r.refused]
        return sum(len(text.split()) for texts in inputs for text in texts)

    @pytest.mark.parametrize("strategy", ["simple_semantic", "hyde", "hybrid_rrf", "multi_query"])
    def test_of_a_run_are_billed_by_the_providers_count(self, server, paid, strategy, noted):
        noted.clear()
        trace = paid.run(QUESTION, strategy)
        calls = [call for call in trace.calls if call.purpose == "embed"]
        assert {call.counted_by for call in calls} == {"provider"}
        assert sum(call.input_tokens for call in calls) == self.embedded(server) > 0
        assert [call.input_tokens for call in noted if call.purpose == "embed"] == [call.input_tokens for call in calls]


class Calls:
    """A server in good order for so many language model calls, which then refuses every one."""

    def __init__(self, most: int) -> None:
        self.left = most

    def __call__(self, body: dict[str, Any]) -> Any:
        if "input" in body:
            return obliging(body)
        self.left -= 1
        return obliging(body) if self.left >= 0 else Status(400, "no more")


@pytest.mark.parametrize("most", [4, 7, 13, 20])
def test_a_sweep_that_fails_carries_the_calls_of_all_it_asked(server, lab, most):
    """Judgements fail: in the first question on dev, on a later one, and in the settings run from scratch."""
    server.choose = Calls(most)
    recipe, settings = RECIPES["rag_msr"], [{"alpha": 0.1, "k_per_query": 1, "m_per_query": 1}]
    with pytest.raises(StageError) as failed:
        ev.tune(recipe, settings, ev.parse_metric("mrr"), DEV, TEST, lab.services, base=settings[0])
    assert billed(failed.value.calls) == owed(server.requests)
    assert len([call for call in failed.value.calls if call.of_language_model]) >= most


def test_a_sweep_that_is_stopped_carries_the_calls_of_all_it_asked(server, lab):
    stop = threading.Event()
    recipe = RECIPES["multi_query"]
    with pytest.raises(Stopped) as stopped:
        ev.tune(
            recipe, [{}], ev.parse_metric("mrr"), DEV, TEST, lab.services, stop=stop,
            progress=lambda doing, done, total: stop.set() if doing == "reporting on test" else None,
        )  # fmt: skip
    # three rewrites for each of two dev questions and of one test question
    assert len(stopped.value.calls) == 3 * (2 + 1)
    assert Cost.of(stopped.value.calls).usd == pytest.approx(9 * (100 * 0.50e-6 + 20 * 1.50e-6))
    assert billed(stopped.value.calls) == owed(server.requests)


def test_a_sweeps_result_has_its_whole_bill(server, lab):
    result = ev.tune(
        RECIPES["multi_query"],
        [{"k_final": 1}, {"k_final": 2}],
        ev.parse_metric("mrr"),
        DEV,
        TEST,
        lab.services,
    )
    assert result.cost_usd == result.cost_known_usd == pytest.approx(dollars(server), rel=1e-12)
    # once on dev (2 questions), once on test (3), and three settings from scratch on dev: 3 rewrites each
    assert len(server.requests) == 3 * (2 + 3 + 3 * 2)
    assert result.calls_without_price == 0


def test_a_sweep_by_a_model_without_a_price_says_so(server, read_only_store, embedder, labels):
    lab = provider_lab(server, read_only_store, embedder, labels, rewriter_model="my-local-model")
    result = ev.tune(RECIPES["multi_query"], [{}], ev.parse_metric("mrr"), DEV, TEST, lab.services)
    assert (result.cost_usd, result.cost_known_usd) == (None, 0)
    assert result.calls_without_price == len(server.requests) > 0


def test_an_evaluation_that_is_stopped_carries_its_calls(server, lab, tmp_path):
    strategies = ev.build_strategies({"m": "multi_query"})
    manifest = ev.describe_run(TEST, strategies, depth=None, engine=lab.engine, source="builtin")
    run, stop = RunFolder.create(tmp_path / "run", manifest, TEST), threading.Event()
    steps = ev.evaluate(run, strategies, lab.services, share=True, stop=stop)
    assert next(steps).done == 0
    assert next(steps).done == 1
    stop.set()
    with pytest.raises(Stopped) as stopped:
        list(steps)
    # by number: a reply that was cut by the stop has no usage, and is counted here
    asked = [call for call in stopped.value.calls if call.of_language_model]
    wait_for(lambda: len(asked) <= len(server.requests))  # the last was on its way when it was stopped
    assert len(asked) == len(server.requests) >= 3


def test_an_evaluation_has_its_whole_bill_and_an_operator_sees_it(server, lab, tmp_path, noted):
    """`noted` is what budgets and /metrics count."""
    strategies = ev.build_strategies({"m": "multi_query", "r": "rag_msr"})
    manifest = ev.describe_run(TEST, strategies, depth=None, engine=lab.engine, source="builtin")
    run = RunFolder.create(tmp_path / "run", manifest, TEST)
    list(ev.evaluate(run, strategies, lab.services, share=True))
    records = [record for of_strategy in run.records.values() for record in of_strategy.values()]
    assert sum(record.cost.known for record in records) == pytest.approx(dollars(server), rel=1e-12)
    assert billed(noted) == owed(server.requests)
    assert {purpose for purpose, *_ in billed(noted)} == {"rewrite", "judge"}


def test_a_comparison_that_fails_carries_the_calls_of_every_column(server, lab):
    server.choose = lambda body: BAD_JUDGE if role_of(body) == "judge" else obliging(body)
    with pytest.raises(StageError) as failed:
        lab.compare(QUESTION, ["multi_query", "rag_msr"])
    assert billed(failed.value.calls) == owed(server.requests)


class TestContexts:
    """Contexts that a model writes, and a run that fails behind or between them."""

    @staticmethod
    def check_billed(server: OpenAIServer, error: RagError) -> None:
        """The server does not know the template of contexts by a role."""
        prices = Counter(bill[1:] for bill in billed(error.calls).elements())
        assert prices == Counter(bill[1:] for bill in owed(server.requests).elements())

    @pytest.fixture
    def enricher(self, server, lab: Lab, tmp_path) -> LlmEnricher:
        return LlmEnricher(lab.engines.paid["enrich"], listed(), tmp_path / "contexts.sqlite")

    def test_are_billed_when_their_passages_cannot_be_embedded(self, server, store, index, embedder, enricher):
        def failing(texts: Sequence[str], kind: str = "query", languages: Sequence[str] = ()) -> Any:
            raise ProviderError("The embedding model is over its quota.")

        embedder.embed = failing
        with pytest.raises(ProviderError) as failed:
            store.enriched.follow(index, enricher)
        assert len(failed.value.calls) == len(server.requests) == 6
        self.check_billed(server, failed.value)

    @pytest.mark.parametrize("error", [Stopped(), OSError(28, "No space left on device")])
    def test_are_billed_when_the_run_ends_later(self, server, store, index, enricher, error):
        def progress(what: str, done: int, total: int) -> None:
            if what == "lexical":
                raise error

        with pytest.raises((Stopped, StorageError)) as ended:
            store.enriched.follow(index, enricher, progress)
        self.check_billed(server, ended.value)
        assert len(server.requests) == 6

    def test_are_billed_when_a_batch_cannot_be_kept(self, server, enricher, tmp_path):
        passages = tuple(Passage(str(i), "d", "T", f"Text {i}.") for i in range(BATCH + 5))

        def progress(done: int, total: int) -> None:
            if done:
                with sqlite3.connect(tmp_path / "contexts.sqlite") as database:
                    database.execute("DROP TABLE contexts")

        with pytest.raises(StorageError) as failed:
            enricher.enrich([DocumentPassages("Text.", passages)], progress)
        assert len(server.requests) == BATCH + 5
        self.check_billed(server, failed.value)


FAULTS = (
    Status(500, headers={"retry-after-ms": "1"}),
    Status(429, headers={"retry-after-ms": "1"}),
    Hang(),
    Malformed(1),
    Drop(1),
    Drop(0),
    Cut(1),
    Reply('{"reason": "x", "score": "high"}', usage=(300, 10)),  # a judge's malformed reply
)


def setting(name: str) -> st.SearchStrategy[dict[str, object]]:
    """Some controls of a strategy, at random valid values."""
    drawn: dict[str, st.SearchStrategy[object]] = {}
    for control in RECIPES[name].controls:
        match control:
            case Number() if control.type == "int":
                most = min(int(control.max), 12) if control.unit == "passages" else int(control.max)
                drawn[control.name] = st.integers(int(control.min), max(most, int(control.min)))
            case Number():
                steps = round((control.max - control.min) / control.step)
                drawn[control.name] = st.integers(0, steps).map(lambda place, one=control: one.min + place * one.step)
            case Switch():
                drawn[control.name] = st.booleans()
            case Choice():
                drawn[control.name] = st.sampled_from(control.choices)
    return st.fixed_dictionaries({}, optional=drawn)


@pytest.mark.parametrize("name", RECIPES)
@seed(20_261_122)
@settings(
    max_examples=6,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_whatever_happens_the_bill_is_what_the_server_counted(
    server, store, index, embedder, labels, noted, data, name
):
    """Random controls, faults at random calls, a stop at a random event."""
    from rag_core.values.errors import ConfigError

    if not store.enriched.exists:
        store.enriched.follow(index, OfflineEnricher(Thesaurus(())))
    controls = data.draw(setting(name))
    faults = data.draw(st.dictionaries(st.integers(0, 8), st.sampled_from(FAULTS), max_size=3))
    stop_at = data.draw(st.none() | st.integers(0, 12))
    served = iter(range(10**6))
    lock = threading.Lock()

    def choose(body: dict[str, Any]) -> Any:
        with lock:
            turn = next(served)
        return faults.get(turn) or obliging(body)

    server.requests.clear()
    noted.clear()
    server.choose = choose
    lab = provider_lab(server, store, embedder, labels, timeout=0.3)
    stop = threading.Event()
    try:
        events = lab.stream(QUESTION, [(name, controls), (name, {})], stop=stop)
    except ConfigError:  # values that do not go together
        return
    seen: list[Event] = []
    for event in events:
        seen.append(event)
        if stop_at is not None and len(seen) > stop_at:
            stop.set()
    settled = settled_in(seen)
    assert len(settled) == 2
    if not stop.is_set():
        check_everything_is_billed(server, settled)
        assert billed(noted) == owed(server.requests)
        return
    # a reply that was cut by the stop has no usage, and is counted here: the calls are the same, but for a request
    # whose refusal the stop left unread: it was sent, so the bill has it
    calls = [call for call in calls_of(settled) if call.of_language_model]

    def arrived(*, refused: bool) -> Counter[tuple[str, str]]:
        taken = [request for request in server.requests if refused or not request.refused]
        return Counter((request.role, request.body["model"]) for request in taken)

    sent = Counter((call.purpose, call.model) for call in calls)
    wait_for(lambda: sent <= arrived(refused=True))
    assert arrived(refused=False) <= sent <= arrived(refused=True)
    known = Counter(bill for bill in billed(calls).elements() if bill[-1] == "provider")
    assert known <= owed(server.requests)
