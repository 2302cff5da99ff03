"""The five rows that the chapter's interactive ranks: lists without a model, and chapter 0's towers in two servings.

Hidden are the latest tenth of the pairs of known people ("later"), or a tenth drawn at random ("random").
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats

from course_lib import checking, datasets, hits
from course_lib.interactions import Interactions
from course_lib.training.on_pairs import cosine_tables

Tables = tuple[Any, Any]  # (m, d) and (n, d), scored by inner product
SPLITS = ("later", "random")
LENGTH = 10
POPULAR, LATELY, MODEL, WITH_HITS, CHANCE = (
    "most popular",
    "today's hits",
    "two towers, logQ",
    "two towers + hits",
    "chance",
)
HALF_LIFE = 2.0  # days, of the list; PRACTICE-1 chooses it in the tenth before
SERVED = {"tau": 0.5, "half_life": 3.0, "weight": 0.75}  # of the towers with hits, chosen there, too


@lru_cache(maxsize=2)
def split(kind: str) -> tuple[Interactions, Interactions]:
    """(train, hidden): people and films with ten ratings of 7 or more; hidden is the latest tenth, or a random one."""
    checking.choice(kind, "kind", SPLITS)
    pairs = datasets.load("movietweetings", min_rating=7, core=10)
    return hits.known_later(pairs, 0.9) if kind == "later" else pairs.split_random(0.9, np.random.default_rng(0))


def tables(train: Interactions, seed: int = 0) -> dict[str, Tables]:
    """The two tables of each row; chance has none."""
    everybody = np.ones((train.n_users, 1))
    log_q = torch.tensor(np.log(np.maximum(train.col_counts, 1) / len(train)))
    plain = cosine_tables(train, tau=SERVED["tau"], seed=seed)
    corrected = cosine_tables(train, tau=0.2, log_q=log_q, seed=seed)
    return {
        POPULAR: (everybody, train.col_counts[:, None].astype(float)),
        LATELY: (everybody, hits.decayed_counts(train, HALF_LIFE)[:, None]),
        MODEL: hits.with_hits(*corrected, np.zeros(train.n_items), tau=0.2, weight=0.0),
        WITH_HITS: hits.with_hits(
            *plain, hits.decayed_counts(train, SERVED["half_life"]), tau=SERVED["tau"], weight=SERVED["weight"]
        ),
    }


def full_ranks(
    users: Any, items: Any, train: Interactions, hidden: Interactions
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(rank, number of others) of each hidden pair among the films that its person has no known pair with.

    Equal scores: the film with the lower number first, as in `metrics.top_k`.
    """
    scores = np.asarray(users, dtype=np.float64) @ np.asarray(items, dtype=np.float64).T
    scores[train.users, train.items] = -np.inf
    place = np.empty(scores.shape, dtype=np.int64)
    np.put_along_axis(place, np.argsort(-scores, axis=1, kind="stable"), np.arange(1, train.n_items + 1)[None], axis=1)
    return place[hidden.users, hidden.items], train.n_items - 1 - train.row_counts[hidden.users]


def expected_hit(ranks: NDArray[np.int64], others: NDArray[np.int64], m: int, k: int = LENGTH) -> float:
    """The mean over pairs of the expected hit at k among m sampled others, or all where there are fewer.

    `metrics.sampled_hit`, for pairs of different numbers of others at once.
    """
    m, k = checking.whole(m, "m"), checking.whole(k, "k")
    places = checking.vector(ranks, "ranks")
    counts = checking.vector(others, "others", len(places))
    if (places < 1).any() or (places > counts + 1).any():
        at = int(np.flatnonzero((places < 1) | (places > counts + 1))[0])
        raise ValueError(f"ranks[{at}] is {places[at]:g} among {counts[at]:g} others; expected 1 to {counts[at] + 1:g}")
    return float(stats.hypergeom.cdf(k - 1, counts, places - 1, np.minimum(m, counts)).mean())


def hit_rates(kind: str, seed: int, samples: list[int]) -> dict[str, list[float]]:
    """For each row its expected hit@10 for each number of sampled films; of chance by a list drawn at random."""
    train, hidden = split(kind)
    found = {}
    for name, (users, items) in tables(train, seed).items():
        ranks, others = full_ranks(users, items, train, hidden)
        found[name] = [expected_hit(ranks, others, m) for m in samples]
    found[CHANCE] = [float(np.minimum(1, LENGTH / (np.minimum(m, others) + 1)).mean()) for m in samples]
    return found
