"""Sentences are embedded when a question first finds their passage, kept, and gone once something is forgotten."""

from rag_core.documents.documents import Document
from rag_core.indexing import forget_corpus, stored_vectors
from rag_core.indexing.vectors import KEPT
from rag_core.lab.engines import load_engines, vector_files
from rag_core.lab.opening import index, open_lab
from rag_core.models.minilm import MINILM_WEIGHTS
from rag_core.values.settings import read_settings

SENTENCES = ("Guests may come from ten to noon.", "Nobody sleeps in the garden.")
QUESTION = "When may guests come?"


def test_sentences_are_embedded_by_the_first_question_that_finds_them(tmp_path):
    settings = read_settings(home=tmp_path / "ward", llm="offline")
    made, shipped = vector_files(settings, MINILM_WEIGHTS)
    index([Document("v", "Visits", "en", " ".join(SENTENCES))], "ward", settings=settings)
    assert stored_vectors(made, shipped, SENTENCES) == {}
    engines = load_engines(settings)
    first = open_lab("ward", settings=settings, engines=engines).run(QUESTION, "bm25")
    kept = stored_vectors(made, shipped, (*SENTENCES, QUESTION))
    assert set(kept) == {*SENTENCES}
    again, _ = engines.scorer.embedder.embed(SENTENCES, "passage", ["en", "en"])
    assert (again == [kept[one] for one in SENTENCES]).all()
    later = open_lab("ward", settings=settings, engines=load_engines(settings)).run(QUESTION, "bm25")
    assert later.answer == first.answer
    forget_corpus(settings.home, "ward")
    assert not list(settings.home.glob(f"vectors/*{KEPT}"))
