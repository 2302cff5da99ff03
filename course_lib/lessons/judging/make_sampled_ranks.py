"""Trains the models of the interactive `SampledRanks` and stores what it shows of them (a minute or two).

python -m course_lib.lessons.judging.make_sampled_ranks
"""

from __future__ import annotations

from typing import Any

import torch

from course_lib.lessons.judging import boards, sampled_ranks
from course_lib.lessons.shared.film_models import store

SAMPLES = (10, 12, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 400, 681)  # the last: all that anybody has left
SEEDS = range(5)


def data() -> dict[str, Any]:
    """Hit@10 by split, seed and row, for each number of sampled films."""
    torch.set_num_threads(1)
    found = {kind: [boards.hit_rates(kind, seed, list(SAMPLES)) for seed in SEEDS] for kind in boards.SPLITS}
    rows = list(found["later"][0])
    return {
        "samples": list(SAMPLES),
        "rows": rows,
        "hits": {
            kind: [[[round(value, 4) for value in one[row]] for row in rows] for one in of_seeds]
            for kind, of_seeds in found.items()
        },
    }


if __name__ == "__main__":
    store(sampled_ranks.STORED, data())
