import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from helpers.small import WordEmbedder

from rag_core.language.analysis import assuming, language_of
from rag_core.offline.memory import RememberingEmbedder, sentences_of, term_counts
from rag_core.values.types import Passage, Vectors


class Shouting(WordEmbedder):
    """Reads Spanish in capitals."""

    def read(self, text: str, language: str = "") -> str:
        return text.upper() if language == "es" else text


def test_a_text_is_embedded_once(embedder):
    memory = RememberingEmbedder(embedder)
    first, calls = memory.embed(["cats", "dogs", "cats"], "passage")
    again, none = memory.embed(["dogs", "cats"], "passage")
    assert embedder.asked == [("cats", "dogs")]
    assert (len(calls), none) == (1, ())
    np.testing.assert_array_equal(first[[1, 0]], again)
    np.testing.assert_array_equal(first[0], first[2])


def test_queries_and_passages_are_apart(embedder):
    memory = RememberingEmbedder(embedder)
    memory.embed(["cats"], "query")
    memory.embed(["cats"], "passage")
    assert embedder.asked == [("cats",), ("cats",)]


def test_what_is_stored_is_not_embedded(embedder):
    asked = []

    def stored(texts):
        asked.append(list(texts))
        return {"cats": np.float32([1] + 63 * [0])}

    memory = RememberingEmbedder(embedder, stored)
    vectors, _ = memory.embed(["cats", "dogs"], "passage")
    assert embedder.asked == [("dogs",)]
    assert vectors[0, 0] == 1.0
    memory.embed(["cats"], "passage")
    assert asked == [["cats", "dogs"]]
    memory.embed(["cats"], "query")  # only passages are stored
    assert len(asked) == 1


def test_texts_are_known_by_how_they_are_read():
    embedder = Shouting()
    asked = []
    memory = RememberingEmbedder(embedder, lambda texts: asked.append(list(texts)) or {})
    memory.embed(["gatos", "cats"], "passage", ["es", "en"])
    memory.embed(["gatos"], "passage", ["es"])
    memory.embed(["gatos"], "passage", ["en"])
    assert asked == [["GATOS", "cats"], ["gatos"]]
    assert (memory.read("gatos", "es"), memory.key) == ("GATOS", embedder.key)


def test_a_word_of_both_languages_is_read_in_the_one_that_is_assumed():
    class Glossed(Shouting):
        def read(self, text: str, language: str = "") -> str:
            return super().read(text, language or language_of(text))

    memory = RememberingEmbedder(Glossed())
    read = []
    for language in ("en", "es", "en"):
        with assuming(language):
            read.append(memory.read("diabetes"))
    assert read == ["diabetes", "DIABETES", "diabetes"]


def test_the_oldest_are_forgotten(embedder):
    memory = RememberingEmbedder(embedder, size=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        memory.embed([text])
    assert embedder.asked == [("a",), ("b",), ("c",), ("b",)]


def test_no_text_is_no_vector(embedder):
    vectors, calls = RememberingEmbedder(embedder).embed([], "passage")
    assert (len(vectors), calls, embedder.asked) == (0, (), [])


def test_threads_embed_a_text_once():
    class Slow(WordEmbedder):
        def embed(self, texts, kind="query", languages=()):
            time.sleep(0.05)
            return super().embed(texts, kind, languages)

    embedder = Slow()
    memory = RememberingEmbedder(embedder)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: memory.embed(["cats", "dogs"], "passage"), range(4)))
    assert embedder.asked == [("cats", "dogs")]


def test_sentences_are_those_an_answer_quotes():
    passage = Passage("p", "d", "Cats", "Cats purr when they are happy [1]. They sleep most of the day.")
    assert sentences_of(passage) == ("Cats purr when they are happy (1).", "They sleep most of the day.")


@pytest.mark.parametrize(("language", "counted"), [("es", 1), ("en", 2)])
def test_terms_are_counted_in_the_text_s_language(language, counted):
    assert term_counts("no son gases", language).total() == counted


def test_parts_of_passages_are_kept_for_the_next_process_and_questions_are_not(embedder):
    kept: dict[str, Vectors] = {}
    memory = RememberingEmbedder(embedder, lambda texts: {one: kept[one] for one in texts if one in kept}, kept.update)
    made, _ = memory.embed(["cats sleep", "birds fly"], "passage")
    memory.embed(["do cats sleep"])
    assert sorted(kept) == ["birds fly", "cats sleep"]
    embedder.asked.clear()
    again, calls = RememberingEmbedder(embedder, lambda texts: kept).embed(["cats sleep", "birds fly"], "passage")
    assert (again == made).all()
    assert (embedder.asked, calls) == ([], ())
