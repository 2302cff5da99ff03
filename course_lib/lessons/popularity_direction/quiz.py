"""What is right in the quiz "popularity-direction": a function for each question, {answer id: is it right?}.

The numbers of the questions stand here once more, on purpose: the test compares them with what the file marks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import torch
from scipy import stats

from course_lib import backbones, popularity
from course_lib.popularity import TripleLaw

ITEMS, WIDTH, RATIO = 240, 16, 0.05  # of the question "null"
USERS, FANS = 2000, 20  # of the question "mean-user": one user in a hundred


def conserved() -> dict[str, bool]:
    """MF itself, with every triple of a small skewed table in each step."""
    labels = _skewed(30, 12)
    start = _model(labels)[1]
    sums = {}
    for name, optimiser, lr in (("sgd", torch.optim.SGD, 2.0), ("adam", torch.optim.Adam, 0.05)):
        _, items = _model(labels, optimiser, lr, steps=60)
        sums[name] = np.abs(items.sum(0) - start.sum(0)).max()
    _, items = _model(labels, steps=60, centred=True)
    head = labels.sum(0) >= np.sort(labels.sum(0))[-3]
    moved = np.abs(items[head].sum(0) - _model(labels, centred=True)[1][head].sum(0)).max()
    apart = [_cosine(items[row == 1].mean(0), items[row == 0].mean(0)) for row in labels]
    unseen = np.mean(
        [items[row == 0].mean(0) @ popularity.popularity_direction(items, labels.sum(0), 0.25) for row in labels]
    )
    return {
        "sum": bool(sums["sgd"] < 1e-12),
        "head": bool(moved < 1e-6),
        "opposite": bool(np.allclose(apart, -1)),
        "aligned": bool(unseen > 0),
        "adam": bool(sums["adam"] < 1e-6),
    }


def null() -> dict[str, bool]:
    """The exact law of `popularity.double_dipping_law`, its draws, and the cross-fitted measure of random vectors."""
    law = popularity.double_dipping_law
    counts = _power_law(ITEMS)
    rng = np.random.default_rng(0)
    drawn = popularity.double_dipping_draws(counts, WIDTH, RATIO, size=2000, rng=rng)
    least = stats.t.isf(0.025, ITEMS - 2)
    significant = np.abs(drawn) > least / np.sqrt(ITEMS - 2 + least**2)
    crossed = [
        popularity.cross_fitted_correlation(rng.normal(size=(ITEMS, WIDTH)), counts, RATIO, rng=rng) for _ in range(200)
    ]
    return {
        "zero": abs(law(counts, WIDTH, RATIO).mean) < 0.02,
        "width": law(counts, 4 * WIDTH, RATIO).mean > law(counts, WIDTH, RATIO).mean,
        "more": law(np.repeat(counts, 10), WIDTH, RATIO).mean > law(counts, WIDTH, RATIO).mean,
        "halves": abs(np.mean(crossed)) < 4 * np.std(crossed) / np.sqrt(len(crossed)),
        "significant": bool(significant.mean() < 0.1),
    }


def first_axis() -> dict[str, bool]:
    """Two tastes with nearly flat counts: the singular vectors of the pull matrix, and MF from a small start."""
    labels = _two_tastes()
    pull = popularity.pull_matrix(labels, TripleLaw())
    axis = _top_right(pull)
    taste, counts = np.repeat([1.0, -1.0], labels.shape[1] // 2), labels.sum(0)
    items = _model(labels, steps=60, scale=1e-3)[1]
    grown = np.linalg.svd(items - items.mean(0))[0][:, 0]
    skewed = _skewed(60, 24)
    along = {
        law: abs(
            popularity.pearson(_top_right(popularity.pull_matrix(skewed, TripleLaw(negatives=law))), skewed.sum(0))
        )
        for law in ("uniform", "popularity")
    }
    return {
        "taste": abs(popularity.pearson(axis, taste)) > 0.95 and abs(popularity.pearson(grown, taste)) > 0.95,
        "popularity": abs(popularity.pearson(grown, counts)) > 0.95,
        "data": abs(_cosine(axis, grown)) > 0.99,
        "law": bool(abs(along["uniform"] - along["popularity"]) < 0.05),
    }


def mean_user() -> dict[str, bool]:
    """The mean cosine over many draws of the users and of one item's fans among them."""
    rng = np.random.default_rng(1)
    cosines = []
    for _ in range(60):
        users = rng.normal(size=(USERS, 64))
        cosines.append(_cosine(users[rng.choice(USERS, FANS, replace=False)].mean(0), users.mean(0)))
    answers = {"one": 1.0, "tenth": 0.1, "hundredth": 0.01, "half": 0.5}
    nearest = min(answers, key=lambda name: abs(answers[name] - np.mean(cosines)))
    return {name: name == nearest for name in answers}


def pushed() -> dict[str, bool]:
    """Expected positives and negatives of a skewed table, and the pull of an item's first pass along the mean user."""
    labels = _skewed(60, 24)
    counts = labels.sum(0)
    positives, negatives = popularity.expected_roles(labels, TripleLaw())
    below = positives < negatives
    return {
        "below": bool(((counts < counts.mean()) == below).mean() > 0.9 and below.sum() > len(counts) / 2),
        "none": not below.any(),
        "never": bool((below == (counts == 0)).all()),
        "equal": bool(np.isclose(positives.sum(), negatives.sum())),
        "all": bool(below.all()),
    }


# ---- small worlds


def _power_law(n: int) -> np.ndarray:
    """(n,) counts of a power law, from 10 to some hundreds."""
    return np.round(10 + 300 / (1 + np.arange(n)) ** 0.8)


@functools.cache
def _skewed(m: int, n: int) -> np.ndarray:
    """(m, n) labels: item k is liked with a probability that falls with k, everybody has some items and lacks some."""
    rng = np.random.default_rng(3)
    labels = (rng.random((m, n)) < 0.9 / (1 + np.arange(n)) ** 0.6).astype(float)
    labels[np.arange(m), rng.integers(n, size=m)] = 1
    labels[:, -1] = 0
    labels[0, -1] = 1
    return labels


@functools.cache
def _two_tastes() -> np.ndarray:
    """(40, 20) labels: each half of the users likes 9 of the 10 items of its own half, so that counts hardly differ."""
    rng = np.random.default_rng(5)
    labels = np.kron(np.eye(2), np.ones((20, 10)))
    for user, row in enumerate(labels):
        row[rng.integers(10) + 10 * (user // 20)] = 0
    return labels


def _model(
    labels: np.ndarray,
    optimiser: Callable[..., torch.optim.Optimizer] = torch.optim.SGD,
    lr: float = 2.0,
    *,
    steps: int = 0,
    scale: float = 0.1,
    centred: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """MF with BPR on all triples at once: (users, items), in float64, after so many steps.

    centred: the items start with sum zero.
    """
    (m, n), generator = labels.shape, torch.Generator().manual_seed(0)
    model = backbones.MF(m, n, 6, scale=scale, generator=generator).double()
    with torch.no_grad():
        model.items.sub_(model.items.mean(0) * centred)
    triples = [
        (u, i, j) for u, row in enumerate(labels) for i in np.flatnonzero(row == 1) for j in np.flatnonzero(row == 0)
    ]
    columns = [torch.tensor(column) for column in zip(*triples, strict=True)]
    chosen = optimiser(model.parameters(), lr=lr)
    for _ in range(steps):
        chosen.zero_grad()
        torch.autograd.backward(model.loss(*columns))
        chosen.step()
    return model.users.detach().numpy().copy(), model.items.detach().numpy().copy()


def _top_right(matrix: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.svd(matrix)[2][0])


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))
