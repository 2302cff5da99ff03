"""P3's experiments: Tables 3, 4, 5 and 6 and Figure 4, at smoke, laptop and full scale.

Data. ML-1M is P3's own. EUR-Lex has its role (sparse: a mean pair popularity of 115 against 12,641) played by
amazon-beauty where it cannot be had. P3's Table 3 counts rows and columns of the training part, so each training split
is compacted: users and items without a training pair leave both parts (Assumption E.1).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from course_lib import datasets, paper_tables
from course_lib.experiments import objectives
from course_lib.experiments.provenance import describe_data
from course_lib.experiments.registry import Cell, experiment
from course_lib.experiments.results import Row
from course_lib.in_batch import balance, batch_size_from_ratio
from course_lib.interactions import Interactions
from course_lib.metrics import evaluate

RATIOS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
CUTOFFS = (1, 5, 25)
RECIPES: dict[str, dict[str, Any]] = {
    "movietweetings-10core": {"name": "movietweetings", "core": 10},
    "ml-100k": {"name": "ml-100k", "min_rating": 4},
    "ml-1m": {"name": "ml-1m", "min_rating": 4},
    "amazon-beauty": {"name": "amazon-beauty"},
    "amazon-beauty-5core": {"name": "amazon-beauty", "core": 5},
    "eurlex": {"name": "eurlex"},
}
TRAIN_SHARE = 0.9


@lru_cache(maxsize=2)
def load_data(name: str) -> Interactions:
    """One of RECIPES, with its empty rows and columns dropped."""
    if name not in RECIPES:
        raise ValueError(f"data {name!r} is no recipe of P3's experiments; expected one of {', '.join(RECIPES)}")
    return datasets.load(**RECIPES[name]).compact()


@lru_cache(maxsize=2)
def load_split(name: str, seed: int) -> tuple[Interactions, Interactions]:
    """(train, test): a random 90 % split; users and items without a training pair are dropped from both."""
    train, test = load_data(name).split_random(TRAIN_SHARE, np.random.default_rng(seed))
    return drop_untrained(train, test)


def drop_untrained(train: Interactions, test: Interactions) -> tuple[Interactions, Interactions]:
    """Both parts on the users and items that have a training pair, relabelled alike."""
    rows, cols = train.row_counts > 0, train.col_counts > 0
    kept = rows[test.users] & cols[test.items]
    new_row, new_col = np.cumsum(rows) - 1, np.cumsum(cols) - 1
    smaller = train.compact()
    size = {"n_users": smaller.n_users, "n_items": smaller.n_items, "name": test.name}
    return smaller, Interactions(new_row[test.users[kept]], new_col[test.items[kept]], **size)


def describe(cell: Cell) -> dict[str, Any]:
    return describe_data(cell["data"], RECIPES[cell["data"]], load_data(cell["data"]))


def quality(users: np.ndarray, items: np.ndarray, train: Interactions, test: Interactions) -> dict[str, float]:
    """P3's six numbers in percent: {"P@1": ..., "R@25": ...}."""
    found = evaluate(users, items, train, test, CUTOFFS)
    return {f"{letter}@{k}": 100 * found[f"{name}@{k}"] for letter, name in (("P", "precision"), ("R", "recall")) for k in CUTOFFS}


def paper_value(table: str, **where: Any) -> float | None:
    """P3's printed number for these coordinates, or None where it prints none."""
    found = paper_tables.select(paper_tables.table("P3", table), **where)
    return found[0]["value"] if len(found) == 1 else None


# ------------------------------------------------------------------------------------------------ Table 6: full gradient


def table6_plan(scale: str, seeds: tuple[int, ...], *, data: str | None = None, device: str = "cpu") -> list[Cell]:
    """Unbiased and Pos-Neg at 0.1 of every seed first, then the rest; square before logistic."""
    sets = {
        "smoke": [("movietweetings-10core", "square", 32), ("movietweetings-10core", "logistic", 32)],
        "laptop": [("ml-1m", "square", 64), ("amazon-beauty", "square", 64), ("ml-100k", "logistic", 64), ("ml-1m", "logistic", 64)],
        "full": [("ml-1m", "square", 64), ("ml-1m", "logistic", 64), ("eurlex", "square", 64), ("eurlex", "logistic", 64)],
    }[scale]
    first = [("unbiased", None), ("pos_neg_omega", 0.1)]
    ratios = RATIOS if scale != "smoke" else (1e-3, 1e-1)
    grid = [("popularity", None), *((loss, ratio) for loss in ("pos_neg_omega", "in_batch_omega") for ratio in reversed(ratios))]
    order = [*first, *(cell for cell in grid if cell not in first)]
    cells = [
        {"data": name, "pointwise": pointwise, "method": "L-BFGS", "loss": loss, "ratio": ratio, "k": k, "seed": seed}
        for name, pointwise, k in sets
        if data in (None, name)
        for part in (order[:2], order[2:])
        for seed in seeds
        for loss, ratio in part
    ]
    closed = [
        {**cell, "method": "closed form"}
        for cell in cells
        if cell["pointwise"] == "square" and cell["loss"] in ("unbiased", "popularity")
    ]
    return [{**cell, "device": device} for cell in [*closed, *cells]]


def table6_seconds(cell: Cell) -> float:
    if cell["method"] == "closed form":
        return 3.0
    per_set = {"movietweetings-10core": 4.0, "ml-100k": 40.0, "ml-1m": 40.0, "amazon-beauty": 150.0}
    slower = 25.0 if cell["pointwise"] == "logistic" and cell["data"] == "ml-1m" else 1.0
    return slower * per_set.get(cell["data"], 300.0)


def table6_scalars(rows: list[Row]) -> dict[str, float]:
    """Means over seeds under names such as "ml-1m-square-unbiased-p5"."""
    groups: dict[str, list[float]] = {}
    for row in rows:
        if row["metric"] == "P@5":
            ratio = "" if row["ratio"] is None else f"-{row['ratio']:.0e}".replace("e-0", "e-")
            name = f"{row['data']}-{row['pointwise']}-{row['loss']}{ratio}"
            name += "-closed-form" if row["method"] == "closed form" else ""
            name += "" if row["serving"] == "raw" else "-times-popularity"
            groups.setdefault(f"{name}-p5".replace("_", "-"), []).append(row["value"])
    return {name: float(np.mean(values)) for name, values in groups.items()}


@experiment(
    "P3-T6",
    "full gradient: L-BFGS to a gradient norm of 1e-7, omega in place of the batch ratio",
    paper="P3",
    plan=table6_plan,
    estimate=table6_seconds,
    describe=describe,
    finish=table6_scalars,
    layout={"rows": ("data", "pointwise", "loss", "ratio", "method", "serving"), "columns": ("metric",)},
    version=2,
)
def table6_cell(cell: Cell) -> list[Row]:
    """One objective on one split, minimised from one random start; start: normal entries of deviation 0.1."""
    train, test = load_split(cell["data"], cell["seed"])
    kind = {"in_batch_omega": "in_batch", "pos_neg_omega": "pos_neg"}.get(cell["loss"], cell["loss"])
    size = batch_size_from_ratio(cell["ratio"], len(train)) if cell["ratio"] else None
    where = {key: cell[key] for key in ("data", "pointwise", "loss", "ratio", "method", "k", "seed")}
    where["omega"] = balance(size, len(train)) if size else None
    if cell["method"] == "closed form":
        users, items = objectives.closed_form(cell["loss"], train, cell["k"])
        value, _, _ = objectives.square_objective(*map(_tensor, (users, items)), objectives.full_data(kind, train))
        extra = {"objective": value}
    else:
        data = objectives.full_data(kind, train, batch_size=size, device=cell["device"])
        start = objectives.random_start(train.shape, cell["k"], np.random.default_rng([cell["seed"], 1]), 0.1)
        fit = objectives.minimise(cell["pointwise"], data, start)
        users, items = fit.users, fit.items
        extra = {"objective": fit.value, "gradient norm": fit.gradient_norm, "iterations": fit.iterations}
        where["stopped"] = fit.stopped
    printed = {key: cell[key] for key in ("loss", "ratio", "pointwise")} | {"dataset": cell["data"]}
    rows = [
        {**where, "serving": serving, "metric": metric, "value": value, "paper": paper_value("T6", metric=metric, **printed)}
        for serving, served in servings(kind, items, train).items()
        for metric, value in quality(users, served, train, test).items()
    ]
    for row in rows:
        if row["serving"] != "raw":
            del row["paper"]  # the paper ranks by the raw score
    return rows + [{**where, "serving": "raw", "metric": name, "value": value} for name, value in extra.items()]


def servings(kind: str, items: np.ndarray, train: Interactions) -> dict[str, np.ndarray]:
    """How scores are ranked: raw, and for the losses that divide popularity out also multiplied by the item's count (X19)."""
    if kind not in ("popularity", "in_batch"):
        return {"raw": items}
    return {"raw": items, "times popularity": items * np.asarray(train.col_counts, dtype=items.dtype)[:, None]}


def _tensor(array: np.ndarray):
    import torch

    return torch.as_tensor(array)
