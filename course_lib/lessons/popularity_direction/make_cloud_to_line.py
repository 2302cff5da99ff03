"""Trains the two models of the interactive `CloudToLine` and stores what it shows of them (half a minute).

python -m course_lib.lessons.popularity_direction.make_cloud_to_line
"""

from __future__ import annotations

from typing import Any

import numpy as np

from course_lib import popularity
from course_lib.lessons.popularity_direction import cloud_to_line, films
from course_lib.lessons.shared.film_models import film_names, store
from course_lib.training.bpr import bpr_epoch

SEED, RATE, START = 0, 0.02, 1e-3  # as in the chapter
EVERY = 6  # of the films by popularity, one in so many is shown
UNIT = 50  # of a standard deviation: places are whole numbers


def places(items: np.ndarray) -> np.ndarray:
    """(n, 2) on the axis of popularity and on the main axis beside it, about the means, in units of the first."""
    centred = items - items.mean(axis=0)
    axis = popularity.popularity_direction(items, films.train().col_counts)
    along = centred @ axis
    beside = centred - np.outer(along, axis)
    main = np.linalg.svd(beside, full_matrices=False)[2][0]
    found: np.ndarray = np.column_stack([along, centred @ main]) / along.std()
    found *= [1, np.sign(found[0, 1])]  # a singular vector has no sign
    return found


def run(law: str) -> dict[str, Any]:
    """What is shown of one training at each moment."""
    train = films.train()
    (users, items), rng = films.normal_tables(SEED, scale=START), np.random.default_rng(SEED)
    found: dict[str, Any] = {"places": [], "r": [], "share": []}
    for passes in range(cloud_to_line.PASSES[-1] + 1):
        if passes:
            bpr_epoch(users, items, train, lr=RATE, rng=rng, negatives=law)
        if passes in cloud_to_line.PASSES:
            kept = places(items)[shown()]
            found["places"].append(np.round(UNIT * kept).astype(int).tolist())
            found["r"].append(round(float(popularity.pearson(films.along(items), train.col_counts)), 3))
            found["share"].append(round(films.same_first_film(users, items), 3))
    return found


def shown() -> np.ndarray:
    """The films of the picture, the most popular first."""
    return np.argsort(-films.train().col_counts, kind="stable")[::EVERY]


def data() -> dict[str, Any]:
    """Everything that the interactive shows."""
    train, names = films.train(), film_names(films.train())
    return {
        "names": [names[film] for film in shown()],
        "counts": train.col_counts[shown()].tolist(),
        "all": train.n_items,
        "laws": {law: run(law) for law in cloud_to_line.LAWS},
    }


if __name__ == "__main__":
    store(cloud_to_line.STORED, data())
