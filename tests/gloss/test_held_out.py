"""The gloss on text its list was not made for: leaflets and questions written after the list was frozen."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import fmean

import pytest
from helpers.small import ROOT

from rag_core.data.benchmark import Benchmark, read_beir
from rag_core.data.documents import beir_documents
from rag_core.evaluation.metrics import ndcg
from rag_core.gloss import Gloss
from rag_core.indexing import CorpusIndex, CorpusStore, read_path
from rag_core.language.thesaurus import Thesaurus
from rag_core.models import LlamaEmbedder

HELD_OUT = ROOT / "tests" / "data" / "held_out_es"
WORD = re.compile(r"[^\W\d_]+")
MOST_UNKNOWN = 0.05  # share of running words
MARGIN = 0.05  # of nDCG@10, below the English twins
PASSAGES = 100  # more than enough for ten documents


@pytest.fixture(scope="module")
def benchmark() -> Benchmark:
    return read_beir(HELD_OUT, "test")


@pytest.fixture
def together(tmp_path: Path, minilm: LlamaEmbedder) -> CorpusIndex:
    """The built-in collection, with its shipped vectors, and the leaflets, in passages like the collection."""
    reading = read_path(ROOT / "data" / "corpus")
    reading.documents += beir_documents(HELD_OUT)
    store = CorpusStore(tmp_path / "home", "together", minilm, ROOT / "data" / "vectors")
    store.update(reading)
    index = store.open()
    assert index is not None
    return index


def test_at_most_one_running_word_in_twenty_is_unknown(benchmark: Benchmark) -> None:
    gloss = Gloss.read(ROOT / "data" / "gloss" / "es.tsv", Thesaurus.read(ROOT / "data" / "thesaurus.toml"))
    texts = [f"{leaflet.title}\n{leaflet.text}" for leaflet in beir_documents(HELD_OUT)]
    texts += [question.text for question in benchmark.questions if question.language == "es"]
    words = sum(len(WORD.findall(text)) for text in texts)
    assert sum(len(gloss.unknown(text)) for text in texts) <= MOST_UNKNOWN * words


def test_spanish_questions_find_documents_as_english_twins_do(
    benchmark: Benchmark, together: CorpusIndex, minilm: LlamaEmbedder
) -> None:
    scores: dict[str, list[float]] = {"es": [], "en": []}
    for question in benchmark.questions:
        (vector,), _ = minilm.embed([question.text])
        ranked = dict.fromkeys(hit.passage.doc_id for hit in together.dense(vector, PASSAGES))
        scores[question.language].append(ndcg(list(ranked), benchmark.qrels[question.id], 10))
    assert len(scores["es"]) == len(scores["en"]) == 60
    assert fmean(scores["es"]) >= fmean(scores["en"]) - MARGIN
