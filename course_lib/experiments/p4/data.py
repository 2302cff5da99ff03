"""P4's data, the features of both sides, and its network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.sparse as sp
import torch

from course_lib.arrays import Array
from course_lib.encoders import Bags, Perceptron, Renamed, TwoTower
from course_lib.experiments.core.data import Recipes
from course_lib.interactions import Interactions

RECIPES = Recipes(
    "P4",
    {
        "movietweetings-10core": {"name": "movietweetings", "core": 10},
        "wikispeedia": {"name": "wikispeedia"},
        "movietweetings-ratings": {"name": "movietweetings", "min_rating": 0, "core": 10},
        "ml-100k-ratings": {"name": "ml-100k", "min_rating": 1},
        "ml-1m-ratings": {"name": "ml-1m", "min_rating": 1},
        "ml-10m-ratings": {"name": "ml-10m", "min_rating": 0.5},
    },
)
load_data, describe = RECIPES.load, RECIPES.describe


@dataclass(frozen=True)
class Sizes:
    """Widths of the towers: of each input embedding, of the hidden layers between, of the output (k)."""

    inputs: int
    hidden: tuple[int, ...]
    output: int


SMALL, SIMPLE, FILMS = Sizes(16, (32,), 16), Sizes(50, (256,), 64), Sizes(32, (64,), 35)


@dataclass(frozen=True)
class Task:
    """Pairs to train on and to test on, their targets, and the features of both sides."""

    train: Interactions
    test: Interactions
    targets: Array  # (n,) of the training pairs
    left: Mapping[str, sp.csr_array]  # features of the left entities, or of the entities that both sides share
    right: Mapping[str, sp.csr_array] | None  # None: both sides share `left`, under the ids below
    ids: tuple[Array, Array] | None = None

    def towers(self, sizes: Sizes, seed: int) -> TwoTower:
        """P4's network: embeddings of the features side by side, then hidden layers with ReLU.

        The input embeddings are shared if the features are.
        """
        generator = torch.Generator().manual_seed(seed)
        inputs = [Bags(bags, sizes.inputs, generator=generator) for bags in (self.left, self.right) if bags is not None]
        towers = []
        for side in range(2):
            bags = inputs[min(side, len(inputs) - 1)]
            widths = (len(bags.names) * sizes.inputs, *sizes.hidden, sizes.output)
            tower = Perceptron(bags, widths, generator=generator)
            towers.append(tower if self.ids is None else torch.nn.Sequential(Renamed(self.ids[side]), tower))
        return TwoTower(*towers)


@lru_cache(maxsize=2)
def load_task(name: str, seed: int) -> Task:
    """One of RECIPES with a random split: 90 % for links and films, 80 % for ratings, as in P4."""
    data = load_data(name)
    rated = name.endswith("-ratings")
    train, test = data.split_random(0.8 if rated else 0.9, np.random.default_rng(seed))
    targets = np.ones(len(train)) if data.ratings is None or not rated else train.ratings / data.ratings.max()
    if name == "wikispeedia":
        left, ids = pages(data)
        return Task(train, test, targets, left, None, ids)
    return Task(train, test, targets, {"id": one_hot(data.n_users)}, films(data))


def one_hot(n: int) -> sp.csr_array:
    return sp.csr_array(sp.eye(n))


def bag(lists: Sequence[Sequence[str]]) -> sp.csr_array:
    """(n, vocabulary) 0/1: which words each list has, words in order of the alphabet."""
    vocabulary = {word: at for at, word in enumerate(sorted({word for words in lists for word in words}))}
    pairs = [(row, vocabulary[word]) for row, words in enumerate(lists) for word in set(words)]
    rows, cols = np.array(pairs or [(0, 0)]).T
    return sp.csr_array((np.ones(len(rows)), (rows, cols)), shape=(len(lists), max(len(vocabulary), 1)))


def words(names: Iterable[str]) -> list[list[str]]:
    """The words of titles, in small letters."""
    return [name.lower().replace("_", " ").split() for name in names]


def films(data: Interactions) -> dict[str, sp.csr_array]:
    """Id, title words (the year is one of them) and genres of every film."""
    genres = [[genre for genre in row.split("|") if genre] for row in data.item_table["genres"]]
    return {"id": one_hot(data.n_items), "words": bag(words(data.item_table["name"])), "genres": bag(genres)}


def pages(data: Interactions) -> tuple[dict[str, sp.csr_array], tuple[Array, Array]]:
    """Id, title words and categories of every article, and the article behind each left and right id."""
    tables = (data.user_table, data.item_table)
    n = 1 + max(int(table["id"].max()) for table in tables)
    names, categories = [""] * n, [""] * n
    for table in tables:
        for at, name, category in zip(table["id"], table["name"], table["categories"], strict=True):
            names[at], categories[at] = name, category
    bags = {
        "id": one_hot(n),
        "words": bag(words(names)),
        "categories": bag([[c for c in row.split("|") if c] for row in categories]),
    }
    return bags, (tables[0]["id"], tables[1]["id"])
