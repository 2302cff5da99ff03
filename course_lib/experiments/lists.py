"""LISTS-X1: what lists without a model find, on the data and splits of most other experiments. No paper prints them.

A table that compares models by their lists is to be read beside these rows: the same list of hits for everybody, the
list of what was popular lately (where the data have times), and chance.
"""

from __future__ import annotations

from typing import NamedTuple, TypedDict

import numpy as np

from course_lib import metrics, popularity
from course_lib.experiments.core.data import Recipes, drop_untrained
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, means, part, tidy
from course_lib.interactions import Interactions
from course_lib.training.recommenders import split_811

RECIPES = Recipes(
    "the lists without a model",
    {
        "movietweetings-5core": {"name": "movietweetings", "min_rating": 7, "core": 5},
        "movietweetings-10core": {"name": "movietweetings", "core": 10},
        "ml-100k": {"name": "ml-100k", "min_rating": 4},
        "ml-1m": {"name": "ml-1m", "min_rating": 4},
        "ml-1m-5core": {"name": "ml-1m", "min_rating": 4, "core": 5},
        "ml-1m-10core": {"name": "ml-1m", "min_rating": 4, "core": 10},
        "ml-100k-ratings": {"name": "ml-100k", "min_rating": 1},
        "amazon-beauty-5core": {"name": "amazon-beauty", "core": 5},
        "lastfm-10core": {"name": "lastfm-hetrec", "core": 10},
        "gowalla-10core": {"name": "gowalla", "core": 10},
        "wikispeedia": {"name": "wikispeedia"},
    },
)
SPLITS = ("random 9:1", "random 8:1:1", "last tenth in time")
KNOWN_TOO = "random 8:1:1, validation known"  # P1: lists leave out what a user has in the validation part, too
KEPT = {"random 9:1, untrained kept": 0.9, "random 8:2, untrained kept": 0.8}  # P4: nothing is dropped
ONLY = {  # the splits of data that not every experiment uses
    "ml-1m-5core": (SPLITS[0], SPLITS[2]),
    "amazon-beauty-5core": (SPLITS[0],),
    "ml-100k-ratings": (list(KEPT)[1], SPLITS[2]),
}
MORE = dict.fromkeys(("movietweetings-10core", "ml-1m-10core", "lastfm-10core", "gowalla-10core"), (KNOWN_TOO,))
MORE |= {name: (*MORE.get(name, ()), next(iter(KEPT))) for name in ("movietweetings-10core", "wikispeedia")}
TIMES = {  # data with times
    *("movietweetings-5core", "movietweetings-10core", "ml-100k", "ml-1m", "ml-1m-5core", "ml-1m-10core"),
    "ml-100k-ratings",
}
LATELY = 0.1  # of the training pairs
CUTOFFS = (1, 5, 10, 25)
KNOWN = 2.0  # in place of a random number below 1: never drawn


class ListCell(TypedDict):
    """One kind of list on one split of a data set."""

    data: str
    split: str
    list: str
    seed: int


def plan(scale: str, seeds: Seeds, *, data: str | None = None) -> list[ListCell]:
    """Every list on every split; the split in time is one, so that only chance has seeds there."""
    small, laptop = ["movietweetings-10core"], [name for name in RECIPES.table if name != "gowalla-10core"]
    names = {"smoke": small, "laptop": laptop}
    cells = []
    for name in names.get(scale, list(RECIPES.table)) if data is None else [data]:
        for split in splits_of(name):
            kinds = ("most popular", *(("popular lately",) if name in TIMES else ()), "chance")
            in_time = split == SPLITS[2]
            cells += [
                ListCell(data=name, split=split, list=kind, seed=seed)
                for kind in kinds
                for seed in (seeds if kind == "chance" or not in_time else seeds[:1])
            ]
    return cells


def splits_of(name: str) -> tuple[str, ...]:
    """The splits of a data set."""
    return ONLY.get(name, (*(SPLITS if name in TIMES else SPLITS[:2]), *MORE.get(name, ())))


class Split(NamedTuple):
    """The pairs that the lists are made from, those that they leave out, and those that they are to find."""

    train: Interactions
    known: Interactions
    test: Interactions


def split_of(cell: ListCell) -> Split:
    """As the papers' experiments split, or with the last tenth in time as the test."""
    data, rng, name = RECIPES.load(cell["data"]), np.random.default_rng(cell["seed"]), cell["split"]
    if name in KEPT:
        train, test = data.split_random(KEPT[name], rng)
        return Split(train, train, test)
    if name in (SPLITS[1], KNOWN_TOO):
        train, valid, test = split_811(data, rng)
        return Split(train, train if name == SPLITS[1] else both(train, valid), test)
    train, test = RECIPES.split(cell["data"], cell["seed"]) if name == SPLITS[0] else in_time(data)
    return Split(train, train, test)


def in_time(data: Interactions) -> tuple[Interactions, Interactions]:
    """The last tenth in time as the test."""
    return drop_untrained(*data.split_by_time(0.9))


def both(one: Interactions, other: Interactions) -> Interactions:
    """The pairs of two parts of a split."""
    users, items = (np.concatenate(pair) for pair in ((one.users, other.users), (one.items, other.items)))
    return Interactions(users, items, n_users=one.n_users, n_items=one.n_items)


@experiment(
    "LISTS-X1",
    "lists without a model: most popular, popular lately, chance (ours)",
    plan=plan,
    estimate=lambda cell: 1.0,
    describe=RECIPES.describe,
    finish=lambda rows: means(
        rows, lambda row: f"{row['data']}-{row['split']}-{row['list']}-{row['metric']}".replace(" ", "-")
    ),
    layout=shown(
        "data", "split", "list", metrics=("recall@10", "ndcg@10", "mrr@10", "coverage@10", "mean count@10"), digits=3
    ),
)
def list_cell(cell: ListCell) -> list[Row]:
    """The metrics of the lists, the share of the items in any list, and the mean count of an item in a list."""
    train, known, test = split_of(cell)
    longest = max(CUTOFFS)
    if cell["list"] == "chance":
        lists = by_chance(known, longest, np.random.default_rng([cell["seed"], 1]))
    else:
        counts = metrics.popularity_scores(train, lately=LATELY if cell["list"] == "popular lately" else None)
        lists = metrics.top_k(np.ones((train.n_users, 1)), counts[:, None], known, longest)
    found = metrics.metrics_from_ranking(lists, test, CUTOFFS)
    values = {name: found[name] for name in found if "@" in name}
    ten = lists[np.flatnonzero(test.row_counts), :10]
    values["coverage@10"] = metrics.coverage(ten, train.n_items)
    values["mean count@10"] = popularity.average_popularity(ten, train.col_counts)
    return tidy(part(cell, "data split list seed"), values)


def by_chance(train: Interactions, k: int, rng: np.random.Generator) -> np.ndarray:
    """(m, k) for each user k of the items that they lack, in random order, -1 for none; a thousand users at a time."""
    found = np.full((train.n_users, k), -1, dtype=np.int64)
    k = min(k, train.n_items)
    for start in range(0, train.n_users, 1000):
        scores = rng.random((min(1000, train.n_users - start), train.n_items))
        known = train.matrix[start : start + len(scores)].nonzero()
        scores[known] = KNOWN
        best = scores.argpartition(k - 1, axis=1)[:, :k]
        best = np.take_along_axis(best, np.take_along_axis(scores, best, axis=1).argsort(axis=1), axis=1)
        best[np.take_along_axis(scores, best, axis=1) == KNOWN] = -1
        found[start : start + len(scores), :k] = best
    return found
