"""Strategies that call a language model several times, on a server that fails in one role.

In every case: the warning or failure that names the cause, no score and no answer made up, the strategy beside
it unharmed, and a bill for each request the server took on and for no other.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest
from helpers.behaviours import Cut, Drop, Hang, Malformed, Reply, Status
from helpers.openai_server import role_of, template_of
from helpers.provider_lab import QUESTION, aimed, billed, obliging, owed, provider_lab, sources_in

from rag_core import build
from rag_core.pipeline.stream import collect
from rag_core.values.errors import LimitReached, RagError, StageError
from rag_core.values.trace import Trace

BESIDE = ("simple_semantic", {"k_final": 1})  # its answer is told apart by its one source
FEW = {"k_final": 2}  # no more than is found among a few documents, so that nothing warns of a shortage
MULTI_QUERY, RAG_MSR = ("multi_query", FEW), ("rag_msr", FEW)

# behaviour, words of the cause
FAULTS = {
    "429": (Status(429, headers={"Retry-After": "0.05"}), "rate limit"),
    "500": (Status(500, headers={"retry-after-ms": "10"}), "HTTP 500"),
    "timeout": (Hang(), "the request timed out"),
    "dropped stream": (Drop(2), "connection was lost"),
    "stream that ends too early": (Cut(2), "ended early"),
    "broken JSON in the stream": (Malformed(2), "malformed JSON"),
    "empty completion": (Reply("", usage=(100, 0)), "empty"),
    "unknown model": (Status(404, "no such model"), "does not have this model"),
    "wrong key": (Status(401), "key was refused"),
}


def fish(body) -> bool:
    """A judgement of the one passage on fish."""
    return role_of(body) == "judge" and "Fish swim in schools" in body["messages"][1]["content"]


def to_write(name: str) -> Callable[[dict], bool]:
    return lambda body: template_of(body) == name


def of_role(name: str) -> Callable[[dict], bool]:
    return lambda body: role_of(body) == name


LEFT_OUT = "failed and was left out: "
TRANSFORM = ("contextual", {"transform": True, "enriched": False})
# what fails -> strategy, its requests, the stage that then fails or "" where the strategy goes on, and what is said
ROLES = {
    "one of its rewrites": (MULTI_QUERY, to_write("synonyms"), "", f"Rewrite 'synonyms' {LEFT_OUT}"),
    "one reformulation": (RAG_MSR, to_write("aspect_specific"), "", f"Rewrite 'aspect_specific' {LEFT_OUT}"),
    "all rewrites": (MULTI_QUERY, of_role("rewrite"), "Rewrite", "all 3 rewrites failed"),
    "the hypothetical passage": ("hyde", to_write("hypothetical"), "Hyde", ""),
    "the transform": (TRANSFORM, of_role("rewrite"), "", "'transform' failed"),
    "one judgement": (RAG_MSR, fish, "", "passages could not be judged and were left out: "),
    "all judgements": (RAG_MSR, of_role("judge"), "LlmRerank", ""),
    "the answer": (RAG_MSR, lambda body: role_of(body) == "answer" and sources_in(body) > 1, "Generate", ""),
}


@pytest.fixture
def open_lab(server, read_only_store, embedder, labels):
    """A lab that asks the server; with a short timeout for a server that is silent."""

    def make(fault=None, **settings):
        timeout = {"timeout": 0.5} if isinstance(fault, Hang) else {}
        return provider_lab(server, read_only_store, embedder, labels, **timeout | settings)

    return make


def run(lab, *strategies) -> list[Trace | RagError]:
    """Strategies side by side: the trace of each, or its failure."""
    return collect(lab.stream(QUESTION, strategies))


def check_beside(beside, server) -> None:
    """Nothing of the other strategy's fault reached the one beside it."""
    assert isinstance(beside, Trace)
    assert beside.answer.text == "Cats and dogs can live in one house [1]."
    assert beside.warnings == ()
    assert billed(beside.calls) == {("answer", "gpt-4o", 1000, 200, "provider"): 1}


def check_bills(server, *settled) -> None:
    """What was billed is what the server was sent and took on."""
    calls = [call for result in settled for call in result.calls]
    assert billed(calls) == owed(server.requests)


@pytest.mark.parametrize(("fault", "cause"), FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("role", ROLES)
def test_a_fault_in_any_role_is_named_and_nothing_is_made_up(server, open_lab, role, fault, cause):
    """What each stage makes of a failed call: tests/stages."""
    strategy, at, stage, words = ROLES[role]
    server.choose = aimed(fault, at)
    result, beside = run(open_lab(fault), strategy, BESIDE)
    if stage:
        assert isinstance(result, StageError)
        assert result.stage == stage
        assert result.next_step
        assert "This is a bug" not in result.next_step
        answers = [one for one in server.requests if one.role == "answer" and sources_in(one.body) > 1]
        assert bool(answers) == (stage == "Generate")
        said = result.message
    else:
        assert isinstance(result, Trace)
        assert result.answer.text == "Cats and dogs can live in one house [1]."
        (said,) = result.warnings
    assert words in said
    empty = "malformed 2 times" in said or "no hypothetical passage" in said
    assert cause in said or (cause == "empty" and empty)
    check_beside(beside, server)
    check_bills(server, result, beside)


def test_a_server_that_takes_no_temperature_is_named_and_asked_without_it(server, open_lab):
    refusal = Status(400, "Unsupported parameter: temperature")
    server.choose = lambda body: refusal if "temperature" in body else obliging(body)
    trace, beside = run(open_lab(), RAG_MSR, BESIDE)
    assert list(trace.warnings) == [
        f"{model}: the server does not accept a temperature; the model's default was used."
        for model in ("gpt-3.5-turbo", "gpt-4o")
    ]
    check_bills(server, trace, beside)


def test_the_key_is_in_no_warning_and_no_failure(server, open_lab):
    key = "sk-secret-0123456789abcdef"
    lab = open_lab(openai_api_key=key)
    server.choose = aimed(Status(401, "{authorization}"), lambda body: template_of(body) == "synonyms")
    (trace,) = run(lab, MULTI_QUERY)
    assert trace.warnings
    server.choose = lambda body: Status(400, "{authorization}")
    errors = run(lab, MULTI_QUERY, RAG_MSR)
    assert key not in repr(trace.as_json()) + "".join(repr(error) + str(error) for error in errors)


REWRITE_COST = 100 * 0.50e-6 + 20 * 1.50e-6


class TestLimits:
    def test_what_broke_off_counts_towards_the_cost_limit(self, server, open_lab):
        server.choose = aimed(Drop(2), lambda body: template_of(body) == "synonyms")
        (trace,) = run(open_lab(), MULTI_QUERY)
        rewrites = sum(call.cost_usd for call in trace.calls if call.purpose == "rewrite")
        assert rewrites > 2 * REWRITE_COST
        (error,) = run(open_lab(max_cost_usd=rewrites), MULTI_QUERY)
        assert (type(error.__cause__), error.stage) == (LimitReached, "Generate")
        (again,) = run(open_lab(max_cost_usd=rewrites * 1.01), MULTI_QUERY)
        assert again.answer == trace.answer


class TestAtTheSameTime:
    """A server that replies to nobody before all are there."""

    def test_but_no_more_than_there_are_workers(self, server, open_lab):
        server.choose = lambda body: replace(obliging(body), seconds=0.05)
        trace = build("rag_msr").run(QUESTION, replace(open_lab().services(), workers=2))
        assert trace.answer
        assert server.most["judge"] == server.most["rewrite"] == 2
