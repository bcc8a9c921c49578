"""Which store has the vectors of a generation: its manifest names it."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from ..values.settings import FILE, MILVUS_SCHEME, Settings
from .backends import MappedVectors, NoVectors, VectorBackend, collection_name, has_collections, owner
from .chroma import ChromaVectors

WORDS, MAPPED, CHROMA, SERVER, MILVUS = "words", "mapped", "chroma", "chroma server", "milvus"

Stores = Mapping[str, VectorBackend]  # those that can be read, by name; new generations go to the last

# in the state folder; the last two are searched alike
STORES: Stores = {WORDS: NoVectors(), MAPPED: MappedVectors(), CHROMA: ChromaVectors()}


def stores_of(settings: Settings) -> Stores:
    """The stores by name, that of RAG_VECTORS last; raises ConfigError or MissingResource."""
    place = settings.vectors.get_secret_value()
    if place in STORES:
        return {**{name: store for name, store in STORES.items() if name != place}, place: STORES[place]}
    if place.startswith(MILVUS_SCHEME) or place.endswith(FILE):
        from .milvus import Milvus

        return {**STORES, MILVUS: Milvus(place.removeprefix(MILVUS_SCHEME))}
    from .chroma_server import ChromaServer  # with httpx, which a search by words does without

    return {**STORES, SERVER: ChromaServer(place)}


def words_only(stores: Stores) -> Stores:
    """The same stores, but new generations get no vectors."""
    return {**{name: store for name, store in stores.items() if name != WORDS}, WORDS: stores[WORDS]}


def chosen(stores: Stores) -> str:
    """The name of the store for new generations."""
    return list(stores)[-1]


def drop_others(stores: Stores, folder: Path, generations: Iterable[str]) -> None:
    """Drop an index's collections but for `generations` from every store; raises StorageError."""
    if not has_collections(folder):
        return
    kept = {collection_name(folder / one) for one in generations}
    ours = f"{owner(folder)}-"
    for store in stores.values():
        store.drop(lambda name: name.startswith(ours) and name not in kept)
