"""Which store has the vectors of a generation: its manifest names it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ..values.settings import Settings
from .backends import VectorBackend
from .chroma_vectors import ChromaVectors
from .collection_names import collection_name, has_collections, owner
from .mapped_vectors import MappedVectors

MAPPED, CHROMA, SERVER, MILVUS = "mapped", "chroma", "chroma server", "milvus"
SETTINGS = {SERVER: "RAG_CHROMA_URL", MILVUS: "RAG_MILVUS_URI"}  # what names those elsewhere
EXACT = 1_000_000  # passages up to this number are searched exactly, in 56 ms of processor

Stores = Mapping[str, VectorBackend]

STORES: Stores = {MAPPED: MappedVectors(), CHROMA: ChromaVectors()}


def stores_of(settings: Settings) -> Stores:
    """The stores by name, with the Chroma server and the Milvus that the settings name, if they name one.

    Raises:
        ConfigError: an address is malformed.
        MissingResource: the packages for Milvus are not installed.
    """
    stores = dict(STORES)
    if settings.chroma_url is not None:
        from .chroma_server import ChromaServer  # with httpx, which a search by words does without

        stores[SERVER] = ChromaServer(settings.chroma_url.get_secret_value())
    if settings.milvus_uri is not None:
        from .milvus import Milvus

        stores[MILVUS] = Milvus(settings.milvus_uri.get_secret_value(), EXACT)
    return stores


def outside(stores: Stores) -> str | None:
    """The name of the store that takes new generations out of the state folder; None if none does."""
    return next((name for name in (MILVUS, SERVER) if name in stores), None)


def store_for(passages: int, stores: Stores) -> str:
    """The name of the store for a new generation of this many passages."""
    return outside(stores) or (MAPPED if passages <= EXACT else CHROMA)


def drop_others(stores: Stores, folder: Path, generations: Iterable[str]) -> None:
    """Drop the collections of an index's other generations from every store.

    Args:
        generations: names of those that stay.

    Raises:
        StorageError: a store does not answer.
    """
    if not has_collections(folder):
        return
    kept = {collection_name(folder / one) for one in generations}
    ours = f"{owner(folder)}-"
    for store in stores.values():
        store.drop(lambda name: name.startswith(ours) and name not in kept)
