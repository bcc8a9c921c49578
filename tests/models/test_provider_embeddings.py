"""A provider's embedding models behind a real HTTP server: vectors, bills and errors."""

import numpy as np
import pytest
from helpers.behaviours import Hang, Malformed, Reply, Status, TooFew
from helpers.openai_server import vector_of
from helpers.provider_calls import KEY

from rag_core.models import load_embedder
from rag_core.values.errors import ConfigError, ProviderError
from rag_core.values.settings import Settings


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

    @pytest.mark.parametrize(
        ("usage", "counted"),
        [
            ({"prompt_tokens": 3}, (3, "provider")),
            *((none, (2, "tokenizer")) for none in (None, *({"prompt_tokens": n} for n in (None, "3", -3)))),
        ],
    )
    def test_it_costs_the_tokens_the_provider_counted_or_else_those_counted_here(self, base, embedder, usage, counted):
        base.embedding_usage = lambda tokens: usage
        _, (bill,) = embedder.embed(("hello world",))  # two tokens in cl100k_base
        assert (bill.input_tokens, bill.counted_by) == counted
        assert bill.cost_usd == pytest.approx(counted[0] * 0.02e-6, rel=1e-12)

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
    def test_a_request_that_was_repeated_is_billed_unless_it_was_refused(self, base, prices, behaviours, tokens):
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
            ([Status(404, "no such model")], 1, "does not have this model", "RAG_EMBEDDING"),
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
