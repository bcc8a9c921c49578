"""A corpus's vectors in two dimensions, by principal component analysis, with queries among them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..values.types import Passage, Query, Vectors
from .lab import Lab

Plane = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PlacedPassage:
    """A passage, its place in the plane, and its cosine to the first query (None without queries)."""

    passage: Passage
    x: float
    y: float
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class PlacedQuery:
    """A query and its place in the plane."""

    query: Query
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class VectorMap:
    """Passages and queries in the plane of the passages' first two principal components.

    `shares` are of the passages' variance along either axis, 0 to 1; `dimensions` is that of the vectors.
    """

    passages: tuple[PlacedPassage, ...]
    queries: tuple[PlacedQuery, ...]
    shares: tuple[float, float]
    dimensions: int


def principal_plane(vectors: Vectors) -> tuple[Plane, Plane, tuple[float, float]]:
    """The mean (d,), the first two principal axes (2, d), and the share of variance along either.

    Principal component analysis (Pearson 1901; Jolliffe 2002, section 3.5): the right singular vectors of the
    centred (n, d) matrix with the largest singular values. Each axis points to where its largest component is
    positive, so that the plane is the same in every run. Axes that the vectors do not span are zero.
    """
    matrix = np.asarray(vectors, np.float64)
    mean = matrix.mean(axis=0)
    _, singular, axes = np.linalg.svd(matrix - mean, full_matrices=False)
    variances = singular**2
    total = float(variances.sum())
    plane = np.zeros((2, matrix.shape[1]))
    shares = [0.0, 0.0]
    for place in range(min(2, len(singular))):
        share = float(variances[place]) / total if total else 0.0
        if share > np.finfo(np.float32).eps:
            axis = axes[place]
            plane[place] = axis * np.sign(axis[np.argmax(np.abs(axis))])
            shares[place] = share
    return mean, plane, (shares[0], shares[1])


def vector_map(lab: Lab, queries: Sequence[Query] = ()) -> VectorMap:
    """The passages of a corpus, and queries embedded as the dense search embeds them, in one plane.

    Queries that a provider would bill are left out. Raises IndexDamaged if the vectors cannot be read.
    """
    index, embedder = lab.index, lab.engines.embedder
    ids = sorted(index.passages)
    vectors = index.vectors(ids)
    if not ids:
        return VectorMap((), (), (0.0, 0.0), vectors.shape[1])
    mean, plane, shares = principal_plane(vectors)
    asked = list(queries) if embedder.local else []
    embedded = np.array([_embedded(lab, query) for query in asked]).reshape(len(asked), vectors.shape[1])
    places = (vectors - mean) @ plane.T
    cosines = vectors @ embedded[0] if asked else None
    return VectorMap(
        tuple(
            PlacedPassage(
                index.passages[identity], float(x), float(y), None if cosines is None else float(cosines[row])
            )
            for row, (identity, (x, y)) in enumerate(zip(ids, places, strict=True))
        ),
        tuple(
            PlacedQuery(query, float(x), float(y))
            for query, (x, y) in zip(asked, (embedded - mean) @ plane.T, strict=True)
        ),
        shares,
        vectors.shape[1],
    )


def _embedded(lab: Lab, query: Query) -> Plane:
    """The (d,) vector that the dense search uses: of the text, or the normalised mean of HyDE's passages."""
    embedder = lab.engines.embedder
    vectors = (
        embedder.embed(query.passages, "passage")[0] if query.passages else embedder.embed([query.text])[0]
    )
    if query.passages and query.question_text:
        vectors = np.vstack([vectors, embedder.embed([query.question_text])[0]])
    mean: Plane = vectors.astype(np.float64).mean(axis=0)
    mean /= max(float(np.linalg.norm(mean)), 1e-12)
    return mean
