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
    shape_of,
)


def gramian(embeddings: Any, *, weights: Any = None) -> Array:
    """(1/n) sum_i w_i e_i e_i^T: the (weighted) mean of the outer products.

    embeddings (..., n, d); weights (n,) or (..., n), at least 0, ones by default. Returns (..., d, d).
    Source: P4, equation (4) for weights = 1.
    """
    embeddings = _table(embeddings, "embeddings")
    return _outer_sum(embeddings, _weights(weights, embeddings, "weights")) / shape_of(embeddings)[-2]


def gravity(left: Any, right: Any) -> Array:
    """<gramian(left), gramian(right)> = (1/n^2) sum_xy <left_x, right_y>^2 over all n^2 pairs.

    left, right (..., n, d): row x of both tables belongs to training pair x, so they have the same number of rows.
    Use `all_pairs_square` for tables of different length. Returns (...). Source: P4, equations (3) and (5).
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
    """sum_ij w_i z_j <left_i, right_j>^2 over all m n pairs, in O((m + n) d^2).

    left (..., m, d), right (..., n, d); left_weights w (m,) and right_weights z (n,), at least 0, ones by default;
    validate: False skips the checks that read values, for which a GPU must be waited. Returns (...).
    It equals <sum_i w_i u_i u_i^T, sum_j z_j v_j v_j^T>. With w = |O_i,:| and z = |O_:,j| it is the popularity term
    of P3, equation (15), and |O|^2 times P4's gravity term over the pairs of O: the two papers meet here.
    """
    left, right = _two_tables(left, right, validate)
    return _frobenius(
        _outer_sum(left, _weights(left_weights, left, "left_weights", validate)),
        _outer_sum(right, _weights(right_weights, right, "right_weights", validate)),
    )


def gravity_with_prior(left: Any, right: Any, left_prior: Any, right_prior: Any) -> Array:
    """(1/n^2) sum_xy (<left_x, right_y> - <q_x, r_y>)^2 for a low-rank prior p_xy = <q_x, r_y>, in O(n (d + p)^2).

    left, right (..., n, d); left_prior q, right_prior r (n, p), p the rank of the prior. Returns (...). It equals
    <G_u, G_v> - 2 <H_u, H_v> + <Q'Q, R'R> / n^2 with H_u = `cross_gramian(left, left_prior)`.
    Source: P4, Appendix C. Its H_u lacks a transpose and its constant the 1/n^2.
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
    """(1/n) sum_i e_i p_i^T. embeddings (..., n, d), partners (..., n, p). Returns (..., d, p).

    Source: P4, Appendix C (H).
    """
    embeddings = _table(embeddings, "embeddings")
    partners = _table(like(partners, embeddings, "partners"), "partners")
    if shape_of(embeddings)[-2] != shape_of(partners)[-2]:
        raise ValueError(
            f"embeddings has {shape_of(embeddings)[-2]} rows and partners {shape_of(partners)[-2]}; expected as many"
        )
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
    """Mean over a batch of <u, G_v u> + <v, G_u v>: its gradient estimates that of the gravity term.

    left, right (..., b, d), the batch; gram_left, gram_right (..., d, d), estimates of the Gramians, taken as
    constants: no gradient flows into them. With a low-rank prior, also q (b, p), r (b, p) and estimates H (d, p) of the
    cross Gramians: minus 2 <u, H_v q> + 2 <v, H_u r>.
    Only the gradient is meant. The value is twice that of the gravity term when the estimates are right: each of its
    two factors is varied once, and the gradient of a product has both. Letting the gradient flow through estimates that
    hold the share alpha of this batch would add alpha times the gradient once more.
    Returns (...). Source: P4, equations (8) and (26).
    """
    left, right = _two_tables(left, right, validate=False)
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
