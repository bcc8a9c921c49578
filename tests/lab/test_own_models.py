"""A program's LlamaIndex models in a lab of its own."""

import re

import pytest
from llama_index.core import Document as LlamaDocument
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import MockLLM
from pydantic import Field

import rag_core
from rag_core.values.errors import MissingResource, StageError


class Answers(MockLLM):
    """Says one thing; `asked` has the prompts."""

    says: str = ""
    asked: list[str] = Field(default_factory=list)

    def __init__(self, says):
        super().__init__()
        self.says = says

    def stream_complete(self, prompt, formatted=False, **kwargs):
        self.asked.append(prompt)
        return super().stream_complete(self.says, formatted)


@pytest.fixture
def ward(settings):
    rag_core.index([LlamaDocument(text="Gloves lie on shelf A3.", doc_id="gloves")], "ward", settings=settings)
    return settings


def test_each_role_has_its_model(ward):
    answers, rewrites = Answers("On shelf A3 [1]."), Answers("gloves shelf")
    lab = rag_core.open_lab("ward", settings=ward, llm=answers, rewriter_llm=rewrites)
    trace = lab.run("Where are the gloves?", "multi_query")
    assert (trace.answer.text, trace.answer.citations[0].context_id) == (
        "On shelf A3 [1].",
        trace.ranking.hits[0].id,
    )
    assert len(answers.asked) == 1
    assert len(rewrites.asked) == 3
    assert {query.text for query in trace.final.queries} >= {"gloves shelf"}
    assert trace.cost_usd is None  # its price is unknown, not 0
    assert (trace.engine["llm"], trace.engine["judge"]) == ("Answers", trace.engine["answer_model"])
    assert trace.engine["rewriter"] != trace.engine["answer_model"]
    assert lab.run("Where are the gloves?", "bm25", model="offline").engine["llm"] == "offline-extractive"


class Broken(MockLLM):
    def stream_chat(self, messages, **kwargs):
        raise KeyError("voice")


def test_a_fault_in_the_program_s_model_is_named_with_its_place(ward):
    lab = rag_core.open_lab("ward", settings=ward, llm=Broken())
    with pytest.raises(StageError, match=r"Model Broken: the call failed \('voice'\)") as failed:
        lab.run("Where are the gloves?", "bm25")
    assert f"The fault is in {__name__} (test_own_models.py, line " in failed.value.next_step


class Letters(BaseEmbedding):
    """How often each letter occurs; `first` turns the axes, so that it is another model."""

    first: str = "a"

    def _vector(self, text):
        counts = [0.01 + len(re.findall(letter, text.lower())) for letter in "abcdefghijklmnopqrstuvwxyz"]
        place = ord(self.first) - ord("a")
        return counts[place:] + counts[:place]

    def _get_query_embedding(self, query):
        return self._vector(query)

    def _get_text_embedding(self, text):
        return self._vector(text)

    async def _aget_query_embedding(self, query):
        return self._vector(query)


NOTES = [
    LlamaDocument(text=text, doc_id=text[:6]) for text in ("zzzzzz zzz zz.", "aaaaaa aaa aa.", "gloves on the shelf.")
]


def test_vectors_are_those_of_the_embedding_model(settings):
    letters = Letters(model_name="letters/1")
    report = rag_core.index(NOTES, "ward", settings=settings, embed_model=letters)
    assert report.embedded == 3
    lab = rag_core.open_lab("ward", settings=settings, embed_model=letters)
    trace = lab.run("zz", "simple_semantic")
    assert trace.ranking.hits[0].passage.doc_id == "zzzzzz"
    assert trace.engine["embedding"] == "letters/1"
    assert trace.cost_usd is None  # the program's model may cost something
    passage = lab.passages[trace.ranking.hits[0].id]
    (stored,) = lab.index.vectors([passage.id])
    expected = letters._vector(passage.indexed_text)
    norm = sum(one * one for one in expected) ** 0.5
    assert stored == pytest.approx([one / norm for one in expected], abs=1e-6)


def test_another_model_is_refused_whatever_its_name(settings):
    rag_core.index(NOTES, "ward", settings=settings, embed_model=Letters(model_name="letters"))
    with pytest.raises(
        MissingResource, match=r"no index for the embedding model .*; it was indexed with Letters-letters"
    ):
        rag_core.open_lab("ward", settings=settings).run("zz", "bm25")
    turned = rag_core.open_lab("ward", settings=settings, embed_model=Letters(model_name="letters", first="m"))
    with pytest.raises(StageError, match="The model letters is not the one that made the index of 'ward'"):
        turned.run("zz", "simple_semantic")
