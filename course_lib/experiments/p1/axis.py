"""P1-X2: the axis that data and law of triples give before any training, and what chance gives, on every data set.

The pull matrix M (`popularity.pull_matrix`) of a large data set is never written out: it is sparse, scaled rows and
columns of Y, less a matrix of rank one. `pull_operator` multiplies with it, and ARPACK finds its largest singular
vectors.
"""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np
from scipy.sparse.linalg import LinearOperator, svds

from course_lib import popularity
from course_lib.arrays import Array
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, means, part, tidy
from course_lib.experiments.p1.data import describe, load_split
from course_lib.experiments.p1.measures import RATIO
from course_lib.experiments.p1.models import WIDTH
from course_lib.interactions import NEGATIVE_LAWS, Interactions, TripleLaw
from course_lib.popularity import LIBRARY_LAWS
from course_lib.training.bpr import LAWS, bpr_epoch

AXES = 3  # singular vectors that are looked at
HEAD = 1 / 20  # an item that more than this part of the users has belongs to the head
EPOCHS, RATE, START = 20, 0.05, 0.03  # of the MF that is trained by plain SGD, where `bpr_epoch` knows the law
TRAINED = {law: name for name, law in NEGATIVE_LAWS.items() if name in LAWS}
DATA = {
    "smoke": ("movietweetings-10core",),
    "laptop": ("lastfm-10core", "ml-1m-10core", "citeulike-10core", "gowalla-10core"),
    "full": ("lastfm-10core", "ml-1m-10core", "citeulike-10core", "gowalla-10core", "ml-20m-10core"),
}
SHOWN = ("first axis", "one side", "headless", "spread", "chance", "trained r", "widest", "share")


class AxisCell(TypedDict):
    """A library's law of triples on the training part of a data set."""

    data: str
    law: str
    seed: int


def pull_operator(interactions: Interactions, law: TripleLaw) -> LinearOperator:
    """M of `popularity.pull_matrix` as products with vectors: memory of Y, not of m x n.

    M = diag(plain) Y + diag(owned) Y diag(q) - pushed q', with the parts of `popularity.pull_parts`.
    """
    y = interactions.matrix.astype(np.float64)
    parts = popularity.pull_parts(y, law)
    owned = y.multiply(parts.owned[:, None]).multiply(parts.chance[None, :])
    sparse = y.multiply(parts.plain[:, None]).tocsr() + owned.tocsr()

    def forward(x: Array) -> Array:
        return sparse @ np.ravel(x) - parts.pushed * (parts.chance @ np.ravel(x))

    def backward(x: Array) -> Array:
        return sparse.T @ np.ravel(x) - parts.chance * (parts.pushed @ np.ravel(x))

    return LinearOperator(interactions.shape, matvec=forward, rmatvec=backward, dtype=np.float64)


def singular_axes(interactions: Interactions, law: TripleLaw, axes: int = AXES) -> tuple[Array, Array]:
    """(largest singular values (axes,), falling; right singular vectors (axes, n)) of the pull matrix."""
    start = np.random.default_rng(0).normal(size=min(interactions.shape))
    _, sizes, vectors = svds(pull_operator(interactions, law), k=axes, v0=start)
    order = np.argsort(-sizes)
    return sizes[order], vectors[order]


def axis_plan(scale: str, seeds: Seeds, *, data: str | None = None, device: str = "cpu") -> list[AxisCell]:
    """Six libraries' laws on every data set; the training part of the split of P1's tables."""
    sets = (data,) if data else DATA[scale]
    return [{"data": name, "law": law, "seed": seed} for name in sets for law in LIBRARY_LAWS for seed in seeds]


@experiment(
    "P1-X2",
    "the axis before training: first singular vector of the pull matrix against popularity, "
    "under six libraries' laws of triples",
    plan=axis_plan,
    estimate=lambda cell: 1.0,
    describe=describe,
    finish=lambda rows: means(rows, lambda row: f"{row['data']}-{row['law']}-{row['metric']}"),
    layout=shown("data", "law", metrics=SHOWN),
)
def axis_cell(cell: AxisCell) -> list[Row]:
    """|Pearson| of the first two axes with the counts, s_1/s_2, items pushed, sd(Pos - Neg)/sd(Pop), r of noise.

    "one side" is the share of the users on the larger side of the first axis: along it they all rank items alike. Under
    the laws in TRAINED also the first axis without the head (`headless_axis`), and what MF has after EPOCHS passes of
    SGD: the cross-fitted r, |Pearson| of the widest direction of the items with the counts, and the share of their
    variance along e_pop.
    """
    train = load_split(cell["data"], cell["seed"]).train.compact()
    law = LIBRARY_LAWS[cell["law"]]
    counts = train.col_counts.astype(float)
    sizes, vectors = singular_axes(train, law)
    net, sides = drift(train, law), pull_operator(train, law) @ vectors[0]
    found: dict[str, Any] = {
        "first axis": abs(popularity.pearson(vectors[0], counts)),
        "second axis": abs(popularity.pearson(vectors[1], counts)),
        "one side": max((sides > 0).mean(), (sides < 0).mean()),
        "speed": sizes[0] / sizes[1],
        "pushed": float((net < 0).mean()),
        "spread": net.std() / counts.std(),
        "chance": popularity.double_dipping_law(counts, WIDTH, RATIO).mean,
    }
    if law in TRAINED:
        rng = np.random.default_rng(cell["seed"])
        found |= {"headless": headless_axis(train, law)} | trained_axis(train, TRAINED[law], rng)
    return tidy(part(cell, "data law seed"), found)


def headless_axis(train: Interactions, law: TripleLaw) -> float:
    """|Pearson| of the first axis with the counts after the items of more than HEAD of the users are left out."""
    rest = train.select((train.col_counts <= HEAD * train.n_users)[train.items]).compact()
    _, vectors = singular_axes(rest, law)
    return float(abs(popularity.pearson(vectors[0], rest.col_counts.astype(float))))


def trained_axis(train: Interactions, negatives: str, rng: np.random.Generator) -> dict[str, float]:
    """What is left of the first axis when MF has been trained: see `axis_cell`."""
    users, items = (rng.normal(scale=START, size=(rows, WIDTH)) for rows in train.shape)
    for _ in range(EPOCHS):
        bpr_epoch(users, items, train, lr=RATE, rng=rng, negatives=negatives)
    counts, centred = train.col_counts.astype(float), items - items.mean(0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    along = centred @ popularity.popularity_direction(items, counts, RATIO)
    return {
        "trained r": popularity.cross_fitted_correlation(items, counts, RATIO, rng=rng),
        "widest": abs(popularity.pearson(left[:, 0], counts)),
        "share": float(along @ along / (sizes @ sizes)),
    }


def drift(interactions: Interactions, law: TripleLaw) -> Array:
    """(n,) expected positives minus negatives of each item: the column sums of M."""
    return pull_operator(interactions, law).rmatvec(np.ones(interactions.n_users))
