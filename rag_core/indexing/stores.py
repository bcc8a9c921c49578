"""Which store has the vectors of a generation: its manifest names it."""

from __future__ import annotations

from collections.abc import Mapping

from ..values.settings import Settings
from .backends import VectorBackend
from .chroma_vectors import ChromaVectors
from .mapped_vectors import MappedVectors

MAPPED, CHROMA, SERVER = "mapped", "chroma", "chroma server"
EXACT = 200_000  # passages up to this number are searched exactly: 50 ms for as many of MiniLM's vectors

Stores = Mapping[str, VectorBackend]

STORES: Stores = {MAPPED: MappedVectors(), CHROMA: ChromaVectors()}


def stores_of(settings: Settings) -> Stores:
    """The stores by name, with the Chroma server that the settings name, if they name one.

    Raises:
        ConfigError: its address is malformed.
    """
    if settings.chroma_url is None:
        return STORES
    from .chroma_server import ChromaServer  # with httpx, which a search by words does without

    return {**STORES, SERVER: ChromaServer(settings.chroma_url.get_secret_value())}


def store_for(passages: int, stores: Stores) -> str:
    """The name of the store for a new generation of this many passages."""
    if SERVER in stores:
        return SERVER
    return MAPPED if passages <= EXACT else CHROMA
