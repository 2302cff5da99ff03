"""The Gramian form of sums over all pairs, exactly: of a table, or of the rows of a batch (P4, Section 2.2).

Tables of 16 bits are taken as float32, which holds their sums. ValueError for tables that do not fit each other, for
NaN and infinity in them, and for weights that are negative or not finite; `gravity_loss`, which a training calls in
every step, reads shapes only.
"""

from __future__ import annotations

from typing import Any

from course_lib import checking
from course_lib.arrays import (
    Array,
    as_table,
    at_least_single,
    check_finite,
    detached,
    first_index,
    full_precision,
    like,
    namespace,
    readable,
    same_kind,
    same_precision,
    shape_of,
)


def gramian(embeddings: Any, *, weights: Any = None) -> Array:
    """Return the Gramian of an embedding table: the mean of the outer products of its rows, each times its weight.

    ``(1/n) sum_i w_i e_i e_i^T``. The divisor is the number of rows, not the sum of the weights.

    Parameters
    ----------
    embeddings : array_like, shape (..., n, d)
        The table. A table of 16 bits is taken as float32.
    weights : array_like, shape (n,) or (..., n), optional
        The weights ``w_i``, at least 0, ones by default.

    Returns
    -------
    array, shape (..., d, d)
        The Gramian.

    Raises
    ------
    ValueError
        For shapes that do not fit, for NaN and infinity, and for negative weights.

    Notes
    -----
    Source: P4, equation (4) for weights of 1.

    Examples
    --------
    >>> from course_lib import gramians
    >>> gramians.gramian([[2, 0], [0, 4]]).tolist()
    [[2.0, 0.0], [0.0, 8.0]]
    """
    embeddings = _table(embeddings, "embeddings")
    return _outer_sum(embeddings, _weights(weights, embeddings, "weights")) / shape_of(embeddings)[-2]


def gravity(left: Any, right: Any) -> Array:
    """Return the mean of the squared dot products over all ``n^2`` pairs of rows, through two Gramians.

    ``<gramian(left), gramian(right)> = (1/n^2) sum_xy <left_x, right_y>^2``.

    Parameters
    ----------
    left, right : array_like, shape (..., n, d)
        Row ``x`` of both tables belongs to training pair ``x``, so they have the same number of rows. Use
        ``all_pairs_square`` for tables of different length.

    Returns
    -------
    array, shape (...)
        The gravity term.

    Raises
    ------
    ValueError
        For shapes that do not fit, and for NaN and infinity.

    Notes
    -----
    Source: P4, equations (3) and (5).

    Examples
    --------
    The four dot products are 1, 2, 0 and 1, whose squares have the mean 1.5:

    >>> from course_lib import gramians
    >>> float(gramians.gravity([[1, 0], [0, 1]], [[1, 0], [2, 1]]))
    1.5
    """
    left, right = _two_tables(left, right)
    if shape_of(left)[-2] != shape_of(right)[-2]:
        raise ValueError(
            f"left has {shape_of(left)[-2]} rows and right has {shape_of(right)[-2]}; gravity takes one row per "
            f"training pair in both. For all m x n pairs use all_pairs_square"
        )
    return _frobenius(gramian(left), gramian(right))


def all_pairs_square(
    left: Any, right: Any, *, left_weights: Any = None, right_weights: Any = None, validate: bool = True
) -> Array:
    """Return the weighted sum of the squared dot products over all ``m n`` pairs, in O((m + n) d^2).

    ``sum_ij w_i z_j <left_i, right_j>^2``, computed as ``<sum_i w_i u_i u_i^T, sum_j z_j v_j v_j^T>``.

    Parameters
    ----------
    left : array_like, shape (..., m, d)
        The rows ``u_i``.
    right : array_like, shape (..., n, d)
        The rows ``v_j``.
    left_weights : array_like, shape (m,), optional
        The weights ``w_i``, at least 0, ones by default.
    right_weights : array_like, shape (n,), optional
        The weights ``z_j``, at least 0, ones by default.
    validate : bool, optional
        False skips the checks that read values, which make the program wait for a GPU.

    Returns
    -------
    array, shape (...)
        The sum.

    Raises
    ------
    ValueError
        For shapes that do not fit, for NaN and infinity, and for negative weights.

    Notes
    -----
    With ``w = |O_i,:|`` and ``z = |O_:,j|`` it is the popularity term of P3, equation (15), and ``|O|^2`` times P4's
    gravity term over the pairs of ``O``.

    Examples
    --------
    One left row has the dot products 1 and 2 with the right rows. The weight 10 counts the second square ten times:

    >>> from course_lib import gramians
    >>> float(gramians.all_pairs_square([[1, 0]], [[1, 0], [2, 1]]))
    5.0
    >>> float(gramians.all_pairs_square([[1, 0]], [[1, 0], [2, 1]], right_weights=[1, 10]))
    41.0
    """
    left, right = _two_tables(left, right, validate)
    return _frobenius(
        _outer_sum(left, _weights(left_weights, left, "left_weights", validate)),
        _outer_sum(right, _weights(right_weights, right, "right_weights", validate)),
    )


def gravity_with_prior(left: Any, right: Any, left_prior: Any, right_prior: Any) -> Array:
    """Return the gravity term around a low-rank prior, in O(n (d + p)^2).

    ``(1/n^2) sum_xy (<left_x, right_y> - <q_x, r_y>)^2`` for the prior ``p_xy = <q_x, r_y>``.

    Parameters
    ----------
    left, right : array_like, shape (..., n, d)
        The embeddings, one row for each training pair.
    left_prior, right_prior : array_like, shape (n, p)
        The factors ``q`` and ``r`` of the prior, with ``p`` its rank.

    Returns
    -------
    array, shape (...)
        The gravity term.

    Raises
    ------
    ValueError
        For shapes that do not fit, and for NaN and infinity.

    Notes
    -----
    It equals ``<G_u, G_v> - 2 <H_u, H_v> + <Q'Q, R'R> / n^2`` with ``H_u = cross_gramian(left, left_prior)``.

    Source: P4, Appendix C. Its ``H_u`` lacks a transpose and its constant the ``1/n^2``.

    Examples
    --------
    Embeddings that reproduce the prior cost nothing. A prior of 0 gives ``gravity``:

    >>> from course_lib import gramians
    >>> left, right = [[1, 0], [0, 1]], [[1, 0], [2, 1]]
    >>> round(float(gramians.gravity_with_prior(left, right, left, right)), 4)
    0.0
    >>> round(float(gramians.gravity_with_prior(left, right, [[0], [0]], [[0], [0]])), 4)
    1.5
    """
    left, right = _two_tables(left, right)
    q, r = (_table(q, name) for q, name in _priors(left_prior, right_prior, left))
    rows = {k: shape_of(x)[-2] for k, x in (("left", left), ("right", right), ("left_prior", q), ("right_prior", r))}
    if len(set(rows.values())) > 1 or shape_of(q)[-1] != shape_of(r)[-1]:
        raise ValueError(
            f"the rows are {rows} and the priors have widths {shape_of(q)[-1]} and {shape_of(r)[-1]}; "
            "expected one row per training pair everywhere, and priors of one width"
        )
    crossed = _frobenius(cross_gramian(left, q), cross_gramian(right, r))
    return gravity(left, right) - 2 * crossed + gravity(q, r)


def cross_gramian(embeddings: Any, partners: Any) -> Array:
    """Return the mean of the outer products of paired rows, ``(1/n) sum_i e_i p_i^T``.

    Parameters
    ----------
    embeddings : array_like, shape (..., n, d)
        The rows ``e_i``.
    partners : array_like, shape (..., n, p)
        The rows ``p_i``.

    Returns
    -------
    array, shape (..., d, p)
        The cross Gramian.

    Raises
    ------
    ValueError
        For numbers of rows that differ, and for NaN and infinity.

    Notes
    -----
    Source: P4, Appendix C (``H``).

    Examples
    --------
    >>> from course_lib import gramians
    >>> gramians.cross_gramian([[2, 0], [0, 4]], [[1], [3]]).tolist()
    [[1.0], [6.0]]
    """
    embeddings = _table(embeddings, "embeddings")
    partners = _table(like(partners, embeddings, "partners"), "partners")
    if shape_of(embeddings)[-2] != shape_of(partners)[-2]:
        raise ValueError(
            f"embeddings has {shape_of(embeddings)[-2]} rows and partners {shape_of(partners)[-2]}; expected as many"
        )
    with full_precision(embeddings):
        return embeddings.swapaxes(-1, -2) @ partners / shape_of(embeddings)[-2]


def gravity_loss(
    left: Any,
    right: Any,
    gram_left: Any,
    gram_right: Any,
    *,
    left_prior: Any = None,
    right_prior: Any = None,
    cross_left: Any = None,
    cross_right: Any = None,
) -> Array:
    """Return a batch loss whose gradient estimates that of the gravity term.

    The mean over the batch of ``<u, G_v u> + <v, G_u v>``.

    Parameters
    ----------
    left, right : array_like, shape (..., b, d)
        The embeddings ``u`` and ``v`` of the batch. Of two dtypes, the wider is taken.
    gram_left, gram_right : array_like, shape (..., d, d)
        Estimates of the Gramians ``G_u`` and ``G_v``. They are taken as constants: no gradient flows into them.
    left_prior, right_prior : array_like, shape (b, p), optional
        The factors ``q`` and ``r`` of a low-rank prior. All four arguments of a prior are given together.
    cross_left, cross_right : array_like, shape (d, p), optional
        Estimates ``H_u`` and ``H_v`` of the cross Gramians. With a prior the mean also has
        ``-2 <u, H_v q> - 2 <v, H_u r>``.

    Returns
    -------
    array, shape (...)
        The loss. Only its gradient is meant.

    Raises
    ------
    ValueError
        For shapes that do not fit, and for a prior of which a part is missing. Training calls this function in every
        step, so it reads shapes only, not values.

    Notes
    -----
    Where the estimates are right, the value is twice the gravity term (with a prior, twice the gravity term without its
    constant ``gravity(q, r)``): each of its two factors is varied once, and the gradient of a product has both. If the
    gradient flowed through estimates that hold the share alpha of this batch, it would add alpha times the gradient
    once more.

    Source: P4, equations (8) and (26).

    Examples
    --------
    With the exact Gramians, the value is twice the gravity term:

    >>> from course_lib import gramians
    >>> left, right = [[1, 0], [0, 1]], [[1, 0], [2, 1]]
    >>> loss = gramians.gravity_loss(left, right, gramians.gramian(left), gramians.gramian(right))
    >>> float(loss), float(gramians.gravity(left, right))
    (3.0, 1.5)
    """
    left, right = same_precision(*_two_tables(left, right, validate=False))
    _check_rows(left=left, right=right)
    prior = (left_prior, right_prior, cross_left, cross_right)
    if any(x is None for x in prior) and any(x is not None for x in prior):
        raise ValueError("a prior needs left_prior, right_prior, cross_left and cross_right together")
    d = shape_of(left)[-1]
    gram_left, gram_right = (
        _constant(gram, left, name, d) for gram, name in ((gram_left, "gram_left"), (gram_right, "gram_right"))
    )
    each = _forms(left, gram_right, left) + _forms(right, gram_left, right)  # (..., b)
    if left_prior is not None:
        q, r = (_table(q, name, validate=False) for q, name in _priors(left_prior, right_prior, left))
        _check_rows(left=left, left_prior=q, right_prior=r)
        h_u = _constant(cross_left, left, "cross_left", shape_of(q)[-1])
        h_v = _constant(cross_right, right, "cross_right", shape_of(r)[-1])
        each = each - 2 * _forms(left, h_v, q) - 2 * _forms(right, h_u, r)
    return namespace(each).sum(each, axis=-1) / shape_of(each)[-1]


def _table(values: Any, name: str, validate: bool = True) -> Array:
    table = at_least_single(as_table(values, name))
    return check_finite(table, name) if validate and readable(table) else table


def _two_tables(left: Any, right: Any, validate: bool = True) -> tuple[Array, Array]:
    """Two tables of one kind and one width."""
    left, right = _table(left, "left", validate), _table(right, "right", validate)
    same_kind(left=left, right=right)
    checking.same_width(left, right, "left", "right")
    return left, right


def _priors(left_prior: Any, right_prior: Any, reference: Array) -> list[tuple[Array, str]]:
    """Both priors in the kind of array that the embeddings are, with their names."""
    named = (left_prior, "left_prior"), (right_prior, "right_prior")
    return [(like(prior, reference, name), name) for prior, name in named]


def _check_rows(**tables: Array) -> None:
    rows = {name: shape_of(table)[-2] for name, table in tables.items()}
    if len(set(rows.values())) > 1:
        raise ValueError(f"the rows are {rows}; expected one row per pair of the batch everywhere")


def _constant(estimate: Any, embeddings: Array, name: str, width: int) -> Array:
    estimate = detached(like(estimate, embeddings, name))
    expected = (shape_of(embeddings)[-1], width)
    if shape_of(estimate)[-2:] != expected:
        raise ValueError(f"{name} has shape {shape_of(estimate)}; expected (..., {expected[0]}, {expected[1]})")
    return estimate


def _forms(left: Array, matrix: Array, right: Array) -> Array:
    """<left_i, matrix right_i> for every row i: (..., b, d), (..., d, p), (..., b, p) -> (..., b)."""
    return namespace(left).sum((left @ matrix) * right, axis=-1)


def _weights(weights: Any, embeddings: Array, name: str, validate: bool = True) -> Array | None:
    if weights is None:
        return None
    weights = like(weights, embeddings, name)
    if not weights.shape or shape_of(weights)[-1] != shape_of(embeddings)[-2]:
        raise ValueError(f"{name} has shape {shape_of(weights)} but there are {shape_of(embeddings)[-2]} embeddings")
    if validate and readable(weights):
        check_finite(weights, name)
        if (bad := first_index(weights < 0)) is not None:
            raise ValueError(f"{name}{list(bad)} is {float(weights[bad])}; expected weights of at least 0")
    return weights


def _outer_sum(embeddings: Array, weights: Array | None) -> Array:
    with full_precision(embeddings):
        weighted = embeddings if weights is None else embeddings * weights[..., None]
        return embeddings.swapaxes(-1, -2) @ weighted  # (..., d, n) @ (..., n, d) -> (..., d, d)


def _frobenius(a: Array, b: Array) -> Array:
    return namespace(a, b).sum(a * b, axis=(-2, -1))
