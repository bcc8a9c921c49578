"""Language and embedding models behind a real HTTP server: what is sent, billed, and said when it fails."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import islice

import numpy as np
import openai
import pytest
import tiktoken
from helpers.openai_server import (
    Cut,
    Drip,
    Drop,
    Endless,
    Hang,
    Malformed,
    Meet,
    OpenAIServer,
    Reply,
    Status,
    TooFew,
    serve,
    vector_of,
)

from rag_core.models import LlamaLlm, load_embedder
from rag_core.models.llm import load_openai
from rag_core.models.tokenizer import count_tokens
from rag_core.prompts.prompt import JUDGE_PASSAGE, Template
from rag_core.values.errors import ConfigError, ProviderError
from rag_core.values.pricing import PriceList
from rag_core.values.settings import Settings
from rag_core.values.types import ModelCall

KEY = "sk-secret-0123456789abcdef"
ASK = Template("t", "answer", "Answer with care.", "Question: {question}")
PROMPT = ASK.fill(question="Do cats purr?")


def never() -> bool:
    return False


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with serve() as running:
        yield running


@pytest.fixture
def prices() -> PriceList:
    return PriceList.read(Settings().data / "prices.toml")


@pytest.fixture
def base(server, monkeypatch) -> OpenAIServer:
    """The server, and the environment pointing at it."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return server


@pytest.fixture
def llm(base, prices) -> LlamaLlm:
    return load_openai(Settings(timeout=20), "gpt-4o", prices)


def ask(llm: LlamaLlm, prompt=PROMPT) -> tuple[list[str], ModelCall]:
    *pieces, bill = llm.stream(prompt, never)
    assert all(isinstance(piece, str) for piece in pieces)
    assert isinstance(bill, ModelCall)
    return pieces, bill


def failure_of(llm: LlamaLlm) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        list(llm.stream(PROMPT, never))
    return caught.value


class TestWhatIsSentAndBilled:
    def test_an_answer_comes_piece_by_piece_as_the_server_sends_it(self, base, llm):
        base.script.append(Reply("Cats purr when\nthey are  happy [1]."))
        pieces, _ = ask(llm)
        assert pieces == ["Cats ", "purr ", "when\n", "they ", "are  ", "happy ", "[1]."]

    def test_the_first_piece_comes_before_the_server_has_finished(self, base, llm):
        base.script.append(Endless())
        assert list(islice(llm.stream(PROMPT, never), 3)) == ["word ", "word ", "word "]

    def test_the_request_holds_model_temperature_system_and_user_message_and_the_key(self, base, llm):
        ask(llm)
        (request,) = base.requests
        assert request.path == "/v1/chat/completions"
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert (request.body["model"], request.body["temperature"]) == ("gpt-4o", 0.0)
        assert request.body["stream"] is True
        assert request.body["stream_options"] == {"include_usage": True}
        assert request.messages == [("system", "Answer with care."), ("user", "Question: Do cats purr?")]

    @pytest.mark.parametrize(
        ("model", "cost"),
        [
            ("gpt-4o", 1000 * 2.50e-6 + 200 * 10.00e-6),
            ("gpt-4o-2024-08-06", 1000 * 2.50e-6 + 200 * 10.00e-6),
            ("gpt-3.5-turbo", 1000 * 0.50e-6 + 200 * 1.50e-6),
            ("my-local-model", None),
        ],
    )
    def test_the_bill_holds_the_providers_usage_and_a_cost_where_the_price_is_known(
        self, base, prices, model, cost
    ):
        base.script.append(Reply(usage=(1000, 200)))
        _, bill = ask(load_openai(Settings(), model, prices))
        assert (bill.purpose, bill.model) == ("answer", model)
        assert (bill.input_tokens, bill.output_tokens, bill.counted_by) == (1000, 200, "provider")
        assert bill.cost_usd == (None if cost is None else pytest.approx(cost, rel=1e-12))

    @pytest.mark.parametrize(
        "reply", ["Cats purr [1].", "¿Qué es la cesárea?", "<|endoftext|> is a word here"]
    )
    def test_without_usage_the_models_own_tokenizer_counts(self, base, llm, reply):
        base.script.append(Reply(reply, usage=None))
        _, bill = ask(llm)
        encoding = tiktoken.encoding_for_model("gpt-4o")
        sent = sum(len(encoding.encode(text)) for text in ("Answer with care.", "Question: Do cats purr?"))
        assert abs(bill.input_tokens - sent) <= 1  # the two may share a token where they meet
        assert bill.output_tokens == len(encoding.encode(reply, disallowed_special=()))
        assert bill.counted_by == "tokenizer"
        assert bill.cost_usd == pytest.approx(bill.input_tokens * 2.50e-6 + bill.output_tokens * 10.00e-6)

    @pytest.mark.parametrize("option", ["stream_options", "temperature", "response_format"])
    @pytest.mark.parametrize(
        "rejection",
        [
            lambda option: Status(400, f"Unrecognized request argument supplied: {option}"),
            lambda option: Status(422, f"body.{option}: extra inputs are not permitted"),
            lambda option: Status(400, "not with this model; try max_tokens or stream_options", param=option),
            lambda option: Status(400, f"no {option}; these would do: stream_options, temperature, top_p"),
        ],
        ids=["400", "422", "named apart", "named among others"],
    )
    def test_an_option_that_a_server_refuses_is_left_out_from_then_on(self, base, llm, option, rejection):
        prompt = JUDGE_PASSAGE.fill(question="Do cats purr?", sources="", refused="")
        base.choose = lambda body: rejection(option) if option in body else Reply(usage=(1000, 200))
        for _ in range(2):
            pieces, bill = ask(llm, prompt)
            assert "".join(pieces) == "Cats purr [1]."
            assert bill.counted_by == ("tokenizer" if option == "stream_options" else "provider")
            assert bool(bill.note) is (option == "temperature")
        assert [option in request.body for request in base.requests] == [True, False, False]
        others = {"stream_options", "temperature", "response_format"} - {option}
        assert all(others <= request.body.keys() for request in base.requests)

    def test_several_refused_options_are_all_left_out(self, base, llm):
        def choose(body):
            refused = next((name for name in ("temperature", "stream_options") if name in body), None)
            return Status(400, f"Unsupported parameter: {refused}") if refused else Reply()

        base.choose = choose
        assert "".join(ask(llm)[0]) == "Cats purr [1]."
        assert len(base.requests) == 3
        assert not {"temperature", "stream_options"} & base.requests[-1].body.keys()

    def test_calls_that_are_refused_an_option_at_the_same_time_all_go_on_without_it(self, base, llm):
        met = threading.Barrier(4)
        base.choose = lambda body: (
            Meet(met, Status(400, "no stream_options")) if "stream_options" in body else Reply(usage=None)
        )
        with ThreadPoolExecutor(4) as pool:
            replies = list(pool.map(lambda _: ask(llm), range(4)))
        assert {"".join(pieces) for pieces, _ in replies} == {"Cats purr [1]."}
        assert (
            sorted("stream_options" in request.body for request in base.requests) == [False] * 4 + [True] * 4
        )

    @pytest.mark.parametrize("temperature", [0.0, 0.3, 1.5])
    def test_the_template_says_the_temperature(self, base, llm, temperature):
        ask(llm, replace(ASK, temperature=temperature).fill(question="Do cats purr?"))
        assert base.requests[0].body["temperature"] == temperature

    def test_a_template_with_a_shape_asks_for_it_by_a_strict_schema(self, base, llm):
        ask(llm, JUDGE_PASSAGE.fill(question="Do cats purr?", sources="", refused=""))
        ask(llm)
        judged, plain = (request.body for request in base.requests)
        assert "response_format" not in plain
        assert judged["response_format"]["type"] == "json_schema"
        asked = judged["response_format"]["json_schema"]
        assert (asked["name"], asked["strict"]) == ("PassageJudgement", True)
        assert asked["schema"]["additionalProperties"] is False
        assert asked["schema"]["required"] == ["reason", "score"]
        assert {name: field["type"] for name, field in asked["schema"]["properties"].items()} == {
            "reason": "string",
            "score": "number",
        }

    def test_a_server_that_rejects_the_second_request_too_is_a_failure_with_its_reason(self, base, llm):
        base.choose = lambda body: Status(
            400, "no stream_options" if "stream_options" in body else "too long"
        )
        assert "too long" in failure_of(llm).message
        assert len(base.requests) == 2

    def test_a_known_openai_model_needs_no_base_url(self, server, monkeypatch, prices):
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_API_BASE", server.url)  # what LlamaIndex's own class reads
        llm = load_openai(Settings(), "gpt-4o", prices)
        pieces, bill = ask(llm)
        assert type(llm.model).__name__ == "OpenAI"
        assert "".join(pieces) == "Cats purr [1]."
        assert (bill.input_tokens, bill.output_tokens, bill.counted_by) == (1000, 200, "provider")

    def test_a_server_without_keys_gets_no_secret_and_answers(self, server, prices):
        pieces, _ = ask(load_openai(Settings(openai_base_url=server.url), "my-local-model", prices))
        assert "".join(pieces) == "Cats purr [1]."
        assert server.requests[0].headers["authorization"] == "Bearer none"

    def test_the_same_model_serves_llamaindex_without_streaming(self, base, llm):
        assert llm.model.complete("Do cats purr?").text == "Cats purr [1]."
        assert "stream" not in base.requests[0].body or base.requests[0].body["stream"] is False
        assert "stream_options" not in base.requests[0].body

    def test_the_server_lists_its_models_to_an_ordinary_client(self, server):
        client = openai.OpenAI(base_url=server.url, api_key="x")
        assert "my-local-model" in [model.id for model in client.models.list()]


STREAM_FAULTS = {
    "500": ([Status(500)] * 2, 2, "HTTP 500", "later"),
    "503": ([Status(503)] * 2, 2, "HTTP 503", "later"),
    "429": ([Status(429, headers={"Retry-After": "0.2"})] * 2, 2, "rate limit", "Wait 1 s"),
    "401": ([Status(401)], 1, "key was refused", "OPENAI_API_KEY"),
    "404": ([Status(404)], 1, "does not have this model", "RAG_ANSWER_MODEL"),
    "400": ([Status(400, "too long")], 1, "too long", "limits"),
    "hang": ([Hang()] * 2, 2, "the request timed out", "RAG_TIMEOUT"),
    "hang mid-stream": ([Hang(after=2)], 1, "the request timed out", "RAG_TIMEOUT"),
    "drop mid-stream": ([Drop(after=2)], 1, "", "again"),
    "reset mid-stream": ([Drop(after=2, reset=True)], 1, "", "again"),
    "ended before it was finished": ([Cut(after=2)], 1, "", "again"),
    "closed before it was finished": ([Cut(after=2, framed=False)], 1, "", "again"),
    "ended before it began": ([Cut(after=0)], 1, "", "again"),
    "malformed": ([Malformed(after=0)], 1, "", ""),
    "malformed mid-stream": ([Malformed(after=2)], 1, "", ""),
}


class TestFaults:
    @pytest.mark.parametrize(
        ("behaviours", "attempts", "cause", "step"), STREAM_FAULTS.values(), ids=STREAM_FAULTS
    )
    def test_a_failed_call_names_its_cause_and_the_next_step_in_few_attempts(
        self, base, prices, behaviours, attempts, cause, step
    ):
        base.script += behaviours
        base.choose = lambda body: Reply("an answer nobody should get")
        error = failure_of(load_openai(Settings(timeout=0.3), "gpt-4o", prices))
        assert error.message.startswith("Model gpt-4o: ")
        assert cause in error.message
        assert error.next_step
        assert step in error.next_step
        assert "\n" not in str(error)
        assert len(base.requests) == attempts

    @pytest.mark.parametrize("code", [429, 503])
    @pytest.mark.parametrize(
        ("headers", "wait"),
        [
            ({"Retry-After": "60"}, "60 s"),
            ({"Retry-After": "2.5"}, "3 s"),
            ({"retry-after-ms": "90000", "Retry-After": "1"}, "90 s"),
            ({"Retry-After": format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)}, " s"),
        ],
        ids=["seconds", "fraction", "milliseconds", "date"],
    )
    def test_a_provider_that_asks_for_a_longer_wait_than_the_timeout_fails_the_call_at_once(
        self, base, prices, code, headers, wait
    ):
        base.script.append(Status(code, headers=headers))
        error = failure_of(load_openai(Settings(timeout=2), "gpt-4o", prices))
        assert wait in error.next_step
        assert len(base.requests) == 1

    def test_a_server_that_cannot_be_reached_is_named_as_such(self, monkeypatch, prices):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        settings = Settings(openai_base_url=f"http://127.0.0.1:{port}/v1", timeout=5)
        error = failure_of(load_openai(settings, "gpt-4o", prices))
        assert "cannot be reached" in error.message
        assert "OPENAI_BASE_URL" in error.next_step

    def test_a_key_the_server_does_not_know_is_refused(self, base, llm):
        base.key = "another-key"
        assert "key was refused" in failure_of(llm).message

    @pytest.mark.parametrize("first", [Status(500), Status(429, headers={"Retry-After": "1"})], ids=repr)
    def test_one_failure_is_tried_again_and_the_answer_is_whole(self, base, llm, first):
        base.script += [first, Reply("Cats purr [1].", usage=(7, 3))]
        pieces, bill = ask(llm)
        assert "".join(pieces) == "Cats purr [1]."
        assert (bill.input_tokens, bill.output_tokens) == (7, 3)
        assert len(base.requests) == 2

    @pytest.mark.parametrize("key", ["none", "x", "model", ""])
    def test_a_word_in_place_of_a_key_is_not_taken_out_of_the_error(self, base, prices, key):
        base.script.append(Status(400, "the model has none for x"))
        settings = Settings(openai_base_url=base.url, openai_api_key=key)
        assert "the model has none for x" in failure_of(load_openai(settings, "gpt-4o", prices)).message

    @pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 422])
    def test_a_key_that_the_server_repeats_is_in_no_error(self, base, llm, code):
        base.script += [Status(code, "refused: {authorization}")] * 2
        error = failure_of(llm)
        assert KEY not in repr((str(error), error.message, error.next_step, error.args))

    def test_settings_hide_the_key(self, base):
        assert KEY not in repr(Settings()) + str(Settings()) + Settings().model_dump_json()


def billed(llm: LlamaLlm) -> tuple[list[ModelCall], ProviderError | None]:
    """The bills of one call, whatever came of it."""
    bills: list[ModelCall] = []
    try:
        bills.extend(item for item in llm.stream(PROMPT, never) if isinstance(item, ModelCall))
    except ProviderError as error:
        return bills, error
    return bills, None


def sent_and_received(bills: list[ModelCall]) -> list[tuple[int, int, str]]:
    return [(bill.input_tokens, bill.output_tokens, bill.counted_by) for bill in bills]


SENT = count_tokens("Answer with care." + "Question: Do cats purr?")
TWO_WORDS = count_tokens("Cats purr ")
LOST = (SENT, 0, "tokenizer")  # a request that got no reply
WHOLE = (1000, 200, "provider")


class TestBills:
    """One bill for each request that the provider took on, and none for those it refused."""

    @pytest.mark.parametrize(
        "fault",
        [Drop(2), Drop(2, reset=True), Cut(2), Cut(2, framed=False), Malformed(2), Hang(after=2)],
        ids=repr,
    )
    def test_a_reply_that_broke_off_is_billed_as_far_as_it_came(self, base, prices, fault):
        base.script.append(fault)
        bills, error = billed(load_openai(Settings(timeout=1), "gpt-4o", prices))
        assert error is not None
        assert sent_and_received(bills) == [(SENT, TWO_WORDS, "tokenizer")]
        assert bills[0].cost_usd == pytest.approx(SENT * 2.50e-6 + TWO_WORDS * 10.00e-6)

    @pytest.mark.parametrize(
        "fault", [Drop(0), Drop(0, reset=True), Cut(0), Malformed(0), Hang(after=0, begun=True)], ids=repr
    )
    def test_a_reply_that_broke_off_before_its_first_word_is_billed_for_what_was_sent(
        self, base, prices, fault
    ):
        base.script.append(fault)
        bills, error = billed(load_openai(Settings(timeout=1), "gpt-4o", prices))
        assert error is not None
        assert sent_and_received(bills) == [LOST]

    @pytest.mark.parametrize("code", [400, 401, 403, 404, 422, 429, 500, 503])
    def test_a_refused_request_costs_nothing(self, base, llm, code):
        base.choose = lambda body: Status(code, headers={"retry-after-ms": "10"})
        bills, error = billed(llm)
        assert error is not None
        assert bills == []

    @pytest.mark.parametrize(
        ("behaviours", "bills", "fails"),
        [
            ([Hang(), Hang()], [LOST, LOST], True),
            ([Hang(), Status(500)], [LOST], True),
            ([Hang(), Status(400)], [LOST], True),
            ([Hang(), Reply()], [LOST, WHOLE], False),
            ([Hang(), Drop(2)], [LOST, (SENT, TWO_WORDS, "tokenizer")], True),
            ([Status(500, headers={"retry-after-ms": "10"}), Hang()], [LOST], True),
            ([Status(500, headers={"retry-after-ms": "10"}), Reply()], [WHOLE], False),
            (
                [Status(400, "no stream_options"), Reply()],
                [(SENT, count_tokens("Cats purr [1]."), "tokenizer")],
                False,
            ),
        ],
        ids=lambda value: None if isinstance(value, bool) else " ".join(map(str, value)),
    )
    def test_every_request_of_a_call_that_was_taken_on_is_billed(
        self, base, prices, behaviours, bills, fails
    ):
        base.script += behaviours
        found, error = billed(load_openai(Settings(timeout=1), "gpt-4o", prices))
        assert sent_and_received(found) == bills
        assert (error is not None) is fails

    def test_a_request_that_never_left_costs_nothing(self, prices):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        bills, error = billed(
            load_openai(Settings(openai_base_url=f"http://127.0.0.1:{port}/v1"), "gpt-4o", prices)
        )
        assert error is not None
        assert bills == []

    def test_a_call_that_broke_off_at_an_unknown_price_costs_an_unknown_amount(self, base, prices):
        base.script.append(Drop(2))
        bills, _ = billed(load_openai(Settings(), "my-local-model", prices))
        assert [bill.cost_usd for bill in bills] == [None]

    def test_the_calls_of_several_threads_are_billed_apart(self, base, llm):
        met = threading.Barrier(8)
        base.choose = lambda body: Meet(met, Reply("word " * 8))
        with ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(lambda _: ask(llm), range(8)))
        assert [bill.counted_by for _, bill in replies] == ["provider"] * 8


class TestNoCallIsWithoutAnEnd:
    @pytest.mark.parametrize("fault", [Endless(), Drip()], ids=repr)
    def test_a_reply_that_keeps_coming_is_broken_off_and_billed(self, base, prices, monkeypatch, fault):
        monkeypatch.setattr("rag_core.models.llm.MAX_REPLY_TIMEOUTS", 0.02)
        base.script.append(fault)
        bills, error = billed(load_openai(Settings(timeout=20), "gpt-4o", prices))
        assert "the request timed out" in error.message
        assert len(base.requests) == 1
        assert base.gone.wait(10)
        (bill,) = bills
        assert (bill.input_tokens, bill.counted_by) == (SENT, "tokenizer")
        assert (bill.output_tokens > 0) is (fault == Endless())


class TestStop:
    def test_stop_closes_the_connection_and_bills_what_was_read(self, base, llm):
        base.script.append(Endless())
        seen: list[str] = []
        stream = llm.stream(PROMPT, lambda: len(seen) >= 3)
        for item in islice(stream, 100):
            if isinstance(item, ModelCall):
                break
            seen.append(item)
        assert base.gone.wait(10)
        assert seen == ["word "] * 3
        assert item.counted_by == "tokenizer"
        assert 3 <= item.output_tokens <= 4  # "word", " word", " word", and the space at the end
        assert len(base.requests) == 1

    def test_a_stream_that_nobody_reads_on_is_closed(self, base, llm):
        base.script.append(Endless())
        stream = llm.stream(PROMPT, never)
        assert next(stream) == "word "
        stream.close()
        assert base.gone.wait(10)

    def test_closing_one_stream_leaves_another_of_the_same_thread_alone(self, base, llm):
        base.script += [Endless(), Endless()]
        first, second = llm.stream(PROMPT, never), llm.stream(PROMPT, never)
        assert (next(first), next(second)) == ("word ", "word ")
        first.close()
        assert base.gone.wait(10)
        assert list(islice(second, 200)) == ["word "] * 200


class TestEmbeddings:
    @pytest.fixture
    def embedder(self, base, prices, monkeypatch):
        monkeypatch.setenv("RAG_EMBEDDING", "openai:text-embedding-3-small")
        return load_embedder(Settings(timeout=20), prices)

    @pytest.mark.parametrize("kind", ["query", "passage"])
    @pytest.mark.parametrize("texts", [("cats",), ("cats", "dogs bark", "cats"), ("¿Qué es?\nUna línea",)])
    def test_vectors_are_the_servers_in_order_and_of_length_one(self, base, embedder, texts, kind):
        vectors, bills = embedder.embed(texts, kind)
        expected = np.array([vector_of(text.replace("\n", " ")) for text in texts])
        expected /= np.sqrt((expected**2).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(vectors, expected, rtol=1e-5)
        assert vectors.dtype == np.float32
        assert {(bill.purpose, bill.model, bill.output_tokens) for bill in bills} == {
            ("embed", "text-embedding-3-small", 0)
        }
        assert len(bills) == len(base.requests) == (len(texts) if kind == "query" else 1)
        assert all(request.path == "/v1/embeddings" for request in base.requests)
        assert {request.body["model"] for request in base.requests} == {"text-embedding-3-small"}

    def test_embedding_costs_the_tokens_the_provider_counted(self, embedder):
        _, (bill,) = embedder.embed(("Preeclampsia is dangerous",))  # the server counts words, three
        assert (bill.input_tokens, bill.counted_by) == (3, "provider")
        assert bill.cost_usd == pytest.approx(3 * 0.02e-6, rel=1e-12)

    @pytest.mark.parametrize(
        "usage", [None, {"prompt_tokens": None}, {"prompt_tokens": "3"}, {"prompt_tokens": -3}]
    )
    def test_where_it_tells_none_the_tokens_are_counted_here(self, base, embedder, usage):
        base.embedding_usage = lambda tokens: usage
        _, (bill,) = embedder.embed(("hello world",))  # two tokens in cl100k_base
        assert (bill.input_tokens, bill.counted_by) == (2, "tokenizer")
        assert bill.cost_usd == pytest.approx(2 * 0.02e-6, rel=1e-12)

    def test_many_texts_are_several_requests_and_each_has_its_bill(self, base, embedder):
        _, bills = embedder.embed(("cats",) * 250, "passage")
        assert [len(request.body["input"]) for request in base.requests] == [100, 100, 50]
        assert [bill.input_tokens for bill in bills] == [100, 100, 50]

    @pytest.mark.parametrize(
        ("behaviours", "tokens"),
        [
            ([Status(500), Reply()], [(2, "provider")]),
            ([Status(429, headers={"Retry-After": "0.1"}), Reply()], [(2, "provider")]),
            ([Hang(), Reply()], [(2, "tokenizer"), (2, "provider")]),
        ],
        ids=["500", "429", "hang"],
    )
    def test_a_request_that_was_repeated_is_billed_unless_it_was_refused(
        self, base, prices, behaviours, tokens
    ):
        base.script += behaviours
        embedder = load_embedder(Settings(embedding="openai:text-embedding-3-small", timeout=0.5), prices)
        _, bills = embedder.embed(("hello world",))
        assert [(bill.input_tokens, bill.counted_by) for bill in bills] == tokens

    def test_a_model_without_a_price_costs_an_unknown_amount(self, base, prices):
        embedder = load_embedder(Settings(embedding="openai:my-local-embedding"), prices)
        assert [bill.cost_usd for bill in embedder.embed(("cats",))[1]] == [None]

    @pytest.mark.parametrize(
        ("behaviours", "attempts", "cause", "step"),
        [
            ([Status(500)] * 2, 2, "HTTP 500", "later"),
            ([Status(429, headers={"Retry-After": "0.2"})] * 2, 2, "rate limit", "Wait 1 s"),
            ([Status(401)], 1, "key was refused", "OPENAI_API_KEY"),
            ([Status(404)], 1, "does not have this model", "RAG_EMBEDDING"),
            ([Malformed()], 1, "", ""),
            ([Hang()] * 2, 2, "the request timed out", "RAG_TIMEOUT"),
        ],
        ids=["500", "429", "401", "404", "malformed", "hang"],
    )
    def test_a_failed_embedding_names_its_cause_and_the_next_step(
        self, base, prices, behaviours, attempts, cause, step
    ):
        base.script += behaviours
        embedder = load_embedder(Settings(embedding="openai:text-embedding-3-small", timeout=0.5), prices)
        with pytest.raises(ProviderError) as caught:
            embedder.embed(("cats",))
        assert cause in caught.value.message
        assert caught.value.next_step
        assert step in caught.value.next_step
        assert KEY not in str(caught.value)
        assert len(base.requests) == attempts
        accepted = [one for one in behaviours if not isinstance(one, Status)]
        assert [bill.input_tokens for bill in caught.value.calls] == [1] * len(accepted)

    def test_a_wait_longer_than_the_timeout_fails_the_embedding_at_once(self, base, prices):
        base.script.append(Status(429, headers={"Retry-After": "60"}))
        embedder = load_embedder(Settings(embedding="openai:text-embedding-3-small", timeout=2), prices)
        with pytest.raises(ProviderError) as caught:
            embedder.embed(("cats",))
        assert "60 s" in caught.value.next_step
        assert len(base.requests) == 1

    @pytest.mark.parametrize("kind", ["query", "passage"])
    def test_no_text_gives_no_vector_and_no_bill(self, base, embedder, kind):
        vectors, bills = embedder.embed((), kind)
        assert (vectors.shape, bills) == ((0, 0), ())
        assert base.requests == []

    def test_fewer_vectors_than_texts_are_a_failure(self, base, embedder):
        base.script.append(TooFew())
        with pytest.raises(ProviderError):
            embedder.embed(("cats", "dogs", "birds"), "passage")

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            (Settings(embedding="openai:text-embedding-3-small"), "OPENAI_API_KEY"),
            (Settings(embedding="openai:", openai_api_key=KEY), "openai:text-embedding-3-small"),
        ],
        ids=["no provider", "no model"],
    )
    def test_an_openai_embedding_that_cannot_be_used_says_what_to_set(self, prices, settings, words):
        with pytest.raises(ConfigError) as caught:
            load_embedder(settings, prices)
        assert words in caught.value.next_step
