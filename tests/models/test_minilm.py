"""MiniLM on onnxruntime against sentence-transformers and transformers, whose weights it reads."""

import random
import shutil

import numpy as np
import pytest
from helpers.looping import for_each
from helpers.minilm_graph import graph
from hypothesis import given
from hypothesis import strategies as st

from rag_core.models import minilm as module
from rag_core.models.minilm import GRAPH, MINILM_SHA256, MINILM_WEIGHTS, MODEL, MiniLM, minilm_folder
from rag_core.values.errors import MissingResource

ENGLISH = (
    "Call the midwife when contractions come every five minutes, last a minute and have been regular "
    "for an hour; come at once if the waters break, if there is bleeding, or if the baby moves less "
    "than usual."
)
SPANISH = (
    "La preeclampsia aparece después de la semana 20: tensión de 140/90 mmHg o más, con proteínas en la "
    "orina, dolor de cabeza, visión borrosa o hinchazón súbita de la cara; ¿cuándo hay que ir al "
    "hospital?"
)
ODD = (
    "", " ", "\n\t", "a", "?", "🤰🏽", "👶 kicks 🦶", "[SEP] and [MASK] ##ing", "妊娠 беременность حمل", "e\u0301\u0000x",
    "ÀÉÎ" * 200,
)  # fmt: skip


def words(count: int, among: str, seed: int) -> str:
    return " ".join(random.Random(seed).choices(among.split(), k=count))


# in word pieces the limit is 254
LENGTHS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 180, 253, 254, 255, 256, 400)
TEXTS = (*ODD, *(words(n, among, n) for n in LENGTHS for among in (ENGLISH, SPANISH)))


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM(minilm_folder())


@pytest.fixture(scope="module")
def reference():
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(minilm_folder()), device="cpu")


@pytest.fixture(scope="module")
def expected(reference):
    """The reference's vectors of TEXTS."""
    return reference.encode(list(TEXTS))


class TestParity:
    def test_one_by_one(self, model, expected):
        found = [model.get_query_embedding(text) for text in TEXTS]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)

    def test_in_batches_of_any_order(self, model, expected):
        order = random.Random(0).sample(range(len(TEXTS)), len(TEXTS))
        assert len(order) > module.MAX_TEXTS_ONE_THREAD
        found = model.get_text_embedding_batch([TEXTS[place] for place in order])
        np.testing.assert_allclose(found, expected[order], rtol=0, atol=1e-5)

    def test_the_vectors_of_word_pieces_on_the_last_layer(self, model, reference):
        start, end = model._marks
        texts = TEXTS[::4]  # in one batch, all are as long as the longest
        read = [[start, *model.pieces(text)[:254], end] for text in texts]
        expected = reference.encode(list(texts), output_value="token_embeddings")
        for pieces, rows, wanted in zip(read, model._last_layer(read), expected, strict=True):
            assert rows.shape == (len(pieces), 384)
            np.testing.assert_allclose(rows, wanted[: len(pieces)], rtol=0, atol=2e-5)  # of length 5 to 8

    def test_the_input_vectors_of_word_pieces(self, model, reference):
        expected = reference[0].model.get_input_embeddings().weight.detach().numpy()
        np.testing.assert_array_equal(model.word_table, expected)

    def test_the_mean_of_the_input_vectors_to_the_last_bit(self, model):
        np.testing.assert_array_equal(model.mean_of_words(), model.word_table.mean(axis=0))

    @for_each("text", TEXTS)
    def test_word_pieces(self, model, reference, text):
        expected = reference.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        assert model.pieces(text) == expected
        assert model.count(text) == len(expected)

    def test_the_vocabulary(self, model, reference):
        assert model.vocabulary == reference.tokenizer.convert_ids_to_tokens(range(30522))


def test_the_shipped_graph_is_what_its_writer_writes():
    assert GRAPH.read_bytes() == graph(minilm_folder() / MODEL)


def test_weights_under_any_name_are_read_as_on_the_hub(tmp_path, model):
    (tmp_path / "blobs").mkdir()
    blob = tmp_path / "blobs" / MINILM_SHA256
    shutil.copyfile(minilm_folder() / MODEL, blob)
    folder = tmp_path / "snapshot"
    folder.mkdir()
    (folder / MODEL).symlink_to(blob)
    (folder / "tokenizer.json").symlink_to(minilm_folder() / "tokenizer.json")
    assert MiniLM(folder).get_query_embedding(ENGLISH) == model.get_query_embedding(ENGLISH)


def test_another_graph_is_refused_by_name(tmp_path, monkeypatch):
    other = tmp_path / "minilm.onnx"
    other.write_bytes(GRAPH.read_bytes().replace(b"Gelu", b"Relu"))
    monkeypatch.setattr(module, "GRAPH", other)
    with pytest.raises(MissingResource, match=r"minilm\.onnx"):
        MiniLM(minilm_folder())


@given(st.lists(st.integers(2, 256), max_size=80))
def test_a_batch_is_within_its_size_and_every_text_is_in_one(lengths):
    batches = list(module._batches(lengths))
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    for batch in batches:
        assert 0 < len(batch) * max(lengths[place] for place in batch) <= module.BATCH_PIECES
    shortest_first = [lengths[place] for batch in batches for place in batch]
    assert shortest_first == sorted(lengths)


def test_the_published_files_in_a_folder_are_the_bundled_model(tmp_path, prices):
    from rag_core.models import load_embedder
    from rag_core.values.settings import Settings

    folder = tmp_path / "all-MiniLM-L6-v2"
    folder.symlink_to(minilm_folder(), target_is_directory=True)
    embedder = load_embedder(Settings(embedding=str(folder)), prices)
    assert isinstance(embedder.model, MiniLM)
    assert (embedder.name, embedder.weights) == ("all-MiniLM-L6-v2", MINILM_WEIGHTS)
