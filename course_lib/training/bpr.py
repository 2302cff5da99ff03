"""`bpr_epoch`: one pass of plain stochastic gradient descent for MF with BPR, compiled: the speed a CPU can give.

Not `training.fit`: two bare tables, no autograd, no batches. One triple after the other moves three rows.

Two threads may not write to one row at a time, or the result depends on who comes first. Hogwild (implicit's way) lets
them. Here nobody has to: for every pass the users are dealt at random into GROUPS groups and the items into 2 * GROUPS,
and a triple (u, i, j) falls into the bucket (group of u; groups of i and j). A round-robin tournament orders the
buckets into rounds of GROUPS buckets that share neither a user nor an item. The buckets of a round run side by side,
and the outcome is that of any order: one seed gives one result, bit for bit, for every number of threads. This is the
stratified SGD of Gemulla et al. (KDD 2011), with triples in place of pairs. As a side effect the rows of a bucket fit
into the processor's cache.

Random numbers are hashes of (seed, position): they too are the same whoever draws them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from course_lib import checking
from course_lib.interactions import NEGATIVE_LAWS, Interactions

GROUPS = 4  # of users; as many buckets run side by side
SHARES = 4  # parts in which the triples are drawn and dealt
AHEAD, LINE = 6, 64  # triples whose rows are asked for before their turn; bytes of a line of the cache
FINE = 4  # blocks for each positive of a user when uniform negatives are drawn
SCAN = 128  # sorted numbers that are counted through; among more of them a binary search goes first
SMALL = 100_000  # pairs below which one thread is as fast as several
LAWS = tuple(name for name, law in NEGATIVE_LAWS.items() if law.collision == "redraw")
# What lets a sum use the processor's vectors; NaN and infinity keep their meaning.
SUMS_IN_ANY_ORDER = {"reassoc", "contract", "nsz", "arcp"}

Table = NDArray[Any]  # of numbers of any kind; the compiled functions take what they are given
Runner = Callable[[Callable[[int], Any], Iterable[int]], list[Any]]


def bpr_epoch(
    users: Any,
    items: Any,
    interactions: Interactions,
    *,
    lr: float,
    decay: float = 0.0,
    rng: np.random.Generator,
    negatives: str = "uniform",
    threads: int | None = None,
) -> float:
    """Make one pass of SGD over the pairs, in place: every pair (u, i) once, in random order, with one negative j.

    For one triple after the other, with ``w = sigma(<e_u, e_j> - <e_u, e_i>)`` and the right-hand sides as they were
    before the step::

        e_u += lr (w (e_i - e_j) - 2 decay e_u);   e_i += lr (w e_u - 2 decay e_i);   e_j += lr (-w e_u - 2 decay e_j),

    which is -lr times the gradient of ``-ln sigma(<e_u, e_i - e_j>) + decay (|e_u|^2 + |e_i|^2 + |e_j|^2)``.

    Parameters
    ----------
    users, items : ndarray or Tensor, shape (m, d) and (n, d)
        The tables, float32 or float64, C-contiguous and writeable, on the CPU. They are changed in place.
    interactions : Interactions
        The pairs O.
    lr : float
        The learning rate.
    decay : float
        The weight of the regulariser.
    rng : numpy.random.Generator
        Gives the seed of the pass.
    negatives : str
        "uniform" or "popularity", laws of ``interactions.sample_negatives``.
    threads : int, optional
        The default is torch's number; more than 4 bring nothing. The result does not depend on it.

    Returns
    -------
    float
        The AUC of the pass: the share of triples that stood in the right order, ``<e_u, e_i> > <e_u, e_j>``, when
        their turn came.

    Raises
    ------
    ValueError
        For tables that do not fit, no pair, and a user who has no possible negative left.
    FloatingPointError
        When the tables are not finite afterwards.

    Notes
    -----
    Without decay the sum of the item embeddings never changes: what i gains, j loses. Source: P1, equation (3).

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.bpr import bpr_epoch
    >>> data, rng = Interactions([0, 0, 1], [0, 1, 2], n_users=2, n_items=4), np.random.default_rng(0)
    >>> users, items = rng.standard_normal((2, 3)), rng.standard_normal((4, 3))
    >>> before = items.copy()
    >>> auc = bpr_epoch(users, items, data, lr=0.1, rng=rng)
    >>> 0 <= auc <= 1, np.allclose(items.sum(axis=0), before.sum(axis=0)), np.allclose(items, before)
    (True, True, False)
    """
    left, right = _tables(users, items, interactions)
    lr, decay = checking.real(lr, "lr", least=0), checking.real(decay, "decay", least=0)
    threads = checking.whole(torch.get_num_threads() if threads is None else threads, "threads")
    checking.generator(rng)
    rate, shrink, one = (left.dtype.type(value) for value in (lr, 2 * lr * decay, 1))
    with _runner(1 if len(interactions) < SMALL else min(threads, GROUPS)) as run:
        triples, starts, seed = _dealt_triples(interactions, negatives, rng, run)

        def descend(bucket: int) -> int:
            mine = triples[starts[bucket] : starts[bucket + 1]]
            _shuffle(mine, seed + np.uint64(bucket))
            return int(_descend(left, right, mine, rate, shrink, one))

        in_order = sum(sum(run(descend, buckets)) for buckets in np.arange(len(starts) - 1).reshape(-1, GROUPS))
    with np.errstate(invalid="ignore", over="ignore"):
        sums = left.sum() + right.sum()
    if not np.isfinite(sums):
        raise FloatingPointError(f"embeddings are not finite after a pass with lr={lr} and decay={decay}: lower lr")
    return in_order / len(interactions)


# ------------------------------------------------------------------------------------------------------------- buckets


def tournament(players: int) -> list[list[tuple[int, int]]]:
    """Make a round robin: in each round all players play once, and in all rounds each pair meets once.

    Parameters
    ----------
    players : int
        An even number of players.

    Returns
    -------
    list of list of tuple
        For each of the ``players - 1`` rounds the pairs that meet.

    Examples
    --------
    >>> from course_lib.training.bpr import tournament
    >>> tournament(4)
    [[(0, 3), (1, 2)], [(0, 1), (2, 3)], [(0, 2), (3, 1)]]
    """
    wheel = list(range(1, players))
    rounds = []
    for turn in range(players - 1):
        seats = [0, *wheel[turn:], *wheel[:turn]]
        rounds.append([(seats[at], seats[-1 - at]) for at in range(players // 2)])
    return rounds


def bucket_numbers(groups: int = GROUPS) -> NDArray[np.int64]:
    """Number the bucket of a triple by the groups of u, i and j, so that the buckets of a round share no row.

    Parameters
    ----------
    groups : int
        The number of groups of users. There are twice as many groups of items.

    Returns
    -------
    ndarray of int64, shape (groups, 2 groups, 2 groups)
        The bucket of a triple from the groups of u, i and j.

    Notes
    -----
    Buckets ``k groups .. (k + 1) groups - 1`` are round k: no two of them share a group of users or of items. A triple
    with i and j in one group goes where that group stands in the first rounds.

    Examples
    --------
    Two groups of users make 6 rounds of 2 buckets. The order of i and j does not matter.

    >>> from course_lib.training.bpr import bucket_numbers
    >>> numbers = bucket_numbers(2)
    >>> numbers.shape, int(numbers.max()) + 1
    ((2, 4, 4), 12)
    >>> bool((numbers == numbers.transpose(0, 2, 1)).all())
    True
    """
    numbers = np.full((groups, 2 * groups, 2 * groups), -1)
    bucket = itertools.count()
    for pairing in tournament(2 * groups):
        for turn in range(groups):
            for at, (a, b) in enumerate(pairing):
                number, who = next(bucket), (at + turn) % groups
                numbers[who, a, b] = numbers[who, b, a] = number
                for same in (a, b):
                    if numbers[who, same, same] < 0:
                        numbers[who, same, same] = number
    return numbers


def _dealt_triples(
    interactions: Interactions, negatives: str, rng: np.random.Generator, run: Runner
) -> tuple[NDArray[np.int32], NDArray[np.int64], np.uint64]:
    """The triples (|O|, 3) of a pass by bucket; (buckets + 1,) where each bucket starts; the seed of their order."""
    numbers = bucket_numbers().astype(np.uint16)
    kinds = zip(interactions.shape, (GROUPS, 2 * GROUPS), strict=True)
    user_groups, item_groups = ((rng.permutation(size) % count).astype(np.uint8) for size, count in kinds)
    seeds = rng.integers(2**63, size=2, dtype=np.uint64)
    size, buckets = len(interactions), int(numbers.max()) + 1
    bounds = np.linspace(0, size, SHARES + 1).astype(np.int64)
    users, items = interactions.users, interactions.items
    chosen, bucket = np.empty(size, np.int32), np.empty(size, np.uint16)
    draw = _drawer(interactions, negatives, seeds[0], chosen)

    def sort(share: int) -> Any:
        part = slice(bounds[share], bounds[share + 1])
        draw(bounds[share], bounds[share + 1])
        groups = user_groups, item_groups
        return _bucket(users[part], items[part], chosen[part], groups[0], groups[1], numbers, buckets, bucket[part])

    counts = np.stack(run(sort, range(SHARES)))  # (SHARES, buckets)
    ends = np.cumsum(counts.T.ravel()).reshape(buckets, SHARES)  # of each share's part of each bucket
    triples = np.empty((size, 3), np.int32)

    def deal(share: int) -> None:
        part = slice(bounds[share], bounds[share + 1])
        place = ends[:, share] - counts[share]
        _deal(users[part], items[part], chosen[part], bucket[part], place, triples)

    run(deal, range(SHARES))
    return triples, np.concatenate(([0], ends[:, -1])), seeds[1]


def _drawer(data: Interactions, law: str, seed: np.uint64, out: Table) -> Callable[[int, int], None]:
    """(start, stop) -> writes the negatives of these pairs of O into `out`."""
    arguments: tuple[Any, ...]
    draw: Callable[..., None]
    if checking.choice(law, "negatives", LAWS) == "uniform":
        free = data.n_items - data.row_counts
        arguments, draw = (data.users, data.row_starts, data.items, free, seed, out), _draw_uniform
    else:
        _, taken, before = data._pairs_by_item
        free = len(data) - (taken[data.row_starts[1:]] - taken[data.row_starts[:-1]])
        sorted_items = np.repeat(np.arange(data.n_items, dtype=np.int32), data.col_counts)
        arguments = (data.users, data.row_starts, before, taken, free, sorted_items, seed, out)
        draw = _draw_popular
    full = np.flatnonzero((free == 0) & (data.row_counts > 0))
    if len(full):
        raise ValueError(f"user {full[0]} has no item left that could be a negative under the law {law!r}")
    return lambda start, stop: draw(start, stop, *arguments)


# ------------------------------------------------------------------------------------------------------ compiled parts


@njit(nogil=True, cache=True)
def _mixed(state: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64 (Steele et al. 2014): 64 bits in, 64 well-mixed bits out."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@njit(nogil=True, cache=True)
def _below(seed: np.uint64, position: int, size: int) -> np.int64:
    """A whole number in 0..size-1 that depends on (seed, position) alone, uniform up to size / 2^53."""
    bits = _mixed(_mixed(seed) + np.uint64(position) * np.uint64(0x9E3779B97F4A7C15))
    return np.int64(np.float64(bits >> np.uint64(11)) * (2.0**-53) * size)


@njit(nogil=True, cache=True)
def _draw_uniform(
    start: int, stop: int, users: Table, row_starts: Table, items: Table, free: Table, seed: np.uint64, out: Table
) -> None:
    """The r-th item outside O_u, r uniform: positives that stand before it are those with items[k] - k <= r.

    The range of r is cut into FINE blocks for each positive of the user, and the positives below each block are counted
    once for all of the user's draws: most draws then find their count in the table.
    """
    before = np.empty(FINE * (np.max(row_starts[1:] - row_starts[:-1]) + 1) + 2, np.int64)
    p = start
    while p < stop:
        u = users[p]
        row, size = items[row_starts[u] : row_starts[u + 1]], free[u]
        shift = 0
        while size >> shift > FINE * len(row):
            shift += 1
        before[: (size >> shift) + 2] = 0
        for k in range(len(row)):
            before[((row[k] - k) >> shift) + 1] += 1
        for block in range(size >> shift):
            before[block + 1] += before[block]
        last = min(stop, row_starts[u + 1])
        for at in range(p, last):
            r = _below(seed, at, size)
            found = before[r >> shift]
            while found < len(row) and row[found] - found <= r:
                found += 1
            out[at] = r + found
        p = last


@njit(nogil=True, cache=True)
def _draw_popular(
    start: int,
    stop: int,
    users: Table,
    row_starts: Table,
    before: Table,
    taken: Table,
    free: Table,
    sorted_items: Table,
    seed: np.uint64,
    out: Table,
) -> None:
    """The item of the r-th pair outside O_u's items, in order of items (`interactions.sample_negatives`)."""
    for p in range(start, stop):
        u = users[p]
        r = _below(seed, p, free[u])
        wanted = u * (len(users) + 1) + r
        row = before[row_starts[u] : row_starts[u + 1]]
        low, high = 0, len(row)
        while high - low > SCAN:
            middle = (low + high) >> 1
            if row[middle] <= wanted:
                low = middle + 1
            else:
                high = middle
        rest, found = row[low:high], row_starts[u] + low
        for k in range(len(rest)):
            found += rest[k] <= wanted
        out[p] = sorted_items[r + taken[found] - taken[row_starts[u]]]


@njit(nogil=True, cache=True)
def _bucket(
    users: Table,
    items: Table,
    negatives: Table,
    user_groups: Table,
    item_groups: Table,
    numbers: Table,
    buckets: int,
    out: Table,
) -> NDArray[np.int64]:
    """Writes the bucket of each triple; returns how many fell into each."""
    counts = np.zeros(buckets, np.int64)
    for p in range(len(users)):
        number = numbers[user_groups[users[p]], item_groups[items[p]], item_groups[negatives[p]]]
        out[p] = number
        counts[number] += 1
    return counts


@njit(nogil=True, cache=True)
def _deal(users: Table, items: Table, negatives: Table, bucket: Table, place: Table, triples: Table) -> None:
    """Writes each triple to the next free place of its bucket."""
    for p in range(len(users)):
        at = place[bucket[p]]
        triples[at, 0], triples[at, 1], triples[at, 2] = users[p], items[p], negatives[p]
        place[bucket[p]] = at + 1


@njit(nogil=True, cache=True)
def _shuffle(triples: Table, seed: np.uint64) -> None:
    """A random order of the rows (Fisher and Yates)."""
    for last in range(len(triples) - 1, 0, -1):
        other = _below(seed, last, last + 1)
        for column in range(3):
            triples[last, column], triples[other, column] = triples[other, column], triples[last, column]


def _prefetch(typing: Any, address: Any) -> Any:
    """Asks the processor to bring the bytes at an address into its cache, and does not wait for them."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one = ir.IntType(32)
        pointer = builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, one, one, one])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
        builder.call(function, [pointer, one(1), one(3), one(1)])  # to write, into the nearest cache, data
        return context.get_dummy_value()

    return types.void(types.uintp), code


_fetch_line: Any = intrinsic(_prefetch)


@njit(nogil=True, cache=True)
def _fetch(table: Table, row: int) -> None:
    """Asks for a row of a table."""
    start = table.ctypes.data + row * table.strides[0]
    for line in range(0, table.strides[0], LINE):
        _fetch_line(np.uintp(start + line))


@njit(nogil=True, cache=True, fastmath=SUMS_IN_ANY_ORDER, error_model="numpy")
def _descend(users: Table, items: Table, triples: Table, rate: Any, shrink: Any, one: Any) -> int:
    """The steps of `bpr_epoch`, triple after triple; how many stood in the right order. one: 1 in the tables' type."""
    in_order = 0
    for t in range(len(triples)):
        soon = min(t + AHEAD, len(triples) - 1)
        _fetch(users, triples[soon, 0])
        _fetch(items, triples[soon, 1])
        _fetch(items, triples[soon, 2])
        u, i, j = users[triples[t, 0]], items[triples[t, 1]], items[triples[t, 2]]
        margin = one - one
        for f in range(len(u)):
            margin += u[f] * (i[f] - j[f])
        in_order += margin > 0
        pull, keep = rate / (one + math.exp(margin)), one - shrink
        for f in range(len(u)):
            before, gap = u[f], i[f] - j[f]
            u[f] = keep * before + pull * gap
            i[f] = keep * i[f] + pull * before
            j[f] = keep * j[f] - pull * before
    return in_order


# ----------------------------------------------------------------------------------------------------------- arguments


@contextmanager
def _runner(workers: int) -> Iterator[Runner]:
    """run(function, numbers) -> [function(number), ...], side by side."""
    if workers == 1:
        yield lambda function, numbers: [function(number) for number in numbers]
        return
    with ThreadPoolExecutor(workers) as pool:
        yield lambda function, numbers: list(pool.map(function, numbers))


def _tables(users: Any, items: Any, interactions: Interactions) -> tuple[Table, Table]:
    """Both tables as arrays that share the caller's memory."""
    checking.instance(interactions, "interactions", Interactions)
    precise = (torch.float32, torch.float64)
    tables = [
        table.detach().numpy() if isinstance(table, torch.Tensor) and table.dtype in precise else table
        for table in (users, items)
    ]
    for name, table, rows in zip(("users", "items"), tables, interactions.shape, strict=True):
        if not isinstance(table, np.ndarray) or table.dtype not in (np.float32, np.float64):
            expected = "an array or tensor of float32 or float64, which is changed in place"
            raise ValueError(f"{name} must be {expected}, got {table!r:.60}")
        if table.ndim != 2 or len(table) != rows:
            expected = f"({rows}, d), one row for each of {interactions!r}"
            raise ValueError(f"{name} has shape {table.shape}; expected {expected}")
        if not (table.flags.c_contiguous and table.flags.writeable):
            raise ValueError(f"{name} must be C-contiguous and writeable, since it is changed in place")
    left, right = tables
    if left.shape[1] != right.shape[1] or left.dtype != right.dtype:
        kinds = [f"width {table.shape[1]} and type {table.dtype}" for table in tables]
        raise ValueError(f"users have {kinds[0]}, items {kinds[1]}; expected the same")
    if not len(interactions):
        raise ValueError(f"bpr_epoch needs at least one pair, got {interactions!r}")
    return left, right
