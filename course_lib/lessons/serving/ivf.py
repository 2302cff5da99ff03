"""The index that the chapter writes from scratch: k-means, a list for each cell, and a search in a few cells.

In the space of inner products the centroids have length 1, as faiss makes them, so that a cell is a set of directions.
With one more coordinate the centroids are plain means, and a query looks into the cells with the nearest of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib import checking, datasets, gauge, index
from course_lib.interactions import Interactions
from course_lib.training.on_pairs import cosine_tables

Table = NDArray[Any]
Ids = NDArray[np.int64]
QUARTERS = 4


class Cells(NamedTuple):
    """Centroids (C, d) in the space of a search, and the cell of each item (n,)."""

    space: str
    centroids: Table
    of: Ids


def fits(vectors: Table, centroids: Table, space: str) -> Table:
    """(.., C) how well vectors fit centroids: the inner product, less half the square where distances count."""
    products: Table = vectors @ centroids.T
    return products - (centroids**2).sum(axis=1) / 2 if space == "one more coordinate" else products


def k_means(items: Table, count: int, space: str, seed: int, rounds: int = 20) -> Cells:
    """`count` cells of items that are in the space of the search already."""
    checking.choice(space, "space", index.SPACES)
    checking.whole(count, "count", 1, len(items), why=f"as there are {len(items)} items")
    rng = np.random.default_rng(checking.whole(seed, "seed", 0))
    directions = space != "one more coordinate"
    centroids = unit(items[rng.choice(len(items), count, replace=False)], directions)
    for _ in range(rounds):
        of = fits(items, centroids, space).argmax(axis=1)
        for cell in np.unique(of):
            centroids[cell] = unit(items[of == cell].mean(axis=0), directions)
    return Cells(space, centroids, fits(items, centroids, space).argmax(axis=1))


def unit(rows: Table, wanted: bool = True) -> Table:
    """The rows, divided by their lengths where that is wanted."""
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True) if wanted else rows


def search(queries: Table, items: Table, cells: Cells, probes: int, k: int = 10) -> Ids:
    """(u, k) the best items of the cells that fit a query best, the best first; -1 where they hold fewer than `k`."""
    checking.whole(probes, "probes", 1, len(cells.centroids), why="the cells")
    checking.whole(k, "k", 1, len(items), why=f"as there are {len(items)} items")
    visited = np.argsort(-fits(queries, cells.centroids, cells.space), axis=1, kind="stable")[:, :probes]
    scores = fits(queries, items, cells.space)
    scores[~(cells.of == visited[:, :, None]).any(axis=1)] = -np.inf
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.where(np.isinf(np.take_along_axis(scores, best, axis=1)), -1, best)


def exact(queries: Table, items: Table, k: int = 10) -> Ids:
    """(u, k) the items with the largest inner products, the largest first."""
    checking.whole(k, "k", 1, len(items), why=f"as there are {len(items)} items")
    return np.argsort(-(queries @ items.T), axis=1, kind="stable")[:, :k]


def quarters(counts: Table) -> Ids:
    """The quarter of popularity of each item, 0 to 3: the most popular items that hold a quarter of the pairs are 0."""
    counts = checking.counts(counts)
    if not counts.any():
        raise ValueError("counts are all 0; expected at least one pair, to be cut into quarters")
    order = np.argsort(-counts, kind="stable")
    before = np.cumsum(counts[order]) - counts[order]
    group = np.empty(len(counts), dtype=np.int64)
    group[order] = np.minimum(QUARTERS * before / counts.sum(), QUARTERS - 1)
    return group


@lru_cache(maxsize=1)
def pairs() -> Interactions:
    """People and the films that they rated 7 or more, at least ten of each other."""
    return datasets.load("movietweetings", min_rating=7, core=10)


@lru_cache(maxsize=4)
def directions(width: int, seed: int = 0, passes: int = 20) -> tuple[Table, Table]:
    """People and films as directions, by the first chapter's training on cosines."""
    users, items = cosine_tables(pairs(), width=width, seed=seed, passes=passes)
    return unit(users.double().numpy()), unit(items.double().numpy())


def flat(axes: tuple[int, int] = (1, 2)) -> tuple[Table, Table]:
    """People and films as directions in the plane: two numbers of the 32 in the SVD gauge, the second and the third.

    A model that is trained with two numbers puts nearly all films into two opposite directions.
    """
    people, films = gauge.balance_tables(*directions(32))
    return unit(people[:, axes]), unit(films[:, axes])


def with_lengths(films: Table, power: float) -> Table:
    """The films with lengths of (count / largest count)^power."""
    counts = pairs().col_counts
    longer: Table = films * (counts[:, None] / counts.max()) ** power
    return longer


def arranged(people: Table, films: Table, space: str) -> tuple[Table, Table]:
    """The tables in the space of a search, in float64."""
    checking.choice(space, "space", index.SPACES)
    return index.one_more_coordinate(people, films) if space == "one more coordinate" else (people, films)
