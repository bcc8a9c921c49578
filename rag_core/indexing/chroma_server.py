"""The vectors of generations on a Chroma server or cluster, a collection each; passages and BM25 stay in RAG_HOME."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import httpx

from ..values.errors import ConfigError, IndexDamaged, StorageError
from ..values.message import Message
from ..values.types import Vectors
from .backends import (
    OpenVectors,
    Stored,
    VectorBackend,
    check_kept,
    collection_name,
    has_collections,
    other_passages,
)
from .bm25 import Bm25Index
from .chroma import HNSW
from .passages import MappedTexts

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode

SECONDS = 30.0  # a server that takes longer counts as lost
READY = "ready"  # in the metadata of a collection that has every vector
NAMES = 1000  # collections listed in one request
PAGE = 10_000  # rows per read; Chroma fails above 32,766
SCHEMES = {"http": 80, "https": 443}


class ChromaServer(VectorBackend):
    """A server by its address: http(s)://[TOKEN@]HOST[:PORT][/TENANT/DATABASE]; ConfigError if malformed."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        named = parts.path.strip("/").split("/") if parts.path.strip("/") else ["", ""]
        if len(named) != 2:
            raise ConfigError(
                Message("RAG_VECTORS is no address of a Chroma server."),
                Message("Set it as in http://127.0.0.1:8000, or https://TOKEN@HOST/TENANT/DATABASE."),
            )
        self._tenant, self._database = named
        self._port = parts.port or SCHEMES[parts.scheme]
        self._host, self._ssl = parts.hostname or "", parts.scheme == "https"
        self._token = unquote(parts.username or "")
        self.address = f"{parts.scheme}://{self._host}:{self._port}"

    def write(
        self, generation: Path, nodes: Sequence[BaseNode], vectors: Vectors, bm25: Bm25Index, stored: Stored
    ) -> None:
        """Keep vectors in a new collection, ready once the server has all; raises StorageError."""
        ids = [node.node_id for node in nodes]
        with self._client() as client, self._asking():
            name = collection_name(generation)
            if name in _names(client):
                client.delete_collection(name)  # of a writer that was killed
            collection = client.create_collection(name, configuration={"hnsw": HNSW}, embedding_function=None)
            batch = client.get_max_batch_size()
            for start in range(0, len(ids), batch):
                stored(start)
                part = slice(start, start + batch)
                collection.add(ids=ids[part], embeddings=vectors[part])
            self._check(collection, ids)
            collection.modify(metadata={READY: True})

    def _check(self, collection: Any, ids: Sequence[str]) -> None:
        configured = collection.configuration_json
        pages = range(0, collection.count(), PAGE)
        found = {one for start in pages for one in collection.get(limit=PAGE, offset=start, include=[])["ids"]}
        if (configured.get("hnsw") or configured["spann"])["space"] != "cosine":  # SPANN in a cluster
            what: str = Message("the vector store does not use cosine distance.")
        elif found != set(ids):
            what = other_passages(collection.count(), len(ids)).message
        else:
            return
        raise StorageError(
            Message(
                "The Chroma server {address} has not kept every vector: {what} The current index is unchanged.",
                address=self.address,
                what=what,
            ),
            Message("Try again, or unset RAG_VECTORS to keep vectors in files."),
        )

    def open(self, generation: Path, ids: MappedTexts, dimensions: int, resources: ExitStack) -> OpenVectors:
        client = resources.enter_context(self._client())
        with self._asking():
            name = collection_name(generation) if has_collections(generation.parent) else ""
            if name not in _names(client):
                raise IndexDamaged(Message("the Chroma server {address} has no vectors of it.", address=self.address))
            collection = client.get_collection(name, embedding_function=None)
            if not (collection.metadata or {}).get(READY):
                raise other_passages(collection.count(), len(ids))
            first = collection.get(limit=1, include=["embeddings"])["embeddings"]
            check_kept(collection.count(), ids, len(first[0]) if len(first) else dimensions, dimensions)
        return _Asked(collection, self._asking)

    def drop(self, unneeded: Callable[[str], bool]) -> None:
        with self._client() as client, self._asking():
            for name in filter(unneeded, _names(client)):
                client.delete_collection(name)

    @contextmanager
    def _client(self) -> Iterator[Any]:
        import chromadb
        from chromadb.config import Settings

        token = {"Authorization": f"Bearer {self._token}", "X-Chroma-Token": self._token}
        database = {"tenant": self._tenant, "database": self._database} if self._tenant else {}
        with self._asking():
            client: Any = chromadb.HttpClient(
                self._host, self._port, self._ssl, token if self._token else None,
                Settings(anonymized_telemetry=False), **database,
            )  # fmt: skip
        client._server._session.timeout = httpx.Timeout(SECONDS)  # else it waits for ever
        with closing(client):
            yield client

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Turn what a server that is down, lost, slow or unwilling raises into StorageError."""
        from chromadb.errors import ChromaError

        try:
            yield
        except (httpx.HTTPError, ChromaError, ValueError) as error:  # ValueError: refused by the constructor
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise StorageError(
                Message(
                    "The Chroma server {address} does not answer ({reason}).",
                    address=self.address,
                    reason=reason,
                ),
                Message("Start it, or unset RAG_VECTORS to keep vectors in files."),
            ) from error


class _Asked:
    def __init__(self, collection: Any, asking: Callable[[], Any]) -> None:
        self._collection = collection
        self._asking = asking

    def nearest(self, vector: Vectors, count: int) -> Sequence[tuple[str, float]]:
        with self._asking():
            found = self._collection.query(query_embeddings=[vector.tolist()], n_results=count, include=["distances"])
        pairs = zip(found["ids"][0], found["distances"][0], strict=True)
        return [(identity, 1.0 - float(distance)) for identity, distance in pairs]

    def get(self, ids: Sequence[str]) -> Mapping[str, Vectors]:
        found: dict[str, Vectors] = {}
        for start in range(0, len(ids), PAGE):
            with self._asking():
                page = self._collection.get(ids=list(ids[start : start + PAGE]), include=["embeddings"])
            found.update(zip(page["ids"], page["embeddings"], strict=True))
        return found


def _names(client: Any) -> list[str]:
    names: list[str] = []
    while page := client.list_collections(limit=NAMES, offset=len(names)):
        names += [one.name for one in page]
    return names
