"""Strategies that call a language model several times, on a server that fails in one role.

In every case: the warning or failure that names the cause, no score and no answer made up, the strategy beside
it unharmed, and a bill for each request the server took on and for no other.
"""

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
SECOND = {"multi_query": "synonyms", "rag_msr": "aspect_specific"}  # template
LEFT = {  # when the second fails: name and place
    "multi_query": [("standalone", 0), ("expanded", 2)],
    "rag_msr": [("paraphrasing", 0), ("entity_aware", 2)],
}

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
each_fault = pytest.mark.parametrize(("fault", "cause"), FAULTS.values(), ids=FAULTS)
each_once = pytest.mark.parametrize(  # the strategies differ in what follows a fault, not in its words
    ("strategy", "fault", "cause"),
    [
        pytest.param(strategy, *FAULTS[fault], id=f"{strategy[0]}-{fault}")
        for number, fault in enumerate(FAULTS)
        for strategy in ((MULTI_QUERY, RAG_MSR) if number == 0 else (RAG_MSR if number % 2 else MULTI_QUERY,))
    ],
)


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


def asked(server, role: str, *, beside: bool = False) -> list:
    """The requests to a role, those of the strategy beside left out."""
    return [
        request
        for request in server.requests
        if request.role == role and (role != "answer" or (sources_in(request.body) == 1) is beside)
    ]


def states_of(trace: Trace) -> dict:
    return {step.stage: step.after for step in trace.steps}


class TestARewriteThatFails:
    @each_once
    def test_one_of_several_is_left_out_with_a_warning_that_names_the_cause(
        self, server, open_lab, strategy, fault, cause
    ):
        name = SECOND[strategy[0]]
        server.choose = aimed(fault, lambda body: template_of(body) == name)
        trace, beside = run(open_lab(fault), strategy, BESIDE)
        assert isinstance(trace, Trace)
        (warning,) = trace.warnings
        assert warning.startswith(f"Rewrite {name!r} failed and was left out: ")
        assert cause in warning
        assert [(query.origin, query.template_index) for query in trace.final.queries] == LEFT[strategy[0]]
        assert trace.answer.text == "Cats and dogs can live in one house [1]."
        check_beside(beside, server)
        check_bills(server, trace, beside)

    @each_once
    def test_when_none_comes_the_strategy_fails_with_the_cause_and_its_next_step(
        self, server, open_lab, strategy, fault, cause
    ):
        server.choose = aimed(fault, lambda body: role_of(body) == "rewrite")
        error, beside = run(open_lab(fault), strategy, BESIDE)
        assert isinstance(error, StageError)
        assert (error.strategy, error.stage) == (strategy[0], "Rewrite")
        assert "all 3 rewrites failed" in error.message
        assert cause in error.message
        assert error.next_step
        assert "This is a bug" not in error.next_step
        assert asked(server, "answer") == asked(server, "judge") == []
        check_beside(beside, server)
        check_bills(server, error, beside)

    @each_fault
    def test_hyde_without_its_passage_fails_with_the_cause(self, server, open_lab, fault, cause):
        server.choose = aimed(fault, lambda body: template_of(body) == "hypothetical")
        error, beside = run(open_lab(fault), "hyde", BESIDE)
        assert isinstance(error, StageError)
        assert error.stage == "Hyde"
        assert cause in error.message or (cause == "empty" and "no hypothetical passage" in error.message)
        assert asked(server, "answer") == []
        check_beside(beside, server)
        check_bills(server, error, beside)

    @each_fault
    def test_contextual_without_its_transform_searches_the_question_with_a_warning(
        self, server, open_lab, fault, cause
    ):
        chosen = ("contextual", {"transform": True, "enriched": False})
        server.choose = aimed(fault, lambda body: role_of(body) == "rewrite")
        trace, beside = run(open_lab(fault), chosen, BESIDE)
        (warning,) = trace.warnings
        assert "'transform' failed" in warning
        assert cause in warning
        assert [query.text for query in trace.final.queries] == [QUESTION]
        assert trace.answer.citations
        check_beside(beside, server)
        check_bills(server, trace, beside)


FISH = "Fish swim in schools"  # words of one passage of several


def of_fish(body) -> bool:
    return role_of(body) == "judge" and FISH in body["messages"][1]["content"]


class TestAJudgeThatFails:
    @each_fault
    def test_a_passage_it_gave_no_score_is_left_out_and_gets_none(self, server, open_lab, fault, cause):
        server.choose = aimed(fault, of_fish)
        trace, beside = run(open_lab(fault), RAG_MSR, BESIDE)
        states = states_of(trace)
        before, after = states["MaxFusion"].ranking, states["LlmRerank"].ranking
        assert {hit.id for hit in before} - {hit.id for hit in after} == {
            hit.id for hit in before if FISH in hit.passage.text
        }
        assert all(hit.vote("LlmRerank").score == 0.9 for hit in after)
        assert not any(FISH in hit.passage.text for hit in trace.ranking)
        (warning,) = trace.warnings
        assert warning.startswith(f"1 of {len(before)} passages could not be judged and were left out: ")
        assert cause in warning or (cause == "empty" and "malformed 2 times" in warning)
        check_beside(beside, server)
        check_bills(server, trace, beside)

    @each_fault
    def test_when_it_scores_nothing_there_is_no_answer_but_the_cause(self, server, open_lab, fault, cause):
        server.choose = aimed(fault, lambda body: role_of(body) == "judge")
        error, beside = run(open_lab(fault), RAG_MSR, BESIDE)
        assert isinstance(error, StageError)
        assert (error.strategy, error.stage) == ("rag_msr", "LlmRerank")
        assert cause in error.message or (cause == "empty" and "malformed 2 times" in error.message)
        assert asked(server, "answer") == []
        check_beside(beside, server)
        check_bills(server, error, beside)

    @pytest.mark.parametrize(
        ("reply", "score"),
        [
            ('{"reason": "x", "score": 73}', 0.73),
            ('```json\n{"reason": "x", "score": 73.5}\n```', 0.735),
            ('Rating: {"score": 0}', 0.0),
            ('{"score": 100, "reason": "a {brace} within"}', 1.0),
        ],
    )
    def test_a_good_second_reply_counts_and_no_warning_is_left(self, server, open_lab, reply, score):
        def choose(body):
            if not of_fish(body):
                return obliging(body)
            return Reply(reply if "refused" in body["messages"][1]["content"] else "hm", usage=(300, 10))

        server.choose = choose
        lab = open_lab()
        trace, beside = run(lab, ("rag_msr", {"theta": 0, **FEW}), BESIDE)
        (hit,) = (hit for hit in states_of(trace)["Blend"].ranking if FISH in hit.passage.text)
        assert hit.vote("LlmRerank").score == pytest.approx(score)
        asked_for = lab.engines.embedder.embed((QUESTION,))[0][0]
        cosine = float(lab.index.vectors([hit.id])[0] @ asked_for)
        assert hit.score == pytest.approx(0.4 * cosine + 0.6 * score, abs=1e-6)
        assert trace.warnings == ()
        check_bills(server, trace, beside)


@each_once
def test_an_answer_that_fails_is_a_failure_and_what_came_before_is_billed(
    server, open_lab, strategy, fault, cause
):
    server.choose = aimed(fault, lambda body: role_of(body) == "answer" and sources_in(body) > 1)
    error, beside = run(open_lab(fault), strategy, BESIDE)
    assert isinstance(error, StageError)
    assert (error.strategy, error.stage) == (strategy[0], "Generate")
    assert cause in error.message
    assert len([call for call in error.calls if call.purpose == "rewrite"]) == 3
    check_beside(beside, server)
    check_bills(server, error, beside)


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
