"""Two baselines that count instead of training: neighbours of items by cosine, and EASE; each also with today's hits.

The penalty of EASE and the weight of the hits are those with the most recall in the window before: the training without
its last tenth in time is searched, and that tenth is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib import hits, metrics
from course_lib.interactions import Interactions

Scores = NDArray[np.float64]
PENALTIES = (10.0, 100.0, 1000.0)
WEIGHTS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
LEAST = 1e-3  # of a score, so that a logarithm exists
TEN = 10


def by_cosine(train: Interactions) -> Scores:
    """Sum over the user's items j of ``n_ij / sqrt(n_i n_j)``, n_ij users with both (Sarwar et al. 2001)."""
    seen = _seen(train)
    together = seen.T @ seen
    roots = np.sqrt(np.maximum(np.diag(together), 1))
    return _from_others(seen, together / np.outer(roots, roots))


def ease(train: Interactions, penalty: float) -> Scores:
    """``X B``: B has zeros in its diagonal and the least ``|X - X B|^2 + penalty |B|^2`` (Steck 2019)."""
    seen = _seen(train)
    inverse = np.linalg.inv(seen.T @ seen + penalty * np.eye(train.n_items))
    return _from_others(seen, -inverse / np.diag(inverse))


def with_log_hits(scores: Scores, today: Scores, weight: float) -> Scores:
    """``log max(score, 0.001) + weight log(hits + 0.05)``."""
    summed: Scores = np.log(np.maximum(scores, LEAST)) + weight * np.log(today + hits.FLOOR)
    return summed


def ten(scores: Scores, train: Interactions) -> NDArray[np.int64]:
    """The ten best of each user, without those of the training."""
    return metrics.top_k(scores, np.eye(train.n_items), train, TEN)


def neighbour_lists(train: Interactions, half_life: float) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """(name, lists) of the four baselines, with the settings of the window before."""
    before, asked = hits.known_later(train)
    then, today = (hits.decayed_counts(window, half_life) for window in (before, train))

    def best(settings: tuple[float, ...], scores: Callable[[float], Scores]) -> float:
        found = [_recall(ten(scores(setting), before), asked) for setting in settings]
        return settings[int(np.argmax(found))]

    penalty = best(PENALTIES, lambda one: ease(before, one))
    for name, scores in (("item neighbours", by_cosine), ("EASE", lambda one: ease(one, penalty))):
        old, now = scores(before), scores(train)
        weight = best(WEIGHTS, lambda one, old=old: with_log_hits(old, then, one))  # type: ignore[misc]
        yield name, ten(now, train)
        yield f"{name} with hits", ten(with_log_hits(now, today, weight), train)


def _recall(lists: NDArray[np.int64], asked: Interactions) -> float:
    return float(metrics.metrics_from_ranking(lists, asked, (TEN,))["recall@10"])


def _seen(train: Interactions) -> Scores:
    """The matrix of pairs, users by items: 1 where there is one."""
    seen = np.zeros((train.n_users, train.n_items))
    seen[train.users, train.items] = 1
    return seen


def _from_others(seen: Scores, between: Any) -> Scores:
    """Each user's items, weighted by what they say of every *other* item."""
    np.fill_diagonal(between, 0)
    summed: Scores = seen @ between
    return summed
