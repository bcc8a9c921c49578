from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from helpers.looping import for_each
from helpers.small import DOCUMENTS, WordEmbedder
from helpers.tiny import tiny_model

from rag_core import build
from rag_core.documents.documents import Document
from rag_core.indexing import CorpusStore, SourceFiles
from rag_core.language.thesaurus import Thesaurus
from rag_core.models import LlamaEmbedder, RehearsedEmbedder, load_embedder
from rag_core.models.embedding import is_english_only
from rag_core.pipeline.stream import collect, stream
from rag_core.runtime.services import Services
from rag_core.testing import ScriptedLlm
from rag_core.values.errors import DataError
from rag_core.values.labels import LabelRules, Thresholds
from rag_core.values.pricing import PriceList
from rag_core.values.settings import Settings
from rag_core.values.trace import Trace
from rag_core.values.types import ModelCall, Vectors

NONE = Thesaurus(())


def data(folder: Path, *lines: str) -> Path:
    (folder / "gloss").mkdir(parents=True)
    (folder / "gloss" / "es.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("models") / "letters", seed=1)


@pytest.fixture
def load(letters: Path, tmp_path: Path, prices: PriceList):
    """Loads the tiny model with a gloss of two words."""
    lines = ("gatos\tcats", "duermen\tsleep")

    def load(gloss: str = "on", lines: tuple[str, ...] = lines, name: str = "data") -> LlamaEmbedder:
        folder = tmp_path / f"{name}-{gloss}"
        if not folder.exists():
            data(folder, *lines)
        return load_embedder(Settings(embedding=str(letters), gloss=gloss, data=folder), prices, NONE)

    return load


@for_each(
    "name",
    [
        "minilm", "sentence-transformers/all-MiniLM-L12-v2", "sentence-transformers/all-mpnet-base-v2",
        "BAAI/bge-small-en-v1.5", "BAAI/bge-large-en", "intfloat/e5-base-v2", "thenlper/gte-base",
        "sentence-transformers/gtr-t5-base", "sentence-transformers/multi-qa-mpnet-base-dot-v1", "/models/bge-base-en-v1.5/",
    ],
)  # fmt: skip
def test_models_known_to_be_english_only(name):
    assert is_english_only(name)


@for_each(
    "name",
    [
        "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", "intfloat/multilingual-e5-base", "BAAI/bge-m3",
        "sentence-transformers/LaBSE", "openai:text-embedding-3-small", "Alibaba-NLP/gte-multilingual-base",
        "BAAI/bge-small-zh-v1.5", "somebody/my-model", "sentence-transformers/distiluse-base-multilingual-cased-v2",
    ],
)  # fmt: skip
def test_models_that_read_spanish_or_are_not_known(name):
    assert not is_english_only(name)


@pytest.mark.parametrize(
    ("card", "english"),
    [
        ("---\nlanguage: en\n---\n# A model", True),
        ("---\nlicense: mit\nlanguage:\n- en\ntags: [a]\n---\n", True),
        ("---\nlanguage: [en, es]\n---\n", False),
        ("---\nlanguage:\n- en\n- es\n---\n", False),
        ("---\nlicense: mit\n---\nlanguage: en\n", False),
        ("language: en", False),
    ],
)
def test_a_model_s_card_says_which_languages_it_knows(tmp_path, card, english):
    (tmp_path / "README.md").write_text(card, encoding="utf-8")
    assert is_english_only(str(tmp_path)) is english


def test_on_the_model_reads_the_gloss(load):
    glossed, plain = load("on"), load("off")
    texts = ("los gatos duermen", "the cats sleep")
    for kind in ("query", "passage"):
        one, other = glossed.embed(texts, kind, ("es", "en"))[0]
        np.testing.assert_allclose(one, plain.embed([glossed.read(texts[0], "es")], kind)[0][0], atol=1e-6)
        np.testing.assert_allclose(other, plain.embed([texts[1]], kind)[0][0], atol=1e-6)
    assert "cats sleep" in glossed.read(texts[0])
    assert plain.read(texts[0]) == texts[0]


def test_auto_leaves_a_model_that_is_not_known_alone(load):
    assert (load("auto").gloss, load("auto").key) == (None, load("off").key)


def test_the_language_given_counts(load):
    embedder = load()
    assert embedder.read("gatos", "es") == "cats"
    assert embedder.read("gatos", "en") == "gatos"
    given = embedder.embed(["gatos", "gatos"], "passage", ["es", "en"])[0]
    assert not np.allclose(given[0], given[1], atol=1e-3)


def test_the_key_names_the_gloss_and_the_weights_do_not(load):
    first, other, plain = load(), load("on", ("gatos\tkittens",), "other"), load("off")
    assert first.weights == other.weights == plain.weights == plain.key
    assert len({first.key, other.key, plain.key}) == 3
    assert first.gloss.digest in first.key


def test_the_bill_counts_what_is_embedded(load):
    embedder = load()
    _, (bill,) = embedder.embed(["gatos"], "passage", ["es"])
    assert bill.input_tokens == embedder.count("cats") == 4  # a letter each
    assert embedder.count("gatos") == 5  # passages are cut by their own length
    rehearsed = RehearsedEmbedder(embedder, 32)
    assert rehearsed.embed(["gatos"], "passage", ["es"])[1][0].input_tokens == 4


def test_a_missing_list_is_named(letters, tmp_path, prices):
    with pytest.raises(DataError, match=r"es\.tsv"):
        load_embedder(Settings(embedding=str(letters), gloss="on", data=tmp_path), prices, NONE)


def test_the_bundled_model_reads_spanish_by_default(minilm):
    assert minilm.gloss is not None
    spanish, english = minilm.embed(["¿Qué alimentos debo evitar en el embarazo?", "foods to avoid in pregnancy"])[0]
    assert spanish @ english > 0.7


class Glossing(WordEmbedder):
    """Reads Spanish as "cats and dogs", or as it is told."""

    def __init__(self, english: str = "cats and dogs") -> None:
        super().__init__()
        self.english = english
        self.key = f"words-1+gloss@{english}"

    def read(self, text: str, language: str = "") -> str:
        return self.english if language == "es" or "gatos" in text else text

    def embed(
        self, texts: Sequence[str], kind: str = "query", languages: Sequence[str] = ()
    ) -> tuple[Vectors, tuple[ModelCall, ...]]:
        pairs = zip(texts, languages or [""] * len(texts), strict=True)
        return super().embed([self.read(*pair) for pair in pairs], kind)


def reindexed(home: Path, embedder: WordEmbedder) -> CorpusStore:
    store = CorpusStore(home, "animals", embedder)
    store.update(SourceFiles("test", list(DOCUMENTS)))
    return store


def test_an_index_made_with_another_gloss_is_not_current(tmp_path):
    first, second = Glossing("cats and dogs"), Glossing("birds")
    old = reindexed(tmp_path, first).open()
    store = CorpusStore(tmp_path, "animals", second)
    opened = store.open()
    assert not store.is_current(opened)
    store.rebuild()
    new = store.open()
    assert store.is_current(new)
    assert new.manifest.digest != old.manifest.digest
    assert second.asked == [("birds",)]  # nothing else is read in another way
    assert {hit.id for hit in new.dense(second.embed(["birds"])[0][0], 1)} == {
        identity for identity in new.passages if identity.startswith("d:")
    }


def test_indexing_again_with_another_gloss_writes_the_index_again(tmp_path):
    reindexed(tmp_path, Glossing("cats and dogs"))
    store = reindexed(tmp_path, Glossing("birds"))
    assert sorted(path.name for path in store.folder.glob("gen-*")) == ["gen-000001", "gen-000002"]
    assert [path.name for path in (tmp_path / "corpora" / "animals").iterdir()] == ["words-1"]


@pytest.fixture
def services(tmp_path: Path, labels: LabelRules) -> Services:
    embedder = Glossing()
    index = reindexed(tmp_path, embedder).open()
    llm = ScriptedLlm("Los gatos ronronean [1].")
    return Services(index=index, embedder=embedder, llms={"answer": llm, "rewrite": llm}, labels=labels)


def run(services: Services, strategy: str, question: str = "¿Por qué ronronean los gatos?") -> Trace:
    (trace,) = collect(stream(question, [build(strategy)], services))
    assert isinstance(trace, Trace)
    return trace


def test_a_trace_says_how_the_question_was_read(services):
    trace = run(services, "simple_semantic")
    assert trace.as_json()["queries"][0]["read_as"] == "cats and dogs"
    assert run(services, "simple_semantic", "Why do dogs bark?").as_json()["queries"][0]["read_as"] is None
    assert list(run(services, "bm25").readings.values()) == ["cats and dogs"]  # its words are searched for too


def test_what_is_shown_quoted_and_sent_stays_spanish(services):
    trace = run(services, "simple_semantic")
    (spanish,) = [hit for hit in trace.ranking if hit.passage.doc_id == "d"]
    assert spanish.passage.text == next(one.text for one in DOCUMENTS if one.id == "d")
    assert all("cats and dogs" not in cited.quote for cited in trace.answer.citations)
    (prompt,) = services.llms["answer"].prompts
    assert "cats and dogs" not in prompt.render()
    assert "¿Por qué ronronean los gatos?" in prompt.render()


def test_thresholds_of_a_glossed_model_hold_for_every_version_of_its_list():
    fitted = Thresholds(0.6, 0.3)
    rules = LabelRules({("cosine", "words-1+gloss", "en"): fitted})
    assert rules.has("cosine", "words-1+gloss@1a2b3c4d")
    assert not rules.has("cosine", "words-1")


def test_a_document_in_spanish_is_found_by_its_english(tmp_path):
    embedder = Glossing("swans swim")
    store = CorpusStore(tmp_path, "animals", embedder)
    store.update(SourceFiles("test", [Document("x", "Cisnes", "es", "Los cisnes nadan."), *DOCUMENTS[:2]]))
    index = store.open()
    assert index.dense(embedder.embed(["swans swim"])[0][0], 1)[0].passage.text == "Los cisnes nadan."


def test_keyword_search_looks_for_the_words_of_the_gloss_too(tmp_path):
    index = reindexed(tmp_path, Glossing("barking dogs")).open()
    own = {hit.id for hit in index.lexical("cats", 9, 1.5, 0.75)}
    glossed = {hit.id for hit in index.lexical("gatos", 9, 1.5, 0.75)}
    spanish = {identity for identity in index.passages if identity.startswith("d:")}
    english = {hit.id for hit in index.lexical("barking dogs", 9, 1.5, 0.75)}
    assert own
    assert english
    assert spanish
    assert glossed == english | spanish
