"""Vectors of real users and films for the checks: factors of the embedded data set, and what BPR makes of it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from course_lib import datasets
from course_lib.interactions import Interactions, sample_negatives


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


@lru_cache(maxsize=8)
def bpr_films(
    epochs: int, rank: int, *, share: float = 1.0, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, Interactions, Interactions | None]:
    """(users (m, rank), films (n, rank), train, test): matrix factorisation of MovieTweetings by BPR.

    Every user and film has at least 10 pairs before the split; train holds `share` of them, test the rest (None at 1).
    Both tables start as N(0, 0.1^2). Plain SGD without decay: lr 0.05 for each pair, 256 pairs at a time, one negative
    for each pair and epoch, uniform over the films that the user does not have in train.
    """
    data = datasets.load("movietweetings", min_rating=7, core=10)
    train, test = data.split_random(share, np.random.default_rng([seed, 0])) if share < 1 else (data, None)
    rng = np.random.default_rng([seed, 1])
    users, items = (0.1 * rng.normal(size=(rows, rank)) for rows in (train.n_users, train.n_items))
    for _ in range(epochs):
        order = rng.permutation(len(train))
        negatives = sample_negatives(train, train.users[order], rng)
        for start in range(0, len(order), 256):
            at = order[start : start + 256]
            u, i, j = train.users[at], train.items[at], negatives[start : start + 256]
            user, difference = users[u], items[i] - items[j]
            push = 0.05 * np.exp(-np.logaddexp(0.0, (user * difference).sum(axis=1)))[:, None]
            np.add.at(users, u, push * difference)
            np.add.at(items, i, push * user)
            np.subtract.at(items, j, push * user)
    return users, items, train, test
