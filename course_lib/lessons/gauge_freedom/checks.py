"""Public checks of the assignment gauge-freedom."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import gauge, geometry
from course_lib.lessons.shared.forms import (
    CLOSE,
    OTHER_VERSION,
    Answer,
    compare,
    compare_arrays,
    each_case,
    expect,
    floats,
    is_list,
    public,
    whole,
)
from course_lib.lessons.shared.grading.hand_in import hand_in  # noqa: F401 (the last cell of an assignment)
from course_lib.lessons.shared.real import film_factors

HALF = Fraction(1, 2)
CORNERS = [[HALF, HALF, HALF, HALF], [HALF, -HALF, HALF, HALF], [HALF, HALF, -HALF, HALF], [HALF, HALF, HALF, -HALF]]
RIGHT_TRIANGLE = [[Fraction(3, 5), Fraction(4, 5)], [Fraction(4, 5), Fraction(3, 5)], [1, 0]]
UNIT = 1e-6  # by how much a length of 1 may be off
PLANE = [[2.0, 0.1], [1.0, 1.0], [0.6, 2.0], [0.1, 1.0]]


def films(spread: float, rank: int = 16, n: int = 250, seed: int = 0) -> tuple[list[Any], list[Any]]:
    """(before, after): the n most rated films in the rank-16 SVD of the data, and after a random diagonal gauge."""
    users, items, _, counts = film_factors(rank)
    items = items[np.argsort(-counts, kind="stable")[:n]]
    d = gauge.random_diagonal_gauge(rank, spread=spread, rng=np.random.default_rng(seed))
    return items.tolist(), gauge.apply_gauge(users, items, d)[1].tolist()


# ---- what the checks are made of; the hidden checks call them with other inputs ----


@each_case
def check_diagonal(answer: Answer, table: list[Any], *, apart: int | None = None) -> None:
    """Task 1a: `answer(A)`; with `apart` the products of rows that lie so far apart are kept, too."""
    A = _exact(table)
    n, k = A.shape
    right = gauge.diagonal_gauge_dimension(_with_products(A, apart))
    rank = int(np.linalg.matrix_rank(A.astype(float)))
    where = f"the dimension of the diagonal gauges of {n} rows in {k} dimensions"
    slips = [
        (gauge.diagonal_gauge_dimension(A), OTHER_VERSION),
        (k - rank, "the lengths depend on the squares: the rank of the matrix of squares counts, not that of A"),
        (k - right, "this is the rank: the number of conditions. How many freedoms are left?"),
        (max(k - n, 0), "rows may give the same condition: count the rank, not the rows"),
        (k - n, "rows may give the same condition: count the rank, not the rows"),
        (0, "the rows span the space, and still a gauge is left: what one axis gains, another may lose"),
        (k, "each independent row of squares costs one freedom"),
        (k - 1, "only the common factor? The rows say which combinations are kept"),
    ]
    compare(whole(answer(table), where), right, where, slips, exact=True)


@each_case
def check_linear(answer: Answer, table: list[Any], *, apart: int | None = None) -> None:
    """Task 1b: `answer(A)`."""
    A = _exact(table)
    n, k = A.shape
    right = gauge.linear_gauge_dimension(_with_products(A, apart))
    symmetric, rank = k * (k + 1) // 2, int(np.linalg.matrix_rank(A.astype(float)))
    where = f"the dimension of the linear gauges of {n} rows in {k} dimensions"
    slips = [
        (gauge.linear_gauge_dimension(A), OTHER_VERSION),
        (k * k - (symmetric - right), "S is symmetric: k(k+1)/2 freedoms, not k^2 (the rest are rotations)"),
        (symmetric - right, "this is the rank: the number of conditions. How many freedoms are left?"),
        (gauge.diagonal_gauge_dimension(A), "these are the diagonal gauges only: S may have entries off the diagonal"),
        (symmetric - rank, "the conditions are those of the matrices a a^T: their rank counts, not that of A"),
        (max(symmetric - n, 0), "rows may give the same condition: count the rank, not the rows"),
        (k * (k - 1) // 2, "these are the rotations, which do not change S"),
    ]
    compare(whole(answer(table), where), right, where, slips, exact=True)


def feasible_form(value: Any, k: int, n: int, *, first: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(A, d), checked for form, and for the first entry of d if given; A D is left to `check_feasible`."""
    expect(is_list(value, 2), "two things are asked for: return A, d")
    A, d = floats(value[0], (n, k), "A"), floats(value[1], (k,), "d")
    lengths = np.linalg.norm(A, axis=1)
    expect(
        bool((np.abs(lengths - 1) <= UNIT).all()),
        f"every row of A has length 1; yours are from {lengths.min():.6g} to {lengths.max():.6g}",
    )
    least = float(np.linalg.svd(A, compute_uv=False)[-1])
    expect(least >= 0.1, f"the rows must span all {k} dimensions: the smallest singular value is {least:.3g}")
    if n > 1:
        closest = float((np.abs(A @ A.T) - 2 * np.eye(n)).max())
        expect(closest <= 0.999, "two rows are equal or opposite: that is one row, counted twice")
    expect(bool((d > 0).all()), "all entries of d are positive: signs change no cosine, and are no counterexample")
    expect(first is None or abs(d[0] - (first or 1)) <= CLOSE, f"the first entry of d is {d[0]:.6g}, not {first}")
    expect(bool((np.abs(d - 1) >= 0.1).any()), "d is the identity, or nearly: some entry must differ from 1 by 0.1")
    return A, d


@each_case
def check_feasible(answer: Answer, k: int, n: int, *, first: float | None = None) -> None:
    """Task 2: `answer(k, n)`; its gauge is applied."""
    A, d = feasible_form(answer(k, n), k, n, first=first)
    lengths = np.linalg.norm(gauge.apply_gauge(A, A, d)[0], axis=1)
    expect(
        bool((np.abs(lengths - 1) <= UNIT).all()),
        f"{n} rows in {k} dimensions: your gauge takes rows off the sphere, to lengths from {lengths.min():.6g} to "
        f"{lengths.max():.6g}. What one axis gains another must lose, in every row alike.",
    )


@each_case
def check_nearest(answer: Answer, B: list[Any], i: int, j: int) -> None:
    """Task 3: `answer(B, i, j)`."""
    rows = np.array(B)
    d = floats(answer(B, i, j), (rows.shape[1],), "d")
    expect(bool(((d >= 1e-3) & (d <= 1e3)).all()), "d holds positive numbers from 0.001 to 1,000")
    _, after = gauge.apply_gauge(rows, rows, d)
    got = int(gauge.neighbours(after, 1, queries=[i])[0, 0])
    inverse = int(gauge.neighbours(rows * d, 1, queries=[i])[0, 0])
    hint = " Item embeddings are B D^-1: yours fits B D." if inverse == j else ""
    expect(
        got == j,
        f"{len(rows)} items in {rows.shape[1]} dimensions: after your gauge the nearest to item {i} is {got}, "
        f"not {j}.{hint}",
    )


def check_survives(answer: Answer, maps: dict[str, list[list[Any]]], *, factor: str = "1") -> None:
    """Task 4: `answer(M)`; the second question is whether N(Mx) = M N(x) / factor."""
    times: Any = Fraction(factor)
    if times != 1:
        turned = [[times * Fraction(3, 5), times * Fraction(-4, 5)], [times * Fraction(4, 5), times * Fraction(3, 5)]]
        scaled = {f"diag({factor}, {sign * times})": [[times, 0], [0, sign * times]] for sign in (1, -1)}
        maps = {**maps, **scaled, f"{factor} times a rotation": turned}
    for name, table in maps.items():
        M = np.array([[float(entry) for entry in row] for row in table])
        x, y = np.random.default_rng(4).normal(size=(2, 40, len(M)))
        normal = geometry.normalise
        right = [
            bool(np.allclose(normal(x @ M.T), normal(x), atol=CLOSE)),
            bool(np.allclose(float(times) * normal(x @ M.T), normal(x) @ M.T, atol=CLOSE)),
            bool(np.allclose(geometry.cosine(x @ M.T, y @ M.T), geometry.cosine(x, y), atol=CLOSE)),
        ]
        got = answer(table)
        expect(
            is_list(got, 3) and all(isinstance(entry, (bool, np.bool_)) for entry in got), "return three truth values"
        )
        hints = [
            "N(Mx) = N(x) for all x: the map must leave every direction where it is",
            "N(Mx) = M N(x) for all x: the map must leave every length as it is"
            if times == 1
            else f"{factor} N(Mx) = M N(x) for all x: the map must multiply every length by {factor}",
            "cosines are kept by rotations and reflections, and by multiples of them, and by nothing else",
        ]
        for place, hint in enumerate(hints):
            expect(bool(got[place]) == right[place], f"M = {name}: answer {place + 1} is {right[place]}. {hint}")


@each_case
def check_pinning(answer: Answer, k: int, *, length: int = 1) -> None:
    """Task 5: `answer(k)`; every row has this length."""
    A = floats(answer(k), (None, k), f"the rows for k = {k}")
    needed = k * (k + 1) // 2
    expect(len(A) <= 100, "far too many rows")
    lengths = np.linalg.norm(A, axis=1)
    expect(bool((np.abs(lengths - length) <= UNIT * length).all()), f"every row has length {length}")
    left = gauge.linear_gauge_dimension(A)
    expect(
        left == 0,
        f"k = {k}: with your {len(A)} rows a {left}-dimensional set of gauges is left. The a a^T must span all "
        f"symmetric matrices{': an orthonormal basis pins diagonal gauges only' if len(A) == k > 1 else ''}",
    )
    expect(
        len(A) <= needed,
        f"k = {k}: your {len(A)} rows pin every gauge, but fewer do: how many dimensions have the symmetric matrices?",
    )


@each_case
def check_decay(answer: Answer, first: list[Any], second: list[Any], *, weight: float = 1.0) -> None:
    """Task 6: `answer(A, B)`; the decay of B has `weight` times the weight of that of A."""

    def decayed(tables: tuple[Any, Any]) -> float:
        return float((tables[0] ** 2).sum() + weight * (tables[1] ** 2).sum())

    A, B = np.array(first), np.array(second)
    plain = np.linalg.norm(B, axis=0) / np.linalg.norm(A, axis=0)
    ratio = np.sqrt(weight) * plain
    right = np.sqrt(ratio)
    least = decayed(gauge.apply_gauge(A, B, right))
    where = f"the gauge of the least norms, {A.shape[0]} and {B.shape[0]} rows"
    by_entries = np.sqrt(np.abs(B).sum(0) / np.abs(A).sum(0))
    slips = [
        (np.sqrt(plain), OTHER_VERSION),
        (np.sqrt(weight * plain), "the weight stands before a square: its root multiplies d^2"),
        (np.sqrt(plain / np.sqrt(weight)), "the weight lies on the items, so their columns become shorter"),
        (ratio, "per column minimise d^2 |a|^2 + |b|^2 / d^2: d^2 is |b|/|a|, and d its root"),
        (1 / right, "the other way round: a column of A that is long must become shorter"),
        (1 / ratio, "the other way round: a column of A that is long must become shorter"),
        (np.ones_like(right), "the loss with weight decay does depend on the gauge"),
        (ratio**0.25, "|a| and |b| are lengths; their squares stand in the loss"),
        (by_entries, "the squared lengths of the columns count, not sums of their entries"),
    ]
    d = compare_arrays(answer(first, second), right, where, slips)
    other = decayed(gauge.apply_gauge(A, B, d * 1.01))
    if other < least:
        raise RuntimeError("a gauge nearby has smaller norms: this check is wrong, not the answer")


def _overlap(first: np.ndarray, second: np.ndarray) -> float:
    return float(gauge.neighbour_overlap(first, second).mean())


def check_neighbours(answer: Answer, before: list[Any], after: list[Any], sizes: list[int]) -> None:
    """Task 7: `answer(before, after, k)`."""
    first, second = np.array(before), np.array(after)
    for k in sizes:
        right = _overlap(gauge.neighbours(first, k), gauge.neighbours(second, k))
        itself = np.arange(len(first))[:, None]
        own = [np.hstack([itself, gauge.neighbours(table, k - 1)]) if k > 1 else itself for table in (first, second)]
        by_dot = _overlap(gauge.neighbours(first, k, "dot"), gauge.neighbours(second, k, "dot"))
        by_distance = _overlap(gauge.neighbours(first, k, "euclidean"), gauge.neighbours(second, k, "euclidean"))
        slips = [
            (_overlap(*own), "an item is not its own neighbour"),
            (by_dot, "divide by the lengths: cosine, not dot product"),
            (by_distance, "the nearest by cosine are asked for"),
            (right * k, "a share lies between 0 and 1: divide by k"),
            (right * k / (2 * k - right * k), "the share of k is asked for, not of the union"),
            (100 * right, "a share lies between 0 and 1; this looks like per cent"),
            (1 - right, "this is the share that is lost"),
        ]
        where = f"the share of common neighbours, {len(first)} items, k = {k}"
        compare(answer(before, after, k), right, where, slips, exact=False)


def _with_products(A: np.ndarray, apart: int | None) -> np.ndarray:
    """A and the sums of rows i and i + apart: a gauge that keeps all three lengths keeps the product."""
    return A if apart is None else np.concatenate([A, A[apart:] + A[:-apart]])


def _exact(table: list[Any]) -> np.ndarray:
    return np.array([[Fraction(entry) for entry in row] for row in table], dtype=object)


# ---- the public checks

# Task 1a, on corners of a cube and on three unit rows in the plane
diagonal_dimension = public(check_diagonal, [CORNERS, RIGHT_TRIANGLE])
# Task 1b
linear_dimension = public(check_linear, [CORNERS, RIGHT_TRIANGLE])
# Task 2, with as many rows as columns
feasible_square = public(check_feasible, [(2, 2)])
# Task 2, with more rows
feasible_many = public(check_feasible, [(3, 7)])
# Task 3, on four items in the plane
nearest = public(check_nearest, [(PLANE, 2, 1), (PLANE, 2, 3)])
# Task 4
survives = public(
    check_survives, {"2 I": [[2, 0], [0, 2]], "diag(2, 1)": [[2, 0], [0, 1]], "a rotation": [[0, -1], [1, 0]]}
)
# Task 5, in the plane; the gauges themselves are looked at here
pinning = public(check_pinning, [2, 3])
# Task 6
decay = public(
    check_decay,
    [
        ([[3.0, 0.0], [4.0, 1.0]], [[0.0, 2.0], [5.0, 0.0], [0.0, 2.0]]),
        ([[1.0, 0.0], [0.0, 2.0]], [[3.0, 0.0], [0.0, 1.0]]),
    ],
)
# Task 7, on four items in the plane
neighbours_small = public(check_neighbours, PLANE, (np.array(PLANE) / [0.05, 1.0]).tolist(), [1, 2])
# Task 7, on the films that were rated most
neighbours_films = public(lambda answer: check_neighbours(answer, *films(1.0), [10, 5]))
