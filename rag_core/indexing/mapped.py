"""Arrays and texts on disk that are mapped into memory: opening reads nothing, a lookup only what it touches."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray


def save_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write each array to a .npy file of its name."""
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def map_array(path: Path) -> NDArray[Any]:
    """A .npy file's array, read where it is touched. The file must not change while it is used, but may be deleted."""
    return np.asarray(np.load(path, mmap_mode="r"))


class MappedTexts(Sequence[str]):
    """Different texts in order, each found by its place, and a place by its text.

    Args:
        letters: the texts in UTF-8, one after the other.
        starts: (n + 1,) where each begins; the last is where all end.
        order: (n,) the places in the order of their texts' bytes.
    """

    def __init__(
        self, letters: NDArray[np.uint8], starts: NDArray[np.int64], order: NDArray[np.int32]
    ) -> None:
        # views of them, whose parts are Python's bytes and numbers: several times faster, one by one
        self._letters, self._starts, self._order = letters.data, starts.data, order.data

    @staticmethod
    def save(folder: Path, name: str, texts: Sequence[str]) -> None:
        """Write the texts to three files whose names begin with `name`."""
        written = [text.encode() for text in texts]
        places = np.array(sorted(range(len(written)), key=written.__getitem__), np.int32)
        starts = np.cumsum([0, *map(len, written)], dtype=np.int64)
        letters = np.frombuffer(b"".join(written), np.uint8)
        save_arrays(folder, {name: letters, f"{name}-starts": starts, f"{name}-order": places})

    @classmethod
    def load(cls, folder: Path, name: str) -> MappedTexts:
        return cls(*(map_array(folder / f"{name}{part}.npy") for part in ("", "-starts", "-order")))

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[one] for one in range(len(self))[place]]
        return self._bytes(range(len(self))[place]).decode()

    def __iter__(self) -> Iterator[str]:
        letters, ends = self._letters.tobytes(), self._starts.tolist()
        for start, end in pairwise(ends):
            yield letters[start:end].decode()

    def get(self, text: object, otherwise: int | None = None) -> int | None:
        """The place of a text; `otherwise` for one that is not here."""
        if not isinstance(text, str):
            return otherwise
        sought = text.encode()
        found = bisect_left(self._order, sought, key=self._bytes)
        if found == len(self._order) or self._bytes(self._order[found]) != sought:
            return otherwise
        return int(self._order[found])

    def _bytes(self, place: int) -> bytes:
        return self._letters[self._starts[place] : self._starts[place + 1]].tobytes()
