"""index: what IVF, HNSW, product quantisation and one byte a coordinate find of the exact lists, and what they cost.

Built by `course_lib.index` with faiss, asked by one thread; also an index of the reader's own. An index does not know
which items a user knows, so that its lists, and the exact ones beside them, hold these too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from course_lib import gauge, index, metrics
from course_lib.audit.evidence import AnyArray, Evidence, Float, Ids, no_pairs
from course_lib.audit.remedies import SIDES, SURE, Change
from course_lib.audit.smaller import GROUPS, LENGTHS, MEGA, groups_of, recall_by
from course_lib.audit.sources import refuse_file
from course_lib.audit.verdicts import Answer, Number, Picture, Verdict, cannot_tell

MOST_ITEMS, ASKERS = 50_000, 500  # items of the indexes that are built, and users who ask, at random
FEWEST_ITEMS = 256  # of PQ, which makes so many cells of each part
LOOKED = 8  # IVF has sqrt(n) cells, and looks into one of so many
PLAIN, MORE = index.SPACES[:2]
KINDS = {"exact": "exact", "ivf": "IVF", "hnsw": "HNSW", "pq": "PQ", "int8": "int8"}
GAIN = 0.05  # of recall, by one more coordinate: from here on noted
WELL = 0.95  # recall of an index of the reader's own, below which it is noted
STRANGE = 3.0  # times what chance finds, below which an index of the reader's own seems to hold other vectors
STRANGER = ", hardly more than chance does, so it seems to hold other vectors, or these in another order"
NAME = "index"
EXPECTED = "an index that faiss.write_index wrote"
ENDS = ("head", "tail", "long", "short")  # of the groups, in the sentence
GROUPS_OF = (*GROUPS, *LENGTHS)


def searched(evidence: Evidence, asked: str | None) -> Verdict:
    """asked: None for no index, "" for those that are built, or the file of an index of faiss to be asked as well."""
    if asked is None:
        return cannot_tell(NAME, "No index was built.", "Give --index (with the extra `index`), or --index FILE.faiss.")
    if evidence.users is None:
        return cannot_tell(NAME, "Nobody asks an index without users.", "Give --users.")
    try:
        with _one_thread():
            return _searched(evidence, asked)
    except ModuleNotFoundError as problem:
        return cannot_tell(NAME, f"{problem}.", "")  # it names the extra


class Asked:
    """The users who ask, the items, and the exact lists."""

    def __init__(self, evidence: Evidence, items: Ids) -> None:
        assert evidence.users is not None
        m, k = len(evidence.users), evidence.k
        asking = np.sort(evidence.rng("askers").choice(m, min(m, ASKERS), replace=False))
        self.users, self.items, self.k = evidence.users[asking], evidence.items[items], k
        known = no_pairs(len(asking), len(items))
        self.exact = metrics.top_k(self.users.astype(self.items.dtype), self.items, known, k)
        self.groups = [] if evidence.counts is None else [(tuple(GROUPS), groups_of(evidence.counts[items]))]
        if not evidence.on_sphere:
            self.groups.append((LENGTHS, groups_of(evidence.norms[items])))

    def row(self, lists: Ids, size: float, milliseconds: float) -> dict[str, Number]:
        """What one index found."""
        found: dict[str, Number] = {"recall": float(metrics.index_recall(lists, self.exact))}
        for names, group in self.groups:
            found |= recall_by(lists, self.exact, group, names)
        return found | {"megabytes": size / MEGA, "milliseconds": milliseconds}

    def shares(self, lists: Ids) -> Float:
        """(u,) of each exact list."""
        return gauge.neighbour_overlap(self.exact, lists)


def _searched(evidence: Evidence, asked: str) -> Verdict:
    n = len(evidence.items)
    some = np.arange(n) if n <= MOST_ITEMS else np.sort(evidence.rng("indexed").choice(n, MOST_ITEMS, replace=False))
    setting, rows, shares = Asked(evidence, some), {}, {}
    for kind, space in _kinds(evidence, len(some)):
        users, items = index.arranged(setting.users, setting.items, space)
        cells = max(1, round(math.sqrt(len(some))))
        more = {"cells": cells, "probes": max(1, cells // LOOKED)} if kind == "ivf" else {}
        built = index.build(items, kind, space=space, seed=0, **more)
        name = KINDS[kind] + (" with one more coordinate" if space == MORE else "")
        lists, clock = _timed(built, users, evidence.k)
        rows[name], shares[name] = setting.row(lists, _size(built), clock), setting.shares(lists)
    of = f"{len(some):,} items" + (f", drawn at random out of {n:,}," if len(some) < n else "")
    recalls = "; ".join(f"{name} {row['recall']:.3f}" for name, row in rows.items() if name != "exact")
    support = f"Of the exact {evidence.k} best of {of} for {len(setting.users):,} users, known ones too, are found: "
    support += f"{recalls}. By group, with megabytes, and milliseconds of one thread for a user: "
    support += "; ".join(_of_row(name, row) for name, row in rows.items()) + "."
    better = _better(shares, rows)
    answer: Answer = "noted" if better else "fine"
    own = _own(evidence, asked) if asked else None
    if own is not None:
        rows = {"your index": own} | rows
        strange = STRANGER if (own["recall"] or 0) < STRANGE * evidence.k / n else ""
        support = f"Your index finds {own['recall']:.3f} of the exact lists over all {n:,} items{strange}. {support}"
        answer = "noted" if better or (own["recall"] or 0) < WELL else "fine"
    figures = {f"{_key(name)}_{what}": value for name, row in rows.items() for what, value in row.items()}
    every = [*rows.values()]
    parts = [[share for each in ("recall", *GROUPS_OF) if (share := row.get(each)) is not None] for row in every]
    columns: dict[str, list[Any]] = {"index": [*rows], "recall": [each[0] for each in parts]}
    columns |= {"least group": [min(each) for each in parts], "largest group": [max(each) for each in parts]}
    columns |= {what: [row.get(what) for row in every] for what in every[0] if what != "recall"}
    title = "Recall of the exact lists, from the group of items of which least is found to the one of which most is"
    picture = Picture(title, "points", "index", "recall", columns)
    return Verdict(NAME, answer, support, figures, better, (picture,))


def _kinds(evidence: Evidence, n: int) -> Iterator[tuple[str, str]]:
    for kind in KINDS:
        if kind != "pq" or n >= FEWEST_ITEMS:
            yield kind, PLAIN
            if kind in ("ivf", "hnsw") and not evidence.on_sphere:
                yield kind, MORE


def _better(shares: dict[str, Float], rows: dict[str, dict[str, Number]]) -> str:
    """Where one more coordinate finds GAIN more, surely, and of no group of items GAIN less: the advice."""
    for kind in ("HNSW", "IVF"):
        more = shares.get(f"{kind} with one more coordinate")
        if more is None:
            continue
        change, after = Change.of(more - shares[kind]), rows[f"{kind} with one more coordinate"]
        if any((after[name] or 0) < (before or 0) - GAIN for name, before in rows[kind].items() if name in GROUPS_OF):
            continue
        if change.difference >= GAIN and change.difference * SIDES >= SURE * (change.difference - change.low):
            return (
                f"Search by distance with one more coordinate: {kind} finds {more.mean():.3f} of the exact lists and "
                f"not {shares[kind].mean():.3f} (difference {change.difference:+.3f}, 95 % interval {change.low:+.3f} "
                f"to {change.high:+.3f})."
            )
    return ""


def _own(evidence: Evidence, path: str) -> dict[str, Number]:
    """What the index in a file of faiss finds. Its numbers are the rows of the item table's file."""
    built = read_index(Path(path))
    size = len(evidence.items) if evidence.places is None else int(evidence.places.max()) + 1
    setting = Asked(evidence, np.arange(len(evidence.items)))
    short = built.d - setting.users.shape[1]
    if short not in (0, 1) or built.ntotal < size:
        what = f"it holds {built.ntotal} vectors of width {built.d}"
        expected = f"{size} of width {setting.users.shape[1]}, one for each row of the items"
        raise refuse_file(NAME, Path(path), what, expected)
    queries = np.ascontiguousarray(np.pad(setting.users, ((0, 0), (0, short))), np.float32)
    lists, clock = _timed(built, queries, evidence.k)
    rows, own = np.full(built.ntotal + 1, -1, np.int64), np.arange(len(evidence.items))
    rows[own if evidence.places is None else evidence.places] = own
    return setting.row(rows[np.where(lists < built.ntotal, lists, -1)], _size(built), clock)


def read_index(path: Path) -> Any:
    """An index that faiss.write_index wrote: numbers alone, no code."""
    faiss = index._faiss()
    try:
        return faiss.read_index(str(path))
    except RuntimeError:
        raise refuse_file(NAME, path, "faiss cannot read it", EXPECTED) from None


def _timed(built: Any, queries: AnyArray, k: int) -> tuple[Ids, float]:
    """(lists (u, k), milliseconds a query): the second of two passes."""
    for _ in range(2):
        start = perf_counter()
        lists = index.nearest(built, queries, k)
        clock = perf_counter() - start
    return lists, 1000 * clock / len(queries)


def _size(built: Any) -> float:
    return float(index._faiss().serialize_index(built).nbytes)


@contextmanager
def _one_thread() -> Iterator[None]:
    """So that a graph, and its milliseconds, do not depend on how many threads there are."""
    faiss = index._faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _of_row(name: str, row: dict[str, Number]) -> str:
    groups = "".join(f"{each} {row[each]:.2f}, " for each in ENDS if row.get(each) is not None)
    return f"{name} ({groups}{row['megabytes']:.3g} MB, {row['milliseconds']:.2g} ms)"


def _key(name: str) -> str:
    return name.replace(",", "").replace(" ", "_").lower()
