"""The public checks of the warm-up on two directions."""

from __future__ import annotations

import numpy as np

from course_lib.lessons.shared.grading.hand_in import hand_in  # noqa: F401 (the last cell of an assignment)
from course_lib.lessons.shared.warm_up import Asked


def _axes(pop: list[float], pref: list[float]) -> np.ndarray:
    return np.array([pop, pref]).T  # (d, 2)


def _loss(pos: float, neg: float) -> float:
    return float(np.logaddexp(0.0, neg - pos))


parts = Asked(
    "alpha and beta",
    lambda u, pop, pref: np.linalg.solve(_axes(pop, pref), u),
    ([2.0, 3.0], [1.0, 0.0], [0.6, 0.8]),
    slips={
        "the two directions are not perpendicular: two equations, not two dot products": lambda u, pop, pref: np.array(
            [np.dot(u, pop), np.dot(u, pref)]
        ),
        "alpha belongs to e_pop and comes first": lambda u, pop, pref: np.linalg.solve(_axes(pref, pop), u),
    },
)
score = Asked(
    "the score",
    lambda alpha, beta, v, pop, pref: float(np.dot(alpha * np.array(pop) + beta * np.array(pref), v)),
    (2.0, 1.0, [1.0, 2.0], [1.0, 0.0], [0.6, 0.8]),
    slips={
        "the part along e_pop counts as well": lambda alpha, beta, v, pop, pref: float(beta * np.dot(pref, v)),
        "each direction has a weight of its own": lambda alpha, beta, v, pop, pref: float(
            np.dot(np.array(pop) + np.array(pref), v)
        ),
        "the weights are swapped": lambda alpha, beta, v, pop, pref: float(
            np.dot(beta * np.array(pop) + alpha * np.array(pref), v)
        ),
    },
)
pair_loss = Asked(
    "the loss of a pair",
    _loss,
    (1.0, 1.0),
    (3.0, 1.0),
    slips={
        "the better the positive, the smaller the loss": lambda pos, neg: _loss(neg, pos),
        "this is the probability; the loss is minus its logarithm": lambda pos, neg: float(1 / (1 + np.exp(neg - pos))),
        "the loss is a logarithm, not the difference": lambda pos, neg: neg - pos,
    },
)
