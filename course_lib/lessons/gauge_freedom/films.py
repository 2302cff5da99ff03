"""The films that the chapter's pages look at: one model, the same model in other gauges, and which films stay near.

The model is the exact minimum of the squared error over all pairs at width 16, so nothing in it is noise of training.
Neighbours are looked for among the films with at least 50 fans.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from course_lib import datasets, gauge, geometry
from course_lib.gauge.firmness import stretch_within
from course_lib.interactions import Interactions
from course_lib.training.objectives import closed_form

WIDTH, FANS, TOP = 16, 50, 10
SPREAD, GAUGES, PICKED = 1.5, 100, 55  # the random gauges of the chapter, and the one that moves the neighbours most


@lru_cache(maxsize=1)
def data() -> Interactions:
    """Ratings of 7 and more on MovieTweetings; every person and every film has at least five."""
    return datasets.load("movietweetings", min_rating=7, core=5)


@lru_cache(maxsize=1)
def model() -> tuple[np.ndarray, np.ndarray]:
    """(people (m, 16), films (n, 16)): the least squared error over all pairs, in the balanced gauge."""
    people, movies = closed_form("unbiased", data(), WIDTH)
    return np.asarray(people), np.asarray(movies)


@lru_cache(maxsize=1)
def shown() -> np.ndarray:
    """(s,): ids of the films with at least 50 fans."""
    return np.flatnonzero(data().col_counts >= FANS)


def nearest(rows: np.ndarray) -> np.ndarray:
    """(s, 10): the ten nearest by cosine among the s best-known films, as positions in `shown`; rows (n, k)."""
    found: np.ndarray = gauge.neighbours(rows[shown()], TOP)
    return found


@lru_cache(maxsize=1)
def _of_the_model() -> np.ndarray:
    return nearest(model()[1])


def kept(rows: np.ndarray) -> np.ndarray:
    """(s,): share of the ten nearest of each film in `model` that are still so in the table rows (n, k)."""
    return gauge.neighbour_overlap(_of_the_model(), nearest(rows))


def chance() -> float:
    """The share that two random lists of ten have in common."""
    return TOP / (len(shown()) - 1)


def stretch(seed: int, *, spread: float = SPREAD) -> np.ndarray:
    """d (16,): a random diagonal gauge, log d normal with mean 0 and this standard deviation."""
    return gauge.random_diagonal_gauge(WIDTH, spread=spread, rng=np.random.default_rng(seed))


@lru_cache(maxsize=GAUGES)
def stretched(seed: int) -> np.ndarray:
    """(n, 16): the films of `model` in the gauge of `stretch(seed)`."""
    rows: np.ndarray = gauge.apply_gauge(*model(), stretch(seed))[1]
    return rows


class Nearly(NamedTuple):
    """The gauge that lengths notice least, as large as a variation of the lengths allows.

    margin: of `gauge.weakest_direction`; lengths: standard deviation of the lengths of the moved rows; rows (n, k): the
    moved rows divided by their lengths; kept: mean share of the ten nearest that stay, over all rows.
    """

    margin: float
    lengths: float
    rows: np.ndarray
    kept: float


def nearly_kept(rows: np.ndarray, changes: Sequence[float]) -> list[Nearly]:
    """For each change the gauge of `stretch_within` on unit rows (n, k).

    Raises ValueError for rows that are not of length 1 and for changes that are not positive.
    """
    if not gauge.is_on_sphere(rows):
        raise ValueError("rows: expected rows of length 1; divide them by their lengths first")
    weakest = gauge.weakest_direction(rows)
    before, found = gauge.neighbours(rows, TOP), []
    for change in changes:
        moved = rows @ stretch_within(weakest, change)
        unit = np.asarray(geometry.normalise(moved))
        stay = gauge.neighbour_overlap(before, gauge.neighbours(unit, TOP)).mean()
        found.append(Nearly(weakest[0], float(geometry.norm(moved).std()), unit, float(stay)))
    return found


def random_unit_rows(n: int, seed: Any) -> np.ndarray:
    """(n, 16): random rows of length 1."""
    return np.asarray(geometry.normalise(np.random.default_rng(seed).standard_normal((n, WIDTH))))
