"""The data of the experiments: sets by recipe, each loaded once, and the split into pairs to train and to test on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypedDict

import numpy as np

from course_lib import datasets
from course_lib.experiments.core.provenance import describe_data
from course_lib.interactions import Interactions

TRAIN_SHARE = 0.9
Recipe = dict[str, Any]


class DataCell(TypedDict):
    """The least that a cell holds: the name of its data. It is the whole cell of a table of statistics."""

    data: str


def from_files(**recipe: Any) -> Interactions:
    """`datasets.load` with empty rows and columns dropped."""
    return datasets.load(**recipe).compact()


@dataclass(frozen=True)
class Recipes:
    """The data sets of one paper's experiments. table: name -> what `make` is called with; of: whose they are."""

    of: str
    table: dict[str, Recipe]
    make: Callable[..., Interactions] = from_files

    def load(self, name: str) -> Interactions:
        """The set of this name; ValueError lists those that there are."""
        return _lent_or_made(self.make, self._recipe(name))

    def split(self, name: str, seed: int) -> tuple[Interactions, Interactions]:
        """(train, test): a random 90 % split; users and items without a training pair are dropped from both."""
        return _split(self.make, self._recipe(name), seed)

    def describe(self, cell: Mapping[str, Any]) -> dict[str, Any]:
        """Name, recipe, statistics and hash of a cell's data."""
        return describe_data(cell["data"], self.table[cell["data"]], self.load(cell["data"]))

    @contextmanager
    def lent(self, name: str, recipe: Recipe, data: Interactions) -> Iterator[None]:
        """Within it there is one set more, which nothing has to make."""
        key = json.dumps(recipe, sort_keys=True)
        self.table[name], LENT[key] = recipe, data
        try:
            yield
        finally:
            del self.table[name], LENT[key]

    def _recipe(self, name: str) -> str:
        if name not in self.table:
            known = ", ".join(self.table)
            raise ValueError(f"data {name!r} is no recipe of {self.of}'s experiments; expected one of {known}")
        return json.dumps(self.table[name], sort_keys=True)


LENT: dict[str, Interactions] = {}  # by recipe


def _lent_or_made(make: Callable[..., Interactions], recipe: str) -> Interactions:
    return LENT[recipe] if recipe in LENT else _made(make, recipe)


@lru_cache(maxsize=2)
def _made(make: Callable[..., Interactions], recipe: str) -> Interactions:
    return make(**json.loads(recipe))


@lru_cache(maxsize=2)
def _split(make: Callable[..., Interactions], recipe: str, seed: int) -> tuple[Interactions, Interactions]:
    return drop_untrained(*_lent_or_made(make, recipe).split_random(TRAIN_SHARE, np.random.default_rng(seed)))


def drop_untrained(train: Interactions, test: Interactions) -> tuple[Interactions, Interactions]:
    """Both parts on the users and items that have a training pair, relabelled alike."""
    rows, cols = train.row_counts > 0, train.col_counts > 0
    kept = rows[test.users] & cols[test.items]
    new_row, new_col = np.cumsum(rows) - 1, np.cumsum(cols) - 1
    smaller = train.compact()
    users, items = new_row[test.users[kept]], new_col[test.items[kept]]
    return smaller, Interactions(users, items, n_users=smaller.n_users, n_items=smaller.n_items, name=test.name)
