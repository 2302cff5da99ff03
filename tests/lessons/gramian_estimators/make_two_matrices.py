"""Stores the examples that the interactive `TwoMatrices` shows (some ten seconds).

python -m tests.lessons.gramian_estimators.make_two_matrices
"""

from typing import Any

import numpy as np

from course_lib.experiments import p4
from course_lib.lessons.gramian_estimators import free_tables, two_matrices
from course_lib.lessons.shared.film_models import store
from course_lib.lessons.shared.widgets.tables import pack


def data() -> dict[str, Any]:
    """Both sides of sixty examples of the chapter's model with λ = 1, and how many examples there are."""
    train = p4.load_task("movietweetings-10core", 0).train
    users, items = free_tables.fit(train, 1, seed=0)
    chosen = np.random.default_rng(2).integers(len(train), size=two_matrices.MOST)
    sides = users[train.users[chosen]], items[train.items[chosen]]
    return {"left": pack(sides[0]), "right": pack(sides[1]), "all": len(train)}


if __name__ == "__main__":
    store(two_matrices.STORED, data())
