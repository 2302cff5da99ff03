"""Public checks of the assignment one-batch-many-machines."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import processes
from course_lib.arrays import exact
from course_lib.lessons.shared.forms import (
    OTHER_VERSION,
    Answer,
    compare,
    compare_arrays,
    compare_exact,
    each_case,
    expect,
    is_list,
    is_whole,
    public,
)
from course_lib.lessons.shared.grading.hand_in import hand_in  # noqa: F401 (the last cell of an assignment)

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
Q = [[1.0, 0.0], [0.5, -1.0], [2.0, 1.0], [-1.0, 0.5]]
K = [[0.5, 1.0], [1.0, 0.0], [0.0, -1.0], [1.5, 0.5]]
PARTS = [  # what two processes with two pairs each found: gradients to their queries, and to all items
    ([[1, 2], [0, 4]], [[2, 0], [-2, 2], [4, 4], [0, -6]]),
    ([[-2, 0], [6, 2]], [[0, 2], [2, 2], [1, -1], [-3, 5]]),
]
LABELS = [[1, 1, 0], [0, 1, 1]]
GRAMS = [[[4, 1], [1, 2]], [[2, -1], [-1, 6]]]


# ---- what the checks are made of; the hidden checks call them with other inputs ----


@each_case
def check_queries(
    answer: Answer, q: list[Any], k: list[Any], rank: int, size: int, tau: float, *, handicap: str = "0"
) -> None:
    """Task 1a: the first of the two that `answer(Q, K, rank, size, tau)` returns.

    `handicap` is taken from the score of each positive, as in the additive margin softmax.
    """
    right, _ = _own_gradient(q, k, rank, size, tau, handicap=handicap)
    local, _ = _own_gradient(q, k, rank, size, tau, local=True, handicap=handicap)
    rows = len(right)
    where = f"the gradient to the queries of process {rank} of {size}, tau = {tau:g}"
    slips = [
        (_own_gradient(q, k, rank, size, tau)[0], OTHER_VERSION),
        (right * rows, "the loss is the mean over the process's own rows, not their sum"),
        (right / size, "the mean is over the process's own rows, not over all rows: DDP divides by P later"),
        (right * tau, "the scores are divided by tau, and so is their gradient"),
        (local, "each row meets the items of all processes"),
        (-right, "the sign: the positive is pulled, so its share minus 1 stands before it"),
        (right + np.array(k)[_rows(q, rank, size)] / (rows * tau), "the pull of the positive is missing"),
    ]
    compare_arrays(_two(answer(q, k, rank, size, tau))[0], right, where, slips)


@each_case
def check_items(
    answer: Answer, q: list[Any], k: list[Any], rank: int, size: int, tau: float, *, handicap: str = "0"
) -> None:
    """Task 1b: the second of the two that `answer(Q, K, rank, size, tau)` returns."""
    _, right = _own_gradient(q, k, rank, size, tau, handicap=handicap)
    own = _rows(q, rank, size)
    kept = np.zeros_like(right)
    kept[own] = right[own]
    unpulled = right.copy()
    unpulled[own] += np.array(q)[own] / (len(own) * tau)
    _, everyone = _own_gradient(q, k, 0, 1, tau, handicap=handicap)
    where = f"the gradient to all items from process {rank} of {size}, tau = {tau:g}"
    slips = [
        (_own_gradient(q, k, rank, size, tau)[1], OTHER_VERSION),
        (right * len(own), "the loss is the mean over the process's own rows, not their sum"),
        (right / size, "the mean is over the process's own rows, not over all rows: DDP divides by P later"),
        (right * tau, "the scores are divided by tau, and so is their gradient"),
        (kept, "the items of the other processes are pushed, too: this is what a gather of constants leaves"),
        (unpulled, "the pull on the own positives is missing"),
        (everyone, "these are the rows of all processes: this process computes its own rows only"),
        (everyone * size, "these are the rows of all processes: this process computes its own rows only"),
    ]
    compare_arrays(_two(answer(q, k, rank, size, tau))[1], right, where, slips)


def _rows(q: list[Any], rank: int, size: int) -> np.ndarray:
    return np.asarray(np.arange(len(q)).reshape(size, -1)[rank])


def _own_gradient(
    q: list[Any], k: list[Any], rank: int, size: int, tau: float, *, local: bool = False, handicap: str = "0"
) -> tuple[np.ndarray, np.ndarray]:
    """The gradient of the mean over the own rows of -log softmax, to the own queries and to all items."""
    queries, items, own = np.array(q, dtype=float), np.array(k, dtype=float), _rows(q, rank, size)
    logits = queries[own] @ items.T / tau  # (B, P B)
    if local:
        logits[:, np.setdiff1d(np.arange(len(k)), own)] = -np.inf
    logits[np.arange(len(own)), own] -= float(Fraction(handicap)) / tau
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    shares[np.arange(len(own)), own] -= 1
    shares /= len(own) * tau
    return shares @ items, shares.T @ queries[own]


def _two(value: Any) -> Any:
    expect(is_list(value, 2), "two things are asked for: to the own queries, and to all items")
    return value


Recipe = tuple[int, str, str, str, bool]


@each_case
def check_factors(
    answer: Answer, size: int, rows: str, gather: str, reduction: str, times: bool, *, before: int = 1
) -> None:
    """Task 2: `answer(processes, rows, gather, reduction, times_world)`; every loss is multiplied by `before`, too."""
    one = processes.gradient_factors(processes=size, rows=rows, gather=gather, reduction=reduction)
    scale = before * (size if times else 1)
    right = _listed(one.times(scale))
    got = answer(size, rows, gather, reduction, times)
    where = f"P = {size}, {rows} rows, gather {gather}, {reduction}{', times P' if times else ''}"
    expect(is_list(got, 5), f"{where}: five numbers are expected: query, pull, near, far, direct")
    carried = processes.gradient_factors(processes=size, rows=rows, gather="gradients", reduction=reduction)
    mean = processes.gradient_factors(processes=size, rows=rows, gather=gather, reduction="mean")
    unaveraged = [factor * size for factor in right]
    direct_as_query = [[*right[:4], right[0]]]
    no_far = [[*right[:3], Fraction(0), right[4]]] if gather == "constant" else None
    slips = [
        ([_listed(one.times(size if times else 1))], OTHER_VERSION),
        ([_listed(one)], "the loss of each process is multiplied by P, and so are all its gradients"),
        ([_listed(carried.times(scale))], "constants send no gradient back: which rows does an item's owner see?"),
        (no_far, "with all rows, the owner of an item sees the rows of the others as well"),
        ([_listed(mean.times(scale))], "DDP takes the mean of the processes: a sum over own rows is then 1/P of it"),
        ([unaveraged], "DDP divides the sum of the gradients by P"),
        (
            direct_as_query,
            "every process has the whole gradient to the temperature, and the mean of equals is one of them",
        ),
        ([[factor / size for factor in right]], "this has been divided by P once too often"),
    ]
    compare_exact([got], [right], where, slips)


def _listed(factors: processes.GradientFactors) -> list[Fraction]:
    return [factors.query, factors.pull, factors.near, factors.far, factors.direct]


Part = tuple[list[Any], list[Any]]


@each_case
def check_assemble(answer: Answer, parts: list[Part]) -> None:
    """Task 3a: `answer(parts)`."""
    size = len(parts)
    queries, items = np.concatenate([exact(q) for q, _ in parts]), sum(exact(k) for _, k in parts)
    right = np.concatenate([queries, items]) * Fraction(1, size)
    kept = np.concatenate([queries, _kept(parts)]) * Fraction(1, size)
    where = f"the gradient of one process, from {size} processes (queries, then items)"
    items_alone = np.concatenate([queries, items * Fraction(1, size)])
    slips = [
        (right * size, "each loss is a mean over B rows, and the whole batch has P B"),
        (items_alone, "the queries' gradients are of the mean over B rows, too: divide them by P"),
        (np.concatenate([queries * Fraction(1, size), items]), "the items' gradients are added up and divided by P"),
        (kept, "every process pushes the items of the others: add up all of their gradients"),
    ]
    compare_exact(_stacked(answer(parts)), right, where, slips)


@each_case
def check_constants(answer: Answer, parts: list[Part]) -> None:
    """Task 3b: `answer(parts)`."""
    size = len(parts)
    queries, items = np.concatenate([exact(q) for q, _ in parts]), sum(exact(k) for _, k in parts)
    right = np.concatenate([queries, _kept(parts)]) * Fraction(1, size)
    where = f"what is left with constants, from {size} processes (queries, then items)"
    gathered = np.concatenate([queries, items]) * Fraction(1, size)
    queries_alone = np.concatenate([queries * Fraction(1, size), _kept(parts)])
    without_own = np.concatenate([queries, items - _kept(parts)]) * Fraction(1, size)
    slips = [
        (right * size, "DDP takes the mean over the processes"),
        (gathered, "this is the gather with gradients: here nobody sends a gradient to the owner of an item"),
        (queries_alone, "DDP takes the mean over the processes, of the items' gradients as well"),
        (without_own, "the own block of items stays, and the others are lost"),
    ]
    compare_exact(_stacked(answer(parts)), right, where, slips)


def _kept(parts: list[Part]) -> np.ndarray:
    """(P B, d) of each process's items what its own rows do to them."""
    blocks = [np.array_split(exact(items), len(parts))[rank] for rank, (_, items) in enumerate(parts)]
    return np.concatenate(blocks)


def _stacked(value: Any) -> list[Any]:
    expect(is_list(value, 2), "two tables are asked for: of all queries, and of all items")
    expect(all(map(is_list, value)), "two tables are asked for, each a list of rows")
    return [*value[0], *value[1]]


Sampling = tuple[list[Any], int, int]


@each_case
def check_weights(answer: Answer, labels: list[Any], size: int, batch: int, *, gathered: bool, kept: str = "1") -> None:
    """Task 4: `answer(labels, processes, batch)`: the weights with local negatives, and with gathered ones.

    Of the cells a process keeps this share, by chance.
    """
    table = exact(labels)
    popularity = table.sum(1)[:, None] * table.sum(0)[None, :]
    total = int(table.sum())
    met = processes.meetings("together", processes=size, batch_size=batch, n_positives=total)
    local, whole = Fraction(kept) * (popularity - table), met.near + met.far
    count, other = (whole, met.near) if gathered else (met.near, whole)
    right = local * count
    replaced = Fraction(size * batch, total) ** 2 if gathered else Fraction(size * batch**2, total**2)
    value = answer(labels, size, batch)
    expect(is_list(value, 2), "two tables are asked for: with local negatives, and with gathered")
    where = f"the weights with {'gathered' if gathered else 'local'} negatives, P = {size}, B = {batch}, M = {total}"
    slips = [
        (right / Fraction(kept), OTHER_VERSION),
        (Fraction(kept) * popularity * count, "a positive is no negative of itself: r_i c_j counts it once too often"),
        (local * other, "local and gathered have changed places"),
        (None if gathered else right / size, "there are P processes, and each has a grid of its own"),
        (right / 2, "a pair of positives meets in two cells: row of one, column of the other"),
        (local * replaced, "the batch is drawn without replacement: B (B - 1) out of M (M - 1)"),
        ((1 - table) * right, "a positive cell can be met by two other positives as well"),
        (right / (size * batch), "the weights are counts of cells in a step, not means over rows"),
    ]
    compare_exact(value[int(gathered)], right, where, slips)


@each_case
def check_gramians(answer: Answer, grams: list[Any], sizes: list[int]) -> None:
    """Task 5: `answer(grams, sizes)`."""
    tables, total = np.array([exact(gram) for gram in grams]), sum(sizes)
    right = (tables * exact(sizes)[:, None, None]).sum(axis=0) * Fraction(1, total)
    plain = tables.sum(axis=0)
    where = f"the Gramian of a batch on {len(sizes)} processes with {sizes} rows"
    slips = [
        (plain * Fraction(1, len(sizes)), "a process with more rows counts for more"),
        (plain, "a Gramian is a mean over rows, not a sum of means"),
        (right * total, "this is the sum of the outer products: divide by the number of rows"),
        (plain * Fraction(1, total), "each Gramian is a mean: times its rows it is a sum again"),
        (plain * Fraction(1, sum(size > 0 for size in sizes)), "a process with more rows counts for more"),
    ]
    compare_exact(answer(grams, sizes), right, where, slips)


@each_case
def check_bytes(answer: Answer, size: int, batch: int, d: int, rows: str, gather: str, *, itemsize: int = 4) -> None:
    """Task 6a: `answer(processes, batch, d, rows, gather)`, for numbers of so many bytes."""
    right = itemsize * processes.gathered_bytes(
        processes=size, batch_size=batch, width=d, rows=rows, gather=gather, itemsize=1
    )
    got = answer(size, batch, d, rows, gather)
    expect(is_whole(got), "a number of bytes is a whole number")
    where = f"bytes of a step: P = {size}, B = {batch}, d = {d}, {rows} rows, gather {gather}"
    slips = [
        (right // itemsize * 4, OTHER_VERSION),
        (right // itemsize, f"a number of {8 * itemsize} bits has {'four' if itemsize == 4 else itemsize} bytes"),
        (right * size // (size - 1), "a process need not send its block around the whole ring: P - 1 times"),
        (right * size, "what one process sends, not all of them"),
        (right // 2 if gather == "gradients" else None, "the gradients have the same way to go back"),
        (right // 2 if rows == "all" else None, "all rows need the queries as well"),
        (right // 4 if (rows, gather) == ("all", "gradients") else None, "two tables, forth and back"),
        (right * 2 if gather == "constant" else None, "constants have no gradients that go back"),
        (right * 2 if rows == "own" else None, "own rows need the items of the others, and no queries"),
        (right // (size - 1), "a block is passed on P - 1 times"),
    ]
    compare(int(got), right, where, slips, exact=True)


@each_case
def check_crossing(
    answer: Answer, size: int, d: int, rows: str, gather: str, *, itemsize: int = 4, gramian_itemsize: int = 4
) -> None:
    """Task 6b: `answer(processes, d, rows, gather)`, for rows and for Gramians of numbers of so many bytes."""
    one = processes.gathered_bytes(processes=size, batch_size=1, width=d, rows=rows, gather=gather, itemsize=itemsize)
    both = processes.gramian_bytes(processes=size, width=d, itemsize=gramian_itemsize)
    right = int(both / one) + 1
    got = answer(size, d, rows, gather)
    expect(is_whole(got), "the size of a batch is a whole number")
    where = f"the smallest B for which Gramians are cheaper: P = {size}, d = {d}, {rows} rows, gather {gather}"
    slips = [
        (int(both / one * itemsize / gramian_itemsize) + 1, OTHER_VERSION),
        (right - 1, "there the gather is cheaper still, or as cheap: B is the next whole number"),
        (right + 1, "one pair fewer is enough"),
        (right * size, "B is the batch of one process, not of all"),
        (int(both / one / 2) + 1, "there are two Gramians"),
        (int(both / one / 2) + 1, "a sum around a ring goes round twice"),
        (int(both * size / one) + 1, "a ring sends d^2 numbers in P parts: 2 (P - 1)/P of them for each Gramian"),
        (d, "this does not depend on P, and it should"),
    ]
    compare(int(got), right, where, slips, exact=True)


# ---- the public checks

# Task 1a: two processes with two pairs each
queries = public(check_queries, [(Q, K, 0, 2, 1.0), (Q, K, 1, 2, 0.5)])
# Task 1b: the same
items = public(check_items, [(Q, K, 0, 2, 1.0), (Q, K, 1, 2, 0.5)])
# Task 2: own rows on two processes
factors_own = public(
    check_factors,
    [
        (2, "own", "gradients", "mean", False),
        (2, "own", "constant", "mean", False),
        (2, "own", "gradients", "sum", True),
    ],
)
# Task 2: all rows on two processes
factors_all = public(check_factors, [(2, "all", "gradients", "mean", False), (2, "all", "constant", "mean", False)])
# Task 3a: two processes with two pairs each
assemble = public(check_assemble, [PARTS, PARTS[::-1]])
# Task 3b: the same
constants = public(check_constants, [PARTS, PARTS[::-1]])
# Task 4: two users, three items
weights_local = public(check_weights, [(LABELS, 2, 2), (LABELS, 1, 3)], gathered=False)
# Task 4: the same with gathered negatives
weights_gathered = public(check_weights, [(LABELS, 2, 2), (LABELS, 1, 3)], gathered=True)
# Task 5: processes with as many rows
gramians_equal = public(check_gramians, [(GRAMS, [3, 3]), (GRAMS[:1], [5])])
# Task 5: one with twice as many
gramians_uneven = public(check_gramians, [(GRAMS, [2, 4]), (GRAMS, [3, 1])])
# Task 6a: four processes
step_bytes = public(check_bytes, [(4, 100, 32, "own", "constant"), (4, 100, 32, "own", "gradients")])
# Task 6b: four processes
crossing = public(check_crossing, [(4, 64, "own", "constant"), (4, 64, "own", "gradients")])
