import inspect
import json
import threading
from types import SimpleNamespace

import pytest
from helpers.behaviours import Cut, Reply, Status
from helpers.looping import for_each
from helpers.openai_server import OpenAIServer
from helpers.processes import word_engines
from helpers.provider_lab import obliging
from llama_index.core.base.llms.types import ChatMessage, ChatResponse
from llama_index.core.llms import MockLLM
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.llms.openai import OpenAI

import rag_core
from rag_core import seed_api
from rag_core.catalog import RECIPES, recipe_of
from rag_core.hybrid_rrf import process_hybrid_rrf_query, retrieve_hybrid_rrf
from rag_core.lab.engines import ROLES, PaidModels
from rag_core.lab.lab import Lab
from rag_core.models.llm import model_name_of, wrap_custom_llm
from rag_core.prompts.prompt import NO_EVIDENCE, Sources
from rag_core.rewriter import process_rewriter_query
from rag_core.seed_api import format_docs, query_for_evaluation, ragas_samples
from rag_core.stages.remarks import abstention
from rag_core.values.errors import ConfigError, RagError, StageError
from rag_core.values.pricing import PriceList
from rag_core.values.settings import Settings

KEY = "sk-secret-0123456789abcdef"
QUESTION = "Do cats and dogs sleep in one house?"
ANSWER = "Cats purr [1]."
REWRITES = ("Do cats sleep in a house with dogs?", "Do dogs guard the house of cats?", "Do fish sleep?")

# Seeds 000 to 002, `query_for_evaluation`, Returns.
RESULT = ["question", "answer", "contexts", "source_documents", "metadata"]
MULTI_QUERY = {
    "num_contexts", "retrieval_method", "rewrite_count", "llm_model", "rewriter_model", "provider", "model_id",
    "rewriter_provider", "rewriter_model_id", "execution_time", "input_tokens", "output_tokens", "total_cost",
    "tokens_used", "usage_source", "cost_source",
}  # fmt: skip
HYBRID_RRF = {
    "num_contexts", "retrieval_method", "rrf_k", "k_bm25_candidates", "k_semantic_candidates", "k_rrf_pool", "k_final",
    "mmr_lambda", "llm_model", "provider", "model_id", "embedding_model", "execution_time", "input_tokens",
    "output_tokens", "total_cost", "tokens_used", "usage_source", "cost_source",
}  # fmt: skip
OURS = {"abstained", "warnings"}
BILL = {
    "llm_model", "provider", "model_id", "embedding_model", "execution_time", "input_tokens", "output_tokens",
    "total_cost", "tokens_used", "usage_source", "cost_source",
}  # fmt: skip
# Seed 000, `process_rewriter_query`, Returns, metrics.
METRICS = [
    "rewrite_input_tokens", "rewrite_output_tokens", "rewrite_cost", "answer_input_tokens", "answer_output_tokens",
    "answer_cost", "total_input_tokens", "total_output_tokens", "total_cost", "usage_source", "cost_source",
]  # fmt: skip
# RAGAS 0.4, ragas/dataset_schema.py, class SingleTurnSample.
SINGLE_TURN_SAMPLE = {
    "user_input", "retrieved_contexts", "reference_contexts", "retrieved_context_ids", "reference_context_ids",
    "response", "multi_responses", "reference", "rubrics", "persona_name", "query_style", "query_length",
}  # fmt: skip


def is_rewrite(body: dict) -> bool:
    return "Sources:" not in body["messages"][-1]["content"]


@pytest.fixture
def server(server: OpenAIServer) -> OpenAIServer:
    """Three different rewrites, 100 tokens to 20, then the answer, 1000 to 200."""
    rewrites = iter(REWRITES)
    lock = threading.Lock()

    def choose(body: dict) -> Reply:
        if is_rewrite(body):
            with lock:
                return Reply(next(rewrites), usage=(100, 20))
        return Reply(ANSWER, usage=(1000, 200))

    server.choose = choose
    return server


@pytest.fixture
def open_animals(read_only_store, embedder, labels):
    """A lab over conftest's documents and a provider's models."""

    def make(settings: Settings) -> Lab:
        prices = PriceList.read(settings.data / "prices.toml")
        paid = PaidModels(settings, prices).of_settings()
        engines = word_engines(prices=prices, labels=labels, embedder=embedder, paid=paid)
        return Lab(settings, "animals", engines, read_only_store)

    return make


@pytest.fixture
def host(server) -> str:
    """What the provider is called."""
    return server.url.removeprefix("http://").removesuffix("/v1")


@pytest.fixture
def animals(server, open_animals) -> Lab:
    return open_animals(Settings(openai_base_url=server.url, openai_api_key=KEY, timeout=20))


def models_asked(server: OpenAIServer) -> dict[str, set[str]]:
    """The model of each role's requests."""
    asked: dict[str, set[str]] = {"rewrite": set(), "answer": set()}
    for request in server.requests:
        asked["rewrite" if is_rewrite(request.body) else "answer"].add(request.body["model"])
    return asked


def own(server: OpenAIServer, model: str = "gpt-4o-mini", **options) -> OpenAI:
    return OpenAI(model=model, api_key=KEY, api_base=server.url, max_retries=0, **options)


class TestKeys:
    def test_multi_query_returns_what_seed_000_lists(self, animals):
        result = query_for_evaluation(QUESTION, lab=animals)
        assert list(result) == RESULT
        assert set(result["metadata"]) == MULTI_QUERY | OURS

    def test_hybrid_rrf_returns_what_seed_002_lists(self, animals):
        result = query_for_evaluation(QUESTION, strategy="hybrid_rrf", lab=animals)
        assert list(result) == RESULT
        assert set(result["metadata"]) == HYBRID_RRF | OURS | {"mmr", "deduplicate", "answer_prompt"}

    @pytest.mark.parametrize("strategy", ["simple_semantic", "bm25"])
    def test_a_strategy_whose_seed_lists_no_keys_tells_its_controls(self, animals, strategy):
        controls = {control.name for control in recipe_of(strategy).controls}
        found = query_for_evaluation(QUESTION, strategy=strategy, lab=animals)["metadata"]
        assert set(found) == {"num_contexts", "retrieval_method"} | controls | BILL | OURS

    def test_a_strategy_that_rewrites_and_judges_names_those_models_too(self, server, animals, host):
        replies = iter(REWRITES)
        lock = threading.Lock()

        def choose(body: dict) -> Reply:
            system = body["messages"][0]["content"]
            if '"score"' in system or "score" in json.dumps(body.get("response_format", "")):
                return Reply('{"score": 90, "reason": "It names both."}', usage=(10, 5))
            with lock:
                return Reply(next(replies)) if is_rewrite(body) else Reply(ANSWER)

        server.choose = choose
        found = query_for_evaluation(QUESTION, strategy="rag_msr", lab=animals, rerank=False, theta=0)["metadata"]
        assert (found["rewriter_model"], found["judge_model"]) == ("gpt-3.5-turbo", "gpt-4o")
        assert (found["judge_provider"], found["judge_model_id"]) == (host, f"{host}/gpt-4o")
        assert (found["rewrite_count"], found["theta"], found["alpha"]) == (3, 0, 0.4)

    def test_methods_are_the_seeds_and_differ(self):
        methods = seed_api.RETRIEVAL_METHODS
        assert methods["multi_query"] == "multi_query_rewrite"
        assert methods["hybrid_rrf"] == "hybrid_bm25_semantic_rrf_mmr"
        assert set(methods) == set(RECIPES)
        assert len(set(methods.values())) == len(methods)

    def test_a_result_but_for_its_documents_is_json(self, animals):
        result = query_for_evaluation(QUESTION, strategy="hybrid_rrf", lab=animals)
        del result["source_documents"]
        assert json.loads(json.dumps(result)) == result


class TestValues:
    def test_multi_query(self, server, animals, host):
        result = query_for_evaluation(f"  {QUESTION} ", lab=animals)
        found = result["metadata"]
        assert (result["question"], result["answer"]) == (QUESTION, ANSWER)
        assert found["num_contexts"] == len(result["contexts"]) == len(result["source_documents"]) > 0
        assert (found["retrieval_method"], found["rewrite_count"]) == ("multi_query_rewrite", 3)
        assert (found["llm_model"], found["provider"], found["model_id"]) == (
            "gpt-4o", host, f"{host}/gpt-4o",
        )  # fmt: skip
        assert found["rewriter_model"] == "gpt-3.5-turbo"
        assert found["rewriter_provider"] == host
        assert found["rewriter_model_id"] == f"{host}/gpt-3.5-turbo"
        assert found["input_tokens"] == 3 * 100 + 1000
        assert found["output_tokens"] == 3 * 20 + 200
        assert found["tokens_used"] == 1300 + 260
        # gpt-3.5-turbo 0.50 and 1.50 $ a million, gpt-4o 2.50 and 10.00; this embedding is free
        rewriting = 3 * (100 * 0.50e-6 + 20 * 1.50e-6)
        assert found["total_cost"] == pytest.approx(rewriting + 1000 * 2.50e-6 + 200 * 10.00e-6)
        assert (found["usage_source"], found["cost_source"]) == ("provider", "data/prices.toml")
        assert found["abstained"] is False
        assert found["warnings"] == [  # of an answer whose claim is in another passage
            "The citation points to a passage that does not support the sentence.",
        ]
        assert 0 < found["execution_time"] < 60

    def test_the_seeds_models_and_temperatures_go_over_the_wire(self, server, animals):
        query_for_evaluation(QUESTION, lab=animals)
        sent = [(request.body["model"], request.body["temperature"]) for request in server.requests]
        assert sorted(sent) == [("gpt-3.5-turbo", 0.3)] * 3 + [("gpt-4o", 0.0)]

    def test_hybrid_rrf_tells_the_controls_it_ran_with(self, animals):
        found = query_for_evaluation(QUESTION, strategy="hybrid_rrf", lab=animals, rrf_k=20, k_final=2)["metadata"]
        assert {name: found[name] for name in ("rrf_k", "k_final", "mmr_lambda", "k_rrf_pool")} == {
            "rrf_k": 20, "k_final": 2, "mmr_lambda": 0.7, "k_rrf_pool": 10,
        }  # fmt: skip
        assert (found["k_bm25_candidates"], found["k_semantic_candidates"]) == (15, 15)
        assert (found["embedding_model"], found["num_contexts"]) == ("words", 2)

    def test_documents_are_whole_llamaindex_nodes_of_the_contexts(self, animals):
        result = query_for_evaluation(QUESTION, strategy="bm25", lab=animals)
        documents = result["source_documents"]
        assert all(isinstance(document, TextNode) for document in documents)
        assert [document.text for document in documents] == result["contexts"]
        assert all(document.metadata["title"] and document.metadata["doc_id"] for document in documents)

    def test_an_abstention(self, server, animals):
        server.choose = lambda body: Reply(NO_EVIDENCE)
        result = query_for_evaluation(QUESTION, strategy="bm25", lab=animals)
        assert (result["answer"], result["metadata"]["abstained"]) == (abstention("en"), True)

    def test_an_unknown_price_is_none_and_not_zero(self, server, animals):
        found = query_for_evaluation(QUESTION, strategy="bm25", answer_model="my-local-model", lab=animals)["metadata"]
        assert (found["total_cost"], found["cost_source"], found["tokens_used"]) == (None, "unknown", 1200)

    def test_usage_that_the_provider_does_not_tell_is_counted_and_said_so(self, server, animals):
        server.choose = lambda body: Reply(ANSWER, usage=None)
        found = query_for_evaluation(QUESTION, strategy="bm25", lab=animals)["metadata"]
        assert found["usage_source"] == "tokenizer"
        assert found["input_tokens"] > 50

    def test_a_rewrite_that_failed_is_missing_from_the_count(self, server, animals):
        choose, faults = server.choose, iter([Status(400)])
        server.choose = lambda body: (next(faults, None) if is_rewrite(body) else None) or choose(body)
        found = query_for_evaluation(QUESTION, lab=animals)["metadata"]
        assert found["rewrite_count"] == 2
        assert any("was left out" in warning for warning in found["warnings"])

    def test_a_failure_is_raised_and_never_an_answer(self, server, animals):
        server.choose = lambda body: Status(401)
        with pytest.raises(StageError, match="the key was refused"):
            query_for_evaluation(QUESTION, strategy="bm25", lab=animals)

    @pytest.mark.parametrize(
        ("second", "named"), [("gpt-4o", "'gpt-4o'"), (None, "'NoneType'"), (MockLLM(), "'MockLLM'")]
    )
    def test_a_second_place_that_means_two_things_is_refused_by_name(self, server, animals, second, named):
        """Seed 000 has the rewriting model there, seed 002 the answering one."""
        with pytest.raises(ConfigError) as caught:
            query_for_evaluation(QUESTION, second, lab=animals)
        assert all(word in str(caught.value) for word in (named, "llm_model=", "rewriter_model=", "strategy="))
        assert server.requests == []


class TestModels:
    @pytest.mark.parametrize(
        ("given", "rewrite", "answer"),
        [
            ({}, "gpt-3.5-turbo", "gpt-4o"),
            ({"llm_model": "gpt-4.1"}, "gpt-3.5-turbo", "gpt-4.1"),
            ({"answer_model": "gpt-4.1"}, "gpt-3.5-turbo", "gpt-4.1"),
            ({"answer_model": "gpt-4.1", "llm_model": "gpt-4"}, "gpt-3.5-turbo", "gpt-4.1"),
            ({"answer_model": "", "rewriter_model": None}, "gpt-3.5-turbo", "gpt-4o"),
            ({"rewriter_model": "gpt-4.1-nano"}, "gpt-4.1-nano", "gpt-4o"),
            ({"custom_llm": "gpt-4o-mini", "answer_model": "gpt-4.1"}, "gpt-3.5-turbo", "gpt-4o-mini"),
            ({"custom_answer_llm": "gpt-4o-mini", "llm_model": "gpt-4.1"}, "gpt-3.5-turbo", "gpt-4o-mini"),
            ({"custom_answer_llm": "gpt-4o-mini", "custom_llm": "gpt-4"}, "gpt-3.5-turbo", "gpt-4o-mini"),
            ({"custom_rewriter_llm": "gpt-4o-mini", "rewriter_model": "gpt-4.1"}, "gpt-4o-mini", "gpt-4o"),
        ],
    )
    def test_objects_go_before_names_and_names_before_settings(self, server, animals, given, rewrite, answer):
        given = {name: own(server, value) if name.startswith("custom") else value for name, value in given.items()}
        found = query_for_evaluation(QUESTION, lab=animals, **given)["metadata"]
        assert models_asked(server) == {"rewrite": {rewrite}, "answer": {answer}}
        assert (found["rewriter_model"], found["llm_model"]) == (rewrite, answer)

    def test_one_calls_models_are_not_the_next_ones(self, server, animals):
        query_for_evaluation(QUESTION, strategy="bm25", answer_model="gpt-4.1", lab=animals)
        query_for_evaluation(QUESTION, strategy="bm25", lab=animals)
        assert [request.body["model"] for request in server.requests] == ["gpt-4.1", "gpt-4o"]

    def test_a_callers_model_keeps_its_temperature_and_is_left_as_it_was(self, server, animals, host):
        llm = own(server, temperature=0.7)
        found = query_for_evaluation(QUESTION, strategy="bm25", custom_llm=llm, lab=animals)["metadata"]
        (request,) = server.requests
        assert request.body["temperature"] == 0.7
        assert llm.additional_kwargs == {}
        assert (found["provider"], found["model_id"]) == (host, f"{host}/gpt-4o-mini")
        assert (found["usage_source"], found["tokens_used"]) == ("provider", 1200)
        assert found["total_cost"] == pytest.approx(1000 * 0.15e-6 + 200 * 0.60e-6)

    def test_any_llamaindex_model_will_do(self, animals, server):
        class Echo(MockLLM):
            def stream_complete(self, prompt, formatted=False, **kwargs):
                return super().stream_complete("Cats purr [1].", formatted)

        result = query_for_evaluation(QUESTION, strategy="bm25", custom_llm=Echo(), lab=animals)
        assert result["answer"] == "Cats purr [1]."
        assert server.requests == []
        found = result["metadata"]
        assert (found["llm_model"], found["total_cost"], found["usage_source"]) == ("Echo", None, "tokenizer")

    def test_any_object_with_stream_chat_will_do(self, animals):
        class Own:
            model = "own-1"

            def stream_chat(self, messages, **kwargs):
                assert kwargs == {}
                for word in ("Cats ", "purr [1]."):
                    message = ChatMessage(role="assistant", content=word)
                    yield ChatResponse(message=message, delta=word)

        result = query_for_evaluation(QUESTION, strategy="bm25", custom_llm=Own(), lab=animals)
        assert (result["answer"], result["metadata"]["llm_model"]) == ("Cats purr [1].", "own-1")

    def test_a_langchain_model_answers_at_its_own_temperature(self, animals, server):
        """What ChatOpenAI has of them: a module below langchain_core in its ancestry, `model_name` and `stream`."""
        sent = []

        class BaseChatModel:
            __module__ = "langchain_core.language_models.chat_models"

        class ChatOpenAI(BaseChatModel):
            __module__ = "langchain_openai.chat_models.base"
            model_name = "gpt-4o"

            def stream(self, messages):
                sent.extend(messages)
                yield SimpleNamespace(text="Cats ", usage_metadata=None)
                used = {"input_tokens": 1000, "output_tokens": 200}
                yield SimpleNamespace(text="purr [1].", usage_metadata=used)

        result = query_for_evaluation(QUESTION, strategy="bm25", custom_llm=ChatOpenAI(), lab=animals)
        found = result["metadata"]
        assert (result["answer"], found["model_id"]) == ("Cats purr [1].", "openai/gpt-4o")
        assert [role for role, _ in sent] == ["system", "user"]
        assert QUESTION in sent[1][1]
        assert found["usage_source"] == "provider"
        assert found["total_cost"] == pytest.approx(1000 * 2.50e-6 + 200 * 10.00e-6)
        assert server.requests == []

    @pytest.mark.parametrize("model", [object(), 3, OpenAI, type("Deaf", (), {"stream_chat": 1})()])
    def test_what_cannot_chat_is_refused(self, animals, model):
        with pytest.raises(ConfigError, match="has no stream_chat"):
            query_for_evaluation(QUESTION, strategy="bm25", custom_llm=model, lab=animals)

    def test_a_named_model_without_a_provider_is_told_before_anything_runs(self, lab):
        with pytest.raises(ConfigError, match="gpt-4o needs a provider") as caught:
            query_for_evaluation(QUESTION, strategy="bm25", answer_model="gpt-4o", lab=lab)
        assert "OPENAI_API_KEY" in caught.value.next_step

    def test_the_offline_engine_can_be_named(self, animals, server):
        engines = animals.engines.with_models(animals.settings, {"answer": "offline-extractive"})
        assert engines.paid.keys() == set(ROLES) - {"answer"}

    def test_names_and_providers_of_models(self, server, host):
        assert model_name_of(MockLLM()) == "MockLLM"  # it calls itself "unknown"
        assert model_name_of(own(server, "a-model-nobody-knows")) == "a-model-nobody-knows"
        prices = PriceList({})
        assert wrap_custom_llm(own(server), prices).provider == host
        assert wrap_custom_llm(own(server), prices).key.startswith(f"gpt-4o-mini at {server.url}, ")
        assert wrap_custom_llm(OpenAI(model="gpt-4o", api_key=KEY), prices).provider == "openai"
        assert wrap_custom_llm(OpenAI(model="gpt-4o", api_key=KEY), prices).key.startswith("gpt-4o at openai, ")
        assert wrap_custom_llm(MockLLM(), prices).provider == "llama_index"

    @pytest.mark.parametrize(
        ("given", "judge"),
        [
            ({}, "gpt-4o"),
            ({"judge_model": "gpt-4.1"}, "gpt-4.1"),
            ({"custom_judge_llm": "gpt-4o-mini", "judge_model": "gpt-4.1"}, "gpt-4o-mini"),
        ],
    )
    def test_the_judge_can_be_named_or_given(self, server, animals, given, judge):
        server.choose = obliging
        given = {name: own(server, value) if name.startswith("custom") else value for name, value in given.items()}
        controls = {"rerank": False, "theta": 0, "k_final": 2}
        found = query_for_evaluation(QUESTION, strategy="rag_msr", lab=animals, **controls, **given)
        asked = {(request.role, request.body["model"]) for request in server.requests}
        assert asked == {("rewrite", "gpt-3.5-turbo"), ("judge", judge), ("answer", "gpt-4o")}
        assert found["metadata"]["judge_model"] == judge

    def test_a_callers_model_that_breaks_off_is_an_error(self, server, animals):
        server.choose = lambda body: Cut(after=2)
        with pytest.raises(StageError, match="ended early"):
            query_for_evaluation(QUESTION, strategy="bm25", custom_llm=own(server), lab=animals)

    def test_a_callers_key_is_never_shown(self, server, animals):
        server.choose = lambda body: Status(400, "{authorization}")
        with pytest.raises(StageError) as caught:
            query_for_evaluation(QUESTION, strategy="bm25", custom_llm=own(server), lab=animals)
        assert KEY not in str(caught.value)


class TestProcess:
    def test_the_rewriters_function_returns_what_seed_000_lists(self, animals):
        result = process_rewriter_query(QUESTION, max_final_docs=2, lab=animals)
        assert set(result) == {"answer", "contexts", "retrieved_documents", "rewritten_queries", "metrics"}
        assert sorted(result["rewritten_queries"]) == sorted(REWRITES)
        assert len(result["contexts"]) == 2
        assert [document.text for document in result["retrieved_documents"]] == result["contexts"]
        found = result["metrics"]
        assert list(found) == METRICS
        assert (found["rewrite_input_tokens"], found["rewrite_output_tokens"]) == (300, 60)
        assert found["rewrite_cost"] == pytest.approx(300 * 0.50e-6 + 60 * 1.50e-6)
        assert found["answer_cost"] == pytest.approx(1000 * 2.50e-6 + 200 * 10.00e-6)
        assert found["total_cost"] == pytest.approx(found["rewrite_cost"] + found["answer_cost"])

    def test_its_models_are_the_callers(self, server, animals):
        process_rewriter_query(QUESTION, own(server, "gpt-4.1-nano"), own(server, "gpt-4.1"), lab=animals)
        assert models_asked(server) == {"rewrite": {"gpt-4.1-nano"}, "answer": {"gpt-4.1"}}

    def test_the_hybrids_function_returns_what_seed_002_lists(self, server, animals):
        result = process_hybrid_rrf_query(QUESTION, own(server), lab=animals)
        assert set(result) == {"answer", "contexts", "retrieved_documents", "metrics"}
        assert (result["answer"], len(result["contexts"])) == (ANSWER, 5)
        assert list(result["metrics"]) == METRICS
        assert result["metrics"]["rewrite_cost"] == 0.0  # nothing was rewritten
        assert models_asked(server)["answer"] == {"gpt-4o-mini"}

    def test_their_arguments_are_the_seeds(self):
        assert list(inspect.signature(process_rewriter_query).parameters)[:4] == [
            "question", "custom_rewriter_llm", "custom_answer_llm", "max_final_docs",
        ]  # fmt: skip
        assert inspect.signature(process_rewriter_query).parameters["max_final_docs"].default == 8
        assert list(inspect.signature(process_hybrid_rrf_query).parameters)[:2] == ["query", "custom_llm"]
        ours = set(inspect.signature(query_for_evaluation).parameters)
        assert ours >= {
            "question", "rewriter_model", "answer_model", "custom_rewriter_llm", "custom_answer_llm",  # seed 000
            "llm_model", "custom_llm",  # seed 002
        }  # fmt: skip


def node(identity: str, text: str = "", label: str | None = None) -> NodeWithScore:
    held = TextNode(id_=identity, text=text or f"About {identity}.", metadata={"title": "T", "label": label})
    return NodeWithScore(node=held, score=1.0)


def ids(nodes: list[NodeWithScore]) -> list[str]:
    return [found.node.node_id for found in nodes]


class TestHybridFunctions:
    """The four functions of src.rag.hybrid_rrf by their names: the stages of `hybrid_rrf` over LlamaIndex nodes."""

    def test_their_arguments_and_defaults_are_the_modules(self):
        def arguments(function: object) -> dict[str, object]:
            return {
                name: None if one.default is one.empty else one.default
                for name, one in inspect.signature(function).parameters.items()
                if name != "lab"
            }

        assert arguments(rag_core.reciprocal_rank_fusion) == {"rankings": None, "k_constant": 60, "top_k": 5}
        assert arguments(rag_core.mmr_select) == {
            "query": None, "candidate_docs": None, "top_k": None, "lambda_mult": 0.7,
        }  # fmt: skip
        assert arguments(retrieve_hybrid_rrf) == {"query": None}
        assert arguments(format_docs) == {"docs": None}

    def test_reciprocal_rank_fusion_by_hand(self):
        fused = rag_core.reciprocal_rank_fusion([[node("a"), node("b")], [node("c"), node("a")]])
        assert ids(fused) == ["a", "c", "b"]
        assert [found.score for found in fused] == pytest.approx([1 / 61 + 1 / 62, 1 / 61, 1 / 62], abs=1e-15)
        assert ids(rag_core.reciprocal_rank_fusion([[node("a"), node("b")], [node("b")]], 0, 1)) == ["b"]
        assert rag_core.reciprocal_rank_fusion([]) == []
        assert fused[0].node.get_content() == "About a."
        with pytest.raises(ConfigError, match="at least 0"):
            rag_core.reciprocal_rank_fusion([[node("a")]], k_constant=-1)

    def test_the_four_together_are_the_strategy(self, animals):
        both = [
            animals.retriever("bm25", k_final=15).retrieve(QUESTION),
            animals.retriever("simple_semantic", k_final=15).retrieve(QUESTION),
        ]
        pool = rag_core.reciprocal_rank_fusion(both, top_k=10)
        final = rag_core.mmr_select(QUESTION, pool, 5, lab=animals)
        assert ids(final) == ids(retrieve_hybrid_rrf(QUESTION, lab=animals))
        trace = animals.run(QUESTION, "hybrid_rrf")
        assert ids(final) == [hit.id for hit in trace.ranking]
        assert [found.score for found in final] == [hit.score for hit in trace.ranking]

    def test_mmr_select_at_one_orders_by_relevance_and_takes_every_node_once(self, animals):
        found = animals.retriever("simple_semantic", k_final=4).retrieve(QUESTION)
        assert ids(rag_core.mmr_select(QUESTION, [*reversed(found), *found], 9, 1, lab=animals)) == ids(found)

    def test_mmr_select_takes_documents_that_no_corpus_has(self, animals):
        """At λ = 1 by their cosine to the question; at 0 the twin of the first comes last."""
        cats, twin, fish = (
            node("x", "Cats sleep."),
            node("y", "Cats sleep."),
            node("z", "Fish swim in water."),
        )
        documents = [fish, cats, twin]
        question = "Do cats sleep?"
        assert ids(rag_core.mmr_select(question, documents, 2, 1, lab=animals)) == ["x", "y"]
        assert ids(rag_core.mmr_select(question, documents, 3, 0, lab=animals)) == ["x", "z", "y"]
        found = animals.retriever("simple_semantic", k_final=2).retrieve(QUESTION)
        mixed = rag_core.mmr_select(QUESTION, [*found, fish], 3, 1, lab=animals)
        assert ids(mixed)[:2] == ids(found)
        assert ids(mixed)[2] == "z"

    def test_format_docs_is_what_the_answer_prompt_holds(self, animals):
        found = retrieve_hybrid_rrf(QUESTION, lab=animals)
        trace = animals.run(QUESTION, "hybrid_rrf")
        assert format_docs(found) == str(Sources(trace.ranking.hits))
        assert format_docs([node("a", "Cats <purr>.", "High"), node("b")]) == (
            '<source n="1" relevance="High" title="T">\nCats &lt;purr&gt;.\n</source>\n'
            '<source n="2" relevance="unknown" title="T">\nAbout b.\n</source>'
        )

    def test_documents_are_taken_in_every_form_in_which_they_are_returned(self, animals):
        trace = animals.run(QUESTION, "hybrid_rrf")
        order = [hit.id for hit in trace.ranking]
        nearest = ids(rag_core.mmr_select(QUESTION, trace.ranking.hits, 3, lab=animals))
        forms = [
            process_hybrid_rrf_query(QUESTION, lab=animals)["retrieved_documents"],
            query_for_evaluation(QUESTION, strategy="hybrid_rrf", lab=animals)["source_documents"],
            retrieve_hybrid_rrf(QUESTION, lab=animals),
            animals.query_engine("hybrid_rrf").query(QUESTION).source_nodes,
            trace.ranking.hits,
            [hit.passage for hit in trace.ranking],
        ]
        for documents in forms:
            assert ids(rag_core.reciprocal_rank_fusion([documents, documents])) == order
            assert ids(rag_core.mmr_select(QUESTION, documents, 3, lab=animals)) == nearest
        labelled = str(Sources(trace.ranking.hits))
        assert [format_docs(documents) == labelled for documents in forms] == [True] * 5 + [False]
        assert format_docs(forms[-1]).count('relevance="unknown"') == 5  # a passage has no label

    def test_a_text_is_no_document(self, animals):
        found = query_for_evaluation(QUESTION, strategy="bm25", lab=animals)
        with pytest.raises(ConfigError, match=r"not str\. .*source_documents"):
            format_docs(found["contexts"])


class TestOpening:
    @pytest.fixture
    def opened(self, monkeypatch) -> list[tuple[str, Settings]]:
        """What is opened; nothing really is."""
        calls: list[tuple[str, Settings]] = []
        pause = threading.Event()

        def open_lab(corpus: str, *, settings: Settings):
            pause.wait(0.05)
            calls.append((corpus, settings))
            if corpus == "broken":
                raise RagError("it is broken.")
            return object()

        monkeypatch.setattr(seed_api, "open_lab", open_lab)
        seed_api._opened.cache_clear()
        yield calls
        seed_api._opened.cache_clear()

    def test_the_same_lab_serves_later_calls(self, opened):
        settings = Settings(llm="offline", timeout=7)
        first = seed_api.lab_of("a", settings)
        assert seed_api.lab_of("a", Settings(llm="offline", timeout=7)) is first
        assert len(opened) == 1

    def test_another_corpus_or_setting_is_another_lab(self, opened, monkeypatch):
        labs = [seed_api.lab_of("a"), seed_api.lab_of("b"), seed_api.lab_of("a", Settings(timeout=7))]
        monkeypatch.setenv("RAG_ANSWER_MODEL", "gpt-4.1")
        labs.append(seed_api.lab_of("a"))
        assert len({id(one) for one in labs}) == len(opened) == 4
        assert opened[-1][1].answer_model == "gpt-4.1"

    def test_callers_at_the_same_time_open_one_lab(self, opened):
        threads = [threading.Thread(target=seed_api.lab_of, args=("a",)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(opened) == 1

    def test_a_lab_that_could_not_be_opened_is_tried_again(self, opened):
        for _ in range(2):
            with pytest.raises(RagError, match="broken"):
                seed_api.lab_of("broken")
        assert len(opened) == 2


class TestRagas:
    def test_rows_have_ragass_field_names(self, animals):
        results = [
            query_for_evaluation(question, strategy="bm25", lab=animals) for question in (QUESTION, "Do fish swim?")
        ]
        rows = ragas_samples(results, ["Yes.", None])
        assert all(set(row) <= SINGLE_TURN_SAMPLE for row in rows)
        assert rows[0] == {
            "user_input": QUESTION,
            "retrieved_contexts": results[0]["contexts"],
            "response": ANSWER,
            "reference": "Yes.",
        }
        assert "reference" not in rows[1]
        assert json.loads(json.dumps(rows)) == rows

    def test_the_field_names_are_those_the_docstring_writes_down(self):
        assert all(name in ragas_samples.__doc__ for name in SINGLE_TURN_SAMPLE)

    def test_references_must_be_as_many_as_results(self):
        with pytest.raises(ConfigError, match="2 references for 0 results"):
            ragas_samples([], ["a", "b"])
        assert ragas_samples([], []) == ragas_samples([]) == []


class TestOffline:
    """The built-in documents and the offline engine: no key, no server."""

    def test_a_question_is_all_it_needs(self, lab, real_home, monkeypatch):
        monkeypatch.setenv("RAG_HOME", str(real_home))
        result = query_for_evaluation("¿Cuáles son los síntomas del parto prematuro?")
        found = result["metadata"]
        assert found["retrieval_method"] == "multi_query_rewrite"
        assert found["rewrite_count"] == 3
        assert 0 < found["num_contexts"] <= 8
        assert result["answer"]

    @for_each("strategy", list(RECIPES))
    def test_every_strategy_answers(self, lab, strategy):
        result = rag_core.query_for_evaluation(
            "What are the warning signs of pre-eclampsia?", strategy=strategy, lab=lab
        )
        found = result["metadata"]
        assert list(result) == RESULT
        assert result["answer"]
        assert found["num_contexts"] == len(result["contexts"]) > 0
        assert (found["llm_model"], found["provider"]) == ("offline-extractive", "offline")
        assert (found["total_cost"], found["cost_source"]) == (0.0, "data/prices.toml")
        assert ("rewriter_model" in found) is ("rewrite" in recipe_of(strategy).calls)

    def test_a_callers_model_beside_the_offline_engine(self, lab, server, host):
        result = query_for_evaluation(
            "What are the warning signs of pre-eclampsia?", custom_answer_llm=own(server), lab=lab
        )
        found = result["metadata"]
        assert (found["llm_model"], found["rewriter_model"]) == ("gpt-4o-mini", "offline-extractive")
        assert (found["provider"], found["rewriter_provider"]) == (host, "offline")
        assert len(server.requests) == 1
        assert result["answer"] == ANSWER
