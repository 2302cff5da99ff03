"""Trains the models of the interactive `PopularityAxis` and stores what it shows of them (some twenty seconds).

python -m course_lib.lessons.popularity_direction.make_popularity_axis
"""

from __future__ import annotations

from typing import Any

import numpy as np

from course_lib.lessons.popularity_direction import popularity_axis
from course_lib.lessons.shared.film_models import EPOCHS, SETTINGS, film_names, parts, store, trained

FILMS, WIDTH = 240, 16


def data(epochs: int = EPOCHS) -> dict[str, Any]:
    """240 films drawn at random, in random order, so that the first ones are a random choice, too."""
    train, *_ = parts()
    chosen = np.random.default_rng(0).permutation(train.n_items)[:FILMS]
    names = film_names(train)
    tables = {name: trained(name, WIDTH, epochs)[1][chosen] for name in SETTINGS}
    tables["LightGCN, untrained"] = trained("LightGCN", WIDTH, 0)[1][chosen]
    return popularity_axis.packed_data(tables, train.col_counts[chosen], [names[film] for film in chosen])


if __name__ == "__main__":
    store(popularity_axis.STORED, data())
