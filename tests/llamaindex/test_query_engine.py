import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator
from itertools import islice

import pytest
from helpers.processes import word_engines
from helpers.small import WordEmbedder
from llama_index.core import Settings as LlamaSettings
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import QueryEngineTool

from rag_core.catalog import build
from rag_core.lab.engines import ROLES
from rag_core.lab.lab import Lab
from rag_core.llamaindex import PassageNode
from rag_core.pipeline.strategy import Strategy
from rag_core.prompts.prompt import NO_EVIDENCE, Prompt, contexts_in
from rag_core.stages import Dense, Retrieve
from rag_core.stages.remarks import abstention
from rag_core.testing import ScriptedLlm
from rag_core.values.errors import ConfigError, InputError, ProviderError, StageError
from rag_core.values.settings import Settings
from rag_core.values.types import ModelCall

QUESTION = "Do cats and dogs sleep in one house?"
ANSWER = "Cats purr [1]. They sleep [2]."
PATIENCE = 10.0  # seconds until a test that would wait for ever fails


@pytest.fixture(autouse=True)
def no_global_settings(monkeypatch):
    """LlamaIndex's Settings would ask for a key; whoever touches them fails."""

    def touched(self):
        raise AssertionError("LlamaIndex's Settings were touched")

    for name in ("llm", "embed_model"):
        monkeypatch.setattr(type(LlamaSettings), name, property(touched))


@pytest.fixture
def open_animals(read_only_store, embedder, labels) -> Callable[..., Lab]:
    """A lab over conftest's documents whose every role is played by one model."""

    def make(llm, embedder=embedder) -> Lab:
        engines = word_engines(labels=labels, embedder=embedder, paid=dict.fromkeys(ROLES, llm))
        return Lab(Settings(), "animals", engines, read_only_store)

    return make


@pytest.fixture
def animals(open_animals, llm) -> Lab:
    return open_animals(llm)


class HeldLlm(ScriptedLlm):
    """Says one word, then waits to be let go."""

    def __init__(self, *replies: str) -> None:
        super().__init__(*replies)
        self.held, self.go = threading.Event(), threading.Event()

    def stream(self, prompt: Prompt, stop: Callable[[], bool]) -> Iterator[str | ModelCall]:
        words = super().stream(prompt, stop)
        yield next(words)
        self.held.set()
        assert self.go.wait(PATIENCE)
        yield from words


class EndlessLlm(ScriptedLlm):
    def __init__(self) -> None:
        super().__init__("")
        self.begun, self.stopped = threading.Event(), threading.Event()

    def stream(self, prompt: Prompt, stop: Callable[[], bool]) -> Iterator[str | ModelCall]:
        pause = threading.Event()
        while not stop():
            self.begun.set()
            yield "word "
            pause.wait(0.002)
        self.stopped.set()
        yield ModelCall(prompt.purpose, self.name, 1, 1, 0.0, "provider")


class Pieces(ScriptedLlm):
    """Streams exactly these pieces."""

    def stream(self, prompt: Prompt, stop: Callable[[], bool]) -> Iterator[str | ModelCall]:
        yield from self.replies
        yield ModelCall(prompt.purpose, self.name, 1, 1, 0.0, "provider")


class Reverse(BaseNodePostprocessor):
    """The worst first, with scores of its own; at most so many."""

    most: int = 10

    def _postprocess_nodes(self, nodes, query_bundle=None):
        turned = list(reversed(nodes))[: self.most]
        return [NodeWithScore(node=found.node, score=100.0 - n) for n, found in enumerate(turned)]


class Shout(BaseNodePostprocessor):
    """Every text in capitals."""

    def _postprocess_nodes(self, nodes, query_bundle=None):
        for found in nodes:
            found.node.set_content(found.node.get_content().upper())
        return nodes


class Foreign(BaseNodePostprocessor):
    """Brings a node of another corpus."""

    def _postprocess_nodes(self, nodes, query_bundle=None):
        return [*nodes, NodeWithScore(node=TextNode(id_="elsewhere", text="Cows moo."), score=1.0)]


class TestRetriever:
    @pytest.mark.parametrize("strategy", ["simple_semantic", "bm25", "hybrid_rrf"])
    def test_its_nodes_are_the_hits_of_the_strategy(self, animals, strategy):
        hits = animals.run(QUESTION, strategy, k_final=3).ranking.hits
        found = animals.retriever(strategy, k_final=3, labels=True).retrieve(QUESTION)
        assert [node.node.node_id for node in found] == [hit.id for hit in hits]
        assert [node.score for node in found] == [hit.score for hit in hits]
        assert [node.text for node in found] == [hit.passage.text for hit in hits]
        assert [node.node.ref_doc_id for node in found] == [hit.passage.doc_id for hit in hits]
        assert [node.metadata for node in found] == [
            {
                "title": hit.passage.title,
                "heading": hit.passage.heading,
                "doc_id": hit.passage.doc_id,
                "language": hit.passage.language,
                "source": hit.passage.source,
                "label": hit.relevance.label,
                "rank": rank,
                "scale": hit.scale,
            }
            for rank, hit in enumerate(hits, start=1)
        ]

    def test_labels_are_made_when_asked_for(self, animals):
        found = animals.retriever("bm25", k_final=3).retrieve(QUESTION)
        labelled = animals.retriever("bm25", k_final=3, labels=True).retrieve(QUESTION)
        assert [node.node.metadata["label"] for node in found] == [None] * 3
        assert [node.node.metadata | {"label": None} for node in labelled] == [node.metadata for node in found]
        assert None not in [node.node.metadata["label"] for node in labelled]

    def test_no_answer_is_written(self, animals, llm):
        animals.retriever("hybrid_rrf").retrieve(QUESTION)
        assert llm.prompts == []

    def test_a_language_model_is_shown_the_title_and_no_figure(self, animals):
        (found,) = animals.retriever("simple_semantic", k_final=1).retrieve("Fish swim in schools")
        assert found.node.get_content("llm").startswith("title: Fish")
        assert not re.search("rank|scale|label|doc_id", found.node.get_content("llm"))

    def test_it_is_awaited_on_a_thread(self, open_animals, llm):
        """The embedder waits for the event loop, which would be blocked were it called on it."""
        held, go = threading.Event(), threading.Event()

        class Waiting(WordEmbedder):
            def embed(self, texts, kind="query", languages=()):
                held.set()
                assert go.wait(PATIENCE)
                return super().embed(texts, kind, languages)

        async def main():
            search = asyncio.create_task(
                open_animals(llm, Waiting()).retriever("simple_semantic").aretrieve("cats and dogs")
            )
            assert await asyncio.to_thread(held.wait, PATIENCE)
            go.set()
            return await search

        assert {node.metadata["doc_id"] for node in asyncio.run(main())} >= {"a", "e"}

    def test_what_is_asked_is_checked(self, animals):
        with pytest.raises(InputError):
            animals.retriever("bm25").retrieve("   ")

    def test_a_wrong_control_is_told_before_anything_runs(self, animals):
        with pytest.raises(ConfigError, match="no control 'k'"):
            animals.retriever("bm25", k=3)

    def test_it_sends_the_events_of_any_retriever(self, animals, heard):
        found = animals.retriever("bm25", k_final=2).retrieve(QUESTION)
        (start,), (end,) = heard.of("RetrievalStartEvent"), heard.of("RetrievalEndEvent")
        assert start.str_or_query_bundle == QUESTION
        assert [node.node_id for node in end.nodes] == [node.node_id for node in found]

    def test_the_bundled_model_tells_of_each_embedding(self, lab, heard):
        (vector,), _ = lab.engines.embedder.embed(["Do ducks sleep afloat?"], "query")
        (start,), (end,) = heard.of("EmbeddingStartEvent"), heard.of("EmbeddingEndEvent")
        assert start.model_dict == {"model_name": lab.engines.embedder.name}
        assert end.chunks == ["Do ducks sleep afloat?"]
        assert end.embeddings[0] == pytest.approx(vector.tolist())

    def test_a_node_comes_back_whole_from_json(self, animals):
        (found,) = animals.retriever("bm25", k_final=1).retrieve("ducks")
        again = PassageNode.from_json(found.node.to_json())
        assert (again.id_, again.text, again.metadata) == (found.node.id_, found.text, found.metadata)


class TestFusionRetriever:
    @pytest.mark.parametrize("use_async", [False, True])
    def test_a_passage_found_twice_is_one_passage_with_both_votes(self, animals, use_async):
        parts = [animals.retriever("bm25"), animals.retriever("simple_semantic")]
        ranks = [{found.node_id: rank for rank, found in enumerate(part.retrieve(QUESTION))} for part in parts]
        fused = QueryFusionRetriever(
            parts,
            llm=MockLLM(),
            mode="reciprocal_rerank",
            num_queries=1,
            similarity_top_k=20,
            use_async=use_async,
        ).retrieve(QUESTION)
        both = ranks[0].keys() & ranks[1].keys()
        assert both
        assert {found.node_id for found in fused} == ranks[0].keys() | ranks[1].keys()
        assert len(fused) == len({found.node_id for found in fused})
        for found in fused:  # LlamaIndex counts ranks from 0: 1/(60 + rank)
            votes = [1 / (60 + rank[found.node_id]) for rank in ranks if found.node_id in rank]
            assert found.score == pytest.approx(sum(votes), rel=1e-12)

    def test_other_words_make_another_node(self):
        node = PassageNode(id_="a#0", text="Cats purr.", metadata={"rank": 1})
        same = PassageNode(id_="a#0", text="Cats purr.", metadata={"rank": 2})
        assert node.hash == same.hash
        assert node.hash != PassageNode(id_="a#0", text="CATS PURR.").hash
        assert node.hash != PassageNode(id_="b#0", text="Cats purr.").hash


class TestQueryEngine:
    @pytest.mark.parametrize("strategy", ["simple_semantic", "bm25", "hybrid_rrf"])
    def test_its_answer_is_the_strategys(self, animals, strategy):
        trace = animals.run(QUESTION, strategy, k_final=2)
        response = animals.query_engine(strategy, k_final=2).query(QUESTION)
        assert str(response) == response.response == trace.answer.text == ANSWER
        assert [node.node_id for node in response.source_nodes] == [hit.id for hit in trace.ranking]
        assert [node.metadata["label"] for node in response.source_nodes] == [
            hit.relevance.label for hit in trace.ranking
        ]

    def test_its_metadata_tells_the_run(self, animals, llm):
        response = animals.query_engine("hybrid_rrf", mmr_lambda=0.5).query(QUESTION)
        found = response.metadata
        strategy = build(("hybrid_rrf", {"mmr_lambda": 0.5}))
        assert list(found) == [
            "strategy", "controls", "fingerprint", "cost_usd", "seconds", "abstained", "warnings", "trace",
        ]  # fmt: skip
        assert (found["strategy"], found["controls"]) == ("hybrid_rrf", strategy.controls)
        assert found["fingerprint"] == strategy.fingerprint
        assert found["cost_usd"] == llm.cost_usd  # the words' embedder is free
        assert found["seconds"] == pytest.approx(sum(step["seconds"] for step in found["trace"]["steps"]))
        assert (found["abstained"], found["warnings"]) == (False, [])
        assert found["trace"]["answer"]["text"] == ANSWER
        assert json.loads(json.dumps(found)) == found

    @pytest.mark.parametrize(("question", "language"), [("Do cats sleep?", "en"), ("¿Duermen los gatos mucho?", "es")])
    def test_an_abstention_is_a_response(self, open_animals, question, language):
        response = open_animals(ScriptedLlm(NO_EVIDENCE)).query_engine("bm25").query(question)
        assert response.response == abstention(language)
        assert response.metadata["abstained"] is True
        assert response.source_nodes

    def test_a_cancelled_query_stops_the_model(self, open_animals):
        llm = EndlessLlm()

        async def main():
            asked = asyncio.create_task(open_animals(llm).query_engine("bm25").aquery(QUESTION))
            assert await asyncio.to_thread(llm.begun.wait, PATIENCE)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked

        asyncio.run(main())
        assert llm.stopped.wait(PATIENCE)

    def test_it_sends_the_events_of_a_query_and_of_its_retrieval(self, animals, heard):
        engine = animals.query_engine("bm25", k_final=2)
        debug = LlamaDebugHandler(print_trace_on_end=False)
        engine.callback_manager = CallbackManager([debug])
        response = engine.query(QUESTION)
        assert [kind for kind in heard.names if kind.startswith(("Query", "Retrieval"))] == [
            "QueryStartEvent", "RetrievalStartEvent", "RetrievalEndEvent", "QueryEndEvent",
        ]  # fmt: skip
        (end,) = heard.of("RetrievalEndEvent")
        assert [node.node_id for node in end.nodes] == [node.node_id for node in response.source_nodes]
        for kind in (CBEventType.QUERY, CBEventType.RETRIEVE):
            assert len(debug.get_event_pairs(kind)) == 1

    def test_it_retrieves_alone(self, animals, llm):
        engine = animals.query_engine("bm25", node_postprocessors=[Reverse(most=1)])
        (found,) = engine.retrieve(QueryBundle(QUESTION))
        assert found.score == 100.0
        assert llm.prompts == []

    def test_it_is_a_tool(self, animals):
        tool = QueryEngineTool.from_defaults(animals.query_engine("bm25"), name="animals", description="Facts.")
        said = tool.call("Do cats sleep?")
        assert (said.content, said.raw_output.metadata["strategy"]) == (ANSWER, "bm25")
        assert asyncio.run(tool.acall("Do cats sleep?")).content == ANSWER

    def test_a_strategy_without_an_answer_needs_a_synthesizer(self, animals):
        found = Strategy("found", (Retrieve((Dense(k=2),)),))
        with pytest.raises(ConfigError, match="writes no answer"):
            animals.query_engine(found)
        synthesizer = get_response_synthesizer(llm=MockLLM(), response_mode="compact")
        assert len(animals.query_engine(found, response_synthesizer=synthesizer).query(QUESTION).source_nodes) == 2


class TestStreaming:
    def test_words_come_while_the_model_still_speaks(self, open_animals):
        llm = HeldLlm(ANSWER)
        response = open_animals(llm).query_engine("bm25", k_final=2, streaming=True).query(QUESTION)
        assert [node.metadata["rank"] for node in response.source_nodes] == [1, 2]
        assert (response.metadata["strategy"], "cost_usd" in response.metadata) == ("bm25", False)
        pieces = response.response_gen
        assert next(pieces) == "Cats "
        assert not llm.go.is_set()
        llm.go.set()
        assert "Cats " + "".join(pieces) == ANSWER
        assert response.metadata["cost_usd"] == llm.cost_usd
        assert response.metadata["trace"]["answer"]["text"] == ANSWER
        assert all(node.metadata["label"] for node in response.source_nodes)

    def test_the_async_stream_leaves_the_loop_free(self, open_animals):
        llm = HeldLlm(ANSWER)

        async def main():
            response = await open_animals(llm).query_engine("bm25", streaming=True).aquery(QUESTION)
            pieces = response.async_response_gen()
            said = [await anext(pieces)]
            assert not llm.go.is_set()
            rest = asyncio.create_task(_rest(pieces))
            assert await asyncio.to_thread(llm.held.wait, PATIENCE)
            llm.go.set()
            return response, said + await rest

        response, said = asyncio.run(main())
        assert said[0] == "Cats "
        assert "".join(said) == ANSWER
        assert response.metadata["cost_usd"] == llm.cost_usd

    @pytest.mark.parametrize(
        ("pieces", "heard"),
        [
            ([NO_EVIDENCE], abstention("en")),
            (["NOT", "_ENOUGH", "_EVIDENCE", "."], abstention("en")),
            ([" ", "\n", NO_EVIDENCE], abstention("en")),
            (["NOT_", "ENOUGH_EVIDENCE: nothing on it."], abstention("en")),
            (["Cats purr. ", "NOT_ENOUGH", "_EVIDENCE"], f"Cats purr. \n\n{abstention('en')}"),
            (["NOT", "H", "ING [1]."], "NOTHING [1]."),
            (["Cats purr [1]. ", "NO"], "Cats purr [1]. NO"),
            (["  ", "Cats [1]."], "  Cats [1]."),
        ],
    )
    def test_the_sign_for_an_abstention_is_never_shown(self, open_animals, pieces, heard):
        engine = open_animals(Pieces(*pieces)).query_engine("bm25", streaming=True)
        response = engine.query("Do cats purr?")
        assert "".join(response.response_gen) == heard
        assert response.metadata["abstained"] is (abstention("en") in heard)

    def test_a_failure_is_raised_from_the_stream(self, open_animals):
        engine = open_animals(ScriptedLlm(ProviderError("no answer in time"))).query_engine("bm25", streaming=True)
        with pytest.raises(StageError, match="no answer in time"):
            list(engine.query(QUESTION).response_gen)

    def test_a_closed_stream_stops_the_model(self, open_animals):
        llm = EndlessLlm()
        response = open_animals(llm).query_engine("bm25", streaming=True).query(QUESTION)
        assert list(islice(response.response_gen, 2)) == ["word ", "word "]
        response.response_gen.close()
        assert llm.stopped.wait(PATIENCE)


async def _rest(pieces) -> list[str]:
    return [piece async for piece in pieces]


class TestPostprocessors:
    def test_the_answer_is_written_from_what_they_left_in_their_order(self, animals, llm):
        plain = animals.retriever("bm25", k_final=4).retrieve(QUESTION)
        engine = animals.query_engine("bm25", k_final=4, node_postprocessors=[Reverse(most=2), Shout()])
        response = engine.query(QUESTION)
        left = list(reversed(plain))[:2]
        assert [node.node_id for node in response.source_nodes] == [node.node_id for node in left]
        assert [node.text for node in response.source_nodes] == [node.text.upper() for node in left]
        assert [node.score for node in response.source_nodes] == [100.0, 99.0]
        assert {node.metadata["scale"] for node in response.source_nodes} == {"postprocessor"}
        sent = contexts_in(llm.prompts[-1].render())
        assert [text for _, text in sent] == [node.text for node in response.source_nodes]

    def test_the_trace_tells_of_them(self, animals):
        engine = animals.query_engine("bm25", node_postprocessors=[Reverse(most=2)])
        steps = engine.query(QUESTION).metadata["trace"]["steps"]
        assert [step["stage"] for step in steps] == ["Bm25", "Postprocess", "Generate"]
        assert steps[1]["params"] == {"processors": [{"processor": "Reverse", "most": 2}]}

    def test_the_fingerprint_tells_their_numbers_apart(self, animals):
        prints = [
            animals.query_engine("bm25", node_postprocessors=processors).strategy.fingerprint
            for processors in ([], [Reverse(most=2)], [Reverse(most=3)], [Reverse(most=2)])
        ]
        assert prints[1] == prints[3]
        assert len(set(prints)) == 3

    def test_llamaindexs_own_cut_off_leaves_nothing_and_the_engine_abstains(self, animals):
        engine = animals.query_engine(
            "simple_semantic", node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=1.5)]
        )
        response = engine.query(QUESTION)
        assert (response.response, response.source_nodes) == (abstention("en"), [])

    def test_a_node_from_elsewhere_is_refused(self, animals):
        with pytest.raises(StageError, match="'elsewhere', which is not among the passages"):
            animals.query_engine("bm25", node_postprocessors=[Foreign()]).query(QUESTION)


class TestSynthesizer:
    @pytest.fixture
    def mock(self):
        """Replies with the prompt it is sent."""
        return get_response_synthesizer(llm=MockLLM(), response_mode="compact")

    def test_it_answers_from_our_passages(self, animals, llm, mock):
        response = animals.query_engine("bm25", k_final=2, response_synthesizer=mock).query(QUESTION)
        assert llm.prompts == []
        assert QUESTION in response.response
        assert len(response.source_nodes) == 2
        assert all(node.text in response.response for node in response.source_nodes)

    def test_its_metadata_has_the_retrievals_and_no_invented_cost(self, animals, mock):
        response = animals.query_engine("bm25", response_synthesizer=mock).query(QUESTION)
        found = response.metadata
        assert (found["strategy"], found["cost_usd"], found["abstained"]) == ("bm25", None, False)
        assert found["fingerprint"] == build("bm25").fingerprint
        assert "is unknown" in found["warnings"][-1]
        assert found["trace"]["answer"] is None
        first = response.source_nodes[0]
        assert found[first.node_id] == first.metadata  # what LlamaIndex puts there stays

    def test_async(self, animals, mock):
        engine = animals.query_engine("hybrid_rrf", response_synthesizer=mock)
        first, second = asyncio.run(_both(engine, QUESTION, "Do fish swim?"))
        assert first.metadata["trace"]["question"] == QUESTION
        assert second.metadata["trace"]["question"] == "Do fish swim?"

    def test_streaming(self, animals):
        mock = get_response_synthesizer(llm=MockLLM(), response_mode="compact", streaming=True)
        response = animals.query_engine("bm25", response_synthesizer=mock).query(QUESTION)
        assert QUESTION in "".join(response.response_gen)
        assert response.metadata["strategy"] == "bm25"

    def test_postprocessors_may_bring_nodes_here(self, animals, mock):
        response = animals.query_engine(
            "bm25", k_final=1, response_synthesizer=mock, node_postprocessors=[Foreign()]
        ).query(QUESTION)
        assert [node.node_id for node in response.source_nodes][1:] == ["elsewhere"]
        assert "Cows moo." in response.response

    def test_without_a_passage_it_abstained(self, animals, mock):
        response = animals.query_engine("bm25", response_synthesizer=mock).query("zebra")
        assert (response.source_nodes, response.metadata["abstained"]) == ([], True)

    def test_streaming_is_its_own_setting(self, animals, mock):
        with pytest.raises(ConfigError, match="response_synthesizer's own setting"):
            animals.query_engine("bm25", response_synthesizer=mock, streaming=True)


async def _both(engine, first: str, second: str):
    return await asyncio.gather(engine.aquery(first), engine.aquery(second))
