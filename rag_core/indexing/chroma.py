"""The passages of a generation in a Chroma collection of its folder, as nodes that any LlamaIndex program reads."""

from __future__ import annotations

import itertools
import json
import os
import sqlite3
import struct
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..values.errors import StorageError
from ..values.message import Message
from ..values.types import Vectors
from .backends import MappedVectors, Stored, other_passages
from .bm25 import Bm25Index

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode
    from llama_index.vector_stores.chroma import ChromaVectorStore

FOLDER = "chroma"
DATABASE = "chroma.sqlite3"  # in that folder
COLLECTION = "passages"
EF_SEARCH = 1000  # HNSW parameter
# Chroma writes the vectors of few passages too; otherwise every reader would write the files anew
SYNC = {"batch_size": 1, "sync_threshold": 1}
HNSW = {"space": "cosine", "ef_construction": 200, "ef_search": EF_SEARCH}
FOR_MODELS = ("title", "heading", "context")  # metadata that LlamaIndex puts before a node's text
# of a vector file: version, offset, capacity, elements, bytes per element, two offsets
HEADER = struct.Struct("=i6Q")
LENGTH = 4  # bytes of a vector's norm in length.bin

_opened = itertools.count(1)


class ChromaVectors(MappedVectors):
    """A collection for other programs, beside the mapped file that questions search."""

    def write(
        self, generation: Path, nodes: Sequence[BaseNode], vectors: Vectors, bm25: Bm25Index, stored: Stored
    ) -> None:
        """Keep the file, then nodes with their vectors in batches as large as Chroma takes."""
        from chromadb.errors import ChromaError
        from llama_index.vector_stores.chroma import ChromaVectorStore

        super().write(generation, nodes, vectors, bm25, stored)
        try:
            with _client(generation / FOLDER) as client:
                store = ChromaVectorStore(
                    client.create_collection(
                        COLLECTION, configuration={"hnsw": {**HNSW, **SYNC}}, embedding_function=None
                    )
                )
                batch = client.get_max_batch_size()
                for start in range(0, len(nodes), batch):
                    part = slice(start, start + batch)
                    store.add([_stored(*pair) for pair in zip(nodes[part], vectors[part], strict=True)])
                    stored(min(start + batch, len(nodes)))
        except ChromaError as error:  # how it reports a full disk
            raise sqlite3.OperationalError(str(error)) from error
        with closing(sqlite3.connect(generation / FOLDER / DATABASE)) as database:
            database.execute("VACUUM")  # a third of it: the vectors that waited to be written to their files
        _clear_unused(generation / FOLDER)


def open_collection(generation: Path, passages: int) -> ChromaVectorStore:
    """The collection of a generation, whose vector files are sound: a damaged one can end the process.

    Raises IndexDamaged if it has another number of passages, StorageError if Chroma cannot open, and so write, it.
    """
    from llama_index.vector_stores.chroma import ChromaVectorStore

    try:
        collection = _client(generation / FOLDER).get_collection(COLLECTION, embedding_function=None)
        found = collection.count()
    except Exception as error:  # Chroma raises many types
        raise StorageError(
            Message(
                "The Chroma collection in {folder} cannot be opened ({reason}).",
                folder=generation / FOLDER,
                reason=error,
            ),
            Message("Make the folder writable, or delete it and index the documents again."),
        ) from error
    if found != passages:
        raise other_passages(found, passages)
    return ChromaVectorStore(collection)


def _client(folder: Path) -> Any:
    """Open Chroma, independently of every client opened before.

    Clients share a path's open files, as it is spelled, even after the folder was replaced: "/" and "/." vary it.
    """
    import chromadb

    spelling = "".join("/." if bit == "1" else "/" for bit in f"{next(_opened):b}")
    settings = chromadb.config.Settings(anonymized_telemetry=False)
    return chromadb.PersistentClient(f"{folder}{spelling}", settings=settings)


def _stored(node: BaseNode, vector: Vectors) -> BaseNode:
    """A node as the collection has it: with its document's metadata, which models are not shown, by their names."""
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

    known = dict(json.loads(node.metadata.get("metadata", "[]"))) | node.metadata
    known.pop("metadata", None)
    hidden = [name for name in known if name not in FOR_MODELS]
    return TextNode(
        id_=node.node_id,
        text=node.get_content(),
        embedding=vector.tolist(),
        metadata=known,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=hidden,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=str(node.ref_doc_id))},
    )


def _clear_unused(folder: Path) -> None:
    """Zero the unused part of the vector files: memory that Chroma reserved, which can hold any text."""
    for header in folder.glob("*/header.bin"):
        _, _, _, elements, size, *_ = HEADER.unpack_from(header.read_bytes())
        for name, used in (("data_level0.bin", elements * size), ("length.bin", elements * LENGTH)):
            with header.with_name(name).open("r+b") as file:
                unused = file.seek(0, os.SEEK_END) - used
                file.seek(used)
                file.write(bytes(max(unused, 0)))
