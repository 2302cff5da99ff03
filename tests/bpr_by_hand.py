"""A small world for BPR, written out by hand: what the tests of P1's statements share.

Formulas are written out here as the paper prints them, and never taken from `course_lib`: where the library states the
same, a test compares the two. Exact arithmetic wherever a statement is exact. `Y` holds the labels of m users and n
items; a step of BPR draws for each positive pair (u, i) one item j that u does not have, uniformly, unless a test says
otherwise.
"""

import itertools
from fractions import Fraction as F
from functools import cache

import numpy as np
import torch

from course_lib.arrays import exact
from course_lib.interactions import Interactions
from course_lib.papers import value

# ---- a small world

Y = np.array(
    [[1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0], [1, 0, 0, 0, 1, 0]]
)  # m = 4 users, n = 6 items
M_, N_ = Y.shape
POP, HAS = Y.sum(axis=0), Y.sum(axis=1)


def whole(rows, width, seed):
    """A table of whole numbers from -3 to 3 without 0, as fractions."""
    return exact(np.random.default_rng(seed).choice([-3, -2, -1, 1, 2, 3], size=(rows, width)))


USERS, ITEMS = whole(M_, 3, 1), whole(N_, 3, 2)
TABLES = USERS.astype(float), ITEMS.astype(float)
DATA = Interactions(*np.nonzero(Y), n_users=M_, n_items=N_)


def triples(labels=Y):
    """All (u, i, j) with i a positive of u and j none, and the probability of j given (u, i)."""
    for u, row in enumerate(labels):
        free = np.flatnonzero(row == 0)
        for i, j in itertools.product(np.flatnonzero(row), free):
            yield u, i, j, F(1, len(free))


def cosine(x, y):
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))


def sigmoid(x):
    return 1 / (1 + np.exp(-np.asarray(x, dtype=float)))


def margins(user, positives, negatives):
    """(p, q): s_i - s_j."""
    return (positives @ user)[:, None] - (negatives @ user)[None, :]


def bpr_gradient(user, positives, negatives):
    """(7): the mean over the pairs of w (e_j - e_i)."""
    w = sigmoid(-margins(user, positives, negatives))
    return (w.mean(axis=0) @ negatives) / len(negatives) - (w.mean(axis=1) @ positives) / len(positives)


def e_pop(items, counts, ratio=0.05):
    """(4)."""
    size = max(1, round(ratio * len(counts)))
    order = np.argsort(-np.asarray(counts), kind="stable")
    difference = items[order[:size]].mean(axis=0) - items[order[-size:]].mean(axis=0)
    return difference / np.linalg.norm(difference)


# ---- small models, really trained


def zipf_labels(m=40, n=50, seed=0):
    rng = np.random.default_rng(seed)
    p = 1 / np.arange(1, n + 1) ** 0.8
    labels = np.zeros((m, n), dtype=bool)
    for u in range(m):
        labels[u, rng.choice(n, rng.integers(5, 12), replace=False, p=p / p.sum())] = True
    return labels


def two_tastes(m=40, n=50, seed=0):
    """Two halves of the users like two halves of the items;
    within its half each item is as popular as any other, up to chance.
    """
    rng = np.random.default_rng(seed)
    labels = np.zeros((m, n), dtype=bool)
    for u in range(m):
        labels[u, u % 2 * n // 2 + rng.choice(n // 2, 8, replace=False)] = True
    return labels


@cache
def trained(data, optimiser="sgd", layers=0, decay=0.0, steps=150, d=12, seed=0):
    """(users, items, labels) after full-gradient BPR of the expected loss, from a start whose items have mean 0 and
    spread 0.1.
    """
    labels = {"zipf": zipf_labels, "tastes": two_tastes}[data]()
    m, n = labels.shape
    E = torch.randn(m + n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 0.1
    E[m:] -= E[m:].mean(dim=0)
    E.requires_grad_()
    A = np.block([[np.zeros((m, m)), labels], [labels.T, np.zeros((n, n))]])
    scale = np.maximum(A.sum(axis=1), 1) ** -0.5
    A, liked = torch.tensor(scale[:, None] * A * scale), torch.tensor(labels)
    per_triple = (liked[:, :, None] & ~liked[:, None, :]) / (n - liked.sum(dim=1))[:, None, None] / liked.sum()
    optimiser = torch.optim.SGD([E], lr=40.0) if optimiser == "sgd" else torch.optim.Adam([E], lr=0.02)

    def embeddings():
        layer, total = E, E
        for _ in range(layers):
            layer = A @ layer  # (2)
            total = total + layer
        return (total / (layers + 1)).split((m, n))

    for _ in range(steps):
        left, right = embeddings()
        scores = left @ right.T
        loss = (torch.nn.functional.softplus(scores[:, None, :] - scores[:, :, None]) * per_triple).sum()
        optimiser.zero_grad()
        (loss + decay * E.square().sum()).backward()
        optimiser.step()
    with torch.no_grad():
        return *(x.numpy() for x in embeddings()), labels


# ---- Section 5: the tables


def rule(name, metric="MRR@10"):
    return value("P1", "T5", method=name, metric=metric)
