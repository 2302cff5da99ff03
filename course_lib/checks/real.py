"""Vectors of real users and films for the checks: factors of the embedded data set."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .. import datasets


@lru_cache(maxsize=4)
def film_factors(rank: int, core: int = 10) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(users (m, rank), films (n, rank), pairs (M, 2), counts (n,)): truncated SVD of MovieTweetings' 0/1 matrix.

    Both tables carry the square roots of the singular values, so that users @ films.T is the best approximation of that
    rank. Every user and film of the core has at least `core` pairs. The signs make each film column's sum positive.
    """
    data = datasets.load("movietweetings", min_rating=7, core=core)
    table = np.zeros((data.n_users, data.n_items))
    table[data.users, data.items] = 1.0
    left, values, right = np.linalg.svd(table, full_matrices=False)
    signs = np.where(right[:rank].sum(axis=1) < 0, -1.0, 1.0)
    root = np.sqrt(values[:rank]) * signs
    return (
        left[:, :rank] * root,
        right[:rank].T * root,
        np.stack([data.users, data.items], axis=1),
        np.asarray(data.col_counts),
    )
