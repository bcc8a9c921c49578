"""The gloss on text its list was not made for: leaflets and questions written after the list was frozen."""

import re
from pathlib import Path
from statistics import fmean

import pytest
from helpers.small import ROOT
from helpers.unread import unread

from rag_core.documents.benchmark import Benchmark, read_beir
from rag_core.documents.documents import beir_documents
from rag_core.evaluation.metrics import ndcg
from rag_core.indexing import CorpusIndex, CorpusStore, SourceFiles
from rag_core.lab.lab import Lab
from rag_core.language.spanish import Gloss
from rag_core.language.thesaurus import Thesaurus

HELD_OUT = ROOT / "tests" / "documents" / "held_out_es"
WORD = re.compile(r"[^\W\d_]+")
MOST_UNKNOWN = 0.05  # share of running words
MARGIN = 0.05  # of nDCG@10, below the English twins
PASSAGES = 100  # more than enough for ten documents


@pytest.fixture(scope="module")
def benchmark() -> Benchmark:
    return read_beir(HELD_OUT, "test")


@pytest.fixture
def leaflets(tmp_path: Path, lab: Lab) -> CorpusIndex:
    """The leaflets, in passages like those of the built-in collection."""
    store = CorpusStore(tmp_path / "home", "leaflets", lab.engines.embedder)
    store.update(SourceFiles("leaflets", list(beir_documents(HELD_OUT))))
    return store.open()


def test_at_most_one_running_word_in_twenty_is_unknown(benchmark):
    gloss = Gloss.read(ROOT / "data" / "gloss" / "es.tsv", Thesaurus.read(ROOT / "data" / "thesaurus.toml"))
    texts = [f"{leaflet.title}\n{leaflet.text}" for leaflet in beir_documents(HELD_OUT)]
    texts += [question.text for question in benchmark.questions if question.language == "es"]
    words = sum(len(WORD.findall(text)) for text in texts)
    assert sum(len(unread(gloss, text)) for text in texts) <= MOST_UNKNOWN * words


def test_spanish_questions_find_documents_as_english_twins_do(benchmark, leaflets, lab):
    """Among the leaflets and the built-in documents."""
    scores: dict[str, list[float]] = {"es": [], "en": []}
    for question in benchmark.questions:
        (vector,), _ = lab.engines.embedder.embed([question.text])
        hits = [hit for index in (leaflets, lab.index) for hit in index.dense(vector, PASSAGES)]
        hits.sort(key=lambda hit: (-hit.score, hit.id))
        ranked = dict.fromkeys(hit.passage.doc_id for hit in hits)
        scores[question.language].append(ndcg(list(ranked), benchmark.qrels[question.id], 10))
    assert len(scores["es"]) == len(scores["en"]) == 60
    assert fmean(scores["es"]) >= fmean(scores["en"]) - MARGIN
