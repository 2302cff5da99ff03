"""Trains the two models of the interactive `SlidingFilm` and stores what it shows of them (some ten seconds).

python -m course_lib.lessons.new_films.make_sliding_film
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.lessons.new_films import films, sliding_film
from course_lib.lessons.shared.film_models import film_names, store
from course_lib.training.on_features import served_items

STEPS = (0, 2, 5, 10, 20, 40, 80, 160, 320, 760)
EACH, NEAR = 14, 5  # films of a kind on the map; neighbours that are named
KINDS = ("Animation", "Horror", "other")


def kinds() -> dict[str, list[int]]:
    """The films of the core with most pairs: animated ones, horror, and others."""
    at = films.at_cut()
    order = [int(i) for i in np.argsort(-at.train.col_counts, kind="stable") if not at.new[i]]
    own = [str(text).split("|") for text in at.train.item_table["genres"]]
    told = {kind: [i for i in order if kind in own[i]] for kind in KINDS[:2]}
    told["other"] = [i for i in order if not set(KINDS) & set(own[i])]
    return {kind: found[:EACH] for kind, found in told.items()}


def movers() -> list[int]:
    """New films: the one with most pairs to come of all, the first animated one and the first horror film."""
    at = films.at_cut()
    to_come = np.where(at.new, at.later.col_counts, -1)
    order = [int(i) for i in np.argsort(-to_come, kind="stable") if at.new[i]]
    own = [str(text).split("|") for text in at.train.item_table["genres"]]
    first = [next(i for i in order if kind in own[i] and i != order[0]) for kind in KINDS[:2]]
    return [order[0], *first]


def model(read: Any, shown: list[int], chosen: list[int]) -> dict[str, Any]:
    """What is shown of one model at each moment: the map, the neighbours of the new films, the share that is found."""
    at, moments, found = films.at_cut(), [], []

    def keep(people: Tensor, rows: Tensor, weights: Tensor) -> None:
        told = np.zeros((len(rows), 1)) if read is None else read
        served = served_items(rows, told, weights, at.new if read is not None else np.zeros(len(rows), dtype=bool))
        moments.append(F.normalize(served, dim=1).clone())
        found.append(round(films.recall_of_new(films.unit(people), films.unit(served)), 4))

    def look(steps: int, tables: tuple[Tensor, Tensor, Tensor], _loss: float) -> None:
        if steps in STEPS[:-1]:
            keep(*tables)

    keep(*films.trained(read, look=look))
    last = moments[-1]
    axes = torch.linalg.svd(last[shown] - last[shown].mean(0), full_matrices=False)[2][:2].T
    ends = [last[shown[k * EACH : (k + 1) * EACH]].mean(0) @ axes for k in (0, 1)]
    axes = axes * torch.stack([ends[1][0].sign(), ends[0][1].sign()])  # horror to the right, animated films up
    known = np.flatnonzero(~at.new)
    near = [
        [[int(known[k]) for k in (one[known] @ one[film]).topk(NEAR).indices] for film in chosen] for one in moments
    ]
    return {
        "map": [[[round(100 * float(x)) for x in row] for row in one[shown + chosen] @ axes] for one in moments],
        "near": near,
        "recall": found,
    }


def data() -> dict[str, Any]:
    """Everything that the interactive shows."""
    torch.set_num_threads(1)
    at, groups, chosen = films.at_cut(), kinds(), movers()
    shown = [film for found in groups.values() for film in found]
    models = {"features": model(films.features(), shown, chosen), "nothing": model(None, shown, chosen)}
    needed = list(
        dict.fromkeys(
            [*shown, *chosen, *(i for one in models.values() for now in one["near"] for found in now for i in found)]
        )
    )
    place = {film: k for k, film in enumerate(needed)}
    for one in models.values():
        one["near"] = [[[place[i] for i in found] for found in now] for now in one["near"]]
    table = at.train.item_table
    names = film_names(at.train)
    return {
        "steps": list(STEPS),
        "titles": [names[film] for film in needed],
        "told": [f"{str(table['name'][i])[-5:-1]}, {str(table['genres'][i]).replace('|', ', ')}" for i in needed],
        "kinds": {kind: [place[i] for i in found] for kind, found in groups.items()},
        "new": [place[i] for i in chosen],
        "chance": round(films.TOP / int(at.new.sum()), 4),
        "models": models,
    }


if __name__ == "__main__":
    store(sliding_film.STORED, data())
