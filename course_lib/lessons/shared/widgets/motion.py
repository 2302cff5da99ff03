"""One vector that descends a loss: what the interactives on motion compute, in Python.

The formulas are those of `geometry` and `losses`; motion_math.js holds the same ones for the page.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from course_lib import geometry, losses

FARTHEST = 1e6  # beyond this length a trace ends


def _cross_entropy(scores: np.ndarray, tau: float) -> float:
    return float(losses.infonce(scores[None, :], tau=tau, positives=[0]))


def _cross_entropy_slopes(scores: np.ndarray, tau: float) -> np.ndarray:
    logits = scores / tau
    probabilities = np.exp(logits - np.logaddexp.reduce(logits))
    return np.asarray((probabilities - (np.arange(len(scores)) == 0)) / tau)


@dataclass(frozen=True)
class MotionLoss:
    """A loss of one query: `loss` of its scores (the positive's first) and `slopes`, its derivative in each of them.

    plain   scores are dot products, not cosines
    many    the negatives count, not the positive alone
    """

    loss: Callable[[np.ndarray, float], float]
    slopes: Callable[[np.ndarray, float], np.ndarray]
    plain: bool = False
    many: bool = False


LOSSES = {
    "cosine": MotionLoss(lambda s, tau: float(1 - s[0]), lambda s, tau: np.array([-1.0])),
    "cosine_squared": MotionLoss(
        lambda s, tau: float(losses.one_minus_cosine_squared(s[0])), lambda s, tau: np.array([-2 * (1 - s[0])])
    ),
    "infonce": MotionLoss(_cross_entropy, _cross_entropy_slopes, many=True),
    "dot": MotionLoss(lambda s, tau: float(-s[0]), lambda s, tau: np.array([-1.0]), plain=True),
    "infonce_dot": MotionLoss(_cross_entropy, _cross_entropy_slopes, plain=True, many=True),
}


def loss_and_gradient(name: str, q: np.ndarray, keys: np.ndarray, tau: float) -> tuple[float, np.ndarray, np.ndarray]:
    """(loss, its gradient with respect to q (d,), scores (r,)) of q (d,) against keys (r, d), the positive first.

    The chain rule of P0 (14): the sum over s of dL/dscore_s times the gradient of score_s.
    """
    chosen = LOSSES[name]
    keys = keys if chosen.many else keys[:1]
    scores = keys @ q if chosen.plain else geometry.cosine(q, keys)
    directions = keys if chosen.plain else geometry.cosine_gradient(q, keys)
    return chosen.loss(scores, tau), chosen.slopes(scores, tau) @ directions, scores


def descend(name: str, q: np.ndarray, keys: np.ndarray, *, lr: float, tau: float, steps: int) -> np.ndarray:
    """q_0, q_1, ..., q_steps of gradient descent on q alone: (steps + 1, d); fewer where q is zero or runs away."""
    points = [np.asarray(q, dtype=float)]
    for _ in range(steps):
        if not 0 < geometry.norm(points[-1]) < FARTHEST:
            break
        points.append(points[-1] - lr * loss_and_gradient(name, points[-1], keys, tau)[1])
    return np.array(points)
