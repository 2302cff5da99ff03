"""P2's experiments. The paper prints none; these measure on film ratings what its theorems are about.

P2-X1  How far can cosine neighbours move while every prediction stays? Random, adversarial and chosen gauges.
P2-X2  Train two towers on the sphere, with dot products, from an unbalanced start, and with weight decay: do two starts
       agree?
P2-X3  The two objectives of Steck, Ekanadham and Kallus: closed forms, their gauges, and what an optimiser finds.

The embeddings of X1 are the exact optimum of the square loss over all pairs (a truncated SVD), so nothing in it is
noise of training. Neighbours are looked for among films with at least `min_count` positives; `chance` is the overlap of
two random lists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TypedDict

import numpy as np
import torch
from numpy.random import Generator
from torch import Tensor

from course_lib import checking, gauge
from course_lib.arrays import Array
from course_lib.experiments.core.data import Recipes
from course_lib.experiments.core.machine import threads_for
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, means, part, tidy
from course_lib.interactions import Interactions, epoch_batches
from course_lib.losses import cosine_scores, dot_scores, infonce
from course_lib.training import resumable
from course_lib.training.objectives import closed_form

RECIPES = Recipes(
    "P2",
    {
        "movietweetings-10core": {"name": "movietweetings", "min_rating": 7, "core": 10},
        "movietweetings-5core": {"name": "movietweetings", "min_rating": 7, "core": 5},
        "ml-1m-5core": {"name": "ml-1m", "min_rating": 4, "core": 5},
    },
)
load_data, describe = RECIPES.load, RECIPES.describe
SETS = {"smoke": ("movietweetings-5core",), "laptop": ("movietweetings-5core", "ml-1m-5core"), "full": ("ml-1m-5core",)}
MIN_COUNT = {"movietweetings-10core": 20, "movietweetings-5core": 20, "ml-1m-5core": 50}
SPREADS = {"smoke": (0.25, 1.0, 2.0), "laptop": (0.25, 0.5, 1.0, 2.0, 3.0), "full": (0.1, 0.25, 0.5, 1.0, 2.0, 3.0)}
TOP = 10


class GaugeCell(TypedDict):
    """P2-X1: one kind of gauge on the optimum of rank k."""

    data: str
    k: int
    draws: int
    seed: int
    gauge: str
    spread: float


class TowersShape(TypedDict):
    """What `train_towers` needs to know."""

    model: str
    k: int
    epochs: int
    batch: int
    seed: int


class TowersCell(TowersShape):
    """P2-X2: several runs of one model."""

    data: str
    runs: int


class SteckCell(TypedDict):
    """P2-X3: one of the two objectives at one decay."""

    data: str
    objective: str
    k: int
    decay: float
    max_steps: int
    seed: int


Tables = tuple[Array, Array]


def shown_items(data: Interactions, min_count: int) -> Array:
    """Ids of the items with at least `min_count` positives: (s,)."""
    ids = np.flatnonzero(data.col_counts >= min_count)
    if len(ids) <= TOP:
        raise ValueError(f"only {len(ids)} items have {min_count} positives or more; expected more than {TOP}")
    return ids


def genre_agreement(data: Interactions, ids: Array, found: Array) -> float:
    """The mean over items of `genre_agreements`."""
    return float(genre_agreements(data, ids, found).mean())


def genre_agreements(data: Interactions, ids: Array, found: Array) -> Array:
    """(s,) mean over an item's neighbours of |genres in common| / |genres of either|: an outside view of similarity.

    ids (s,) items; found (s, k) positions in `ids` of the neighbours of each. Genres stand in
    data.item_table["genres"].
    """
    words = [set(text.split("|")) for text in data.item_table["genres"][ids]]
    names = sorted(set().union(*words))
    has = np.array([[name in own for name in names] for own in words], dtype=float)  # (s, genres)
    common = has @ has.T
    either = has.sum(1)[:, None] + has.sum(1)[None, :] - common
    shares: Array = (common / either)[np.arange(len(ids))[:, None], found].mean(axis=1)
    return shares


def largest_difference(first: Tables, second: Tables) -> float:
    """max over all m n pairs of |<a, b> - <a', b'>|, block by block."""
    (A, B), (new_A, new_B) = first, second
    size = max(1, 2**22 // len(B))
    blocks = [slice(at, at + size) for at in range(0, len(A), size)]
    return float(max(np.abs(A[rows] @ B.T - new_A[rows] @ new_B.T).max() for rows in blocks))


# ----------------------------------------------------------------------------------------------------- X1: gauges


def x1_plan(scale: str, seeds: Seeds) -> list[GaugeCell]:
    """Every kind of gauge at every spread of the scale."""
    ranks = {"smoke": (16,), "laptop": (16, 64), "full": (16, 64, 128)}[scale]
    draws = {"smoke": 3, "laptop": 5, "full": 50}[scale]
    kinds = [("none", 0.0), ("score rows", 0.0), ("chosen", 2.0)]
    kinds += [(kind, spread) for spread in SPREADS[scale] for kind in ("diagonal", "linear", "worst diagonal")]
    return [
        {"data": data, "k": k, "draws": draws, "seed": seed, "gauge": kind, "spread": spread}
        for data in SETS[scale]
        for k in ranks
        for seed in seeds
        for kind, spread in kinds
    ]


def x1_seconds(cell: GaugeCell) -> float:
    """A rough guess, on one core."""
    return (0.2 if "movietweetings" in cell["data"] else 6.0) * (4 if cell["gauge"] == "worst diagonal" else 1)


def scalar_name(row: Row, *keys: str) -> str:
    """The name of a scalar: the values of these keys and the metric, such as "...-linear-2-overlap"."""
    parts = (f"{row[key]:g}" if isinstance(row[key], float) else str(row[key]) for key in (*keys, "metric"))
    return "-".join(parts).replace(" ", "-")


def x1_scalars(rows: list[Row]) -> dict[str, float]:
    """Overlap at each gauge and spread: means over seeds; of the difference of any prediction the largest."""

    def name(row: Row) -> str:
        return scalar_name({**row, "k": f"k{row['k']}"}, "data", "k", "gauge", "spread").replace(".", "_").lower()

    found = means(rows, name)
    worst: dict[str, float] = {}
    for row in rows:
        if row["metric"].endswith("difference"):
            worst[name(row)] = max(row["value"], worst.get(name(row), row["value"]))
    return found | worst


@experiment(
    "P2-X1",
    "how far cosine neighbours move while every prediction stays",
    plan=x1_plan,
    estimate=x1_seconds,
    describe=describe,
    finish=x1_scalars,
    layout=shown("data", "k", "gauge", "spread", digits=3, metrics=("overlap", "genres")),
)
def x1_cell(cell: GaugeCell) -> list[Row]:
    """Overlap of the top 10 with those of the balanced tables, agreement of genres, largest change of any prediction.

    gauge "none": the balanced tables themselves; "score rows": the gauge-free rows of `gauge.score_rows`; "diagonal",
    "linear": random, log d normal with standard deviation `spread`; "worst diagonal": all |log d| = spread, signs
    chosen by search to make the overlap small; "chosen": for each of `draws` random films, ten random films are made
    its nearest (stretch 10^spread).
    """
    data, rng = load_data(cell["data"]), np.random.default_rng([cell["seed"], cell["k"]])
    ids = shown_items(data, MIN_COUNT[cell["data"]])
    A, B = _optimum(cell["data"], cell["k"])
    before = gauge.neighbours(B[ids], TOP)
    if cell["gauge"] == "chosen":
        values = _chosen(A, B, ids, cell, rng)
    else:
        tables = list(_gauged(A, B, ids, before, cell, rng))
        found = [gauge.neighbours(new_B[ids], TOP) for _, new_B in tables]
        values = {
            "overlap": float(np.mean([gauge.neighbour_overlap(before, after).mean() for after in found])),
            "least overlap": float(min(gauge.neighbour_overlap(before, after).mean() for after in found)),
            "genres": float(np.mean([genre_agreement(data, ids, after) for after in found])),
            "chance": TOP / (len(ids) - 1),
        }
        if cell["gauge"] != "score rows":
            values["difference"] = max(largest_difference((A, B), new) for new in tables)
    return tidy(part(cell, "data k gauge spread seed draws"), values, items=len(ids))


@lru_cache(maxsize=2)
def _optimum(name: str, k: int) -> Tables:
    return closed_form("unbiased", load_data(name), k)


def _gauged(A: Array, B: Array, ids: Array, before: Array, cell: GaugeCell, rng: Generator) -> Iterator[Tables]:
    """The pairs of tables of one cell of X1."""
    k, spread = cell["k"], cell["spread"]
    if cell["gauge"] == "none":
        yield A, B
    elif cell["gauge"] == "score rows":
        yield A, gauge.score_rows(A, B)
    elif cell["gauge"] == "worst diagonal":
        worst = worst_diagonal_gauge(B[ids], before, spread=spread, starts=cell["draws"], rng=rng)
        yield gauge.apply_gauge(A, B, worst)
    else:
        for _ in range(cell["draws"]):
            if cell["gauge"] == "diagonal":
                yield gauge.apply_gauge(A, B, gauge.random_diagonal_gauge(k, spread=spread, rng=rng))
            else:
                R = gauge.random_linear_gauge(k, spread=spread, rng=rng, rows=B)
                yield gauge.apply_linear_gauge(A, B, R)


def worst_diagonal_gauge(
    B: Array, before: Array, *, spread: float, starts: int, rng: Generator, passes: int = 1
) -> Array:
    """d (k,) with |log d_l| = spread for all l that makes B D^-1 share few neighbours with `before`.

    The best of `starts` random choices of signs is improved by flipping one sign after the other, `passes` times. An
    upper bound of the least overlap, not the least itself. B (s, k), before (s, 10).
    """
    k = B.shape[1]

    def overlap(signs: Array) -> float:
        after = gauge.neighbours(B * np.exp(-spread * signs), before.shape[1])
        return float(gauge.neighbour_overlap(before, after).mean())

    tried = [rng.choice([-1.0, 1.0], k) for _ in range(starts)]
    values = [overlap(signs) for signs in tried]
    best, value = tried[int(np.argmin(values))].copy(), min(values)
    for axis in [*range(k)] * passes:
        flipped = best.copy()
        flipped[axis] *= -1
        if (new := overlap(flipped)) < value:
            best, value = flipped, new
    return np.exp(spread * best)


def _chosen(A: Array, B: Array, ids: Array, cell: GaugeCell, rng: Generator) -> dict[str, float]:
    """Ten random films made the nearest of a random film, `draws` times."""
    hits, differences = [], []
    for _ in range(cell["draws"]):
        query, *chosen = rng.choice(len(ids), TOP + 1, replace=False)
        R = gauge.gauge_for_neighbours(B[ids], query, chosen, stretch=10.0 ** cell["spread"])
        new_A, new_B = gauge.apply_linear_gauge(A, B, R)
        found = gauge.neighbours(new_B[ids], TOP, queries=[query])
        hits.append(gauge.neighbour_overlap(found, np.array([chosen]))[0])
        differences.append(largest_difference((A, B), (new_A, new_B)))
    return {"chosen found": float(np.mean(hits)), "difference": max(differences)}


# ------------------------------------------------------------------------------------------------- X2: the sphere

MODELS = ("sphere", "dot", "dot, unbalanced start", "dot and decay")


def x2_plan(scale: str, seeds: Seeds) -> list[TowersCell]:
    """Every model on every set; an epoch of ML-1M has 1,100 steps, one of MovieTweetings 86."""
    k = {"smoke": 16, "laptop": 32, "full": 64}[scale]
    epochs = {"laptop": {"movietweetings-5core": 15, "ml-1m-5core": 4}, "full": {"ml-1m-5core": 50}}.get(scale, {})
    return [
        {
            "data": data,
            "model": model,
            "k": k,
            "epochs": epochs.get(data, 5),
            "runs": 5 if scale == "full" else 2,
            "batch": 512,
            "seed": seed,
        }
        for data in (("movietweetings-10core",) if scale == "smoke" else SETS[scale])
        for model in MODELS
        for seed in seeds
    ]


@experiment(
    "P2-X2",
    "towers trained on the sphere and with dot products: do the neighbours of two starts agree?",
    plan=x2_plan,
    estimate=lambda cell: cell["runs"] * cell["epochs"] * (0.3 if "movietweetings" in cell["data"] else 6.0),
    describe=describe,
    finish=lambda rows: means(rows, lambda row: scalar_name(row, "data", "model").replace(",", "")),
    layout=shown("data", "model", digits=3),
)
def x2_cell(cell: TowersCell) -> list[Row]:
    """Trains `runs` times from different starts on the same stream of batches; means over all pairs of runs.

    overlap: of the top 10 by cosine between two starts; score rows: the same for the gauge-free rows, so what is
    missing there is not the gauge's doing; scores: correlation of the centred scores of two starts; gauged: overlap of
    a run with itself after a random linear gauge of spread 1; row lengths: what that gauge does to the lengths of the
    item rows (mean |ratio/median - 1|); linear dimension: of the gauges that keep the item rows' lengths.
    """
    data = load_data(cell["data"])
    ids = shown_items(data, MIN_COUNT[cell["data"]])
    with threads_for(data):
        tables = [train_towers(data, cell, start=[cell["seed"], run]) for run in range(cell["runs"])]
    pairs = [(a, b) for at, a in enumerate(tables) for b in tables[at + 1 :]]

    def near(A: Array, B: Array) -> Array:
        return gauge.neighbours(B[ids], TOP)

    def by_score(A: Array, B: Array) -> Array:
        return gauge.neighbours(gauge.score_rows(A, B)[ids], TOP)

    def overlap(lists: Callable[[Array, Array], Array], pairs: Iterable[tuple[Tables, Tables]]) -> float:
        return float(np.mean([gauge.neighbour_overlap(lists(*a), lists(*b)).mean() for a, b in pairs]))

    rng, k = np.random.default_rng(cell["seed"]), cell["k"]
    moved = [gauge.apply_linear_gauge(*table, gauge.random_linear_gauge(k, spread=1.0, rng=rng)) for table in tables]
    gauged = list(zip(tables, moved, strict=True))
    lengths = [np.linalg.norm(new[1], axis=1) / np.linalg.norm(old[1], axis=1) for old, new in gauged]
    values = {
        "overlap": overlap(near, pairs),
        "score rows": overlap(by_score, pairs),
        "scores": np.mean([_score_correlation(a, b) for a, b in pairs]),
        "gauged": overlap(near, gauged),
        "row lengths": np.mean([np.abs(ratio / np.median(ratio) - 1).mean() for ratio in lengths]),
        "linear dimension": np.mean([gauge.linear_gauge_dimension(B) for _, B in tables]),
        "genres": np.mean([genre_agreement(data, ids, near(*table)) for table in tables]),
        "chance": TOP / (len(ids) - 1),
    }
    return tidy(part(cell, "data model k seed"), values)


@resumable.once
def train_towers(
    data: Interactions, cell: TowersShape, start: list[int], *, lr: float = 0.02, decay: float = 0.1
) -> Tables:
    """Two lookup tables after in-batch softmax training with Adam: users (m, k), items (n, k), float64.

    model "sphere": both rows divided by their lengths inside the loss, temperature 0.3, and the unit rows are returned;
    "dot": dot products at temperature 1; "dot, unbalanced start": the same, and the start is put in a random diagonal
    gauge of spread 2; "dot and decay": plus `decay` times the mean squared length of the batch's rows. The rate falls
    from lr to 0 like a cosine.
    """
    checking.choice(cell["model"], "model", MODELS)
    rng, sphere = np.random.default_rng(start), cell["model"] == "sphere"
    A, B = (rng.standard_normal((rows, cell["k"])) / math.sqrt(cell["k"]) for rows in data.shape)
    if cell["model"] == "dot, unbalanced start":
        A, B = gauge.apply_gauge(A, B, gauge.random_diagonal_gauge(cell["k"], spread=2.0, rng=rng))
    tables = [torch.tensor(table, dtype=torch.float32, requires_grad=True) for table in (A, B)]
    optimiser = torch.optim.Adam(tables, lr=lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, cell["epochs"])
    stream = np.random.default_rng(cell["seed"])  # the same batches for every start
    users_of, items_of = torch.tensor(data.users), torch.tensor(data.items)
    for _ in resumable.steps(range(cell["epochs"]), *tables, optimiser, schedule, stream):
        for places in epoch_batches(data, cell["batch"], stream, drop_last=True):
            at = torch.from_numpy(places)
            users, items = tables[0][users_of[at]], tables[1][items_of[at]]
            scores, tau = (cosine_scores(users, items), 0.3) if sphere else (dot_scores(users, items), 1.0)
            loss = infonce(scores, tau=tau)
            if cell["model"] == "dot and decay":
                loss = loss + decay * ((users**2).sum() + (items**2).sum()) / len(at)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        schedule.step()
    left, right = (table.detach().double().numpy() for table in tables)
    if sphere:
        left, right = (table / np.linalg.norm(table, axis=1, keepdims=True) for table in (left, right))
    return left, right


def _score_correlation(first: Tables, second: Tables, rows: int = 500) -> float:
    """Correlation of two models' scores on `rows` users.

    Each user's mean is taken off, because a softmax over items does not see it.
    """
    at = np.linspace(0, len(first[0]) - 1, min(rows, len(first[0]))).astype(int)
    left, right = (A[at] @ B.T for A, B in (first, second))
    left, right = (scores - scores.mean(1, keepdims=True) for scores in (left, right))
    return float(np.corrcoef(left.ravel(), right.ravel())[0, 1])


# --------------------------------------------------------------------------------------------- X3: two objectives


def x3_plan(scale: str, seeds: Seeds) -> list[SteckCell]:
    """Both objectives at every decay of the scale."""
    decays = {"smoke": (10.0,), "laptop": (3.0, 10.0), "full": (0.1, 1.0, 3.0, 10.0)}[scale]
    k, steps = {"smoke": (8, 400), "laptop": (16, 800), "full": (50, 10000)}[scale]
    return [
        {"data": data, "objective": objective, "k": k, "decay": decay, "max_steps": steps, "seed": seed}
        for data in SETS[scale]
        for objective in ("first", "second")
        for decay in decays
        for seed in seeds
    ]


@experiment(
    "P2-X3",
    "Steck et al.'s two objectives: closed forms, gauges, and two random starts",
    plan=x3_plan,
    estimate=lambda cell: 4.0 if "movietweetings" in cell["data"] else 120.0,
    describe=describe,
    finish=lambda rows: means(rows, lambda row: scalar_name(row, "data", "objective", "decay").replace(".", "_")),
    layout=shown("data", "objective", "decay", digits=3),
)
def x3_cell(cell: SteckCell) -> list[Row]:
    """One objective at one decay, on the 0/1 matrix X (m, s) of the films with `min_count` positives or more.

    gradient: its norm at the closed form, relative to ||X||^2; gauge: relative growth of the objective under a random
    linear gauge of spread 0.5; rotation: under a random rotation; excess: of the worse of two L-BFGS runs from random
    (and randomly gauged) starts over the closed form, relative; product: relative distance of their A B^T from the
    closed form's (the larger); overlap: of the two runs' top 10 by cosine of B's rows; score rows: the same for the
    gauge-free rows.
    """
    data, rng = load_data(cell["data"]), np.random.default_rng(cell["seed"])
    X = data.matrix.astype(np.float64)[:, shown_items(data, MIN_COUNT[cell["data"]])]
    gram = torch.tensor((X.T @ X).toarray())  # ||X - X W||^2 = tr G - 2 <G, W> + <W, G W>: only X^T X is needed
    which, decay, k = cell["objective"], cell["decay"], cell["k"]
    closed = steck_from_gram(gram.numpy(), which, k=k, decay=decay)

    def value(A: Array, B: Array) -> float:
        return float(steck_loss(gram, torch.as_tensor(A), torch.as_tensor(B), which, decay))

    best, size = value(*closed), float(gram.trace())
    left, right = (torch.tensor(table, requires_grad=True) for table in closed)
    slopes = torch.autograd.grad(steck_loss(gram, left, right, which, decay), (left, right))
    R, Q = gauge.random_linear_gauge(k, spread=0.5, rng=rng), np.linalg.qr(rng.standard_normal((k, k)))[0]
    found = [minimise_steck(gram, which, k=k, decay=decay, max_steps=cell["max_steps"], rng=rng) for _ in range(2)]
    near = [gauge.neighbours(B, TOP) for _, B in found]
    root = _root(gram.numpy())
    by_score = [gauge.neighbours(gauge.score_rows(root @ A, B), TOP) for A, B in found]  # the scores are X A B^T
    product = closed[0] @ closed[1].T
    values = {
        "gradient": math.sqrt(sum(float((slope**2).sum()) for slope in slopes)) / size,
        "gauge": value(*gauge.apply_linear_gauge(*closed, R)) / best - 1,
        "rotation": value(closed[0] @ Q, closed[1] @ Q) / best - 1,
        "excess": max(value(*tables) for tables in found) / best - 1,
        "product": max(float(np.linalg.norm(A @ B.T - product) / np.linalg.norm(product)) for A, B in found),
        "overlap": float(gauge.neighbour_overlap(near[0], near[1]).mean()),
        "score rows": float(gauge.neighbour_overlap(by_score[0], by_score[1]).mean()),
        "chance": TOP / (len(gram) - 1),
    }
    return tidy(part(cell, "data objective decay k seed"), values)


def steck_from_gram(gram: Array, which: str, *, k: int, decay: float) -> Tables:
    """`gauge.steck_first` or `steck_second` for every X with X^T X = gram (n, n).

    X = gram^(1/2) has the same minimisers.
    """
    solve = gauge.steck_first if which == "first" else gauge.steck_second
    users, items = solve(_root(gram), k=k, decay=decay)
    return users, items


def _root(gram: Array, power: float = 0.5) -> Array:
    """gram^power of a symmetric positive definite matrix (n, n)."""
    values, vectors = np.linalg.eigh(gram)
    return (vectors * np.maximum(values, 1e-12 * values[-1]) ** power) @ vectors.T


def steck_loss(gram: Tensor, A: Tensor, B: Tensor, which: str, decay: float) -> Tensor:
    """`gauge.steck_objectives` from G = X^T X alone.

    For W = A B^T, ||X - X W||^2 = tr G - 2 <G, W> + <W, G W>; ||X A||^2 = <A, G A>.
    """
    towers, square = gram @ A, B.T @ B  # (n, k), (k, k)
    fit = gram.trace() - 2 * (towers * B).sum() + ((A.T @ towers) * square).sum()
    if which == "first":
        return fit + decay * ((A.T @ A) * square).sum()
    return fit + decay * ((A * towers).sum() + (B**2).sum())


def minimise_steck(gram: Tensor | Array, which: str, *, k: int, decay: float, max_steps: int, rng: Generator) -> Tables:
    """(A, B), float64, after at most `max_steps` L-BFGS steps from a random start.

    The start lies in a random diagonal gauge of spread 1. The search is for P = G^(1/2) A in place of A, in which the
    problem is well conditioned: ||X A|| = ||P||.
    """
    n, gram = len(gram), torch.as_tensor(gram)
    inverse = torch.tensor(_root(gram.numpy(), -0.5))
    first, second = (rng.standard_normal((n, k)) / math.sqrt(n) for _ in range(2))
    start = gauge.apply_gauge(first, second, gauge.random_diagonal_gauge(k, spread=1.0, rng=rng))
    P, B = (torch.tensor(table, requires_grad=True) for table in start)
    optimiser: torch.optim.Optimizer = torch.optim.LBFGS(
        [P, B],
        max_iter=max_steps,
        history_size=20,
        line_search_fn="strong_wolfe",
        tolerance_grad=1e-9,
        tolerance_change=1e-14,
    )

    def closure() -> float:
        optimiser.zero_grad()
        loss = steck_loss(gram, inverse @ P, B, which, decay)
        torch.autograd.backward(loss)
        return float(loss.detach())

    optimiser.step(closure)
    return (inverse @ P).detach().numpy(), B.detach().numpy()
