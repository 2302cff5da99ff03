"""Small data with a long tail, for tests of models."""

from __future__ import annotations

import numpy as np

from course_lib.interactions import Interactions


def long_tailed(m: int = 120, n: int = 60, seed: int = 0, *, timed: bool = False) -> Interactions:
    """Users with 3 to 14 items each, item i chosen in proportion to 1 / (i + 1)^0.8."""
    rng = np.random.default_rng(seed)
    law = np.arange(1, n + 1) ** -0.8
    chosen = [
        (u, int(i))
        for u in range(m)
        for i in rng.choice(n, size=rng.integers(3, min(n, 15)), replace=False, p=law / law.sum())
    ]
    users, items = np.array(chosen).T
    return Interactions(users, items, n_users=m, n_items=n, times=rng.uniform(0, 1e8, len(chosen)) if timed else None)
