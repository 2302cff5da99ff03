"""Trains the models of the interactive `TenFilms` and stores what it shows of them (some half a minute).

python -m course_lib.lessons.negatives.make_ten_films
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from course_lib import datasets, hits, metrics
from course_lib.interactions import Interactions
from course_lib.lessons.negatives.ten_films import DAYS, STORED, TEMPERATURES, WEIGHTS
from course_lib.lessons.shared.film_models import film_names, store
from course_lib.training.on_pairs import cosine_tables

PERSON = 18  # with films of the last tenth on several days, old films and new ones
HALF_LIFE, TOP, DAY = 3.0, 10, 86_400.0


@lru_cache(maxsize=1)
def pairs() -> Interactions:
    """The data of the page."""
    return datasets.load("movietweetings", min_rating=7, core=10)


@lru_cache(maxsize=1)
def split() -> tuple[Interactions, Interactions]:
    """(known, later): the earlier nine tenths in time, and the later pairs of the people in them."""
    return hits.known_later(pairs())


def now(day: int) -> float:
    """The moment so many days after the cut, in seconds."""
    times = split()[0].times
    assert times is not None
    return float(times.max()) + day * DAY


def on_day(day: int) -> tuple[Interactions, Interactions]:
    """(known, later) so many days after the cut: what has come until then is known, and counts as hits."""
    known, later = split()
    times = pairs().times
    assert times is not None
    told = pairs().select(times <= now(day))
    later_times = later.times
    assert later_times is not None
    return told if day else known, later.select(later_times > now(day))


def found(lists: np.ndarray, later: Interactions) -> tuple[float, int]:
    """(recall at 10, number of films shown) of the people with later pairs."""
    people = np.flatnonzero(later.row_counts)
    recall = metrics.metrics_from_ranking(lists, later, (TOP,))[f"recall@{TOP}"]
    return round(float(recall), 4), len(np.unique(lists[people]))


def data(person: int = PERSON) -> dict[str, Any]:
    """Everything that the interactive shows."""
    torch.set_num_threads(1)
    known, _ = split()
    models = [cosine_tables(known, tau=tau, in_time=True) for tau in TEMPERATURES]
    cosines = [(F.normalize(u, dim=1)[person] @ F.normalize(v, dim=1).T).numpy() for u, v in models]
    days, needed = [], set[int]()
    for day in DAYS:
        seen, later = on_day(day)
        decayed = hits.decayed_counts(seen, HALF_LIFE, now=now(day))
        everybody = []
        for tables, tau in zip(models, TEMPERATURES, strict=True):
            row = []
            for weight in WEIGHTS:
                lists = metrics.top_k(*hits.with_hits(*tables, decayed, tau=tau, weight=weight), seen, TOP)
                row.append(found(lists, later))
                needed |= {int(film) for film in lists[person]}
            everybody.append(row)
        list_of_hits = metrics.top_k(np.ones((seen.n_users, 1)), decayed[:, None], seen, TOP)
        own = {int(film) for film in seen.items_of(person)}
        days.append(
            (decayed, everybody, found(list_of_hits, later), own, {int(film) for film in later.items_of(person)})
        )
    shown = sorted(needed)
    names = film_names(known)
    return {
        "person": person,
        "all": known.n_items,
        "days": list(DAYS),
        "temperatures": list(TEMPERATURES),
        "weights": list(WEIGHTS),
        "liked": [names[int(film)] for film in known.items_of(person)[-4:]],
        "titles": [names[film] for film in shown],
        "cosines": [[round(float(row[film]), 3) for film in shown] for row in cosines],
        "least": [round(float(row.min()), 3) for row in cosines],
        "hits": [[round(float(decayed[film]), 2) for film in shown] for decayed, *_ in days],
        "seen": [[k for k, film in enumerate(shown) if film in own] for *_, own, _ in days],
        "later": [[k for k, film in enumerate(shown) if film in after] for *_, after in days],
        "everybody": [everybody for _, everybody, *_ in days],
        "list": [one for _, _, one, *_ in days],
    }


if __name__ == "__main__":
    store(STORED, data())
