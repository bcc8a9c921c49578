"""Generations in Milvus, a collection each, searched there by vectors and by words; their files stay in RAG_HOME."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import NDArray

from ..values.errors import IndexDamaged, MissingResource, StorageError
from ..values.message import Message
from ..values.owner_only import private_folder
from ..values.types import Vectors
from .backends import (
    Lexical,
    OpenVectors,
    Stored,
    VectorBackend,
    check_kept,
    collection_name,
    has_collections,
)
from .bm25 import K1, B, Bm25Index, Scores
from .passages import MappedTexts

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode

PLACE, DENSE, WORDS = "place", "dense", "words"  # fields of a collection: a passage's place is its key
EVERY = 0  # dimension of `WORDS` that each passage has, since none may be empty; a term's is its row + 1
BATCH = 1000  # passages written or read in one request
MOST = 16_384  # passages that Milvus gives for one search
MARGIN = 64  # candidates beyond k that a search by words asks for first
ROUNDING = 1e-4  # relative error of a sum of float32, for up to some 800 terms
HNSW = {"M": 16, "efConstruction": 200}
EF_SEARCH = 1000
EXACT = 1_000_000  # passages up to this number are compared one by one; more by an approximate index
SECONDS = 10.0  # an engine that takes longer to answer, also when it is asked again, counts as lost
# else connections share when to try an engine again, up to two minutes after its return
ALONE = {"grpc.use_local_subchannel_pool": 1}
WRITING = 600.0  # seconds in which it has to index, or to load, a generation
RELEASED = 101  # Milvus's code of an error: a collection is not loaded


class Milvus(VectorBackend):
    """An engine at http(s)://[TOKEN@]HOST[:PORT][/DATABASE], or a file; raises MissingResource without its package."""

    def __init__(self, uri: str) -> None:
        parts = urlsplit(uri)
        served = bool(parts.scheme)
        needed = ("pymilvus",) if served else ("pymilvus", "milvus_lite")
        missing = [name for name in needed if find_spec(name) is None]
        if missing:
            raise MissingResource(
                Message(
                    "Milvus in RAG_VECTORS needs the package {package}, which is not installed.",
                    package=missing[0],
                ),
                Message("Install the extra `milvus` with pip, or unset RAG_VECTORS to keep indexes in files."),
            )
        userinfo, _, host = parts.netloc.rpartition("@")
        self.address = f"{parts.scheme}://{host}" if served else uri
        self._more = {"token": unquote(userinfo), "db_name": parts.path.strip("/")} if served else {}

    def write(
        self, generation: Path, nodes: Sequence[BaseNode], vectors: Vectors, bm25: Bm25Index, stored: Stored
    ) -> None:
        """Keep vectors, and what each word adds to a score, in a new collection; then index and load it."""
        name = _name(generation)
        if not self._more:
            private_folder(Path(self.address))  # what Milvus Lite calls a file
        with self._client() as client, self._asking():
            if client.has_collection(name, timeout=SECONDS):
                client.drop_collection(name, timeout=SECONDS)  # of a writer that was killed
            client.create_collection(name, schema=_schema(client, vectors.shape[1]), timeout=SECONDS)
            rows = enumerate(zip(vectors, bm25.by_passage(), strict=True))
            stored(0)
            while batch := [_row(place, *row) for place, row in islice(rows, BATCH)]:
                client.insert(name, batch, timeout=SECONDS)
                stored(batch[-1][PLACE] + 1)
            client.flush(name, timeout=WRITING)
            client.create_index(name, self._indexes(client, len(nodes)), timeout=WRITING)
            client.load_collection(name, timeout=WRITING)

    def open(self, generation: Path, ids: MappedTexts, dimensions: int, resources: ExitStack) -> OpenVectors:
        client = resources.enter_context(self._client())
        name = _name(generation) if has_collections(generation.parent) else ""
        with self._asking():
            if not name or not client.has_collection(name, timeout=SECONDS):
                raise IndexDamaged(Message("Milvus at {address} has nothing of it.", address=self.address))
            count = client.get_collection_stats(name, timeout=SECONDS)["row_count"]
            fields = client.describe_collection(name, timeout=SECONDS)["fields"]
            found = next(one["params"]["dim"] for one in fields if one["name"] == DENSE)
            check_kept(count, ids, found, dimensions)
            client.load_collection(name, timeout=WRITING)
            kind = client.describe_index(name, DENSE, timeout=SECONDS)["index_type"]
        return _Asked(client, name, ids, kind == "HNSW", self._asking)

    def lexical(self, bm25: Bm25Index, vectors: Callable[[], OpenVectors]) -> Lexical:
        """The collection, where `k1` and `b` are those it was written with."""
        return _Words(bm25, vectors)

    def drop(self, unneeded: Callable[[str], bool]) -> None:
        """Delete the collections whose names, with hyphens again, satisfy a condition."""
        with self._client() as client, self._asking():
            for name in client.list_collections(timeout=SECONDS):
                if unneeded(name.replace("_", "-")):
                    client.drop_collection(name, timeout=SECONDS)

    def _indexes(self, client: Any, passages: int) -> Any:
        indexes = client.prepare_index_params()
        kind, params = ("FLAT", {}) if passages <= EXACT else ("HNSW", HNSW)
        indexes.add_index(DENSE, index_type=kind, metric_type="COSINE", params=params)
        indexes.add_index(WORDS, index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
        return indexes

    @contextmanager
    def _client(self) -> Iterator[Any]:
        from pymilvus import MilvusClient

        for package in ("pymilvus", "milvus_lite", "grpc._server"):  # log what they raise, with tracebacks
            logging.getLogger(package).setLevel(logging.CRITICAL)
        with self._asking():
            client: Any = MilvusClient(self.address, timeout=SECONDS, dedicated=True, grpc_options=ALONE, **self._more)
        with closing(client):
            yield client

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Turn what an engine that is down, lost, slow or unwilling raises into StorageError."""
        import grpc
        from pymilvus.exceptions import MilvusException

        try:
            yield
        except (MilvusException, grpc.RpcError, grpc.FutureTimeoutError) as error:
            said = str(getattr(error, "message", "") or getattr(error, "details", str)())
            raise StorageError(
                Message(
                    "Milvus at {address} does not answer ({reason}).",
                    address=self.address,
                    reason=said.partition("\n")[0] or type(error).__name__,
                ),
                Message("Start it, or unset RAG_VECTORS to keep indexes in files. A file can be used by one process."),
            ) from error


@dataclass(frozen=True)
class _Asked:
    _client: Any
    _name: str
    _ids: MappedTexts
    _approximate: bool
    _asking: Callable[[], Any]

    def nearest(self, vector: Vectors, count: int) -> Sequence[tuple[str, float]]:
        params = {"ef": max(EF_SEARCH, count)} if self._approximate else {}
        found = sorted(self._search(DENSE, vector.tolist(), count, params), key=lambda hit: int(hit[PLACE]))
        rows = np.array([hit["entity"][DENSE] for hit in found], np.float32)
        # computed here, so that equal vectors have equal cosines
        cosines = np.einsum("ij,j->i", rows.reshape(-1, len(vector)), vector)
        order = np.argsort(-cosines, kind="stable")
        return [(self._ids[found[place][PLACE]], float(cosines[place])) for place in order]

    def get(self, ids: Sequence[str]) -> Mapping[str, Vectors]:
        places = {place: one for one in ids if (place := self._ids.get(one)) is not None}
        asked = iter(places)
        found: dict[str, Vectors] = {}
        while batch := list(islice(asked, BATCH)):
            rows = self._loaded(self._client.get, batch, output_fields=[DENSE])
            found.update({places[row[PLACE]]: np.array(row[DENSE], np.float32) for row in rows})
        return found

    def leading(self, weights: Mapping[int, int], count: int) -> tuple[NDArray[np.intp], Scores]:
        """The places of the passages with the highest scores for these rows of terms, best first, and the scores."""
        found = self._search(WORDS, {row + 1: float(weight) for row, weight in weights.items()}, count, {})
        return np.array([hit[PLACE] for hit in found], np.intp), np.array([hit["distance"] for hit in found])

    def _search(self, field: str, sought: Any, count: int, params: Mapping[str, Any]) -> Sequence[Any]:
        (found,) = self._loaded(
            self._client.search,
            [sought],
            anns_field=field,
            limit=min(count, MOST),
            output_fields=[DENSE] if field == DENSE else [],
            search_params={"params": dict(params)},
        )
        return list(found)

    def _loaded(self, ask: Callable[..., Any], *given: Any, **more: Any) -> Any:
        """What the engine answers; what it has released, as Milvus Lite does when it ends, is loaded again."""
        from pymilvus.exceptions import MilvusException

        with self._asking():
            try:
                return ask(self._name, *given, **more, timeout=SECONDS)
            except MilvusException as error:
                if error.code != RELEASED:
                    raise
                self._client.load_collection(self._name, timeout=WRITING)
                return ask(self._name, *given, **more, timeout=SECONDS)


class _Words:
    """BM25 with the candidates of an open collection; the scores are those of the generation's postings."""

    def __init__(self, bm25: Bm25Index, opened: Callable[[], OpenVectors]) -> None:
        self._bm25 = bm25
        self._opened = opened
        self.scores = bm25.scores
        self.document_frequency = bm25.document_frequency

    def best(self, query: Sequence[str], k: int, k1: float = K1, b: float = B) -> tuple[NDArray[np.intp], Scores]:
        """As the postings alone: candidates are fetched until their score is below the k-th."""
        weights = self._bm25.weights(query) if (k1, b) == (K1, B) else None
        asked = self._opened() if weights else None
        count = k + MARGIN
        while weights and isinstance(asked, _Asked) and k > 0 and count <= MOST:
            places, scores = asked.leading(weights, count)
            if len(places) < count or scores[-1] < scores[k - 1] * (1 - ROUNDING):
                return self._bm25.best_of(np.sort(places), query, k)
            count *= 4
        return self._bm25.best(query, k, k1, b)


def _schema(client: Any, dimensions: int) -> Any:
    from pymilvus import DataType

    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field(PLACE, DataType.INT64, is_primary=True)
    schema.add_field(DENSE, DataType.FLOAT_VECTOR, dim=dimensions)
    schema.add_field(WORDS, DataType.SPARSE_FLOAT_VECTOR)
    return schema


def _row(place: int, vector: Vectors, words: tuple[NDArray[np.intp], Scores]) -> dict[str, Any]:
    """A passage as the collection has it; terms that do not raise a score cannot be in it."""
    pairs = zip(words[0].tolist(), words[1].tolist(), strict=True)
    return {
        PLACE: place,
        DENSE: vector,
        WORDS: {EVERY: 1.0, **{row + 1: one for row, one in pairs if one > 0}},
    }


def _name(generation: Path) -> str:
    """The name of a generation's collection: of letters, digits and underscores."""
    return collection_name(generation).replace("-", "_")
