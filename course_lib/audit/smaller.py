"""What smaller vectors find of the exact lists, by popularity and length of the items, and what the items then weigh.

int8: each dimension of the items is rounded to one of 255 values, and the users stay. Fewer dimensions: both tables
are turned to the axes in which the first r columns give the best approximation of all scores of rank r (Eckart and
Young), as any gauge keeps the scores, and cut after r columns. NumPy alone; `questions.searched` builds an index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from course_lib import metrics
from course_lib.audit.evidence import AnyArray, Ids
from course_lib.audit.remedies import Bench, Change, Tables

GROUPS = {"head": 0.1, "middle": 0.5, "tail": 1.0}  # most popular items, then up to a half, and the rest
LENGTHS = ("long", "medium", "short")  # the same of the longest items
STEPS = 127  # of int8, on either side of 0
PARTS = {"half of the dimensions": 2, "a quarter of the dimensions": 4}
MEGA = 1e6
BLOCK = 2**16  # rows that are turned at once


@dataclass(frozen=True)
class Smaller:
    """Items in fewer bytes: recall of the exact lists, in all, by GROUPS and by LENGTHS, where lengths differ.

    None: no exact list has such an item.

    megabytes, exact_megabytes: of the items, and of the items as they are; before, change: NDCG on held-out pairs of
    the exact lists, and what it changes by.
    """

    kind: str
    megabytes: float
    exact_megabytes: float
    recall: float
    by_group: dict[str, float | None]
    change: Change
    by_length: dict[str, float | None]
    before: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {name: value for name, value in asdict(self).items() if name != "before"}

    def text(self) -> str:
        """One line."""
        shares = self.by_group | self.by_length
        groups = ", ".join(f"{name} {'–' if share is None else f'{share:.3f}'}" for name, share in shares.items())
        weight = f"{self.megabytes:.3g} of {self.exact_megabytes:.3g} MB"
        return f"{self.kind}: {weight}, recall {self.recall:.3f} ({groups}), NDCG {self.change.difference:+.4f}"


def smaller(bench: Bench) -> list[Smaller]:
    """int8, and fewer dimensions where there are enough."""
    groups, lengths, exact = groups_of(bench.counts), groups_of(bench.evidence.norms), bench.start
    found = []
    for kind, tables, size in _kinds(bench):
        judged = bench.judged(tables)
        by_group = recall_by(judged.lists, exact.lists, groups, GROUPS)
        by_length = {} if bench.evidence.on_sphere else recall_by(judged.lists, exact.lists, lengths, LENGTHS)
        recall = float(metrics.index_recall(judged.lists, exact.lists))
        change = Change.of(judged.ndcg - exact.ndcg)
        megabytes = size / MEGA, bench.items.nbytes / MEGA
        found.append(Smaller(kind, *megabytes, recall, by_group, change, by_length, float(exact.ndcg.mean())))
    return found


def recall_by(found: Ids, exact: Ids, groups: Ids, names: Iterable[str]) -> dict[str, float | None]:
    """`metrics.index_recall` of each group of items, by its name; None where no exact list has such an item."""
    shares = np.asarray(metrics.index_recall(found, exact, groups))
    return {name: None if np.isnan(share) else float(share) for name, share in zip(names, shares, strict=True)}


def _kinds(bench: Bench) -> Iterator[tuple[str, Tables, float]]:
    """(name, tables of the bench's users and of all items, bytes of the items)."""
    n, width = bench.items.shape
    step = np.maximum(np.abs(bench.items).max(axis=0) / STEPS, np.finfo(bench.items.dtype).tiny)
    rounded = bench.items / step
    np.round(rounded, out=rounded)
    rounded *= step
    yield "int8", (bench.users, rounded), n * width + step.nbytes
    triangle, everybody = bench.evidence.triangles
    assert everybody is not None
    users, items = turned((everybody, triangle), bench.users, bench.items)
    for kind, part in PARTS.items():
        kept = width // part
        if kept:
            yield kind, (users[:, :kept], items[:, :kept]), bench.items.nbytes * kept / width


def turned(whole: Tables, users: AnyArray, items: AnyArray) -> Tables:
    """Users (u, k) and items (n, k) in axes whose first r columns give the best scores of rank r of the whole tables.

    With all users = Q R and the singular vectors A of R items^T: users R^+ A, and items R^T A. whole: `reduced`.
    """
    R, triangle = whole
    axes = np.linalg.svd(R @ triangle.T)[0]
    left, right = np.linalg.pinv(R, rcond=1e-10) @ axes, R.T @ axes
    found = np.empty((len(items), right.shape[1]), items.dtype)
    for start in range(0, len(items), BLOCK):  # in float64 only so many rows at once
        found[start : start + BLOCK] = items[start : start + BLOCK] @ right
    return (users @ left).astype(users.dtype), found


def groups_of(sizes: AnyArray) -> Ids:
    """(n,) 0 for the most popular items, or the longest; 1 for the next, 2 for the rest, by GROUPS."""
    n = len(sizes)
    place = np.empty(n, dtype=np.int64)
    place[np.argsort(-sizes, kind="stable")] = np.arange(n)
    ends = [max(at + 1, round(share * n)) for at, share in enumerate(GROUPS.values())]
    found: Ids = np.searchsorted(ends, place, side="right")
    return found
