"""The moment that the chapter looks at: the last tenth of the liked films in time, and the films that are new in it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from course_lib import datasets, metrics
from course_lib.interactions import Interactions
from course_lib.new_items import GammaPrior, NewByTime, film_features, film_years, first_times, new_by_time
from course_lib.training.on_features import Look, feature_tables

SHARE, WIDTH, TAU, PASSES, TOP = 0.9, 32, 0.2, 10, 10
HORIZON, DAY = 16.0, 86_400.0
GROUPS = (2012, 2013)  # the groups of years of the priors begin here

Float = NDArray[np.float64]


@lru_cache(maxsize=1)
def ratings() -> Interactions:
    """All ratings of MovieTweetings, of any value."""
    return datasets.load("movietweetings", min_rating=None)


@lru_cache(maxsize=1)
def at_cut() -> NewByTime:
    """Pairs of people and films rated 7 or more, a 5-core of the first nine tenths, and the films new in the last."""
    return new_by_time(ratings(), SHARE)


@lru_cache(maxsize=1)
def features() -> Float:
    """(n, h) genres and years of the films of `at_cut`."""
    table = at_cut().train.item_table
    return film_features(table["name"], table["genres"])[0]


def log_shares(train: Interactions) -> Tensor:
    """(n,) log of the share of the pairs that each film has; films without a pair are in no batch."""
    return torch.tensor(np.log(np.maximum(train.col_counts, 1) / len(train)), dtype=torch.float32)


def trained(read: Any = None, *, ids: bool = True, seed: int = 0, look: Look | None = None) -> tuple[Tensor, ...]:
    """(people, rows, weights) after ten passes; read: (n, h) what the film tower reads, by default nothing."""
    train = at_cut().train
    told = np.zeros((train.n_items, 1)) if read is None else read
    return feature_tables(train, told, ids=ids, log_q=log_shares(train), passes=PASSES, seed=seed, look=look)


def unit(table: Tensor) -> Float:
    """The rows, each divided by its length."""
    found: Float = F.normalize(table, dim=1).double().numpy()
    return found


def recall_of_new(people: Any, films: Any) -> float:
    """The share of a person's pairs on new films that a list of ten new films holds, mean over people with a pair.

    people (m, d), films (n, d): ranked by inner product, equal scores in each order equally often.
    """
    at = at_cut()
    place = np.cumsum(at.new) - 1
    inside = at.later.select(at.new[at.later.items])
    m, n, nothing = at.train.n_users, int(at.new.sum()), np.zeros(0, dtype=np.int64)
    test = Interactions(inside.users, place[inside.items], n_users=m, n_items=n)
    train = Interactions(nothing, nothing, n_users=m, n_items=n)
    found = metrics.evaluate(people, films[at.new], train, test, TOP)
    return float(found[f"recall@{TOP}"])


def new_before() -> tuple[Float, Float, NDArray[np.int64]]:
    """(ratings, days, years) of the films whose first rating came after the first tenth of the pairs, before the cut.

    ratings: of 7 or more, in the HORIZON days after the first rating; days: HORIZON, or fewer until the cut.
    """
    data, at = ratings(), at_cut()
    assert data.ratings is not None and data.times is not None
    first, liked = first_times(data), data.ratings >= 7
    start = np.quantile(data.times[liked], 0.1)
    chosen = (first >= start) & (first < at.cut)
    age = data.times - first[data.items]
    counted = data.select(liked & (data.times < at.cut) & (age > 0) & (age <= HORIZON * DAY))
    days = np.minimum((at.cut - first[chosen]) / DAY, HORIZON)
    return counted.col_counts[chosen].astype(np.float64), days, film_years(data.item_table["name"][chosen])


def priors() -> dict[str, GammaPrior]:
    """The prior of each group of years, fitted to `new_before`."""
    counts, days, years = new_before()
    group = np.searchsorted(np.array(GROUPS), years, side="right")
    names = (f"before {GROUPS[0]}", *(f"of {year}" for year in GROUPS))
    return {name: GammaPrior.fit(counts[group == at], days[group == at]) for at, name in enumerate(names)}
