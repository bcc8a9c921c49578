import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import chromadb
import numpy as np
import pytest
from chromadb import Collection
from helpers.chroma_server import chroma_server, milvus_server
from helpers.ports import free_port
from helpers.small import WordEmbedder
from llama_index.core.schema import TextNode
from pydantic import SecretStr

from rag_core.documents.documents import Document
from rag_core.indexing import CorpusIndex, CorpusStore, SourceFiles, forget_corpus, milvus, stores
from rag_core.indexing.backends import OpenVectors, VectorBackend
from rag_core.indexing.bm25 import Bm25Index
from rag_core.indexing.milvus import _Asked
from rag_core.indexing.passages import MappedTexts
from rag_core.indexing.stores import Stores
from rag_core.language.analysis import query_tokens
from rag_core.values.errors import ConfigError, IndexDamaged, MissingResource, SettingsError, StorageError
from rag_core.values.settings import Settings, read_settings

IDS = [f"d{number:02d}:0:ab" for number in range(40)]
BM25 = Bm25Index.fit([["cats", "sleep"]] * len(IDS))
WORDS = [
    "cats", "dogs", "birds", "fish", "horses", "sleep", "purr", "swim", "fly", "eat", "hunt", "play", "run",
    "hide",
]  # fmt: skip


def nodes_of(ids: Sequence[str] = IDS) -> list[TextNode]:
    return [TextNode(id_=one, text=f"Text of {one}.", metadata={"title": "T"}) for one in ids]


def known_by(place: str) -> Stores:
    """The stores where RAG_VECTORS is this."""
    return stores.stores_of(Settings(vectors=SecretStr(place)))


def drawn(count: int) -> np.ndarray:
    """Directions, the first five of them equal."""
    vectors = np.random.default_rng(0).standard_normal((count, 8)).astype(np.float32)
    vectors[:5] = vectors[0]
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def opened(
    store: VectorBackend, folder: Path, resources: ExitStack, ids: Sequence[str] = IDS, dimensions: int = 8
) -> OpenVectors:
    """What a store kept for a generation, for these ids."""
    texts = folder / "texts"
    texts.mkdir(exist_ok=True)
    MappedTexts.save(texts, "ids", ids)
    return store.open(folder, MappedTexts.load(texts, "ids"), dimensions, resources)


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
        (stores.CHROMA, 1000),
        (stores.SERVER, 1000),
        (stores.MILVUS, 1000),
        (stores.MILVUS, 0),
    ],
    ids=["mapped", "chroma", "chroma server", "milvus exact", "milvus hnsw"],
)
def name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of each store, which is then the one for a new generation."""
    name, exact = request.param
    monkeypatch.setattr(milvus, "EXACT", exact)
    return str(name)


@pytest.fixture
def known(name: str, request: pytest.FixtureRequest) -> Stores:
    """The stores, with a server's if that is the one."""
    place = {stores.SERVER: "server", stores.MILVUS: "file"}.get(name)
    return known_by(request.getfixturevalue(place) if place else name)


@pytest.fixture
def store(name: str, known: Stores) -> VectorBackend:
    return known[name]


def test_it_finds_what_a_comparison_with_every_vector_finds(store, tmp_path):
    vectors, told = drawn(len(IDS)), []
    store.write(tmp_path, nodes_of(), vectors, BM25, told.append)
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


def test_it_gives_vectors_by_id_and_leaves_out_what_it_has_not(store, tmp_path):
    vectors = drawn(len(IDS))
    store.write(tmp_path, nodes_of(), vectors, BM25, lambda done: None)
    with ExitStack() as resources:
        got = opened(store, tmp_path, resources).get([IDS[7], "unknown", IDS[3]])
        assert set(got) == {IDS[3], IDS[7]}
        for place in (3, 7):
            assert got[IDS[place]] == pytest.approx(vectors[place], abs=1e-6)


@pytest.mark.parametrize(
    ("expected", "says"),
    [
        ({"ids": IDS[:-1]}, f"not the {len(IDS) - 1} of the index"),
        ({"ids": [*IDS, "one more"]}, f"not the {len(IDS) + 1} of the index"),
        ({"dimensions": 9}, r"of 8 numbers, not of 9|got 9"),
    ],
)
def test_vectors_of_other_passages_or_of_another_length_are_damage(store, tmp_path, expected, says):
    store.write(tmp_path, nodes_of(), drawn(len(IDS)), BM25, lambda done: None)
    with ExitStack() as resources, pytest.raises(IndexDamaged, match=says):
        opened(store, tmp_path, resources, **expected)


@pytest.mark.parametrize(("first", "says"), [([], "has 39 passages, not the 40"), (["other"], "has not kept every")])
def test_a_server_that_has_other_ids_than_it_was_sent_is_told(server, tmp_path, monkeypatch, first, says):
    add = Collection.add
    monkeypatch.setattr(
        Collection,
        "add",
        lambda self, ids, embeddings: add(self, ids=first + ids[1:], embeddings=embeddings[1 - len(first) :]),
    )
    with pytest.raises(StorageError, match=says):
        known_by(server)[stores.SERVER].write(tmp_path, nodes_of(), drawn(len(IDS)), BM25, lambda done: None)


def test_what_was_never_written_is_damage(store, tmp_path):
    with ExitStack() as resources, pytest.raises(IndexDamaged):
        opened(store, tmp_path, resources)


def test_what_a_writer_left_halfway_is_damage_and_the_next_one_replaces_it(file, tmp_path, monkeypatch):
    def stop(done: int) -> None:
        if done:
            raise InterruptedError

    monkeypatch.setattr(milvus, "BATCH", 10)
    store = known_by(file)[stores.MILVUS]
    with pytest.raises(InterruptedError):
        store.write(tmp_path, nodes_of(), drawn(len(IDS)), BM25, stop)
    with ExitStack() as resources:
        with pytest.raises(IndexDamaged, match="has 10 passages, not the 40"):
            opened(store, tmp_path, resources)
        store.write(tmp_path, nodes_of(), drawn(len(IDS)), BM25, lambda done: None)
        assert len(opened(store, tmp_path, resources).nearest(drawn(1)[0], 100)) == len(IDS)


def texts(seed: int = 0) -> SourceFiles:
    """Sixty documents, some with the same words."""
    random = np.random.default_rng(seed)
    return SourceFiles(
        "test",
        [
            Document(f"d{number}", "", "en", " ".join(random.choice(WORDS, 5)) if number % 5 else "cats sleep")
            for number in range(60)
        ],
    )


@pytest.fixture
def index(name: str, known: Stores, tmp_path: Path) -> CorpusIndex:
    """An index whose vectors are in this store."""
    store = CorpusStore(tmp_path, "animals", WordEmbedder(), stores=known)
    store.update(texts())
    index = store.open()
    assert index.manifest.store == name
    return index


def test_equal_passages_have_equal_cosines_and_stand_in_the_order_of_their_ids(index):
    (vector,), _ = WordEmbedder().embed(["cats sleep"])
    first = index.dense(vector, 12)
    assert len({hit.score for hit in first}) == 1
    assert [hit.id for hit in first] == sorted(hit.id for hit in first)
    assert {hit.passage.text for hit in first} == {"cats sleep"}


def test_an_unknown_passage_has_no_vector(index):
    with pytest.raises(KeyError):
        index.vectors([*index.passages, "unknown"])


def test_words_find_the_same_passages_with_the_same_scores(index, name, known, monkeypatch):
    embedded = Bm25Index.load(index.generation)
    asked, ids = [], list(index.passages)
    if name == stores.MILVUS:
        leading = _Asked.leading
        monkeypatch.setattr(milvus, "MARGIN", 3)  # so that ties need more candidates
        monkeypatch.setattr(_Asked, "leading", lambda *given: asked.append(given[1:]) or leading(*given))
    random, again = np.random.default_rng(1), 0
    for text in ["cats", "zebra", *(" ".join(random.choice([*WORDS, "zebra"], 4)) for _ in range(8))]:
        query = query_tokens(text, ["en"])
        for k, k1, b in ((1, 1.5, 0.75), (7, 1.5, 0.75), (100, 1.5, 0.75), (7, 0.9, 0.4)):
            places, scores = embedded.best(query, k, k1, b)
            before = len(asked)
            found, given = index._bm25.best(query, k, k1, b)
            assert (found.tolist(), given.tolist()) == (places.tolist(), scores.tolist())
            assert len(asked) == before or k1 == 1.5
            again += len(asked) > before + 1
            best = sorted((-score, ids[place]) for place, score in zip(places, scores, strict=True))
            assert [(-hit.score, hit.id) for hit in index.lexical(text, k, k1, b)] == best[:k]
    assert (bool(asked), bool(again)) == ((name == stores.MILVUS,) * 2)


@contextmanager
def in_chroma(port: int) -> Iterator[tuple[list[str], Callable[[str], None]]]:
    """The collections of a Chroma server, and what deletes one."""
    with chromadb.HttpClient("127.0.0.1", port) as client:
        yield [one.name for one in client.list_collections()], client.delete_collection


@contextmanager
def in_milvus(port: int) -> Iterator[tuple[list[str], Callable[[str], None]]]:
    """The collections of Milvus, and what deletes one."""
    from pymilvus import MilvusClient

    client = MilvusClient(f"http://127.0.0.1:{port}")
    yield client.list_collections(), client.drop_collection
    client.close()


@dataclass(frozen=True)
class Outside:
    """A store outside of the state folder, and a server that is it."""

    scheme: str
    name: str
    serve: Callable[[Path, int], AbstractContextManager[object]]
    inside: Callable[[int], AbstractContextManager[tuple[list[str], Callable[[str], None]]]]

    def on(self, port: int) -> Stores:
        return known_by(f"{self.scheme}://127.0.0.1:{port}")

    def generations(self, port: int) -> set[str]:
        with self.inside(port) as (names, _):
            return {name[-6:] for name in names}


@pytest.fixture(
    params=[
        Outside("http", "Chroma server", chroma_server, in_chroma),
        Outside("milvus+http", "Milvus at", milvus_server, in_milvus),
    ],
    ids=["chroma", "milvus"],
)
def outside(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Outside:
    """Each store outside of the state folder."""
    if request.param.scheme != "http":
        request.getfixturevalue("file")  # or skipped
    monkeypatch.setattr(milvus, "SECONDS", 5.0)
    return request.param


def test_a_lost_server_is_one_clear_line_and_its_return_needs_no_restart(outside, tmp_path):
    port = free_port()
    corpus = CorpusStore(tmp_path / "home", "animals", WordEmbedder(), stores=outside.on(port))
    (vector,), _ = WordEmbedder().embed(["cats sleep"])
    address = f"{outside.name} http://127.0.0.1:{port}"
    with pytest.raises(StorageError, match=f"{address} does not answer") as down:
        corpus.update(texts())
    assert "\n" not in str(down.value)
    assert not corpus.exists
    with outside.serve(tmp_path / "server", port):
        corpus.update(texts())
        index = corpus.open()
        found = [hit.id for hit in index.dense(vector, 5)]
        words = [hit.id for hit in index.lexical("cats", 1, 1.5, 0.75)]
    with pytest.raises(StorageError, match="does not answer"):
        index.dense(vector, 5)
    with pytest.raises(StorageError, match="does not answer"):
        CorpusStore(tmp_path / "home", "animals", WordEmbedder(), stores=outside.on(port)).open()
    if outside.scheme == "http":
        assert index.lexical("cats", 1, 1.5, 0.75), "a search by words needs no server"
    else:
        with pytest.raises(StorageError, match="does not answer"):
            index.lexical("cats", 1, 1.5, 0.75)
        assert index.lexical("cats", 1, 0.9, 0.4), "with another k1 and b it needs none"
    with outside.serve(tmp_path / "server", port):
        assert [hit.id for hit in index.dense(vector, 5)] == found
        assert [hit.id for hit in index.lexical("cats", 1, 1.5, 0.75)] == words


def test_a_server_keeps_the_collections_of_the_generations_on_disk_and_no_others(outside, tmp_path):
    port = free_port()
    with outside.serve(tmp_path / "server", port):
        corpus = CorpusStore(tmp_path / "home", "animals", WordEmbedder(), stores=outside.on(port))
        for seed in range(3):
            corpus.update(texts(seed))
        assert outside.generations(port) == {one.name[4:] for one in corpus.folder.glob("gen-*")}
        with outside.inside(port) as (names, delete):
            for name in names:
                delete(name)
        again = CorpusStore(tmp_path / "home", "animals", WordEmbedder(), stores=outside.on(port))
        with pytest.raises(IndexDamaged, match=r"has (no vectors|nothing) of it"):
            again.open()
        assert again.rebuild().embedded == 0
        assert len(outside.generations(port)) == 1
        forget_corpus(tmp_path / "home", "animals", outside.on(port))
        assert outside.generations(port) == set()


def test_vectors_move_between_stores_and_are_not_embedded_again(tmp_path, server, file):
    for place, name in (
        ("mapped", stores.MAPPED),
        ("chroma", stores.CHROMA),
        (server, stores.SERVER),
        (file, stores.MILVUS),
        (server, stores.SERVER),
        ("mapped", stores.MAPPED),
    ):
        embedder = WordEmbedder()
        corpus = CorpusStore(tmp_path, "animals", embedder, stores=known_by(place))
        report = corpus.update(texts())
        index = corpus.open()
        assert index.manifest.store == name
        assert bool(report.embedded) == (index.generation.name == "gen-000001")


def test_an_address_of_chroma_without_a_database_is_told():
    with pytest.raises(ConfigError, match="RAG_VECTORS is no address of a Chroma server"):
        known_by("http://host/tenant")


@pytest.mark.parametrize("scheme", ["", "milvus+"])
@pytest.mark.parametrize(
    "place", ["localhost:8000", "http://", "ftp://host/x.db", "http://t0ken@h:x", "http://t0ken@[x"]
)
def test_a_malformed_place_is_told_without_its_token(scheme, place):
    with pytest.raises(SettingsError, match="Setting vectors has an invalid value") as told:
        read_settings(vectors=scheme + place)
    assert "t0ken" not in str(told.value)


@pytest.mark.parametrize(
    ("place", "name", "hosts"),
    [
        ("chroma", stores.CHROMA, ()),
        (" mapped ", stores.MAPPED, ()),
        ("./index.db", stores.MILVUS, ()),
        ("http://127.0.0.1:8000", stores.SERVER, ()),
        ("https://t0ken@chroma.example:8000/t/d", stores.SERVER, ("chroma.example:8000",)),
        ("milvus+https://t0ken@milvus.example:443", stores.MILVUS, ("milvus.example:443",)),
    ],
)
def test_a_place_names_its_store_and_another_host_counts_as_outside(file, place, name, hosts):
    settings = Settings(vectors=place)
    assert (stores.chosen(stores.stores_of(settings)), settings.outside) == (name, hosts)


def test_an_index_waits_for_all_of_it_to_be_on_the_server(tmp_path, server, monkeypatch):
    corpus = CorpusStore(tmp_path, "animals", WordEmbedder(), stores=known_by(server))
    corpus.update(texts())
    before = corpus.open()
    add = Collection.add
    monkeypatch.setattr(
        Collection, "add", lambda self, ids, embeddings: add(self, ids=ids[:-1], embeddings=embeddings[:-1])
    )
    with pytest.raises(StorageError, match=r"not the 60 of the index\. The current index is unch"):
        corpus.update(texts(1))
    assert corpus.open() is before
    monkeypatch.undo()
    corpus.update(texts(1))
    assert corpus.open() is not before


@pytest.mark.parametrize(("uri", "package"), [("milvus+http://127.0.0.1:1", "pymilvus"), ("./index.db", "milvus_lite")])
def test_a_package_that_is_not_installed_is_told(uri, package, monkeypatch):
    monkeypatch.setattr(milvus, "find_spec", lambda name: None if name == package else name)
    with pytest.raises(MissingResource, match=f"needs the package {package}") as missing:
        known_by(uri)
    assert "extra `milvus`" in str(missing.value.next_step)


def test_a_server_that_says_nothing_is_given_up(file, tmp_path, monkeypatch):
    monkeypatch.setattr(milvus, "SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent, ExitStack() as resources:
        uri = f"milvus+http://127.0.0.1:{silent.getsockname()[1]}"
        store = known_by(uri)[stores.MILVUS]
        with pytest.raises(StorageError, match="does not answer"):
            opened(store, tmp_path, resources)


def test_a_file_is_its_owners_alone(file, tmp_path):
    store = known_by(file)[stores.MILVUS]
    store.write(tmp_path, nodes_of(), drawn(len(IDS)), BM25, lambda done: None)
    assert Path(file).stat().st_mode & 0o777 == 0o700


def test_the_token_is_sent_and_not_told(tmp_path, monkeypatch):
    pymilvus = pytest.importorskip("pymilvus", reason="pymilvus, of the extra milvus, is not installed")
    made = []

    def refuse(address: str, **more: object) -> None:
        made.append((address, more["token"], more["db_name"]))
        raise pymilvus.MilvusException(message="auth check failure")

    monkeypatch.setattr(pymilvus, "MilvusClient", refuse)
    engine = known_by("milvus+https://root:a%40b@host:443/lab")[stores.MILVUS]
    with ExitStack() as resources, pytest.raises(StorageError, match="https://host:443") as refused:
        opened(engine, tmp_path, resources)
    assert made == [("https://host:443", "root:a@b", "lab")]
    assert "a@b" not in str(refused.value)
    assert "a%40b" not in str(refused.value)
