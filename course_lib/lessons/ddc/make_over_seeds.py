"""Trains the models of the interactive `OverSeeds` and stores what it shows of them (about a minute).

python -m course_lib.lessons.ddc.make_over_seeds
"""

from __future__ import annotations

from typing import Any

import numpy as np

from course_lib.debiasing import DDC
from course_lib.interactions import Interactions
from course_lib.lessons.ddc import over_seeds
from course_lib.lessons.shared.film_models import EPOCHS, parts, store, trained
from course_lib.lessons.shared.widgets import tables

SEEDS, WIDTH, PEOPLE = range(5), 8, 100
NEGATIVES, RIDGE = 50, 1e-3  # as on the page


def scalars(users: np.ndarray, items: np.ndarray, train: Interactions) -> tuple[np.ndarray, np.ndarray]:
    """(m,) alpha and (m,) beta of everybody, at the minimum of DDC's loss with its small ridge."""
    model = DDC(users, items, train)
    model.solve(NEGATIVES, ridge=RIDGE, rng=np.random.default_rng(1))
    return model.alpha.detach().numpy(), model.beta.detach().numpy()


def packed_training(seed: int, people: np.ndarray, epochs: int) -> dict[str, Any]:
    """{"users", "items", "alpha", "beta"} of a seed: rounded tables, and scalars for each shift and person."""
    train, *_ = parts()
    users, items = trained("MF", WIDTH, epochs, seed)
    near = [[float(f"{value:.4g}") for value in row] for row in users[people]]
    packed = tables.pack(items)
    users[people], rounded = near, tables.unpack(packed)
    found = [scalars(users, over_seeds.moved(rounded, train.col_counts, shift), train) for shift in over_seeds.SHIFTS]
    alpha, beta = (np.round([one[k][people] for one in found], 2).tolist() for k in (0, 1))
    return {"users": near, "items": packed, "alpha": alpha, "beta": beta}


def chosen() -> np.ndarray:
    """People with a training and a test film, drawn at random."""
    train, _, test = parts()
    able = np.flatnonzero((train.row_counts > 0) & (test.row_counts > 0))
    return np.sort(np.random.default_rng(0).permutation(able)[:PEOPLE])


def data(seeds: range = SEEDS, epochs: int = EPOCHS) -> dict[str, Any]:
    """What the interactive keeps."""
    people = chosen()
    history, seen, test = ([part.items_of(person).tolist() for person in people] for part in parts())
    models = [packed_training(seed, people, epochs) for seed in seeds]
    return {
        "models": models,
        "counts": parts()[0].col_counts.tolist(),
        "history": history,
        "seen": seen,
        "test": test,
    }


if __name__ == "__main__":
    store(over_seeds.STORED, data())
