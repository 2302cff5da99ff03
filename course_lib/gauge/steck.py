"""The two regularised objectives of Steck, Ekanadham and Kallus 2024, and their minimisers."""

from __future__ import annotations

from typing import Any

from course_lib import checking
from course_lib.arrays import Array, like, namespace, shape_of
from course_lib.gauge.algebra import checked_pair, checked_table, in_floats, rank


def steck_objectives(X: Any, A: Any, B: Any, *, decay: float) -> tuple[Array, Array]:
    """Return the two regularised objectives of Steck, Ekanadham and Kallus 2024.

    ``||X - X A B^T||^2 + decay ||A B^T||^2`` and ``||X - X A B^T||^2 + decay (||X A||^2 + ||B||^2)``.

    Parameters
    ----------
    X : array_like, shape (m, n)
        The interactions, users by items.
    A, B : array_like, shape (n, k)
        The two tables of the items.
    decay : float
        The weight of the penalty, at least 0.

    Returns
    -------
    first : number
        The first objective. It depends on ``A`` and ``B`` through ``A B^T`` only, so no gauge changes it.
    second : number
        The second objective. A gauge does change it.

    Raises
    ------
    ValueError
        For tables that are not finite or do not fit each other, and for a negative ``decay``.

    Notes
    -----
    Source: steck2024, (1) and (2).

    Examples
    --------
    The gauge that multiplies ``A`` by 2 and divides ``B`` by 2 changes the second objective only:

    >>> import numpy as np
    >>> from course_lib import gauge
    >>> X, A = np.eye(2), np.array([[1.0], [0.0]])
    >>> [float(value) for value in gauge.steck_objectives(X, A, A, decay=2.0)]
    [3.0, 5.0]
    >>> [float(value) for value in gauge.steck_objectives(X, 2 * A, A / 2, decay=2.0)]
    [3.0, 9.5]
    """
    A, B = checked_pair(A, B)
    X = like(checked_table(X, "X"), A, "X")
    if not shape_of(A)[0] == shape_of(B)[0] == shape_of(X)[1]:
        shapes = ", ".join(f"{name} {shape_of(table)}" for name, table in (("X", X), ("A", A), ("B", B)))
        raise ValueError(f"the shapes are {shapes}; expected a column of X, a row of A and a row of B for each item")
    decay = checking.real(decay, "decay", least=0)
    product, towers = A @ B.T, X @ A
    fit = ((X - X @ product) ** 2).sum()
    return fit + decay * (product**2).sum(), fit + decay * ((towers**2).sum() + (B**2).sum())


def steck_first(X: Any, *, k: int, decay: float) -> tuple[Array, Array]:
    """Return one minimiser of the first objective of Steck, Ekanadham and Kallus.

    With ``X = U diag(s) V^T``: ``A = V_k`` and ``B = V_k diag(1 / (1 + decay / s^2))``, for the ``k`` largest ``s``.

    Parameters
    ----------
    X : array_like, shape (m, n)
        The interactions in floats, NumPy or torch, of rank at least ``k``.
    k : int
        The width of the tables.
    decay : float
        The weight of the penalty, at least 0.

    Returns
    -------
    A, B : arrays, shape (n, k)
        The two tables. ``(A R, B R^-T)`` is another minimiser for every invertible ``R``.

    Raises
    ------
    ValueError
        For a ``k`` that is not from 1 to the rank of ``X``, a ``decay`` below 0, and an ``X`` that is not finite.

    See Also
    --------
    steck_objectives : The objectives.

    Examples
    --------
    The largest singular value is 2, so the product is ``1 / (1 + 4 / 2^2) = 0.5`` in its direction:

    >>> import numpy as np
    >>> from course_lib import gauge
    >>> A, B = gauge.steck_first(np.diag([2.0, 1.0]), k=1, decay=4.0)
    >>> np.diag(A @ B.T).round(3).tolist()
    [0.5, 0.0]
    """
    s, V, decay = _right_singular(X, k, decay)
    return V, V / (1 + decay / s**2)


def steck_second(X: Any, *, k: int, decay: float) -> tuple[Array, Array]:
    """Return a minimiser of the second objective of Steck, Ekanadham and Kallus.

    With ``X = U diag(s) V^T`` and ``g = max(1 - decay / s, 0)``: ``A = V_k diag(sqrt(g / s))`` and
    ``B = V_k diag(sqrt(s g))``, for the ``k`` largest ``s``.

    Parameters
    ----------
    X : array_like, shape (m, n)
        The interactions in floats, NumPy or torch, of rank at least ``k``.
    k : int
        The width of the tables.
    decay : float
        The weight of the penalty, at least 0.

    Returns
    -------
    A, B : arrays, shape (n, k)
        The two tables. They are unique up to one rotation or reflection of both where ``decay > 0``,
        ``s_k > s_(k+1)`` and ``s_k > decay``. Without decay every gauge of them is a minimiser, too.

    Raises
    ------
    ValueError
        For a ``k`` that is not from 1 to the rank of ``X``, a ``decay`` below 0, and an ``X`` that is not finite.

    See Also
    --------
    steck_objectives : The objectives.

    Examples
    --------
    The largest singular value is 4, so the product is ``1 - 2 / 4 = 0.5`` in its direction:

    >>> import numpy as np
    >>> from course_lib import gauge
    >>> A, B = gauge.steck_second(np.diag([4.0, 1.0]), k=1, decay=2.0)
    >>> np.diag(A @ B.T).round(3).tolist()
    [0.5, 0.0]
    """
    s, V, decay = _right_singular(X, k, decay)
    xp = namespace(V)
    g = xp.clip(1 - decay / s, 0, None)
    return V * xp.sqrt(g / s), V * xp.sqrt(s * g)


def _right_singular(X: Any, k: int, decay: float) -> tuple[Array, Array, float]:
    X = checked_table(X, "X")
    decay = checking.real(decay, "decay", least=0)
    checking.whole(k, "k", 1, rank(X), why="the rank of X")
    xp = namespace(X)
    _, s, vt = xp.linalg.svd(in_floats(X), full_matrices=False)
    return s[:k], xp.matrix_transpose(vt)[:, :k], decay
