"""Language and embedding models behind a real HTTP server: what is sent, billed, and said when it fails."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import islice

import numpy as np
import openai
import pytest
import tiktoken
from openai_server import (
    Cut,
    Drop,
    Endless,
    Hang,
    Malformed,
    OpenAIServer,
    Reply,
    Status,
    TooFew,
    serve,
    vector_of,
)

from rag_core.errors import ConfigError, ProviderError
from rag_core.models import LlamaLlm, load_embedder
from rag_core.models.llm import load_openai
from rag_core.pricing import PriceList
from rag_core.prompts import Template
from rag_core.settings import Settings
from rag_core.types import ModelCall

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

    @pytest.mark.parametrize(
        "rejection",
        [
            Status(400, "Unrecognized request argument supplied: stream_options"),
            Status(422, "body.stream_options: extra inputs are not permitted"),
        ],
        ids=repr,
    )
    def test_a_server_that_rejects_being_asked_for_usage_is_asked_once_and_counted_for(
        self, base, llm, rejection
    ):
        base.choose = lambda body: rejection if "stream_options" in body else Reply(usage=(1000, 200))
        for _ in range(2):
            pieces, bill = ask(llm)
            assert "".join(pieces) == "Cats purr [1]."
            assert bill.counted_by == "tokenizer"
            assert bill.output_tokens == len(tiktoken.encoding_for_model("gpt-4o").encode("Cats purr [1]."))
        assert ["stream_options" in request.body for request in base.requests] == [True, False, False]

    def test_a_server_that_rejects_the_second_request_too_is_a_failure_with_its_reason(self, base, llm):
        base.choose = lambda body: Status(400, "stream_options" if "stream_options" in body else "too long")
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
    "hang": ([Hang()] * 2, 2, "no answer in time", "RAG_TIMEOUT"),
    "hang mid-stream": ([Hang(after=2)], 1, "no answer in time", "RAG_TIMEOUT"),
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

    @pytest.mark.parametrize(
        "fault", [Drop(2), Drop(2, reset=True), Cut(2), Cut(2, framed=False), Malformed(2)], ids=repr
    )
    def test_what_came_before_a_break_was_shown_but_is_never_billed_as_an_answer(self, base, llm, fault):
        base.script.append(fault)
        seen: list[str | ModelCall] = []
        with pytest.raises(ProviderError):
            seen.extend(llm.stream(PROMPT, never))
        assert not any(isinstance(item, ModelCall) for item in seen)

    @pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 422])
    def test_a_key_that_the_server_repeats_is_in_no_error(self, base, llm, code):
        base.script += [Status(code, "refused: {authorization}")] * 2
        error = failure_of(llm)
        assert KEY not in repr((str(error), error.message, error.next_step, error.args))

    def test_settings_hide_the_key(self, base):
        assert KEY not in repr(Settings()) + str(Settings()) + Settings().model_dump_json()


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
        vectors, bill = embedder.embed(texts, kind)
        expected = np.array([vector_of(text.replace("\n", " ")) for text in texts])
        expected /= np.sqrt((expected**2).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(vectors, expected, rtol=1e-5)
        assert vectors.dtype == np.float32
        assert (bill.purpose, bill.model, bill.output_tokens) == ("embed", "text-embedding-3-small", 0)
        assert all(request.path == "/v1/embeddings" for request in base.requests)
        assert {request.body["model"] for request in base.requests} == {"text-embedding-3-small"}

    def test_embedding_costs_its_input_tokens(self, embedder):
        _, bill = embedder.embed(("hello world",))  # two tokens in cl100k_base
        assert (bill.input_tokens, bill.counted_by) == (2, "tokenizer")
        assert bill.cost_usd == pytest.approx(2 * 0.02e-6, rel=1e-12)

    def test_a_model_without_a_price_costs_an_unknown_amount(self, base, prices):
        embedder = load_embedder(Settings(embedding="openai:my-local-embedding"), prices)
        assert embedder.embed(("cats",))[1].cost_usd is None

    @pytest.mark.parametrize(
        ("behaviours", "attempts", "cause", "step"),
        [
            ([Status(500)] * 2, 2, "HTTP 500", "later"),
            ([Status(429, headers={"Retry-After": "0.2"})] * 2, 2, "rate limit", "Wait 1 s"),
            ([Status(401)], 1, "key was refused", "OPENAI_API_KEY"),
            ([Status(404)], 1, "does not have this model", "RAG_EMBEDDING"),
            ([Malformed()], 1, "", ""),
            ([Hang()] * 2, 2, "no answer in time", "RAG_TIMEOUT"),
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

    def test_a_wait_longer_than_the_timeout_fails_the_embedding_at_once(self, base, prices):
        base.script.append(Status(429, headers={"Retry-After": "60"}))
        embedder = load_embedder(Settings(embedding="openai:text-embedding-3-small", timeout=2), prices)
        with pytest.raises(ProviderError) as caught:
            embedder.embed(("cats",))
        assert "60 s" in caught.value.next_step
        assert len(base.requests) == 1

    @pytest.mark.parametrize("kind", ["query", "passage"])
    def test_no_text_gives_no_vector_and_a_bill_of_nothing(self, base, embedder, kind):
        vectors, bill = embedder.embed((), kind)
        assert vectors.shape == (0, 0)
        assert (bill.input_tokens, bill.output_tokens, bill.cost_usd) == (0, 0, 0.0)
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
