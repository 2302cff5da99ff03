"""P3-X1: on which data does the in-batch loss find more than the unbiased one?

P3 sees it on EUR-Lex, documents with labels, which is not at hand. Here the square loss is minimised at one width on
data of four kinds:

made-5 ... made-50     rows of 40 groups; each row carries 5 labels of the 5 ... 50 that fit its group, drawn by weights
                       1, 1/2, 1/3, ...: with 5 a row carries every label that fits, with 50 a tenth of them
wikispeedia-topics     articles and their categories, towers that see the links of an article, tested on new articles
wikispeedia-nested     the same, where an article carries the categories above its own as well
ratings, plays         people and the films that they like or the artists that they hear, tested on hidden pairs

What the division by popularity costs is measured without any model (`votes`): the rows most like a row vote for its
labels, and P@1 is taken once by the share of the votes, once by the share divided by the label's count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypedDict

import numpy as np
import torch
from numpy.random import Generator
from scipy.optimize import minimize
from scipy.sparse import csr_array, diags_array, hstack

from course_lib import datasets
from course_lib.arrays import Array
from course_lib.experiments.core.data import drop_untrained, from_files
from course_lib.experiments.core.provenance import describe_data
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, means, part, tidy
from course_lib.in_batch import batch_size_from_ratio
from course_lib.interactions import Interactions
from course_lib.metrics import evaluate, metrics_from_ranking
from course_lib.training import objectives

RUNS = (("unbiased", None), ("in_batch", 1e-5), ("in_batch", 1e-3), ("pos_neg", 1e-3))  # loss and batch ratio
GROUPS, ROWS, CARRIED = 40, 800, 5
FITTING = (5, 6, 8, 10, 20, 50)  # labels that fit a row of the made data
RATED: dict[str, dict[str, Any]] = {
    "movietweetings-10core": {"name": "movietweetings", "core": 10},
    "lastfm-10core": {"name": "lastfm-hetrec", "core": 10},
    "ml-100k": {"name": "ml-100k"},
}
TOPICS = {"wikispeedia-topics": False, "wikispeedia-nested": True}  # with the categories above?
NEIGHBOURS, NEW_SHARE, CUTOFFS = 20, 0.2, (1, 5)


class ReversalCell(TypedDict):
    """All losses on one data set, split and started from one seed."""

    data: str
    k: int
    iterations: int
    seed: int


@dataclass(frozen=True)
class Task:
    """Rows to learn from and rows to ask about.

    train: their labels; features (m, f): what the left tower sees of them; asked (q, f): the same of the rows to ask
    about; known, test: their labels that are known and those that are hidden, both of shape (q, n). Where the tower is
    a table of its own for each row, the features are the labels of the row, which only `votes` looks at.
    """

    train: Interactions
    features: csr_array
    asked: csr_array
    known: Interactions
    test: Interactions
    lookup: bool


def made(fitting: int, rng: Generator) -> Interactions:
    """ROWS rows of GROUPS groups; each carries CARRIED of the `fitting` labels of its group.

    The b-th group has a share of the rows proportional to b^-1/2, and its j-th label is drawn, without replacement,
    with the weight 1/j. Labels are numbered in random order, so that no tie is broken by popularity.
    """
    shares = np.arange(1, GROUPS + 1) ** -0.5
    group = rng.choice(GROUPS, ROWS, p=shares / shares.sum())
    keys = rng.gumbel(size=(ROWS, fitting)) - np.log(np.arange(1, fitting + 1))  # the largest keys: such a draw
    carried = np.argsort(-keys, axis=1)[:, :CARRIED]
    number = rng.permutation(GROUPS * fitting).reshape(GROUPS, fitting)
    labels = number[group[:, None], carried]
    rows = np.repeat(np.arange(ROWS), CARRIED)
    return Interactions(rows, labels.ravel(), n_users=ROWS, n_items=GROUPS * fitting, name=f"made-{fitting}").compact()


@lru_cache(maxsize=2)
def articles(parents: bool) -> tuple[Interactions, csr_array]:
    """Articles of Wikispeedia with a category and a link: their categories, and their links as tf-idf rows (m, f).

    parents: an article about France carries Geography and Geography.European_Countries, not only the latter.
    """
    links = datasets.load("wikispeedia")
    tables = [table for table in (links.user_table, links.item_table) if table is not None]
    categories = {name: text for table in tables for name, text in zip(table["name"], table["categories"], strict=True)}
    names = sorted(name for name, text in categories.items() if text)
    number = {name: at for at, name in enumerate(names)}
    carried = {(at, label) for name, at in number.items() for label in _labels(categories[name], parents)}
    label_number = {label: at for at, label in enumerate(sorted({label for _, label in carried}))}
    pairs = np.array(sorted((at, label_number[label]) for at, label in carried))
    labels = Interactions(pairs[:, 0], pairs[:, 1], n_users=len(names), n_items=len(label_number), name="wikispeedia")
    ends = [(number.get(tables[0]["name"][i]), number.get(tables[1]["name"][j])) for i, j in links.pairs]
    known = np.array([(i, j) for i, j in ends if i is not None and j is not None])
    adjacent = csr_array((np.ones(len(known)), tuple(known.T)), shape=(len(names), len(names)))
    return labels, _unit(_tf_idf(csr_array(hstack([adjacent, adjacent.T]))))


def _labels(text: str, parents: bool) -> set[str]:
    """The categories of an article: "subject.A.B|subject.C" gives A.B and C, with parents A as well."""
    paths = [path.split(".")[1:] for path in text.split("|")]
    return {".".join(path[:depth]) for path in paths for depth in range(1 if parents else len(path), len(path) + 1)}


def _tf_idf(counts: csr_array) -> csr_array:
    rows = counts.shape[0]
    seen = (counts > 0).sum(axis=0)
    return csr_array(counts @ diags_array(np.log((1 + rows) / (1 + seen))))


def _unit(rows: csr_array) -> csr_array:
    """Every row divided by its length; an empty row stays empty."""
    lengths = np.sqrt(rows.power(2).sum(axis=1))
    return csr_array(diags_array(1 / np.where(lengths > 0, lengths, 1)) @ rows)


def task(data: str, seed: int) -> Task:
    """The split of a data set: hidden pairs of known rows, or, for the topics, new rows."""
    rng = np.random.default_rng(seed)
    if data in TOPICS:
        return _new_rows(*articles(TOPICS[data]), rng)
    whole = made(_fitting(data), rng) if data not in RATED else from_files(**RATED[data])
    train, test = drop_untrained(*whole.split_random(0.9, rng))
    rows = _unit(csr_array(train.matrix.astype(np.float64)))
    return Task(train, rows, rows, train, test, lookup=True)


def _fitting(data: str) -> int:
    known = [f"made-{fitting}" for fitting in FITTING]
    if data not in known:
        raise ValueError(f"data is {data!r}; expected one of {', '.join([*known, *TOPICS, *RATED])}")
    return int(data.removeprefix("made-"))


def _new_rows(labels: Interactions, features: csr_array, rng: Generator) -> Task:
    """A fifth of the rows is new; labels that no other row carries are left out."""
    shuffled = rng.permutation(labels.n_users)
    new = np.zeros(labels.n_users, dtype=bool)
    new[shuffled[: round(NEW_SHARE * len(new))]] = True
    of_new = new[labels.users]
    counts = np.bincount(labels.items[~of_new], minlength=labels.n_items)
    column = np.cumsum(counts > 0) - 1

    def half(chosen: Array, rows: Array) -> Interactions:
        row, wanted = np.cumsum(rows) - 1, chosen & (counts > 0)[labels.items]
        return Interactions(
            row[labels.users[wanted]],
            column[labels.items[wanted]],
            n_users=int(rows.sum()),
            n_items=int((counts > 0).sum()),
            name=labels.name,
        )

    train, test = half(~of_new, ~new), half(of_new, new)
    none = test.select(np.zeros(len(test), dtype=bool))
    return Task(train, features[~new], features[new], none, test, lookup=False)


def describe(cell: ReversalCell) -> dict[str, Any]:
    """Name, recipe, statistics and hash of a cell's data; the made data has its seed in the recipe."""
    name = cell["data"]
    if name in TOPICS:
        return describe_data(name, {"name": "wikispeedia", "parents": TOPICS[name]}, articles(TOPICS[name])[0])
    if name in RATED:
        return describe_data(name, RATED[name], from_files(**RATED[name]))
    recipe = {"fitting": _fitting(name), "seed": cell["seed"]}
    return describe_data(name, recipe, made(recipe["fitting"], np.random.default_rng(cell["seed"])))


# ------------------------------------------------------------------------------------------------ what the models find


def trained(asked: Task, kind: str, ratio: float | None, cell: ReversalCell) -> tuple[Array, Array]:
    """(vectors of the rows to ask about (q, k), of the labels (n, k)): L-BFGS of at most `iterations` steps.

    A table for each row: the unbiased loss in closed form, the others by `objectives.minimise`. Towers on features:
    the left vectors are features @ W, and W and the right vectors are searched for.
    """
    train, k = asked.train, cell["k"]
    if asked.lookup and kind == "unbiased":
        return objectives.closed_form(kind, train, k)
    size = None if ratio is None else batch_size_from_ratio(ratio, len(train))
    data = objectives.full_data(kind, train, batch_size=size)
    rng = np.random.default_rng([cell["seed"], 1])
    shape = train.shape if asked.lookup else (asked.features.shape[1], train.n_items)
    start = objectives.random_start(shape, k, rng, 0.1 if asked.lookup else 0.3)
    if asked.lookup:
        fit = objectives.minimise("square", data, start, max_iterations=cell["iterations"])
        return fit.users, fit.items
    weights, items = _on_features(asked.features, data, start, cell["iterations"])
    return asked.asked @ weights, items


def _on_features(
    features: csr_array, data: objectives.FullData, start: tuple[Array, Array], iterations: int
) -> tuple[Array, Array]:
    """(W (f, k), V (n, k)) after L-BFGS on the objective of U = features W; V is scaled as in `minimise`."""
    f, k = start[0].shape
    root = data.col_weight.sqrt().numpy()[:, None]
    scale = features.shape[0] * len(root)  # the objective is a mean over all pairs

    def value_and_gradient(theta: Array) -> tuple[float, Array]:
        table = theta.reshape(-1, k)
        users, items = features @ table[:f], table[f:] / root
        value, du, dv = objectives.square_gradient(torch.from_numpy(users), torch.from_numpy(items), data)
        gradient = np.concatenate([features.T @ du.numpy(), dv.numpy() / root])
        return scale * value, scale * gradient.ravel()

    options = {"maxiter": iterations, "maxcor": 10, "ftol": 0.0, "gtol": 0.0}
    theta = np.concatenate([start[0], start[1] * root]).ravel()
    found = minimize(value_and_gradient, theta, jac=True, method="L-BFGS-B", options=options).x.reshape(-1, k)
    return found[:f], found[f:] / root


def found_by(score: Callable[[Array], Array], asked: Task, block: int = 500) -> float:
    """P@1 in percent of a ranking; score: rows to ask about (b,) -> scores of the labels (b, n)."""
    seen, best = asked.known.matrix, np.empty((asked.test.n_users, 1), dtype=np.int64)
    for begin in range(0, len(best), block):
        rows = np.arange(begin, min(begin + block, len(best)))
        scores = np.where(seen[rows].toarray() > 0, -np.inf, score(rows))
        best[rows, 0] = scores.argmax(axis=1)
    return 100 * float(metrics_from_ranking(best, asked.test, (1,))["precision@1"])


def votes(asked: Task) -> dict[str, float]:
    """P@1 of the labels of the NEIGHBOURS most similar rows: by their share of the votes, and by share / count.

    Similar is the cosine of the features; a row is no neighbour of itself.
    """
    labels, counts = asked.train.matrix.astype(np.float64), np.asarray(asked.train.col_counts, dtype=np.float64)

    def share(rows: Array) -> Array:
        alike = (asked.asked[rows] @ asked.features.T).toarray()
        if asked.lookup:
            alike[np.arange(len(rows)), rows] = -1
        near = np.argpartition(-alike, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
        picked = csr_array(
            (np.ones(near.size), near.ravel(), np.arange(0, near.size + 1, NEIGHBOURS)), shape=alike.shape
        )
        return np.asarray((picked @ labels).toarray()) / NEIGHBOURS

    whole, divided = found_by(share, asked), found_by(lambda rows: share(rows) / counts, asked)
    return {"vote": whole, "divided vote": divided, "kept": 100 * divided / whole}


# -------------------------------------------------------------------------------------------------- the experiment


def reversal_plan(scale: str, seeds: Seeds) -> list[ReversalCell]:
    """The made data at width 8 (and two more widths where a row carries all that fits), then the real data at 16."""
    small = [(f"made-{fitting}", 8, 300) for fitting in (FITTING if scale != "smoke" else (5, 20))]
    wider = [("made-5", k, 300) for k in (16, 48)]
    real = [*((name, 16, 100) for name in TOPICS), *((name, 16, 300) for name in RATED)]
    sets = small if scale == "smoke" else [*small, *wider, *real]
    return [
        {"data": data, "k": k, "iterations": iterations, "seed": seed} for data, k, iterations in sets for seed in seeds
    ]


def reversal_seconds(cell: ReversalCell) -> float:
    """A rough guess, on two cores."""
    return 1.0 * cell["k"] / 8 if cell["data"].startswith("made") else 20.0


def scalar_name(row: Row) -> str:
    """ "made-5-8-in-batch-1e-3-p1", "made-5-8-votes-kept" """
    ratio = [] if row["ratio"] is None else [f"{row['ratio']:.0e}".replace("e-0", "e-")]
    parts = [row["data"], str(row["k"]), row["loss"], *ratio, row["metric"]]
    return "-".join(parts).replace("_", "-").replace(" ", "-").replace("@", "").lower()


@experiment(
    "P3-X1",
    "data on which the unbiased loss finds less than the in-batch loss, and data on which it finds more",
    plan=reversal_plan,
    estimate=reversal_seconds,
    describe=describe,
    finish=lambda rows: means(rows, scalar_name),
    layout=shown("data", "k", "loss", "ratio", digits=1),
)
def reversal_cell(cell: ReversalCell) -> list[Row]:
    """P@1 and P@5 in percent of each loss at each batch ratio, and what the votes of similar rows find."""
    asked = task(cell["data"], cell["seed"])
    where = part(cell, "data k seed")
    rows = tidy({**where, "loss": "votes", "ratio": None}, votes(asked))
    for loss, ratio in RUNS:
        users, items = trained(asked, loss, ratio, cell)
        quality = evaluate(users, items, asked.known, asked.test, CUTOFFS)
        values = {f"P@{k}": 100 * quality[f"precision@{k}"] for k in CUTOFFS}
        rows += tidy({**where, "loss": loss, "ratio": ratio}, values)
    return rows
