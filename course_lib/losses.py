"""Point-wise losses l(label, score), elementwise and differentiable.

l+ := l(1, score) and l- := l(0, score) are the two numbers that every batch loss of `course_lib.in_batch` combines.
For both losses here l+ - l- is linear in the score: 1/2 - score (square) and -score (logistic). That line is the
reason why the batch loss of equation (17) is convex in the scores although one of its weights is negative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import Array, as_array, is_exact, is_torch, like


def square(label: Any, score: Any) -> Array:
    """(label - score)^2 / 2.

    label, score: numbers or arrays that broadcast; labels are 0 or 1. Exact for Fractions.
    Source: P3, Section 2 (square loss).
    """
    score = as_array(score, "score")
    residual = _labels(label, score) - score
    return residual * residual / 2


def logistic(label: Any, score: Any) -> Array:
    """log(1 + exp(-(2 label - 1) score)), in nats, stable for scores of any size.

    label 1 -> log(1 + exp(-score)); label 0 -> log(1 + exp(score)). The paper prints log(1 + exp(-label * score)),
    which is right for labels in {-1, 1} only; see `logistic_as_printed`.
    Source: P3, Section 6, with labels {0, 1} mapped to {-1, 1}.
    Raises ValueError for exact (Fraction) scores: a logarithm of rationals is not rational.
    """
    score = _real(score)
    return _softplus((1 - 2 * _labels(label, score)) * score)


def logistic_as_printed(label: Any, score: Any) -> Array:
    """log(1 + exp(-label * score)): P3's formula taken literally with its labels {0, 1}.

    At label 0 it is log 2 whatever the score, so no negative pair has a gradient and all scores run to infinity.
    Kept for the errata page; use `logistic`.
    """
    score = _real(score)
    return _softplus(-_labels(label, score) * score)


LOSSES: dict[str, Callable[[Any, Any], Array]] = {"square": square, "logistic": logistic}


def pair_losses(kind: str, scores: Any) -> tuple[Array, Array]:
    """(l(1, scores), l(0, scores)) elementwise: the two losses of every pair.

    kind: "square" or "logistic"; scores: any shape, returned shapes are the same.
    """
    loss = LOSSES.get(kind)
    if loss is None:
        raise ValueError(f"kind={kind!r} is not a point-wise loss; expected one of {tuple(LOSSES)}")
    return loss(1, scores), loss(0, scores)


def _labels(label: Any, score: Array) -> Array:
    if isinstance(label, int) and label in (0, 1):
        return label
    labels = like(label, score, "label")
    if bool(((labels != 0) & (labels != 1)).any()):
        raise ValueError("label must hold only 0 and 1 (1 = positive pair, 0 = negative pair)")
    return labels


def _real(score: Any) -> Array:
    score = as_array(score, "score")
    if is_exact(score):
        raise ValueError(
            "score holds Fractions, but log(1 + exp(score)) is irrational; "
            "use the square loss for exact results or convert the scores to float64"
        )
    return score


def _softplus(x: Array) -> Array:
    """log(1 + exp(x)): no overflow, and slope 1/2 at 0 under autograd."""
    if is_torch(x):
        from torch.nn.functional import softplus

        return softplus(x, threshold=40)  # beyond 40 log(1 + exp(x)) = x to the last bit of float64
    return np.logaddexp(0.0, x)
