"""The two regularised objectives of Steck, Ekanadham and Kallus 2024, and their minimisers."""

from __future__ import annotations

from typing import Any

from course_lib import checking
from course_lib.arrays import Array, like, namespace
from course_lib.gauge.algebra import checked_pair, checked_table, rank


def steck_objectives(X: Any, A: Any, B: Any, *, decay: float) -> tuple[Array, Array]:
    """(||X - X A B^T||^2 + decay ||A B^T||^2, ||X - X A B^T||^2 + decay (||X A||^2 + ||B||^2)).

    X (m, n) users by items, A, B (n, k). The first depends on A and B through A B^T only. Source: steck2024, (1) and
    (2).
    """
    A, B = checked_pair(A, B)
    X = like(X, A, "X")
    product, towers = A @ B.T, X @ A
    fit = ((X - X @ product) ** 2).sum()
    return fit + decay * (product**2).sum(), fit + decay * ((towers**2).sum() + (B**2).sum())


def steck_first(X: Any, *, k: int, decay: float) -> tuple[Array, Array]:
    """One minimiser (A, B) of the first objective; (A R, B R^-T) is another for every invertible R.

    X = U diag(s) V^T: A = V_k, B = V_k diag(1 / (1 + decay / s^2)), the k largest s. X (m, n) of rank at least k;
    A, B (n, k).
    """
    s, V = _right_singular(X, k, decay)
    return V, V / (1 + decay / s**2)


def steck_second(X: Any, *, k: int, decay: float) -> tuple[Array, Array]:
    """The minimiser (A, B) of the second objective.

    It is unique up to one rotation of both where s_k > s_(k+1) and s_k > decay. X = U diag(s) V^T, g = max(1 - decay /
    s, 0): A = V_k diag(sqrt(g / s)), B = V_k diag(sqrt(s g)). X (m, n); A, B (n, k).
    """
    s, V = _right_singular(X, k, decay)
    xp = namespace(V)
    g = xp.clip(1 - decay / s, 0, None)
    return V * xp.sqrt(g / s), V * xp.sqrt(s * g)


def _right_singular(X: Any, k: int, decay: float) -> tuple[Array, Array]:
    X = checked_table(X, "X")
    checking.real(decay, "decay", least=0)
    checking.whole(k, "k", 1, rank(X), why="the rank of X")
    xp = namespace(X)
    _, s, vt = xp.linalg.svd(X, full_matrices=False)
    return s[:k], xp.matrix_transpose(vt)[:, :k]
