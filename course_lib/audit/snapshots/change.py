"""What lies between two snapshots of the same rows, up to a rotation, as two trainings of one model differ by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import orthogonal_procrustes

from course_lib import gauge, geometry, metrics, popularity
from course_lib.audit.evidence import CANDIDATES, AnyArray, Evidence, Float, Ids, no_pairs, part_of, reduced
from course_lib.audit.questions.lengths import slope_interval
from course_lib.audit.smaller import GROUPS, groups_of, recall_by
from course_lib.interactions import Interactions

LISTED_USERS = 500  # users whose lists are compared, drawn at random
AGES = ("newest", "younger", "older")  # as GROUPS, by the time of the first pair; newest also where there is none


@dataclass(frozen=True)
class Lengths:
    """scale: median ratio of new to old length; spread: standard deviation of its log; slope (low, high): of its log
    against the log count, with a 95 % interval, or None without counts.
    """

    scale: float
    spread: float
    slope: tuple[float, float, float] | None


@dataclass(frozen=True)
class Change:
    """neighbours (q,): share of each query's cosine neighbours that are kept; band (q,): its place in GROUPS, or None.

    lists (u,): the same for users' lists by dot product; by_group: of the places with items of each group, by
    popularity (GROUPS) and by age (AGES, by the first training pair), or {} without counts or times; crossed (u,): of
    the old users with the new items, against the old lists; rotated (u,): after the rotation that fits best. residual:
    what the best rotation and scale leave of the new rows, ||c A Q - B|| / ||B||; linear: what the best matrix leaves;
    weights: as lengths, of the items' columns of scores, which no gauge changes (None without users, and where a column
    is zero); centre: distance of the mean directions, old rotated by the best rotation of the directions; centres:
    their two lengths.
    """

    neighbours: Float
    band: Ids | None
    lists: Float | None
    crossed: Float | None
    rotated: Float | None
    residual: float
    linear: float
    lengths: Lengths
    weights: Lengths | None
    centre: float
    centres: tuple[float, float]
    by_group: dict[str, float | None] = field(default_factory=dict)


def change(old: Evidence, new: Evidence) -> Change:
    """The two have the same rows, in the same order, and the same seed, so that they draw the same queries."""
    Q, scale = rotation(old.items, new.items)
    unit_Q, _ = rotation(old.unit, new.unit)
    means = [each.unit.mean(axis=0, dtype=np.float64) for each in (old, new)]
    lists: dict[str, Any] = {"lists": None, "crossed": None, "rotated": None}
    if old.users is not None and new.users is not None:
        lists = _lists(old, new, Q)
    return Change(
        neighbours=gauge.neighbour_overlap(old.neighbours, new.neighbours),
        band=groups_of(new.counts)[new.chosen[new.queries]] if new.counts is not None and new.counts_vary else None,
        residual=_left(scale * (old.items @ Q.astype(old.items.dtype)) - new.items, new.items),
        linear=_linear(old.items, new.items),
        lengths=_lengths(old.norms, new.norms, new),
        weights=_weights(old, new),
        centre=float(np.linalg.norm(means[0] @ unit_Q - means[1])),
        centres=(float(np.linalg.norm(means[0])), float(np.linalg.norm(means[1]))),
        **lists,
    )


def rotation(old: AnyArray, new: AnyArray) -> tuple[Float, float]:
    """(Q, c) with the least ||c old Q - new||, Q orthogonal (orthogonal Procrustes).

    Source: P. Schönemann, A generalized solution of the orthogonal Procrustes problem, Psychometrika 31 (1966).
    """
    # the rows enter by old^T new (k, k) alone, so a million of them are no more work for the decomposition
    Q, total = orthogonal_procrustes(np.eye(old.shape[1]), (old.T @ new).astype(np.float64))
    return Q, float(total / (old.astype(np.float64) ** 2).sum())


def _left(difference: AnyArray, whole: AnyArray) -> float:
    return float(np.linalg.norm(difference) / np.linalg.norm(whole))


def _linear(old: AnyArray, new: AnyArray) -> float:
    """||old R - new|| / ||new|| for the best matrix R, by the triangle of [old, new] (QR in blocks)."""
    width = old.shape[1]
    triangle = reduced(np.concatenate([old, new], axis=1))
    return _left(triangle[width:, width:], triangle[:, width:])


def _weights(old: Evidence, new: Evidence) -> Lengths | None:
    if old.users is None or new.users is None:
        return None
    left, right = (geometry.norm(gauge.score_rows(each.users, each.items)).astype(np.float64) for each in (old, new))
    return _lengths(left, right, new) if min(left.min(), right.min()) > 0 else None


def _lengths(before: Float, after: Float, new: Evidence) -> Lengths:
    ratio = after / before
    scale = float(np.median(ratio))
    slope = None
    trained = np.flatnonzero(new.counts > 0) if new.counts is not None else np.zeros(0, np.int64)
    if len(trained) > 1 and new.counts is not None and np.ptp(new.counts[trained]):
        rng = new.rng("drift of lengths")
        some = trained if len(trained) <= CANDIDATES else rng.choice(trained, CANDIDATES, replace=False)
        interval = slope_interval(ratio[some], new.counts[some], rng)
        slope = float(popularity.log_log_slope(ratio[some], new.counts[some])), *interval
    return Lengths(scale, float(np.log(ratio).std()), slope)


def _lists(old: Evidence, new: Evidence, Q: Float) -> dict[str, Any]:
    """Of a sample of users, known pairs left out."""
    assert old.users is not None and new.users is not None
    size = min(LISTED_USERS, len(new.users))
    chosen = np.sort(new.rng("listed users").choice(len(new.users), size, replace=False))
    known = no_pairs(size, len(new.items)) if new.pairs is None else part_of(new.pairs, chosen)
    left, right = (each.astype(np.float64, copy=False) for each in (old.users[chosen], new.users[chosen]))
    before = metrics.top_k(left, old.items.astype(np.float64), known, new.k)
    found = {"lists": right, "crossed": left, "rotated": left @ Q}
    items = new.items.astype(np.float64)
    after = {name: metrics.top_k(users, items, known, new.k) for name, users in found.items()}
    kept = {name: gauge.neighbour_overlap(before, lists) for name, lists in after.items()}
    groups = {} if not new.counts_vary else recall_by(after["lists"], before, groups_of(np.asarray(new.counts)), GROUPS)
    if new.pairs is not None and new.pairs.times is not None:
        groups |= recall_by(after["lists"], before, groups_of(first_times(new.pairs)), AGES)
    return {**kept, "by_group": groups}


def first_times(pairs: Interactions) -> Float:
    """(n,) when each item had its first pair; infinite where it has none."""
    assert pairs.times is not None
    first = np.full(pairs.n_items, np.inf)
    np.minimum.at(first, pairs.items, pairs.times)
    return first
