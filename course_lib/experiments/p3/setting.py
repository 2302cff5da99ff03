"""What P3's tables share: data, batch ratios, the six numbers, and how scores are ranked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from course_lib import papers
from course_lib.arrays import Array
from course_lib.experiments.core.data import Recipes
from course_lib.interactions import Interactions
from course_lib.metrics import evaluate

RATIOS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
CUTOFFS = (1, 5, 25)
METRIC_NAMES = tuple(f"{letter}@{k}" for letter in "PR" for k in CUTOFFS)
RECIPES = Recipes(
    "P3",
    {
        "movietweetings-10core": {"name": "movietweetings", "core": 10},
        "ml-100k": {"name": "ml-100k", "min_rating": 4},
        "ml-1m": {"name": "ml-1m", "min_rating": 4},
        "amazon-beauty": {"name": "amazon-beauty"},
        "amazon-beauty-5core": {"name": "amazon-beauty", "core": 5},
        "eurlex": {"name": "eurlex"},
    },
)
load_data, load_split, describe = RECIPES.load, RECIPES.split, RECIPES.describe
Tables = tuple[Array, Array]
FULL_SETS = ("ml-1m", "amazon-beauty-5core")


def sets(scale: str, laptop: Iterable[tuple[str, str, int]]) -> Iterable[tuple[str, str, int]]:
    """(data, point-wise loss, width) of a scale; a table says itself what a laptop can do."""
    small = [("movietweetings-10core", pointwise, 32) for pointwise in ("square", "logistic")]
    full = [(name, pointwise, 64) for name in FULL_SETS for pointwise in ("square", "logistic")]
    return {"smoke": small, "laptop": laptop, "full": full}[scale]


def quality(users: Array, items: Array, train: Interactions, test: Interactions) -> dict[str, float]:
    """P3's six numbers in percent: {"P@1": ..., "R@25": ...}."""
    found, names = evaluate(users, items, train, test, CUTOFFS), {"P": "precision", "R": "recall"}
    return {f"{letter}@{k}": 100 * found[f"{names[letter]}@{k}"] for letter in "PR" for k in CUTOFFS}


def paper_value(table: str, **where: Any) -> float | None:
    """P3's printed number for these coordinates, or None where it prints none."""
    found = papers.select(papers.table("P3", table), **where)
    return float(found[0]["value"]) if len(found) == 1 else None


def servings(kind: str, pointwise: str, users: Array, items: Array, train: Interactions) -> dict[str, Tables]:
    """How scores are ranked: {name: (users, items)}: raw, and for the losses with the popularity weight also corrected.

    Square loss: "times popularity", the score times the item's count c_j (claim X19). Logistic loss: "plus log
    popularity", the score plus log c_j, because the optimum of a positive-weighted logit is lowered by log(rho pop)
    (claim X4). Both undo the item's factor; the user's does not change their ranking.
    """
    raw = {"raw": (users, items)}
    if kind not in ("popularity", "in_batch"):
        return raw
    counts = np.asarray(train.col_counts, dtype=items.dtype)[:, None]
    if pointwise == "square":
        return raw | {"times popularity": (users, items * counts)}
    added = np.hstack([users, np.ones_like(users[:, :1])]), np.hstack([items, np.log(counts)])
    return raw | {"plus log popularity": added}
