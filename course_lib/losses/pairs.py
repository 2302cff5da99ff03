"""Point-wise losses l(label, score) of a pair, and BPR's loss of a triple.

l+ := l(1, score) and l- := l(0, score) are the two numbers that every loss of `course_lib.in_batch` combines. For both
losses here l+ - l- is linear in the score: 1/2 - score (square) and -score (logistic). That line is the reason why the
batch loss of equation (17) is convex in the scores although one of its weights is negative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib import checking
from course_lib.arrays import (
    Array,
    as_array,
    as_real,
    check_finite,
    check_value,
    is_torch,
    like,
    readable,
    shape_of,
)


def square(label: Any, score: Any) -> Array:
    """Return the square loss of a pair.

    ``l(label, score) = (label - score)^2 / 2``, elementwise.

    Parameters
    ----------
    label : int or array_like
        The label of each pair: 1 for a positive pair, 0 for a negative pair. Broadcasts with ``score``.
    score : array_like
        The score of each pair. Fractions give exact results.

    Returns
    -------
    array
        The losses, in the broadcast shape.

    Raises
    ------
    ValueError
        For a label other than 0 and 1.

    Notes
    -----
    Source: P3, Section 2 (square loss).

    Examples
    --------
    The loss is 0 where the score equals the label:

    >>> from course_lib import losses
    >>> losses.square(1, [1.0, 0.0, 3.0]).tolist()
    [0.0, 0.5, 2.0]
    >>> losses.square(0, [1.0, 0.0, 3.0]).tolist()
    [0.5, 0.0, 4.5]
    """
    score = as_array(score, "score")
    residual = _labels(label, score) - score
    return residual * residual / 2


def logistic(label: Any, score: Any) -> Array:
    """Return the logistic loss of a pair, in nats.

    ``l(label, score) = log(1 + exp(-(2 label - 1) score))``, elementwise: ``log(1 + exp(-score))`` for label 1 and
    ``log(1 + exp(score))`` for label 0. It is stable for scores of any size.

    Parameters
    ----------
    label : int or array_like
        The label of each pair: 1 for a positive pair, 0 for a negative pair. Broadcasts with ``score``.
    score : array_like
        The score of each pair.

    Returns
    -------
    array
        The losses, in the broadcast shape.

    Raises
    ------
    ValueError
        For a label other than 0 and 1, and for exact scores (Fractions): the logarithm of a rational number is not
        rational.

    See Also
    --------
    logistic_as_printed : The formula as the paper prints it.

    Notes
    -----
    The paper prints ``log(1 + exp(-label * score))``, which is right for labels in {-1, 1} only. This function maps the
    labels {0, 1} to {-1, 1}. Source: P3, Section 6.

    Examples
    --------
    A score of 0 costs ``log 2`` for either label. A large score costs a positive pair nothing and a negative pair about
    its score:

    >>> from course_lib import losses
    >>> losses.logistic(1, [0.0, 50.0]).round(4).tolist()
    [0.6931, 0.0]
    >>> losses.logistic(0, [0.0, 50.0]).round(4).tolist()
    [0.6931, 50.0]
    """
    score = as_real(score, "score")
    return softplus((1 - 2 * _labels(label, score)) * score)


def logistic_as_printed(label: Any, score: Any) -> Array:
    """Return P3's logistic loss taken literally, with its labels {0, 1}.

    ``log(1 + exp(-label * score))``, elementwise. At label 0 it is ``log 2`` for every score, so no negative pair has a
    gradient: the scores of positive pairs run to infinity, and nothing holds those of negative pairs back. The function
    is kept for the errata page; use ``logistic`` for training.

    Parameters
    ----------
    label : int or array_like
        The label of each pair, 0 or 1. Broadcasts with ``score``.
    score : array_like
        The score of each pair.

    Returns
    -------
    array
        The losses, in the broadcast shape.

    Raises
    ------
    ValueError
        For a label other than 0 and 1, and for exact scores (Fractions).

    Notes
    -----
    Source: P3, Section 6.

    Examples
    --------
    The loss of a negative pair does not depend on its score:

    >>> from course_lib import losses
    >>> losses.logistic_as_printed(0, [-5.0, 0.0, 5.0]).round(4).tolist()
    [0.6931, 0.6931, 0.6931]
    """
    score = as_real(score, "score")
    return softplus(-_labels(label, score) * score)


LOSSES: dict[str, Callable[[Any, Any], Array]] = {"square": square, "logistic": logistic}


def pair_losses(kind: str, scores: Any) -> tuple[Array, Array]:
    """Return both losses of every pair: ``l(1, scores)`` and ``l(0, scores)``.

    Parameters
    ----------
    kind : {"square", "logistic"}
        The point-wise loss.
    scores : array_like
        The scores, of any shape.

    Returns
    -------
    pos_loss, neg_loss : array
        ``l(1, scores)`` and ``l(0, scores)`` elementwise, both in the shape of ``scores``.

    Raises
    ------
    ValueError
        For an unknown kind, for NaN and infinity, and for exact scores with "logistic".

    Notes
    -----
    A batch loss needs ``l(1, .)`` on the diagonal of its scores alone. There, ``logistic(1, scores.diagonal())`` and
    ``logistic(0, scores)`` cost little more than half.

    Examples
    --------
    >>> from course_lib import losses
    >>> pos_loss, neg_loss = losses.pair_losses("square", [[0.0, 1.0], [2.0, 3.0]])
    >>> pos_loss.tolist()
    [[0.5, 0.0], [0.5, 2.0]]
    >>> neg_loss.tolist()
    [[0.0, 0.5], [2.0, 4.5]]
    """
    loss = LOSSES[checking.choice(kind, "kind", LOSSES)]
    scores = as_array(scores, "scores")
    if readable(scores):
        check_finite(scores, "scores")
    return loss(1, scores), loss(0, scores)


def bpr(pos_scores: Any, neg_scores: Any) -> Array:
    """Return the loss of BPR, the mean over triples, in nats.

    The mean of ``-log sigma(pos_scores - neg_scores) = log(1 + exp(neg_scores - pos_scores))``.

    Parameters
    ----------
    pos_scores, neg_scores : array_like, shape (B,)
        The scores ``<e_u, e_i>`` and ``<e_u, e_j>`` of triples ``(u, i, j)``. One positive can also meet many
        negatives: then the shapes are (B, 1) and (B, K).

    Returns
    -------
    array, shape ()
        The mean loss.

    Raises
    ------
    ValueError
        For other shapes, for no triple at all, for exact scores, and for NaN and infinity. A score of -infinity does
        not serve as a mask here, because the mean would count the triple.

    See Also
    --------
    bpr_losses : The loss of each triple.

    Notes
    -----
    Source: P1, equation (3), as a mean instead of a sum and without the regulariser.

    Examples
    --------
    Equal scores cost ``log 2``. A positive that is far ahead costs nothing:

    >>> from course_lib import losses
    >>> round(float(losses.bpr([1.0], [1.0])), 4)
    0.6931
    >>> round(float(losses.bpr([50.0], [1.0])), 4)
    0.0
    """
    value = bpr_losses(pos_scores, neg_scores).mean()
    for name, scores in (("pos_scores", pos_scores), ("neg_scores", neg_scores)):
        if readable(scores):  # the value does not show a triple whose loss is 0 by infinity
            check_finite(as_array(scores, name), name)
    return check_value(value, {})


def bpr_losses(pos_scores: Any, neg_scores: Any) -> Array:
    """Return ``-log sigma(pos_scores - neg_scores)`` of every triple, in nats.

    ``bpr`` is the mean of these losses. Some methods give each triple a weight of its own and need the single losses.

    Parameters
    ----------
    pos_scores, neg_scores : array_like, shape (B,)
        The scores of the positive and of the negative of each triple, or (B, 1) and (B, K) where one positive meets
        many negatives.

    Returns
    -------
    array, shape (B,) or (B, K)
        The losses.

    Raises
    ------
    ValueError
        For other shapes, for no triple at all, and for exact scores.

    Notes
    -----
    Source: P1, equation (3).

    Examples
    --------
    One positive against two negatives:

    >>> from course_lib import losses
    >>> losses.bpr_losses([[1.0]], [[1.0, 51.0]]).round(4).tolist()
    [[0.6931, 50.0]]
    """
    pos_scores = as_real(pos_scores, "pos_scores")
    neg_scores = like(neg_scores, pos_scores, "neg_scores")
    shapes = shape_of(pos_scores), shape_of(neg_scores)
    sides = zip(*shapes, strict=False)
    if (
        len(shapes[0]) != len(shapes[1])
        or any(p != n and 1 not in (p, n) for p, n in sides)
        or 0 in shapes[0] + shapes[1]
    ):
        found = f"pos_scores has shape {shapes[0]} and neg_scores {shapes[1]}"
        raise ValueError(f"{found}; expected as many of both, (B,), or (B, 1) and (B, K), and at least one triple")
    return softplus(neg_scores - pos_scores)


def _labels(label: Any, score: Array) -> Array:
    if isinstance(label, int) and label in (0, 1):
        return int(label)  # torch subtracts no bool
    labels = like(label, score, "label")
    if bool(((labels != 0) & (labels != 1)).any()):
        raise ValueError("label must hold only 0 and 1 (1 = positive pair, 0 = negative pair)")
    return labels


def softplus(x: Array) -> Array:
    """Compute ``log(1 + exp(x))`` without overflow, and with slope 1/2 at 0 under autograd.

    Parameters
    ----------
    x : array
        Any numbers.

    Returns
    -------
    array
        The values, in the shape of ``x``.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.losses.pairs import softplus
    >>> softplus(np.array([-1000.0, 0.0, 1000.0])).round(4).tolist()
    [0.0, 0.6931, 1000.0]
    """
    if is_torch(x):
        from torch.nn import functional

        return functional.softplus(x, threshold=40)  # beyond 40 log(1 + exp(x)) = x to the last bit of float64
    return np.logaddexp(0.0, x)
