"""Computes the films of the interactive `MapOfCells`, two numbers each, and stores its cells and what searches find.

python -m course_lib.lessons.serving.make_map_of_cells
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from course_lib import metrics
from course_lib.lessons.serving import ivf, map_of_cells
from course_lib.lessons.shared.film_models import film_names, store

CELLS, PROBES, DIGITS = 16, 6, 4
POWERS = (0.0, 0.125, 0.25, 0.375, 0.5)
SPACES = {"ip": "inner product", "more": "one more coordinate"}
PERSON = 15


def found(people: Any, films: Any, space: str) -> dict[str, Any]:
    """The cells of one search, and the share of the exact tens that it finds with 1 to PROBES cells, by quarter."""
    queries, items = ivf.arranged(people, films, space)
    cells = ivf.k_means(items, CELLS, space, seed=0)
    wanted, group = ivf.exact(people, films), ivf.quarters(ivf.pairs().col_counts)
    shares = []
    for probes in range(1, PROBES + 1):
        lists = ivf.search(queries, items, cells, probes)
        by_quarter = np.asarray(metrics.index_recall(lists, wanted, group))
        whole = float(metrics.index_recall(lists, wanted))
        shares.append([round(whole, 3), *(None if np.isnan(x) else round(float(x), 3) for x in by_quarter)])
    return {
        "centroids": cells.centroids.round(DIGITS + 2).tolist(),
        "of": cells.of.tolist(),
        "found": shares,
    }


def data() -> dict[str, Any]:
    """Everything that the interactive shows."""
    torch.set_num_threads(1)
    people, films = (table.round(DIGITS) for table in ivf.flat())
    counts = ivf.pairs().col_counts
    group = ivf.quarters(counts)
    tens = {int(i) for power in POWERS for i in ivf.exact(people[[PERSON]], ivf.with_lengths(films, power))[0]}
    names = film_names(ivf.pairs())
    return {
        "powers": list(POWERS),
        "person": people[PERSON].tolist(),
        "films": films.tolist(),
        "counts": counts.tolist(),
        "quarter": group.tolist(),
        "titles": {str(i): names[i] for i in sorted(tens)},
        "searches": {
            name: [found(people, ivf.with_lengths(films, power), space) for power in POWERS]
            for name, space in SPACES.items()
        },
    }


if __name__ == "__main__":
    store(map_of_cells.STORED, data())
