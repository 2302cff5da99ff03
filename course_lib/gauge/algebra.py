"""Ranks and null spaces of tables, in floats and in Fractions, and how a table is read.

Ranks are computed in float64 (exactly for Fractions), with a tolerance that the rounding of the input can reach, and
no larger: sigma_max (4 sqrt(columns) eps + max(shape) eps64), eps that of the input's dtype.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import arrays, checking
from course_lib.arrays import Array, is_exact, is_torch, like, namespace, shape_of

EPS64 = float(np.finfo(np.float64).eps)
BLOCK_NUMBERS = 2**21  # numbers held at once where a table is worked through in blocks


def rank(rows: Array, *, relative_to: float | None = None) -> int:
    """Return the rank of a table of floats or Fractions.

    Parameters
    ----------
    rows : array, shape (n, p)
        The table: a NumPy array, a torch tensor, or an object array of Fractions.
    relative_to : float, optional
        The number that the tolerance is relative to, in place of the largest singular value ``sigma_max`` of ``rows``.
        Fractions need no tolerance and ignore it.

    Returns
    -------
    int
        The rank. Of floats: how many singular values, computed in float64, are above the tolerance
        ``sigma_max (4 sqrt(p) eps + max(n, p) eps64)``, where ``eps`` is that of the dtype of ``rows`` and ``eps64``
        that of float64. Of Fractions: the exact rank, by elimination.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import arrays
    >>> from course_lib.gauge import algebra
    >>> algebra.rank(np.array([[1.0, 2.0], [2.0, 4.0]])), algebra.rank(arrays.exact([[1, 2], [2, 4]]))
    (1, 1)

    Singular values 1 and 0.000001 are rank 2, unless the tolerance is relative to something large:

    >>> small = np.diag([1.0, 1e-6])
    >>> algebra.rank(small), algebra.rank(small, relative_to=1e12)
    (2, 1)
    """
    if is_exact(rows):
        return len(_echelon(rows)[1])
    sigma = namespace(rows).linalg.svdvals(doubled(rows))
    return int((sigma > _tolerance(rows, sigma if relative_to is None else relative_to)).sum())


def null_space(rows: Array) -> Array:
    """Return an orthonormal basis of the vectors that a table maps to zero, ``{x : rows x = 0}``.

    Parameters
    ----------
    rows : array, shape (n, p)
        The table of floats, a NumPy array or a torch tensor. For Fractions see :func:`exact_null_space`.

    Returns
    -------
    array, shape (p, g)
        The basis as columns, ``g = p - rank(rows)``, in the dtype of ``rows``. Which basis of the space it is depends
        on the machine.

    Examples
    --------
    What does not depend on the machine is the projection on the space. Here the space is spanned by (1, -1):

    >>> import numpy as np
    >>> from course_lib.gauge import algebra
    >>> basis = algebra.null_space(np.array([[1.0, 1.0]]))
    >>> (basis @ basis.T).round(3).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """
    xp, p = namespace(rows), shape_of(rows)[1]
    wide = doubled(rows)
    if shape_of(rows)[0] < p:  # the null space needs p right singular vectors
        wide = xp.concat([wide, xp.broadcast_to(wide[:1] * 0, (p - shape_of(rows)[0], p))])
    _, sigma, vt = xp.linalg.svd(wide, full_matrices=False)
    return like(xp.matrix_transpose(vt)[:, int((sigma > _tolerance(rows, sigma)).sum()) :], rows, "basis")


def row_space(rows: Array) -> Array:
    """Return an orthonormal basis of the span of the rows of a table.

    Parameters
    ----------
    rows : array, shape (n, p)
        The table of floats, a NumPy array or a torch tensor.

    Returns
    -------
    array, shape (p, r)
        The basis as columns, ``r = rank(rows)``, in the dtype of ``rows``. Which basis of the span it is depends on the
        machine.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.gauge import algebra
    >>> basis = algebra.row_space(np.array([[1.0, 1.0], [2.0, 2.0]]))
    >>> (basis @ basis.T).round(3).tolist()  # the projection on the span of (1, 1)
    [[0.5, 0.5], [0.5, 0.5]]
    """
    xp = namespace(rows)
    _, sigma, vt = xp.linalg.svd(doubled(rows), full_matrices=False)
    return like(xp.matrix_transpose(vt)[:, : int((sigma > _tolerance(rows, sigma)).sum())], rows, "basis")


def _tolerance(rows: Array, sigma: Any) -> float:
    largest = float(sigma) if isinstance(sigma, float) else float(sigma[0]) if shape_of(sigma)[0] else 0.0
    return largest * (4 * math.sqrt(shape_of(rows)[1]) * machine_epsilon(rows) + max(shape_of(rows)) * EPS64)


def _echelon(rows: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Reduced row echelon form of Fractions, and its pivot columns."""
    m = rows.copy()
    pivots: list[int] = []
    for col in range(m.shape[1]):
        at = len(pivots)
        candidates = [r for r in range(at, m.shape[0]) if m[r, col] != 0]
        if not candidates:
            continue
        m[[at, candidates[0]]] = m[[candidates[0], at]]
        m[at] = m[at] / m[at, col]
        for r in range(m.shape[0]):
            if r != at and m[r, col] != 0:
                m[r] = m[r] - m[at] * m[r, col]
        pivots.append(col)
    return m, pivots


def exact_inverse(R: np.ndarray) -> np.ndarray:
    """Return the inverse of an invertible matrix of Fractions.

    Parameters
    ----------
    R : object array of Fractions, shape (k, k)
        The matrix. That it is invertible is not checked.

    Returns
    -------
    object array of Fractions, shape (k, k)
        ``R^-1``, exactly.

    Examples
    --------
    >>> from course_lib import arrays
    >>> from course_lib.gauge import algebra
    >>> inverse = algebra.exact_inverse(arrays.exact([[2, 0], [0, 3]]))
    >>> [[str(x) for x in row] for row in inverse]
    [['1/2', '0'], ['0', '1/3']]
    """
    k = len(R)
    identity = np.array([[Fraction(int(i == j)) for j in range(k)] for i in range(k)], dtype=object)
    return _echelon(np.concatenate([R, identity], axis=1))[0][:, k:]


def exact_null_space(rows: np.ndarray) -> np.ndarray:
    """Return a rational basis of the vectors that a table of Fractions maps to zero, ``{x : rows x = 0}``.

    Parameters
    ----------
    rows : object array of Fractions, shape (n, p)
        The table.

    Returns
    -------
    object array of Fractions, shape (p, g)
        The basis as columns, ``g = p - rank(rows)``. It is not orthonormal: each column holds a 1 at one free position
        of the reduced row echelon form, and zeros at the other free positions.

    Examples
    --------
    >>> from course_lib import arrays
    >>> from course_lib.gauge import algebra
    >>> basis = algebra.exact_null_space(arrays.exact([[1, 2]]))
    >>> [[str(x) for x in row] for row in basis]  # 1 (-2) + 2 (1) = 0
    [['-2'], ['1']]
    """
    m, pivots = _echelon(rows)
    free = [c for c in range(rows.shape[1]) if c not in pivots]
    basis = np.full((rows.shape[1], len(free)), Fraction(0), dtype=object)
    for g, c in enumerate(free):
        basis[c, g] = Fraction(1)
        for r, pivot in enumerate(pivots):
            basis[pivot, g] = -m[r, c]
    return basis


def checked_table(A: Any, name: str, *, stack: bool = False) -> Array:
    """Return a table of embeddings as a finite array of floats or Fractions.

    Parameters
    ----------
    A : array_like, shape (n, d), or (..., n, d) with ``stack``
        The table, or a stack of them. Integers become float64.
    name : str
        What an error message calls ``A``.
    stack : bool, optional
        Whether a stack of tables is welcome, too.

    Returns
    -------
    array, shape (n, d) or (..., n, d)
        The table.

    Raises
    ------
    ValueError
        For another number of axes, an empty table, entries that are no real numbers, and NaN or infinite entries.

    See Also
    --------
    course_lib.arrays.as_table : The same without the look at each entry.

    Examples
    --------
    >>> from course_lib.gauge import algebra
    >>> algebra.checked_table([[1, 2], [3, 4]], "A").tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    >>> algebra.checked_table([[1.0, float("nan")]], "A")
    Traceback (most recent call last):
    ValueError: A[0, 1] = nan: A holds NaN or infinity; every entry must be finite
    """
    table = arrays.check_finite(arrays.as_table(A, name), name)
    if len(table.shape) > 2 and not stack:
        raise ValueError(f"{name} has shape {arrays.shape_of(table)}; expected one table, of shape (n, d)")
    return table


def checked_pair(A: Any, B: Any, names: tuple[str, str] = ("A", "B"), *, stack: bool = False) -> tuple[Array, Array]:
    """Return two tables of one width as finite arrays of the same kind.

    Parameters
    ----------
    A : array_like, shape (m, k), or (..., m, k) with ``stack``
        The first table, which decides the library, dtype and device of both.
    B : array_like, shape (n, k), or (..., n, k) with ``stack``
        The second table.
    names : tuple of two str
        What error messages call the tables.
    stack : bool, optional
        Whether stacks of tables are welcome, too.

    Returns
    -------
    A : array, shape (m, k) or (..., m, k)
        The first table, by :func:`checked_table`.
    B : array, shape (n, k) or (..., n, k)
        The second table in the kind of array that ``A`` is.

    Raises
    ------
    ValueError
        For two different widths, for a tensor ``B`` beside an ``A`` that is none, for floats in ``B`` that are not
        whole beside an exact ``A``, and for what :func:`checked_table` refuses.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.gauge import algebra
    >>> A, B = algebra.checked_pair(np.ones((5, 2), dtype=np.float32), [[1, 2], [3, 4], [5, 6]])
    >>> A.shape, B.shape, str(B.dtype)
    ((5, 2), (3, 2), 'float32')
    """
    A = checked_table(A, names[0], stack=stack)
    B = checked_table(like(arrays.as_array(B, names[1]), A, names[1]), names[1], stack=stack)
    checking.same_width(A, B, *names)
    return A, B


def doubled(x: Array) -> Array:
    """Return an array in float64.

    Parameters
    ----------
    x : array
        A NumPy array, of Fractions too, or a torch tensor.

    Returns
    -------
    array
        The same numbers in float64, in an array of the same library.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from course_lib.gauge import algebra
    >>> algebra.doubled(np.array([Fraction(1, 2), Fraction(3)])).tolist()
    [0.5, 3.0]
    """
    return x.double() if is_torch(x) else x.astype(np.float64)


def in_floats(x: Array) -> Array:
    """Return an array in floats that LAPACK can take: Fractions in float64, 16 bits in float32.

    Parameters
    ----------
    x : array
        A NumPy array, of Fractions too, or a torch tensor.

    Returns
    -------
    array
        The same numbers. Arrays of float32 and float64 are returned as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import arrays
    >>> from course_lib.gauge import algebra
    >>> [str(algebra.in_floats(x).dtype) for x in (np.ones(2, np.float16), arrays.exact([1, 2]))]
    ['float32', 'float64']
    """
    return doubled(x) if is_exact(x) else arrays.at_least_single(x)


def machine_epsilon(x: Array) -> float:
    """Return the distance from 1 to the next number of an array's dtype, 0 for Fractions.

    Parameters
    ----------
    x : array
        A NumPy array, a torch tensor, or an object array of Fractions.

    Returns
    -------
    float
        ``eps`` of the dtype: 2^-52 for float64, 2^-23 for float32, 0 for Fractions.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import arrays
    >>> from course_lib.gauge import algebra
    >>> algebra.machine_epsilon(np.ones(3)) == 2.0**-52, algebra.machine_epsilon(arrays.exact([1, 2]))
    (True, 0.0)
    """
    return 0.0 if is_exact(x) else float(namespace(x).finfo(x.dtype).eps)


def index_for(ids: np.ndarray, reference: Array) -> Array:
    """Return integer ids in the form that indexes an array: a tensor on its device, or the ids themselves.

    Parameters
    ----------
    ids : NumPy array of integers
        The ids.
    reference : array
        The array that will be indexed.

    Returns
    -------
    array of integers
        ``ids`` for a NumPy ``reference``, a tensor on its device for a tensor.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.gauge import algebra
    >>> table = np.array([10.0, 20.0, 30.0])
    >>> table[algebra.index_for(np.array([2, 0]), table)].tolist()
    [30.0, 10.0]
    """
    if not is_torch(reference):
        return ids
    return namespace(reference).asarray(ids, device=reference.device)
