"""The data of P1's experiments, and the 8:1:1 split that every method shares."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from course_lib.arrays import Array
from course_lib.experiments.core.data import Recipes
from course_lib.interactions import Interactions
from course_lib.training.recommenders import split_811

RECIPES = Recipes(
    "P1",
    {
        "movietweetings-10core": {"name": "movietweetings", "core": 10},
        "lastfm-10core": {"name": "lastfm-hetrec", "core": 10},
        "citeulike-10core": {"name": "citeulike-a", "core": 10},
        "ml-1m-10core": {"name": "ml-1m", "min_rating": 4, "core": 10},
        "gowalla-10core": {"name": "gowalla", "core": 10},
        "gowalla-20core": {"name": "gowalla", "core": 20},
        "yelp2018-10core": {"name": "yelp2018", "core": 10},
        "amazon-book-10core": {"name": "amazon-book", "core": 10},
        "ml-20m-10core": {"name": "ml-20m", "min_rating": 4, "core": 10},
    },
)
load_data, describe = RECIPES.load, RECIPES.describe
SETS = {
    "smoke": ("movietweetings-10core",),
    "laptop": ("lastfm-10core", "ml-1m-10core"),
    "full": ("lastfm-10core", "citeulike-10core", "ml-1m-10core", "gowalla-10core", "ml-20m-10core"),
}


@dataclass(frozen=True)
class Split:
    """The three parts of one random split, all of the shape of the data."""

    train: Interactions
    valid: Interactions
    test: Interactions

    @property
    def counts(self) -> Array:
        """How many training pairs each item has: (n,)."""
        return self.train.col_counts


@lru_cache(maxsize=4)
def load_split(name: str, seed: int) -> Split:
    """Train, validation and test part, 8:1:1 at random: the same for every method of a seed."""
    return Split(*split_811(load_data(name), np.random.default_rng(seed)))
