"""Trains the two models of the interactive `TrainingFilm` and stores what it shows of them (some five seconds).

python -m course_lib.lessons.first_model.make_training_film
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.interactions import Interactions
from course_lib.lessons.first_model import towers, training_film
from course_lib.lessons.shared.film_models import film_names, store

PASSES = (0, 1, 2, 3, 5, 8, 12, 16, 20)
EACH = 16  # films of a group on the map
PEOPLE = 4
MODELS = {"plain": False, "corrected": True}


def groups(train: Interactions) -> dict[str, list[int]]:
    """The most popular films of three kinds: animated ones, those from before 2000, and the others."""
    order = np.argsort(-train.col_counts, kind="stable")
    names, genres = train.item_table["name"], train.item_table["genres"]
    animated = {i for i in order if "Animation" in str(genres[i]).split("|")}
    old = {i for i in order if int(str(names[i])[-5:-1]) < 2000} - animated
    kinds = {"animated": animated, "before 2000": old, "other": set(order) - animated - old}
    return {kind: [int(i) for i in order if i in films][:EACH] for kind, films in kinds.items()}


def people(train: Interactions, test: Interactions) -> list[int]:
    """The first people with at least 15 films to learn from and at least 4 hidden ones."""
    return [int(u) for u in np.flatnonzero((train.row_counts >= 15) & (test.row_counts >= 4))[:PEOPLE]]


def model(
    train: Interactions, test: Interactions, shown: list[int], chosen: list[int], corrected: bool
) -> dict[str, Any]:
    """What is shown of one model at each moment: map, lists of the chosen people, recall, popularity of all lists."""
    moments = towers.trained(train, corrected=corrected, keep=PASSES[:-1])
    unit = F.normalize(moments[-1][1][shown], dim=1)
    axes = torch.linalg.svd(unit - unit.mean(0), full_matrices=False)[2][:2].T
    old, animated = (unit[k * EACH : (k + 1) * EACH].mean(0) @ axes for k in (1, 0))
    axes = axes * torch.stack([-old[0].sign(), animated[1].sign()])  # old films to the left, animated ones up
    lists = [towers.best(*tables, train) for tables in moments]
    return {
        "map": [_places(tables[1][shown], axes) for tables in moments],
        "lists": [[[int(i) for i in found[user]] for user in chosen] for found in lists],
        "recall": [round(towers.recall(found, test), 4) for found in lists],
        "count": [round(float(train.col_counts[found].mean()), 1) for found in lists],
    }


def _places(films: Tensor, axes: Tensor) -> list[list[int]]:
    """Hundredths: the unit vectors of films on two fixed axes, those on which the trained films differ most."""
    return [[round(100 * float(x)) for x in row] for row in F.normalize(films, dim=1) @ axes]


def data() -> dict[str, Any]:
    """Everything that the interactive shows."""
    torch.set_num_threads(1)
    train, test = towers.split()
    kinds, chosen = groups(train), people(train, test)
    shown = [film for films in kinds.values() for film in films]
    models = {name: model(train, test, shown, chosen, corrected) for name, corrected in MODELS.items()}
    popular = towers.most_popular(train)
    liked = {user: [int(i) for i in train.items_of(user)[:4]] for user in chosen}
    hidden = {user: [int(i) for i in test.items_of(user)] for user in chosen}
    lists = [film for one in models.values() for moment in one["lists"] for found in moment for film in found]
    needed = sorted(
        {*shown, *lists, *(int(i) for user in chosen for i in (*liked[user], *hidden[user], *popular[user]))}
    )
    place = {film: k for k, film in enumerate(needed)}
    for one in models.values():
        one["lists"] = [[[place[i] for i in found] for found in moment] for moment in one["lists"]]
    names = film_names(train)
    return {
        "passes": list(PASSES),
        "titles": [names[film] for film in needed],
        "counts": [int(train.col_counts[film]) for film in needed],
        "kinds": {kind: [place[film] for film in films] for kind, films in kinds.items()},
        "people": [
            {
                "number": user,
                "liked": [place[i] for i in liked[user]],
                "hidden": [place[i] for i in hidden[user]],
                "popular": [place[int(i)] for i in popular[user]],
            }
            for user in chosen
        ],
        "popular": {
            "recall": round(towers.recall(popular, test), 4),
            "count": round(float(train.col_counts[popular].mean()), 1),
        },
        "models": models,
    }


if __name__ == "__main__":
    store(training_film.STORED, data())
