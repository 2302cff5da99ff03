"""Trains the two models of the interactive `HiddenHits` and stores what it shows of them (ten seconds).

python -m tests.lessons.in_batch_bias.make_hidden_hits
"""

from itertools import islice
from typing import Any

import numpy as np
import torch

from course_lib.experiments import p3
from course_lib.interactions import Interactions, epoch_batches
from course_lib.lessons.in_batch_bias import films, hidden_hits
from course_lib.lessons.shared.film_models import film_names, store

SEED = 0
SERVED = {"none": "softmax", "logq": "logq", "serving": "softmax"}  # repair -> what was trained


def draws(train: Interactions) -> list[list[int]]:
    """At each moment, how often each film has been drawn into a batch; `films.along` trains on the same batches."""
    rng, counts, found = np.random.default_rng(SEED), np.zeros(train.n_items, dtype=int), []
    passes = (places for _ in range(films.PASSES) for places in epoch_batches(train, films.BATCH, rng, drop_last=True))
    for at, places in enumerate(passes, start=1):
        counts += np.bincount(train.items[places], minlength=train.n_items)
        if at in hidden_hits.MOMENTS:
            found.append(counts.tolist())
    return [[0] * train.n_items, *found]


def models(train: Interactions) -> dict[str, list[films.Tables]]:
    """Repair -> the tables that are served at each moment."""
    trained = {
        objective: [
            tables
            for at, tables in enumerate(islice(films.along(train, objective, seed=SEED), hidden_hits.MOMENTS[-1] + 1))
            if at in hidden_hits.MOMENTS
        ]
        for objective in set(SERVED.values())
    }
    found = {repair: trained[objective] for repair, objective in SERVED.items()}
    found["serving"] = [films.plus_log_popularity(*tables, train) for tables in found["serving"]]
    return found


def chosen(train: Interactions, test: Interactions, last: dict[str, Any]) -> int:
    """The first person for whom both repairs find the most hidden films, and the uncorrected model none."""
    hits = {
        repair: [np.isin(shown, test.items_of(user)).sum() for user, shown in enumerate(lists)]
        for repair, lists in last.items()
    }
    none, logq, serving = (np.array(hits[repair]) for repair in hidden_hits.REPAIRS)
    return int(np.argmax(np.minimum(logq, serving) - 10 * none))


def data() -> dict[str, Any]:
    """Everything that the interactive shows."""
    torch.set_num_threads(1)
    train, test = p3.load_split("movietweetings-10core", SEED)
    served = models(train)
    person = chosen(train, test, {repair: films.best(tables[-1], train) for repair, tables in served.items()})
    order = np.argsort(-train.col_counts, kind="stable")
    rank = np.argsort(order)
    shown = {repair: [films.best(one, train)[person] for one in tables] for repair, tables in served.items()}
    named = sorted({*range(5), *(int(rank[film]) for lists in shown.values() for five in lists for film in five)})
    names = film_names(train)
    measured = {
        repair: [_measured(films.lists(one, train, test)) for one in tables] for repair, tables in served.items()
    }
    return {
        "person": person,
        "liked": [names[film] for film in train.items_of(person)[:3]],
        "counts": train.col_counts[order].tolist(),
        "draws": [np.array(counts)[order].tolist() for counts in draws(train)],
        "names": {str(place): names[order[place]] for place in named},
        "hidden": [int(rank[film]) for film in test.items_of(person)],
        "lists": {repair: [rank[five].tolist() for five in lists] for repair, lists in shown.items()},
        "found": measured,
        "popular": _measured(films.lists(films.most_popular(train), train, test)),
    }


def _measured(found: films.Lists) -> list[float]:
    return [round(found.precision, 2), found.films]


if __name__ == "__main__":
    store(hidden_hits.STORED, data())
