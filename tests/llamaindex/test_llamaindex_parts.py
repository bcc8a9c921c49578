import asyncio
from dataclasses import dataclass

import pytest
from helpers.behaviours import Reply
from helpers.openai_server import OpenAIServer, role_of
from helpers.provider_lab import provider_lab
from llama_index.core import MockEmbedding, PromptTemplate
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler, TokenCountingHandler
from llama_index.core.indices.query.query_transform import HyDEQueryTransform
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import TransformQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from rag_core.lab.lab import Lab
from rag_core.llamaindex import LlamaIndexRetriever
from rag_core.llamaindex.query_engine import with_prompts
from rag_core.models import LlamaEmbedder
from rag_core.pipeline.strategy import Strategy
from rag_core.prompts.prompt import Template
from rag_core.prompts.templates import STANDALONE, SYNONYMS
from rag_core.runtime.context import Context
from rag_core.stages import (
    Bm25,
    Dense,
    Generate,
    ReciprocalRankFusion,
    Retrieve,
    Top,
    TransformStage,
    WeightedFusion,
)
from rag_core.values.errors import ConfigError, StageError
from rag_core.values.pricing import PriceList
from rag_core.values.types import Query

QUESTION = "Do cats and dogs sleep in one house?"
KEY = "sk-secret-0123456789abcdef"


@pytest.fixture
def animals(server, read_only_store, embedder, labels) -> Lab:
    return provider_lab(server, read_only_store, embedder, labels, openai_api_key=KEY)


def sent(server: OpenAIServer, role: str) -> list[str]:
    return [one.messages[-1][1] for one in server.requests if role_of(one.body) == role]


class TestPrompts:
    @pytest.mark.parametrize(
        ("strategy", "names"),
        [
            ("simple_semantic", {"answer"}),
            ("hyde", {"hypothetical", "answer"}),
            ("multi_query", {"standalone", "synonyms", "expanded", "answer"}),
            ("rag_msr", {"paraphrasing", "aspect_specific", "entity_aware", "judge_passage", "answer"}),
        ],
    )
    def test_a_query_engine_has_the_prompts_of_its_stages_by_name(self, animals, strategy, names):
        prompts = animals.query_engine(strategy).get_prompts()
        assert set(prompts) == names
        assert set(prompts["answer"].template_vars) == {"question", "sources", "urgency"}

    def test_a_changed_answer_prompt_is_sent(self, server, animals):
        engine = animals.query_engine("simple_semantic")
        before = engine.strategy.fingerprint
        engine.update_prompts({"answer": PromptTemplate("In one word. {sources}\n\nAsked: {question}")})
        response = engine.query(QUESTION)
        (message,) = sent(server, "answer")
        assert message.startswith('In one word. <source n="1"')
        assert message.endswith(f"Asked: {QUESTION}")
        assert engine.get_prompts()["answer"].get_template().startswith("In one word.")
        assert response.metadata["fingerprint"] == engine.strategy.fingerprint != before
        assert "cats" in response.response.lower()

    def test_changed_rewrites_hypotheses_and_judgements_are_sent(self, server, animals):
        for strategy, name, role, controls in (
            ("multi_query", "synonyms", "rewrite", {}),
            ("hyde", "hypothetical", "rewrite", {}),
            ("rag_msr", "judge_passage", "judge", {"rerank": False, "theta": 0}),
        ):
            server.requests.clear()
            engine = animals.query_engine(strategy, **controls)
            fields = " ".join(f"{{{name}}}" for name in engine.get_prompts()[name].template_vars)
            engine.update_prompts({name: PromptTemplate(f"Mine: {fields}")})
            engine.query(QUESTION)
            assert [one for one in sent(server, role) if one.startswith("Mine: ")], strategy

    def test_the_trace_tells_the_changed_templates_and_can_be_run_again(self, server, animals):
        engine = animals.query_engine("multi_query")
        engine.update_prompts({"synonyms": PromptTemplate("Other words: {question}")})
        controls = engine.query(QUESTION).metadata["controls"]
        assert controls["templates"] == [
            "standalone", {"name": "synonyms", "text": "Other words: {question}"}, "expanded",
        ]  # fmt: skip
        animals.run(QUESTION, ("multi_query", controls))
        assert sent(server, "rewrite").count(f"Other words: {QUESTION}") == 2

    @pytest.mark.parametrize(
        ("prompts", "says"),
        [
            ({"answer": PromptTemplate("Say: {question}")}, "'answer' is missing {sources}"),
            (
                {"answer": PromptTemplate("{question} {sources} {tone}")},
                "'answer' has {tone}, which nothing fills",
            ),
            ({"reply": PromptTemplate("{question}")}, "no prompt 'reply'"),
        ],
    )
    def test_a_prompt_that_cannot_work_is_refused(self, animals, prompts, says):
        engine = animals.query_engine("simple_semantic")
        with pytest.raises(ConfigError) as caught:
            engine.update_prompts(prompts)
        assert says in caught.value.message
        assert caught.value.next_step
        assert "{question}" in engine.get_prompts()["answer"].get_template()

    def test_engines_around_ours_reach_its_prompts(self, server, animals):
        outer = TransformQueryEngine(animals.query_engine("simple_semantic"), HyDEQueryTransform(MockLLM()))
        assert {"query_transform:hyde_prompt", "query_engine:answer"} <= set(outer.get_prompts())
        outer.update_prompts({"query_engine:answer": PromptTemplate("Outer. {question} {sources}")})
        outer.query(QUESTION)
        assert sent(server, "answer")[0].startswith("Outer. ")

    def test_a_retriever_and_a_synthesizers_engine_have_those_of_the_search(self, server, animals):
        retriever = animals.retriever("hyde")
        assert set(retriever.get_prompts()) == {"hypothetical"}
        retriever.update_prompts({"hypothetical": PromptTemplate("Suppose: {question}")})
        retriever.retrieve(QUESTION)
        engine = animals.query_engine("hyde", response_synthesizer=get_response_synthesizer(llm=MockLLM()))
        engine.update_prompts({"hypothetical": PromptTemplate("Imagine: {question}")})
        engine.query(QUESTION)
        assert sent(server, "rewrite") == [f"Suppose: {QUESTION}", f"Imagine: {QUESTION}"]

    def test_the_offline_engine_says_that_it_reads_no_prompt(self, lab):
        engine = lab.query_engine("simple_semantic")
        engine.update_prompts({"answer": PromptTemplate("{question} {sources}")})
        warnings = engine.query("When is anti-D given?").metadata["warnings"]
        assert any("cannot read your prompt 'answer'" in warning for warning in warnings)


class TestEvents:
    @pytest.fixture
    def counted(self) -> TokenCountingHandler:
        return TokenCountingHandler(tokenizer=str.split)

    @pytest.fixture
    def billed_animals(self, server, read_only_store, labels) -> Lab:
        """A lab whose embedding model is LlamaIndex's."""
        model = LlamaEmbedder(
            MockEmbedding(embed_dim=64),
            "words",
            "words-1",
            lambda text: len(text.split()),
            PriceList({}),
            local=True,
        )
        return provider_lab(server, read_only_store, model, labels, openai_api_key=KEY)

    @pytest.mark.parametrize("way", ["query", "aquery", "streaming", "retrieve"])
    def test_the_token_counter_sees_every_call(self, billed_animals, counted, way):
        manager = CallbackManager([counted])
        if way == "retrieve":
            billed_animals.retriever("multi_query", callback_manager=manager).retrieve(QUESTION)
            answers = 0
        else:
            streaming = way == "streaming"
            engine = billed_animals.query_engine("multi_query", callback_manager=manager, streaming=streaming)
            if way == "aquery":
                asyncio.run(engine.aquery(QUESTION))
            else:
                str(engine.query(QUESTION))
            answers = 1
        # what the server tells: 100 and 20 a rewrite, 1000 and 200 an answer
        assert counted.prompt_llm_token_count == 3 * 100 + answers * 1000
        assert counted.completion_llm_token_count == 3 * 20 + answers * 200
        assert counted.total_embedding_token_count >= 3 * len(QUESTION.split())

    def test_usage_that_the_server_does_not_tell_is_counted_by_the_handler(self, server, billed_animals, counted):
        server.choose = lambda body: Reply("Cats purr [1].", usage=None)
        engine = billed_animals.query_engine("bm25", callback_manager=CallbackManager([counted]))
        engine.query(QUESTION)
        (seen,) = counted.llm_token_counts
        assert QUESTION in seen.prompt
        assert "Cats purr [1]." in seen.completion
        assert seen.prompt_token_count > 50

    def test_two_engines_at_work_hear_their_own_calls_only(self, billed_animals, counted):
        other = TokenCountingHandler(tokenizer=str.split)
        engines = [
            billed_animals.query_engine("bm25", callback_manager=CallbackManager([handler]))
            for handler in (counted, other)
        ]

        async def both() -> None:
            await asyncio.gather(*(engine.aquery(QUESTION) for engine in engines))

        asyncio.run(both())
        billed_animals.run(QUESTION, "multi_query")  # nobody listens
        assert len(counted.llm_token_counts) == len(other.llm_token_counts) == 1

    def test_a_call_that_fails_ends_its_event(self, server, billed_animals):
        debug = LlamaDebugHandler(print_trace_on_end=False)
        server.choose = lambda body: Reply("")
        engine = billed_animals.query_engine("bm25", callback_manager=CallbackManager([debug]))
        with pytest.raises(StageError, match="empty reply"):
            engine.query(QUESTION)
        assert len(debug.get_event_pairs(CBEventType.LLM)) == 1

    def test_instrumentation_sees_the_bundled_model_embed_the_question(self, lab, heard):
        lab.retriever("simple_semantic").retrieve("When is the placenta delivered?")
        embedded = ["EmbeddingStartEvent", "EmbeddingEndEvent"]
        assert heard.names == ["RetrievalStartEvent", *embedded, "RetrievalEndEvent"]

    def test_instrumentation_sees_the_calls_too(self, billed_animals, heard):
        billed_animals.query_engine("simple_semantic").query(QUESTION)
        calls = {"LLMChatStartEvent", "LLMChatEndEvent", "EmbeddingStartEvent", "EmbeddingEndEvent"}
        assert calls <= {*heard.names}


class Says(MockLLM):
    """A model that supposes fish."""

    def complete(self, prompt, formatted=False, **kwargs):
        return super().complete("Fish swim in schools and never sleep with closed eyes.", formatted)


class TestEmbeddingStrings:
    def test_hyde_of_llamaindex_changes_what_is_found(self, animals):
        engine = animals.query_engine("simple_semantic", k_final=1)
        transformed = TransformQueryEngine(engine, HyDEQueryTransform(Says(), include_original=False))
        assert engine.query(QUESTION).source_nodes[0].metadata["title"] == "Cats and dogs"
        response = transformed.query(QUESTION)
        assert response.source_nodes[0].metadata["title"] == "Fish"
        assert asyncio.run(transformed.aquery(QUESTION)).source_nodes[0].metadata["title"] == "Fish"

    def test_several_strings_are_averaged(self, animals, embedder):
        texts = ["Fish swim.", "Birds sing at dawn."]
        found = animals.retriever("simple_semantic", k_final=6).retrieve(
            QueryBundle(QUESTION, custom_embedding_strs=texts)
        )
        mean = embedder.embed(texts)[0].mean(axis=0)
        mean /= (mean @ mean) ** 0.5
        for node in found:
            (vector,) = animals.index.vectors([node.node.node_id])
            assert node.score == pytest.approx(float(vector @ mean), abs=1e-5)

    def test_the_model_is_asked_the_question_and_keywords_search_by_it(self, server, animals):
        bundle = QueryBundle(QUESTION, custom_embedding_strs=["Fish swim."])
        assert animals.query_engine("bm25").query(bundle).source_nodes[0].metadata["title"] == "Cats and dogs"
        assert f"Question: {QUESTION}" in sent(server, "answer")[0]

    def test_a_bundle_that_embeds_its_question_is_the_question(self, animals):
        engine = animals.query_engine("simple_semantic")
        plain, bundled = engine.query(QUESTION), engine.query(QueryBundle(QUESTION))
        assert plain.metadata["fingerprint"] == bundled.metadata["fingerprint"]


class Wiki(BaseRetriever):
    """Nodes of nobody's index."""

    def __init__(self, *scores: float | None, text: str = "Cats and dogs share one house in winter.") -> None:
        super().__init__()
        self.scores = scores
        self.text = text
        self.asked: list[QueryBundle] = []

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.asked.append(query_bundle)
        nodes = [
            TextNode(id_=f"w{number}", text=f"{self.text} ({number})", metadata={"title": f"Wiki {number}"})
            for number in range(len(self.scores))
        ]
        return [NodeWithScore(node=node, score=score) for node, score in zip(nodes, self.scores, strict=True)]


class TestForeignRetriever:
    def test_its_nodes_are_answered_from_with_its_scores_and_its_name(self, server, animals):
        wiki = Wiki(3.5, 7.0)
        strategy = Strategy("mine", (Retrieve((LlamaIndexRetriever(wiki, "wiki"),)), Top(1), Generate()))
        trace = animals.run(QUESTION, strategy)
        (hit,) = trace.ranking
        assert (hit.id, hit.passage.title, hit.score, hit.scale) == ("w1", "Wiki 1", 7.0, "external")
        found = trace.steps[0].after.ranking
        assert (found.retriever, found.scale) == ("wiki", "external")
        assert [bundle.query_str for bundle in wiki.asked] == [QUESTION]
        assert 'title="Wiki 1"' in sent(server, "answer")[0]
        assert trace.steps[0].params["retrievers"][0] == {
            "retriever": "LlamaIndexRetriever", "source": "Wiki", "called": "wiki",
        }  # fmt: skip

    def test_it_is_fused_with_ours(self, animals):
        retrievers = (LlamaIndexRetriever(Wiki(1.0, 0.5), "wiki"), Bm25(2))
        strategy = Strategy("mine", (Retrieve(retrievers), ReciprocalRankFusion(k=60), Top(4), Generate()))
        trace = animals.run(QUESTION, strategy)
        scores = {hit.id: hit.score for hit in trace.ranking}
        assert scores["w0"] == pytest.approx(1 / 61)
        assert scores["w1"] == pytest.approx(1 / 62)
        assert len(scores) == 4

    def test_without_scores_the_order_counts(self, animals):
        strategy = Strategy("mine", (Retrieve((LlamaIndexRetriever(Wiki(None, None, None)),)), Generate()))
        hits = animals.run(QUESTION, strategy).ranking
        assert [(hit.id, hit.score) for hit in hits] == [("w0", 1.0), ("w1", 1 / 2), ("w2", 1 / 3)]

    def test_two_retrievers_are_two_stages(self, animals):
        def stage(wiki: Wiki) -> tuple[Retrieve]:
            return (Retrieve((LlamaIndexRetriever(wiki, "wiki"),)),)

        one, other = Wiki(1.0, text="Cats purr."), Wiki(1.0, text="Dogs bark.")
        traces = animals.compare(
            QUESTION,
            [Strategy(name, (*stage(wiki), Generate())) for name, wiki in (("a", one), ("b", other))],
        )
        assert [trace.ranking.hits[0].passage.text for trace in traces] == [
            "Cats purr. (0)",
            "Dogs bark. (0)",
        ]

    def test_our_own_retriever_can_stand_inside_another_strategy(self, animals):
        inner = LlamaIndexRetriever(animals.retriever("bm25"), "inner")
        strategy = Strategy("outer", (Retrieve((inner, Dense(3))), ReciprocalRankFusion(), Top(3), Generate()))
        trace = animals.run(QUESTION, strategy)
        assert trace.ranking.hits[0].passage.title == "Cats and dogs"

    def test_a_score_that_is_no_number_fails_the_strategy(self, animals):
        strategy = Strategy("mine", (Retrieve((LlamaIndexRetriever(Wiki(float("nan")), "wiki"),)), Generate()))
        with pytest.raises(StageError, match="wiki gave a score that is not a number"):
            animals.run(QUESTION, strategy)


def test_templates_of_a_stage_of_another_package_can_be_changed():
    @dataclass(frozen=True)
    class TwoWays(TransformStage):
        ways: tuple[Template, ...]

        def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
            return tuple(Query(way.text, way.name) for way in self.ways)

    stages = (TwoWays((STANDALONE, SYNONYMS)), Retrieve((Dense(),)), WeightedFusion())
    built = Strategy("mine", stages, {"templates": ["standalone", "synonyms"]})
    changed = with_prompts(built, {"synonyms": PromptTemplate("Differently: {question}")})
    assert changed.controls["templates"] == [
        "standalone",
        {"name": "synonyms", "text": "Differently: {question}"},
    ]
    assert [way.text for way in changed.stages[0].ways] == [STANDALONE.text, "Differently: {question}"]
