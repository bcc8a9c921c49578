"""One question by words, and by words and vectors fused, through the public API: ours beside bm25s and LlamaIndex's fusion.

On the built-in corpus and its dev questions, warm; each side on the processor, by turns. LlamaIndex has no BM25 of its own,
so its fusion takes bm25s as a retriever, and searches our vectors with our model.
"""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.results import ratios
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from rag_core.documents.benchmark import read_builtin
from rag_core.lab.opening import open_lab
from rag_core.language.analysis import tokens
from rag_core.values.settings import Settings

DATA = Path(__file__).resolve().parents[2] / "data"
QUESTIONS, WARMING, DEPTH = 120, 10, 15


def test_a_question_through_the_public_api_beside_its_peers(results, real_home):
    bm25s = pytest.importorskip("bm25s")
    lab = open_lab(settings=Settings(home=real_home, llm="offline"))
    passages = list(lab.passages.values())
    words = bm25s.BM25(method="atire", k1=1.5, b=0.75)
    words.index([tokens(one.indexed_text, one.language) for one in passages], show_progress=False)

    class Words(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            terms = [tokens(query_bundle.query_str, "en")]
            places, scores = words.retrieve(terms, k=DEPTH, show_progress=False, backend_selection="numpy")
            return [
                NodeWithScore(node=TextNode(id_=passages[place].id, text=passages[place].text), score=float(score))
                for place, score in zip(places[0], scores[0], strict=True)
            ]

    theirs = [Words(), lab.vector_index().as_retriever(similarity_top_k=DEPTH)]
    fusion = QueryFusionRetriever(
        theirs, llm=MockLLM(), num_queries=1, mode="reciprocal_rerank", use_async=False, similarity_top_k=5
    )
    sides: dict[str, Callable[[str], object]] = {
        "bm25, ours": lab.retriever("bm25").retrieve,
        "bm25s as a LlamaIndex retriever": theirs[0].retrieve,
        "plain RRF, ours": lab.retriever("hybrid_rrf", mmr=False).retrieve,
        "LlamaIndex's fusion, of bm25s and Chroma": fusion.retrieve,
    }
    took: dict[str, list[float]] = {name: [] for name in sides}
    for question in [one.text for one in read_builtin(DATA, "dev").measured][: QUESTIONS + WARMING]:
        for name, retrieve in sides.items():
            started = time.process_time()
            assert retrieve(question)
            took[name].append(1000 * (time.process_time() - started))
    took = {name: one[WARMING:] for name, one in took.items()}
    for name, one in took.items():
        results.note(f"a question: {name}", "ms", one)
    ours, peer = took["plain RRF, ours"], took["LlamaIndex's fusion, of bm25s and Chroma"]
    results.goal(19, "plain RRF by `lab.retriever`", "LlamaIndex's fusion", ratios(ours, peer), 1)
