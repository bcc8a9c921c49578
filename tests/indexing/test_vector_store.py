"""The contract of a vector store: every adapter finds the same passages, with the same cosines and vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import chromadb
import numpy as np
import pytest
from helpers.chroma_server import chroma_server, free_port
from helpers.small import WordEmbedder

from rag_core.documents.documents import Document
from rag_core.indexing import CorpusIndex, CorpusStore, SourceFiles, forget_corpus, stores
from rag_core.indexing.backends import OpenVectors, VectorBackend
from rag_core.indexing.bm25 import Bm25Index
from rag_core.indexing.mapped import MappedTexts
from rag_core.indexing.stores import Stores
from rag_core.values.errors import ConfigError, IndexDamaged, StorageError
from rag_core.values.settings import Settings

IDS = [f"d{number:02d}:0:ab" for number in range(40)]
BM25 = Bm25Index.fit([["cats", "sleep"]] * len(IDS))
WORDS = [
    "cats",
    "dogs",
    "birds",
    "fish",
    "horses",
    "sleep",
    "purr",
    "swim",
    "fly",
    "eat",
    "hunt",
    "play",
    "run",
    "hide",
]


def drawn(count: int) -> np.ndarray:
    """Directions, the first five of them equal."""
    vectors = np.random.default_rng(0).standard_normal((count, 8)).astype(np.float32)
    vectors[:5] = vectors[0]
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def opened(store: VectorBackend, folder: Path, resources: ExitStack, ids: Sequence[str] = IDS) -> OpenVectors:
    """What a store kept for a generation, for these ids."""
    texts = folder / "texts"
    texts.mkdir(exist_ok=True)
    MappedTexts.save(texts, "ids", ids)
    return store.open(folder, MappedTexts.load(texts, "ids"), 8, resources)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Chroma server."""
    with chroma_server(tmp_path_factory.mktemp("server")) as (_, port):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The path of a file of Milvus Lite."""
    for package in ("pymilvus", "milvus_lite"):
        pytest.importorskip(package, reason=f"{package}, of the extra milvus, is not installed")
    from milvus_lite import server_manager_instance

    path = str(tmp_path_factory.mktemp("milvus") / "index.db")
    yield path
    server_manager_instance.release_server(path)


@pytest.fixture(
    params=[
        (stores.MAPPED, 1000),
        (stores.CHROMA, 0),
        (stores.SERVER, 1000),
        (stores.MILVUS, 1000),
        (stores.MILVUS, 0),
    ],
    ids=["mapped", "chroma", "chroma server", "milvus exact", "milvus hnsw"],
)
def name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of each store, which is then the one for a new generation."""
    name, exact = request.param
    monkeypatch.setattr(stores, "EXACT", exact)
    return str(name)


@pytest.fixture
def known(name: str, request: pytest.FixtureRequest) -> Stores:
    """The stores, with a server's if that is the one."""
    url = request.getfixturevalue("server") if name == stores.SERVER else None
    uri = request.getfixturevalue("file") if name == stores.MILVUS else None
    return stores.stores_of(Settings(chroma_url=url, milvus_uri=uri))


@pytest.fixture
def store(name: str, known: Stores) -> VectorBackend:
    return known[name]


def test_it_finds_what_a_comparison_with_every_vector_finds(store: VectorBackend, tmp_path: Path) -> None:
    vectors, told = drawn(len(IDS)), []
    store.write(tmp_path, IDS, vectors, BM25, told.append)
    assert told[0] == 0
    with ExitStack() as resources:
        held = opened(store, tmp_path, resources)
        for asked in drawn(60)[45:]:
            cosines = dict(zip(IDS, (vectors @ asked).tolist(), strict=True))
            for count in (1, 7, 40):
                found = held.nearest(asked, count)
                best = sorted(cosines.values(), reverse=True)[:count]
                assert [score for _, score in found] == pytest.approx(best, abs=1e-6)
                assert [cosines[one] for one, _ in found] == pytest.approx(best, abs=1e-6)
                assert len({one for one, _ in found}) == count
        assert len(held.nearest(vectors[0], 100)) == len(IDS)


def test_it_gives_vectors_by_id_and_leaves_out_what_it_has_not(store: VectorBackend, tmp_path: Path) -> None:
    vectors = drawn(len(IDS))
    store.write(tmp_path, IDS, vectors, BM25, lambda done: None)
    with ExitStack() as resources:
        got = opened(store, tmp_path, resources).get([IDS[7], "unknown", IDS[3]])
        assert set(got) == {IDS[3], IDS[7]}
        for place in (3, 7):
            assert got[IDS[place]] == pytest.approx(vectors[place], abs=1e-6)


@pytest.mark.parametrize("ids", [IDS[:-1], [*IDS, "one more"]])
def test_vectors_of_other_passages_are_damage(
    store: VectorBackend, tmp_path: Path, ids: Sequence[str]
) -> None:
    store.write(tmp_path, IDS, drawn(len(IDS)), BM25, lambda done: None)
    with ExitStack() as resources, pytest.raises(IndexDamaged, match=f"not the {len(ids)} of the index"):
        opened(store, tmp_path, resources, ids)


def test_what_was_never_written_is_damage(store: VectorBackend, tmp_path: Path) -> None:
    with ExitStack() as resources, pytest.raises(IndexDamaged):
        opened(store, tmp_path, resources)


def texts(seed: int = 0) -> SourceFiles:
    """Sixty documents, some with the same words."""
    random = np.random.default_rng(seed)
    return SourceFiles(
        "test",
        [
            Document(
                f"d{number}", "", "en", " ".join(random.choice(WORDS, 5)) if number % 5 else "cats sleep"
            )
            for number in range(60)
        ],
    )


@pytest.fixture
def index(name: str, known: Stores, tmp_path: Path) -> CorpusIndex:
    """An index whose vectors are in this store."""
    store = CorpusStore(tmp_path, "animals", WordEmbedder(), stores=known)
    store.update(texts())
    index = store.open()
    assert index is not None
    assert index.manifest.store == name
    return index


def test_equal_passages_have_equal_cosines_and_stand_in_the_order_of_their_ids(index: CorpusIndex) -> None:
    (vector,), _ = WordEmbedder().embed(["cats sleep"])
    first = index.dense(vector, 12)
    assert len({hit.score for hit in first}) == 1
    assert [hit.id for hit in first] == sorted(hit.id for hit in first)
    assert {hit.passage.text for hit in first} == {"cats sleep"}


def test_an_unknown_passage_has_no_vector(index: CorpusIndex) -> None:
    with pytest.raises(KeyError):
        index.vectors([*index.passages, "unknown"])


def on(port: int) -> Stores:
    return stores.stores_of(Settings(chroma_url=f"http://127.0.0.1:{port}"))


def collections(port: int) -> set[str]:
    with chromadb.HttpClient("127.0.0.1", port) as client:
        return {one.name.rpartition("-gen-")[2] for one in client.list_collections()}


def test_a_lost_server_is_one_clear_line_and_its_return_needs_no_restart(tmp_path: Path) -> None:
    port = free_port()
    corpus = CorpusStore(tmp_path / "home", "animals", WordEmbedder(), stores=on(port))
    (vector,), _ = WordEmbedder().embed(["cats sleep"])
    with pytest.raises(StorageError, match=f"Chroma server http://127.0.0.1:{port} does not answer") as down:
        corpus.update(texts())
    assert "\n" not in str(down.value)
    assert not corpus.exists
    with chroma_server(tmp_path / "server", port):
        corpus.update(texts())
        index = corpus.open()
        assert index is not None
        found = [hit.id for hit in index.dense(vector, 5)]
    with pytest.raises(StorageError, match="does not answer"):
        index.dense(vector, 5)
    with pytest.raises(StorageError, match="does not answer"):
        CorpusStore(tmp_path / "home", "animals", WordEmbedder(), stores=on(port)).open()
    assert index.lexical("cats", 1, 1.5, 0.75), "a search by words needs no server"
    with chroma_server(tmp_path / "server", port):
        assert [hit.id for hit in index.dense(vector, 5)] == found


def test_a_server_keeps_the_collections_of_the_generations_on_disk_and_no_others(tmp_path: Path) -> None:
    with chroma_server(tmp_path / "server") as (_, port):
        corpus = CorpusStore(tmp_path / "home", "animals", WordEmbedder(), stores=on(port))
        for seed in range(3):
            corpus.update(texts(seed))
        assert collections(port) == {one.name[4:] for one in corpus.folder.glob("gen-*")}
        with chromadb.HttpClient("127.0.0.1", port) as client:
            for one in client.list_collections():
                client.delete_collection(one.name)
        again = CorpusStore(tmp_path / "home", "animals", WordEmbedder(), stores=on(port))
        with pytest.raises(IndexDamaged, match="has no vectors of it"):
            again.open()
        assert again.rebuild().embedded == 0
        assert len(collections(port)) == 1
        forget_corpus(tmp_path / "home", "animals", on(port))
        assert collections(port) == set()


def test_vectors_move_to_a_server_and_back_and_are_not_embedded_again(tmp_path: Path, server: str) -> None:
    url = Settings(chroma_url=server)
    for known, name in ((stores.STORES, stores.MAPPED), (stores.stores_of(url), stores.SERVER)) * 2:
        embedder = WordEmbedder()
        corpus = CorpusStore(tmp_path, "animals", embedder, stores=known)
        report = corpus.update(texts())
        index = corpus.open()
        assert index is not None
        assert index.manifest.store == name
        assert bool(report.embedded) == (index.generation.name == "gen-000001")


@pytest.mark.parametrize(
    "url", ["localhost:8000", "http://", "ftp://host", "http://host/tenant", "http://h:x"]
)
def test_a_malformed_address_is_told(url: str) -> None:
    with pytest.raises(ConfigError, match="RAG_CHROMA_URL is no address"):
        stores.stores_of(Settings(chroma_url=url))
