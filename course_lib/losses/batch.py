"""Losses of a batch, from the matrix of scores that `cosine_scores` (or `dot_scores`) makes.

With cosine scores each of them is a function F(cos(q, k_1), ..., cos(q, k_r)) of every embedding (P0, equation 13).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from course_lib import checking
from course_lib.arrays import (
    Array,
    all_finite,
    as_index,
    as_real,
    at_least_single,
    check_finite,
    check_value,
    detached,
    first_index,
    is_torch,
    like,
    namespace,
    readable,
    same_kind,
    same_precision,
    shape_of,
)
from course_lib.geometry import normalise
from course_lib.losses.pairs import softplus

# ---- scores of a batch


def cosine_scores(Q: Any, K: Any) -> Array:
    """Return the cosine of every pair of a query and a candidate.

    ``cos(q_i, k_j) = <q_i, k_j> / (||q_i|| ||k_j||)``.

    Parameters
    ----------
    Q : array_like, shape (..., m, d)
        The queries.
    K : array_like, shape (..., n, d)
        The candidates.

    Returns
    -------
    array, shape (..., m, n)
        The cosines.

    Raises
    ------
    ValueError
        For zero vectors, for NaN and infinity, and for widths that differ.

    Examples
    --------
    The lengths of the vectors do not matter:

    >>> from course_lib import losses
    >>> losses.cosine_scores([[3.0, 4.0]], [[30.0, 40.0], [8.0, 6.0]]).round(4).tolist()
    [[1.0, 0.96]]
    """
    return dot_scores(normalise(Q, name="Q"), normalise(K, name="K"))


def dot_scores(Q: Any, K: Any) -> Array:
    """Return the dot product of every pair of a query and a candidate.

    Parameters
    ----------
    Q : array_like, shape (..., m, d)
        The queries.
    K : array_like, shape (..., n, d)
        The candidates.

    Returns
    -------
    array, shape (..., m, n)
        ``<q_i, k_j>``, in the wider of the two dtypes.

    Raises
    ------
    ValueError
        For shapes that do not fit, and for a NumPy array beside a tensor.

    Examples
    --------
    >>> from course_lib import losses
    >>> losses.dot_scores([[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]).tolist()
    [[11.0, 17.0]]
    """
    Q, K = same_kind(Q=Q, K=K)
    if Q.ndim < 2 or K.ndim < 2 or Q.shape[-1] != K.shape[-1]:
        raise ValueError(f"Q has shape {shape_of(Q)} and K {shape_of(K)}; expected (..., m, d) and (..., n, d)")
    if is_torch(Q) and Q.dtype != K.dtype:  # NumPy widens by itself
        Q, K = same_precision(Q, K)
    return Q @ K.swapaxes(-1, -2)  # (..., m, d) @ (..., d, n) -> (..., m, n)


# ---- losses of a batch


def in_batch_softmax(scores: Any, *, tau: Any, log_q: Any = None, item_ids: Any = None) -> Array:
    """Return the in-batch softmax cross entropy, with the logQ correction on request, in nats.

    The mean over rows ``i`` of ``-log [ exp(z_ii) / sum_j exp(z_ij) ]`` with ``z_ij = scores_ij / tau - log_q_j``.

    Parameters
    ----------
    scores : array_like, shape (m, n)
        Row ``i`` holds the scores of query ``i`` with the ``n`` candidates of the batch. The positive of query ``i`` is
        in column ``i``, so ``m <= n``; the columns beyond ``m`` hold negatives for all queries. Scores of 16 bits are
        taken as float32. A score of -infinity leaves its candidate out of the sum of its row, so that it serves as a
        mask.
    tau : float or tensor
        The temperature, above 0. A parameter gets its gradient.
    log_q : array_like, shape (n,), optional
        The logarithm of the probability with which each candidate came into a slot of the batch, up to one constant
        (the logQ correction).
    item_ids : array_like of int, shape (n,), optional
        Which item each candidate is. A copy of a row's positive in another column is then no negative of that row (an
        accidental hit) and is left out.

    Returns
    -------
    array, shape ()
        The mean loss.

    Raises
    ------
    ValueError
        For shapes and values that do not fit, and for NaN, infinity and a positive's -infinity in a sum.

    Notes
    -----
    With ``log_q``, the negatives' sum of ``exp(z_ij)`` is, in expectation over the draw, proportional to the sum
    of ``exp(scores_ij / tau)`` over the whole catalogue. The positive is in the sum too, however it came there, so the
    loss is not unbiased for the full softmax.

    What is left out, by -infinity or by ``item_ids``, takes no part, whatever its score was: the value and the
    gradients, including that of ``tau``, are those of the loss without it.

    Source: Yi et al., RecSys 2019, Section 3 (logQ); Bengio and Senecal 2008 (sampled softmax).

    Examples
    --------
    Equal scores make every candidate equally likely, and the loss is the logarithm of their number. In the second call,
    candidate 2 is the same item as candidate 0, so row 0 has one negative less:

    >>> import math
    >>> import numpy as np
    >>> from course_lib import losses
    >>> scores = np.zeros((1, 3))
    >>> math.isclose(losses.in_batch_softmax(scores, tau=1.0), math.log(3))
    True
    >>> math.isclose(losses.in_batch_softmax(scores, tau=1.0, item_ids=[7, 8, 7]), math.log(2))
    True
    """
    scores = _with_diagonal(scores)
    m, n = shape_of(scores)
    left_out = None
    if item_ids is not None:
        left_out = _accidental(_of_candidates(as_index(item_ids, scores, "item_ids"), n, "item_ids"), m)
    logits = _divided(scores, tau, left_out)
    if log_q is not None:
        logits = logits - _of_candidates(log_q, n, "log_q", scores)
    return _loss_of_batch(logits, scores, _numbers(m, scores), left_out)


def infonce(scores: Any, *, tau: Any, positives: Any = None) -> Array:
    """Return the InfoNCE loss of a batch: softmax cross entropy over its candidates, in nats.

    ``-(1/m) sum_i log softmax_j(scores_ij / tau)`` at ``j = positives_i``.

    Parameters
    ----------
    scores : array_like, shape (m, n)
        Row ``i`` holds the scores of query ``i`` with the ``n`` candidates of the batch. A score of -infinity leaves a
        negative out, as in ``in_batch_softmax``; the margin losses take it in the same way.
    tau : float or tensor
        The temperature, above 0. A parameter gets its gradient.
    positives : array_like of int, shape (m,), optional
        The column of each row's positive. The default is the diagonal of a square matrix, as in ``in_batch_softmax``.

    Returns
    -------
    array, shape ()
        The mean loss.

    Raises
    ------
    ValueError
        For shapes and values that do not fit.

    Notes
    -----
    A candidate that is in the batch twice is counted twice, also where it is a row's positive: the copy then
    serves as a negative. Source: P0, Section 4.1 (InfoNCE with in-batch negatives).

    Examples
    --------
    A batch of two, with the positives on the diagonal and then in the other column:

    >>> import numpy as np
    >>> from course_lib import losses
    >>> scores = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> round(float(losses.infonce(scores, tau=1.0)), 4)
    0.3133
    >>> round(float(losses.infonce(scores, tau=1.0, positives=[1, 0])), 4)
    1.3133
    """
    if positives is None:
        return in_batch_softmax(_square(scores), tau=tau)
    scores, _, columns = _batch(scores, positives)
    return _loss_of_batch(_divided(scores, tau), scores, columns)


def two_way_softmax(scores: Any, *, tau: Any, log_q: Any = None, log_q_queries: Any = None) -> Array:
    """Return the mean of two in-batch losses: each query finds its candidate, and each candidate its query, in nats.

    ``(in_batch_softmax(scores) + in_batch_softmax(scores transposed)) / 2``.

    Parameters
    ----------
    scores : array_like, shape (B, B)
        The scores of each query with each candidate, the positives on the diagonal.
    tau : float or tensor
        The temperature, above 0.
    log_q, log_q_queries : array_like, shape (B,), optional
        The logarithms of the probabilities with which the candidates and the queries came into the batch.

    Returns
    -------
    array, shape ()
        The mean loss.

    Raises
    ------
    ValueError
        As ``in_batch_softmax``, and for scores that are no square matrix.

    Notes
    -----
    Copies of an item in the batch are negatives of each other. Source: Radford et al., ICML 2021 (CLIP), with the logQ
    correction of either direction on request.

    Examples
    --------
    Both candidates prefer query 0:

    >>> import numpy as np
    >>> from course_lib import losses
    >>> scores = np.array([[1.0, 1.0], [0.0, 0.0]])
    >>> round(float(losses.in_batch_softmax(scores, tau=1.0)), 4)
    0.6931
    >>> round(float(losses.two_way_softmax(scores, tau=1.0)), 4)
    0.7532
    """
    scores = _square(scores)
    if log_q_queries is not None:
        log_q_queries = _of_candidates(log_q_queries, shape_of(scores)[0], "log_q_queries", scores)
    there = in_batch_softmax(scores, tau=tau, log_q=log_q)
    return (there + in_batch_softmax(scores.swapaxes(-1, -2), tau=tau, log_q=log_q_queries)) / 2


def in_batch_sigmoid(scores: Any, *, scale: Any = 1.0, bias: Any = 0.0, item_ids: Any = None) -> Array:
    """Return the in-batch logistic loss with a learned scale and bias, in nats.

    ``(1/B) sum_ij log(1 + exp(-z_ij (scale scores_ij + bias)))`` with ``z_ij = 1`` on the diagonal and -1 elsewhere.

    Parameters
    ----------
    scores : array_like, shape (B, n)
        Row ``i`` holds the scores of query ``i`` with the ``n >= B`` candidates; its positive is in column ``i``.
    scale, bias : float or tensor
        Numbers, or tensors () that get a gradient. The scale is the reciprocal of a temperature.
    item_ids : array_like of int, shape (n,), optional
        Which item each candidate is. A copy of a row's positive in another column is left out.

    Returns
    -------
    array, shape ()
        The sum over all pairs of the batch, divided by the number of its queries.

    Raises
    ------
    ValueError
        For shapes that do not fit, and for NaN and infinity.

    Notes
    -----
    This is the logistic loss of ``losses.logistic`` over the whole grid of the batch, with weight 1 for a positive and
    for a negative pair. Scores of -infinity are refused: no mask can be passed in them. Source: Zhai et al., ICCV 2023
    (SigLIP), Algorithm 1.

    Examples
    --------
    Scores of 0 cost ``log 2`` a pair. A bias of -10 leaves only the two positives to pay, 10 each:

    >>> import numpy as np
    >>> from course_lib import losses
    >>> round(float(losses.in_batch_sigmoid(np.zeros((2, 2)))), 4)
    1.3863
    >>> round(float(losses.in_batch_sigmoid(np.zeros((2, 2)), bias=-10.0)), 3)
    10.0
    """
    scores = _with_diagonal(scores)
    m, n = shape_of(scores)
    if readable(scores):
        check_finite(scores, "scores")
    scale, bias = _one_number(scale, "scale", scores), _one_number(bias, "bias", scores)
    logits = scale * scores + bias
    own = _own(scores, _numbers(m, scores))
    each = softplus(namespace(scores).where(own, -logits, logits))
    if item_ids is not None:
        repeated = _accidental(_of_candidates(as_index(item_ids, scores, "item_ids"), n, "item_ids"), m)
        each = namespace(scores).where(repeated, 0.0, each)
    return check_value(each.sum() / m, {})


def one_minus_cosine_squared(cos: Any) -> Array:
    """Return ``(1 - cos)^2``, elementwise.

    The loss is zero where the two vectors of a positive pair point in the same direction.

    Parameters
    ----------
    cos : array_like
        The cosines of positive pairs.

    Returns
    -------
    array
        The losses, in the shape of ``cos``.

    Raises
    ------
    ValueError
        For exact values (Fractions).

    Notes
    -----
    Source: P0, Table 1, row 7.

    Examples
    --------
    >>> from course_lib import losses
    >>> losses.one_minus_cosine_squared([1.0, 0.0, -1.0]).tolist()
    [0.0, 1.0, 4.0]
    """
    return (1 - as_real(cos, "cos")) ** 2


def cosine_margin(scores: Any, *, tau: Any, margin: float, positives: Any = None) -> Array:
    """Return ``infonce`` with ``cos - margin`` in place of each positive's cosine.

    This is the additive cosine margin of CosFace and AM-Softmax.

    Parameters
    ----------
    scores : array_like, shape (m, n)
        The cosines of each query with the candidates of the batch.
    tau : float or tensor
        The temperature, above 0.
    margin : float
        At least 0, in units of cosine. A margin of 0 gives ``infonce``.
    positives : array_like of int, shape (m,), optional
        The column of each row's positive, by default the diagonal.

    Returns
    -------
    array, shape ()
        The mean loss, in nats.

    Raises
    ------
    ValueError
        For shapes and values that do not fit, as in ``infonce``, and for a negative margin.

    Examples
    --------
    With a margin of 1, a positive of cosine 1 counts as much as a negative of cosine 0, and the loss is ``log 2``:

    >>> import numpy as np
    >>> from course_lib import losses
    >>> round(float(losses.cosine_margin(np.eye(2), tau=1.0, margin=1.0)), 4)
    0.6931
    """
    scores, rows, columns = _batch(scores, positives)
    return _with_positives(scores, columns, scores[rows, columns] - checking.real(margin, "margin", least=0), tau)


def angular_margin(scores: Any, *, tau: Any, margin: float, positives: Any = None) -> Array:
    """Return ``infonce`` with ``cos(theta + margin)`` in place of each positive's cosine ``cos(theta)``.

    This is the additive angular margin of ArcFace: ``cos(theta + margin) = cos(theta) cos(margin) - sin(theta)
    sin(margin)``, with ``sin(theta) = sqrt(1 - cos^2) >= 0``.

    Parameters
    ----------
    scores : array_like, shape (m, n)
        The cosines of each query with the candidates of the batch.
    tau : float or tensor
        The temperature, above 0.
    margin : float
        At least 0, in radians. A margin of 0 gives ``infonce``.
    positives : array_like of int, shape (m,), optional
        The column of each row's positive, by default the diagonal.

    Returns
    -------
    array, shape ()
        The mean loss, in nats.

    Raises
    ------
    ValueError
        For shapes and values that do not fit, as in ``infonce``, and for a negative margin.

    Warnings
    --------
    The loss is not differentiable where a positive pair is parallel (cosine 1 or -1). The square root is taken of
    ``max(1 - cos^2, 1e-30)`` there.

    Where ``theta + margin`` is beyond ``pi``, ``cos(theta + margin)`` grows again as the pair moves apart, so there the
    loss rewards a larger angle.

    Examples
    --------
    A margin of a right angle turns a positive of cosine 1 into one of cosine 0, and the loss is ``log 2``:

    >>> import math
    >>> import numpy as np
    >>> from course_lib import losses
    >>> round(float(losses.angular_margin(np.eye(2), tau=1.0, margin=math.pi / 2)), 4)
    0.6931
    """
    scores, rows, columns = _batch(scores, positives)
    cos, margin = scores[rows, columns], checking.real(margin, "margin", least=0)
    sin = namespace(cos).clip(1 - cos * cos, 1e-30, None) ** 0.5
    return _with_positives(scores, columns, cos * math.cos(margin) - sin * math.sin(margin), tau)


def triplet_margin(pos_cos: Any, neg_cos: Any, *, margin: float) -> Array:
    """Return the triplet loss ``max(0, margin + neg_cos - pos_cos)``, elementwise.

    A positive must be ahead of the negative by ``margin``. Where it is, the loss is flat.

    Parameters
    ----------
    pos_cos, neg_cos : array_like
        The cosines of the positives and of the negatives. They broadcast.
    margin : float
        At least 0, in units of cosine.

    Returns
    -------
    array
        The losses, in the broadcast shape.

    Raises
    ------
    ValueError
        For a negative margin, for NaN or infinite cosines, and for exact values (Fractions).

    Examples
    --------
    The first positive is ahead by 0.75, more than the margin; the second is ahead by 0.25 only:

    >>> from course_lib import losses
    >>> losses.triplet_margin([1.0, 0.5], [0.25, 0.25], margin=0.5).tolist()
    [0.0, 0.25]
    """
    pos_cos = as_real(pos_cos, "pos_cos")
    neg_cos = like(neg_cos, pos_cos, "neg_cos")
    pairs = zip(shape_of(pos_cos)[::-1], shape_of(neg_cos)[::-1], strict=False)
    if any(m != n and 1 not in (m, n) for m, n in pairs):
        raise ValueError(f"neg_cos has shape {shape_of(neg_cos)}; expected one that goes with {shape_of(pos_cos)}")
    short = checking.real(margin, "margin", least=0) + neg_cos - pos_cos
    return namespace(short).clip(check_value(short, {"pos_cos": pos_cos, "neg_cos": neg_cos}), 0.0, None)


def _scores(scores: Any) -> Array:
    scores = at_least_single(as_real(scores, "scores"))
    if scores.ndim != 2 or 0 in shape_of(scores):
        raise ValueError(f"scores has shape {shape_of(scores)}; expected a matrix (m, n), one row per query")
    return scores


def _with_diagonal(scores: Any) -> Array:
    scores = _scores(scores)
    m, n = shape_of(scores)
    if m > n:
        raise ValueError(f"scores has shape ({m}, {n}), no diagonal of positives; expected (m, n) with m <= n")
    return scores


def _square(scores: Any) -> Array:
    scores = _scores(scores)
    m, n = shape_of(scores)
    if m != n:
        raise ValueError(f"scores has shape ({m}, {n}), no diagonal of positives; give positives, a column per row")
    return scores


def _batch(scores: Any, positives: Any) -> tuple[Array, Array, Array]:
    """Checked scores (m, n) and the row and column numbers of the positives, both (m,)."""
    scores = _scores(scores) if positives is not None else _square(scores)
    m, n = shape_of(scores)
    rows = _numbers(m, scores)
    columns = rows if positives is None else as_index(positives, scores, "positives")
    if shape_of(columns) != (m,):
        raise ValueError(f"positives has shape {shape_of(columns)}; expected ({m},), a column for each row of scores")
    if positives is not None and readable(columns) and bool(((columns < 0) | (columns >= n)).any()):
        reach = f"{int(columns.min())} to {int(columns.max())}"
        raise ValueError(f"positives must be columns 0 to {n - 1} of scores, but they reach from {reach}")
    return scores, rows, columns


def _divided(scores: Array, tau: Any, left_out: Array | None = None) -> Array:
    """scores / tau, with a gradient for a temperature that is a tensor; -infinity where `left_out` (m, n) is true.

    The slope of s / tau in tau is -s / tau^2. Where s / tau is -infinity, as for the least number of the kind, or NaN,
    it would be multiplied by 0, the weight of what is left out, and give NaN: so such a score is no part of the
    division.
    """
    tau = _one_number(tau, "tau", scores, above=0)
    where = namespace(scores).where
    if is_torch(tau) and not _finite_quotients(scores, tau):
        masked = detached(scores) / detached(tau) == -math.inf
        left_out = masked if left_out is None else masked | left_out
        scores = where(left_out, 0.0, scores)
    if is_torch(scores):
        logits = scores / tau
    else:
        with np.errstate(over="ignore"):  # what leaves the range of its kind is -infinity, or is found out in the loss
            logits = scores / tau
    return logits if left_out is None else where(left_out, -math.inf, logits)


def _finite_quotients(scores: Array, tau: Array) -> bool:
    """Whether it can be read that each score, and the least one divided by tau, is finite."""
    known = readable(scores) and readable(tau) and all_finite(scores)
    return known and all_finite(detached(scores).min() / detached(tau))


def _one_number(value: Any, name: str, scores: Array, **bounds: Any) -> Any:
    """A parameter, checked: a number, or a tensor () of the kind that the scores are."""
    if not is_torch(value):
        return checking.real(value, name, **bounds)
    if not is_torch(scores) or math.prod(shape_of(value)) != 1:
        found = f"{name} is a tensor of shape {shape_of(value)}"
        raise ValueError(f"{found}; expected a number, or one number as a tensor beside scores that are a tensor")
    if readable(value):
        checking.real(detached(value), name, **bounds)
    return value.reshape(()).to(scores)


def _of_candidates(values: Any, n: int, name: str, reference: Array | None = None) -> Array:
    values = values if reference is None else like(values, reference, name)
    if shape_of(values) != (n,):
        raise ValueError(f"{name} has shape {shape_of(values)}; expected ({n},), one for each column of scores")
    return values if reference is None or not readable(values) else check_finite(values, name)


def _accidental(ids: Array, m: int) -> Array:
    """(m, n) where a column holds the item of a row's positive and is not that positive."""
    rows, columns = _numbers(m, ids), _numbers(shape_of(ids)[0], ids)
    return (ids[:m, None] == ids[None, :]) & (rows[:, None] != columns[None, :])


def _numbers(count: int, reference: Array) -> Array:
    """0, 1, ..., count - 1 as an index for arrays like `reference`."""
    if is_torch(reference):
        import torch

        return torch.arange(count, device=reference.device)
    return np.arange(count)


def _with_positives(scores: Array, columns: Array, changed: Array, tau: Any) -> Array:
    """`infonce` after the entry of each row at its column became `changed` (m,)."""
    logits = _divided(namespace(scores).where(_own(scores, columns), changed[:, None], scores), tau)
    return _loss_of_batch(logits, scores, columns)


def _own(scores: Array, columns: Array) -> Array:
    """(m, n) where the positive of each row stands."""
    own: Array = _numbers(shape_of(scores)[1], scores)[None, :] == columns[:, None]
    return own


def _loss_of_batch(logits: Array, scores: Array, columns: Array, left_out: Array | None = None) -> Array:
    """`_cross_entropy`, or a ValueError that names the first score that may not stand where it stands."""
    value = _cross_entropy(logits, columns)
    if not readable(value) or all_finite(value):
        return value
    fine = namespace(scores).isfinite(scores) | ((scores == -math.inf) & ~_own(scores, columns))
    place = first_index(~(fine if left_out is None else fine | left_out))
    if place is not None:
        found = f"scores[{place[0]}, {place[1]}] = {float(detached(scores)[place])}"
        which = "the positive of its row" if bool(_own(scores, columns)[place]) else "a negative"
        raise ValueError(f"{found}, {which}; expected finite scores, and -infinity only for negatives to be left out")
    return check_value(value, {})


def _cross_entropy(logits: Array, columns: Array) -> Array:
    """The mean over rows i of log sum_j exp(x_ij) - x_ic, c = columns_i: (m, n), (m,) -> (), without overflow."""
    if is_torch(logits):
        from torch.nn.functional import cross_entropy

        return cross_entropy(logits, columns)
    with np.errstate(invalid="ignore"):  # NaN is found out in the value of the loss
        total = np.logaddexp.reduce(logits, axis=-1)
        return (total - logits[_numbers(len(logits), logits), columns]).mean()
