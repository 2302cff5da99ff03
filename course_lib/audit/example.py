"""A model of another library, to audit: BPR by implicit 0.7.3 on MovieTweetings, trained from three seeds.

`tests/audit/make_example.py` trained it and stored it in half precision, so that nothing here needs implicit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib import checking, datasets
from course_lib.audit.training import Training
from course_lib.interactions import Interactions

FILE = Path(__file__).with_name("example.npz")
SEEDS = (0, 1, 2)
TRAINING = Training(loss="bpr", negatives="implicit")
Tables = tuple[NDArray[np.float32], NDArray[np.float32]]


def pairs() -> tuple[Interactions, Interactions]:
    """(train, held-out): ratings from 7 on, of people and films with at least ten of them, split 9 : 1."""
    films = datasets.load("movietweetings", min_rating=7, core=10)
    return films.split_random(0.9, np.random.default_rng(0))


def tables(seed: int) -> Tables:
    """(items (n, 33), users (m, 33)), the rows of `pairs`. The 33rd column: an item's bias, and 1 for every user."""
    checking.whole(seed, "seed", SEEDS[0], SEEDS[-1])
    with np.load(FILE, allow_pickle=False) as stored:
        both: list[Any] = [stored[f"{side}_{seed}"].astype(np.float32) for side in ("items", "users")]
    return both[0], both[1]
