"""Losses: point-wise l(label, score) of a pair, and losses of a batch that see embeddings through cosines only.

Point-wise: l+ := l(1, score) and l- := l(0, score) are the two numbers that every loss of `course_lib.maths.in_batch`
combines. For both losses here l+ - l- is linear in the score: 1/2 - score (square) and -score (logistic). That line is
the reason why the batch loss of equation (17) is convex in the scores although one of its weights is negative.

Of a batch: `infonce` and the margin losses take the matrix of scores that `cosine_scores` (or `dot_scores`) makes. With
cosine scores each of them is a function F(cos(q, k_1), ..., cos(q, k_r)) of every embedding (P0, equation 13).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib import checking
from course_lib.maths.arrays import Array, as_array, as_index, is_exact, is_torch, like, namespace, shape_of
from course_lib.maths.geometry import normalise


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
    loss = LOSSES[checking.choice(kind, "kind", LOSSES)]
    return loss(1, scores), loss(0, scores)


def bpr(pos_scores: Any, neg_scores: Any) -> Array:
    """mean of -log sigma(pos_scores - neg_scores) = log(1 + exp(neg_scores - pos_scores)): the loss of BPR, in nats.

    pos_scores, neg_scores: <e_u, e_i> and <e_u, e_j> of triples (u, i, j); any shapes that broadcast, so one positive
    (B, 1) may meet many negatives (B, K). Source: P1, equation (3), as a mean instead of a sum and without the
    regulariser.
    """
    return bpr_losses(pos_scores, neg_scores).mean()


def bpr_losses(pos_scores: Any, neg_scores: Any) -> Array:
    """-log sigma(pos_scores - neg_scores) of every triple: `bpr` is their mean, some methods weigh them."""
    pos_scores = _real(pos_scores, "pos_scores")
    return _softplus(like(neg_scores, pos_scores, "neg_scores") - pos_scores)


def _labels(label: Any, score: Array) -> Array:
    if isinstance(label, int) and label in (0, 1):
        return label
    labels = like(label, score, "label")
    if bool(((labels != 0) & (labels != 1)).any()):
        raise ValueError("label must hold only 0 and 1 (1 = positive pair, 0 = negative pair)")
    return labels


def _real(score: Any, name: str = "score") -> Array:
    score = as_array(score, name)
    if is_exact(score):
        raise ValueError(
            f"{name} holds Fractions, but exponentials and cosines are irrational; "
            "use the square loss for exact results or convert the scores to float64"
        )
    return score


def _softplus(x: Array) -> Array:
    """log(1 + exp(x)): no overflow, and slope 1/2 at 0 under autograd."""
    if is_torch(x):
        from torch.nn.functional import softplus

        return softplus(x, threshold=40)  # beyond 40 log(1 + exp(x)) = x to the last bit of float64
    return np.logaddexp(0.0, x)


# ---- scores of a batch


def cosine_scores(Q: Any, K: Any) -> Array:
    """cos(q_i, k_j) for every pair: (..., m, d), (..., n, d) -> (..., m, n). ValueError for zero vectors."""
    return dot_scores(normalise(Q, name="Q"), normalise(K, name="K"))


def dot_scores(Q: Any, K: Any) -> Array:
    """<q_i, k_j> for every pair: (..., m, d), (..., n, d) -> (..., m, n)."""
    Q, K = as_array(Q, "Q"), as_array(K, "K")
    if Q.ndim < 2 or K.ndim < 2 or Q.shape[-1] != K.shape[-1]:
        raise ValueError(f"Q has shape {shape_of(Q)} and K {shape_of(K)}; expected (..., m, d) and (..., n, d)")
    return Q @ K.swapaxes(-1, -2)  # (..., m, d) @ (..., d, n) -> (..., m, n)


# ---- losses of a batch


def infonce(scores: Any, *, tau: float, positives: Any = None) -> Array:
    """-(1/m) sum_i log softmax_j(scores_ij / tau) at j = positives_i: in-batch softmax cross entropy, in nats.

    scores (m, n): row i holds the scores of query i with the n candidates of the batch; tau > 0 the temperature;
    positives (m,): the column of each row's positive, by default its own number (the diagonal). A candidate that stands
    in the batch twice is counted twice, also where it is a row's positive: the copy then serves as a negative.
    Source: P0, Section 4.1 (InfoNCE with in-batch negatives). Raises ValueError for shapes and values that do not fit.
    """
    scores, rows, columns = _batch(scores, tau, positives)
    logits = scores / float(tau)
    return (_log_sum_exp(logits) - logits[rows, columns]).mean()


def one_minus_cosine_squared(cos: Any) -> Array:
    """(1 - cos)^2, elementwise: zero where a positive pair points the same way. Source: P0, Table 1, row 7."""
    return (1 - _real(cos, "cos")) ** 2


def cosine_margin(scores: Any, *, tau: float, margin: float, positives: Any = None) -> Array:
    """`infonce` with cos - margin in place of each positive's cosine (additive cosine margin: CosFace, AM-Softmax).

    scores (m, n) of cosines; margin >= 0, in units of cosine; the rest as in `infonce`, which is the case margin = 0.
    """
    scores, rows, columns = _batch(scores, tau, positives)
    return _with_positives(scores, rows, columns, scores[rows, columns] - checking.real(margin, "margin", least=0), tau)


def angular_margin(scores: Any, *, tau: float, margin: float, positives: Any = None) -> Array:
    """`infonce` with cos(theta + margin) in place of each positive's cosine cos(theta) (additive angle: ArcFace).

    cos(theta + margin) = cos(theta) cos(margin) - sin(theta) sin(margin), with sin(theta) = sqrt(1 - cos^2) >= 0.
    margin >= 0 in radians. Not differentiable where a positive pair is parallel (cos = 1 or -1); the square root is
    taken of max(1 - cos^2, 1e-30) there. The rest as in `infonce`.
    """
    scores, rows, columns = _batch(scores, tau, positives)
    cos, margin = scores[rows, columns], checking.real(margin, "margin", least=0)
    sin = namespace(cos).clip(1 - cos * cos, 1e-30, None) ** 0.5
    return _with_positives(scores, rows, columns, cos * math.cos(margin) - sin * math.sin(margin), tau)


def triplet_margin(pos_cos: Any, neg_cos: Any, *, margin: float) -> Array:
    """max(0, margin + neg_cos - pos_cos), elementwise: a positive must win by `margin`. Flat where it does."""
    pos_cos = _real(pos_cos, "pos_cos")
    short = checking.real(margin, "margin", least=0) + like(neg_cos, pos_cos, "neg_cos") - pos_cos
    return namespace(short).clip(short, 0.0, None)


def _batch(scores: Any, tau: float, positives: Any) -> tuple[Array, Array, Array]:
    """Checked scores (m, n) and the row and column numbers of the positives, both (m,)."""
    scores = _real(scores, "scores")
    if scores.ndim != 2 or 0 in shape_of(scores):
        raise ValueError(f"scores has shape {shape_of(scores)}; expected a matrix (m, n), one row per query")
    checking.real(tau, "tau", above=0)
    m, n = shape_of(scores)
    if positives is None and m != n:
        raise ValueError(f"scores has shape ({m}, {n}), no diagonal of positives; give positives, a column per row")
    rows = as_index(np.arange(m), scores, "rows")
    columns = rows if positives is None else as_index(positives, scores, "positives")
    if shape_of(columns) != (m,):
        raise ValueError(f"positives has shape {shape_of(columns)}; expected ({m},), a column for each row of scores")
    if bool(((columns < 0) | (columns >= n)).any()):
        reach = f"{int(columns.min())} to {int(columns.max())}"
        raise ValueError(f"positives must be columns 0 to {n - 1} of scores, but they reach from {reach}")
    return scores, rows, columns


def _with_positives(scores: Array, rows: Array, columns: Array, changed: Array, tau: float) -> Array:
    """`infonce` after the entries at (rows, columns) became `changed` (m,)."""
    xp = namespace(scores)
    here = as_index(np.arange(shape_of(scores)[1]), scores, "columns")[None, :] == columns[:, None]  # (m, n)
    logits = xp.where(here, changed[:, None], scores) / float(tau)
    return (_log_sum_exp(logits) - logits[rows, columns]).mean()


def _log_sum_exp(x: Array) -> Array:
    """log sum_j exp(x_ij): (m, n) -> (m,), without overflow."""
    return namespace(x).logsumexp(x, -1) if is_torch(x) else np.logaddexp.reduce(x, axis=-1)
