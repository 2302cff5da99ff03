"""Trains the models of the interactive `EffectiveRate` and stores what it shows of them (some minutes).

python -m course_lib.lessons.popularity_norm_coupling.make_effective_rate
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch.nn import functional as F

from course_lib import metrics, norms, popularity
from course_lib.interactions import Interactions
from course_lib.lessons.popularity_norm_coupling import effective_rate, films
from course_lib.lessons.shared.film_models import film_names, store
from course_lib.training import towers

RATES = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
SHOWN, PEOPLE, TOP, LINE = 90, 4, 10, 9  # films in the picture, people with a list, films of a list, points of the law
NAMED = ("Iron Man 3 (2013)", "Silver Linings Playbook (2012)", "The Godfather (1972)")


def shown(train: Interactions) -> list[int]:
    """Films at even steps of the logarithm of their rank by popularity, and those that have a name in the picture."""
    ranks = np.unique(np.geomspace(1, train.n_items, SHOWN).round().astype(int)) - 1
    named = [int(np.flatnonzero(train.item_names == title)[0]) for title in NAMED]
    chosen = [int(i) for i in popularity.head_items(train.col_counts, 1.0)[ranks]]
    return [*named, *(i for i in chosen if i not in named)]


def people(train: Interactions, test: Interactions) -> list[int]:
    """The first people with at least 15 films to learn from and at least 4 hidden ones."""
    return [int(u) for u in np.flatnonzero((train.row_counts >= 15) & (test.row_counts >= 4))[:PEOPLE]]


def model(train: Interactions, test: Interactions, rate: float) -> dict[str, Any]:
    """What is shown of the model of one rate; lists hold film ids."""
    tables, growth = films.at_rate(train, rate)
    lengths = towers.item_norms(tables, train.n_items)
    judged = towers.judge(tables, train, test)
    h = float(np.sqrt(growth.driven.sum() / rate**2 / growth.updates.sum()))
    counts = np.geomspace(train.col_counts.min(), train.col_counts.max(), LINE)
    updates = norms.expected_updates(counts / len(train), batch_size=films.BATCH, steps=films.steps_at(rate))
    left, right = (table.get_parameter("weight").detach() for table in (tables.left, tables.right))
    chosen = people(train, test)
    lists = {
        "dot": metrics.top_k(left, right, train, TOP)[chosen],
        "cosine": metrics.top_k(F.normalize(left, dim=1), F.normalize(right, dim=1), train, TOP)[chosen],
    }
    return {
        "lengths": _hundredths(lengths[shown(train)]),
        "law": _hundredths(norms.predicted_norm(films.START, lr=rate, h=h, updates=updates)),
        "median": round(float(np.median(lengths)), 2),
        "slope": round(judged["slope"], 3),
        "count": {"dot": round(judged["AvgPop dot"], 1), "cosine": round(judged["AvgPop cos"], 1)},
        "ndcg": {"dot": round(judged["NDCG dot"], 3), "cosine": round(judged["NDCG cos"], 3)},
        "lists": {name: found.tolist() for name, found in lists.items()},
    }


def _hundredths(lengths: np.ndarray) -> list[int]:
    found: list[int] = np.rint(100 * lengths).astype(int).tolist()
    return found


def data(rates: Sequence[float] = RATES) -> dict[str, Any]:
    """Everything that the interactive shows."""
    train, test = films.split()
    models, chosen = [model(train, test, rate) for rate in rates], people(train, test)
    popular = metrics.top_k(np.ones((train.n_users, 1)), train.col_counts[:, None].astype(float), train, TOP)
    liked = [sorted(map(int, train.items_of(user)), key=lambda i: -train.col_counts[i])[:3] for user in chosen]
    hidden = [list(map(int, test.items_of(user))) for user in chosen]
    listed = {i for one in models for found in one["lists"].values() for row in found for i in row}
    needed = sorted(listed | {i for rows in (liked, hidden) for row in rows for i in row})
    place = {film: k for k, film in enumerate(needed)}
    for one in models:
        one["lists"] = {name: [[place[i] for i in row] for row in found] for name, found in one["lists"].items()}
    names = film_names(train)
    return {
        "rates": list(rates),
        "time": films.RATE * films.STEPS,
        "named": [names[i] for i in shown(train)[: len(NAMED)]],
        "shown": [int(train.col_counts[i]) for i in shown(train)],
        "titles": [names[i] for i in needed],
        "counts": [int(train.col_counts[i]) for i in needed],
        "people": [
            {"liked": [place[i] for i in some], "hidden": [place[i] for i in others]}
            for some, others in zip(liked, hidden, strict=True)
        ],
        "users": train.n_users,
        "popular": round(popularity.average_popularity(popular, train.col_counts), 1),
        "models": models,
    }


if __name__ == "__main__":
    store(effective_rate.STORED, data())
