"""What is right in the quiz "ddc": a function for each question, {answer id: is it right?}.

The numbers of the questions stand here once more, on purpose: the test compares them with what the file marks.
"""

from __future__ import annotations

import numpy as np

from course_lib import correction, losses

MARGIN, FACTOR = 2.0, 3.0  # of the question "loss-scale"
USER = np.array([0.5, 1.0, 0.0])  # of the question "served"
POSITIVE, NEGATIVES = np.array([[1.0, 0, 0]]), np.array([[2.0, -2, 0], [0, 0, 1], [0, 0, -1]])
PREFERENCE, BETA = np.array([1.0, 0, 0]), 4.0
ALPHA, BETA_GAP, TILT = -0.2, 0.5, 0.9  # of the question "popularity"


def minimum() -> dict[str, bool]:
    """`has_minimiser`, which must agree with how the minimiser itself behaves."""
    cases = {
        "both": ([-0.2, 0.5, 0.6], [-1.0, 0.1, 0.3]),
        "pleased": ([0.1, 0.5, 0.6], [-1.0, 0.1, 0.3]),
        "popular": ([-0.2, 0.5, 0.6], [0.2, 0.1, 0.3]),
        "barely": ([-0.01, 0.8, 0.9], [-1.0, 2.0, 3.0]),
    }
    return {name: _is_reached(np.array(a), np.array(b)) for name, (a, b) in cases.items()}


def origin() -> dict[str, bool]:
    """Random tables, all items moved along the axis: the model's rankings, margins, axis; each user's sign of alpha."""
    worlds = {t: _world(t) for t in (-1.0, 0.0, 0.4)}
    orders = [np.argsort(-users @ items.T, axis=1) for users, items, _ in worlds.values()]
    same = all((order == orders[0]).all() for order in orders)
    signs = {t: np.array([found[0] for found in _minima(*world) if found is not None]) for t, world in worlds.items()}
    unsolvable = [sum(found is None for found in _minima(*_world(t))) for t in (0.0, 3.0)]
    flips = bool((signs[-1.0] > 0).mean() > 0.9 and (signs[0.4] < 0).mean() > 0.9)
    return {
        "nothing": same and not flips and unsolvable[0] == unsolvable[1],
        "sign": same and flips,
        "ranking": not same,
        "gone": same and unsolvable[1] == len(worlds[0.0][0]) and unsolvable[0] < unsolvable[1],
    }


def loss_scale() -> dict[str, bool]:
    """The loss of a margin before and after, and one that is wrong."""
    right, wrong = (
        tuple(float(losses.bpr(np.array([margin * scale]), np.zeros(1))) for scale in (1, FACTOR))
        for margin in (MARGIN, -MARGIN)
    )
    users, items, _ = _world(0.0)
    same = bool((np.argsort(-users @ items.T, axis=1) == np.argsort(-(FACTOR * users) @ items.T, axis=1)).all())
    return {
        "below": right[1] < 0.05 * right[0],
        "lists": same,
        "better": not same and right[1] < right[0],
        "wrong": wrong[1] > wrong[0],
    }


def served() -> dict[str, bool]:
    """The audit's counterexample to Theorem A.5, and random users at their own BPR minimum."""
    scores, a = (POSITIVE @ USER, NEGATIVES @ USER), (POSITIVE @ PREFERENCE, NEGATIVES @ PREFERENCE)
    none = np.zeros(len(NEGATIVES))
    learned = [correction.user_loss(*scores, a[0], none, 0, beta) for beta in (0, BETA)]
    final = (scores[0] + BETA * a[0], scores[1] + BETA * a[1])
    shipped = [correction.user_loss(*pair, a[0], none, 0, 0) for pair in (scores, final)]
    wins = [(pair[0][:, None] > pair[1]).mean() for pair in (scores, final)]
    return {
        "learned": learned[1] < learned[0] / 10,
        "shipped": shipped[1] > 2 * shipped[0],
        "order": bool(wins[1] < wins[0]),
        "bound": shipped[1] <= learned[1] or shipped[1] <= shipped[0],
        "convex": _never_falls(),
    }


def popularity() -> dict[str, bool]:
    """Head mean score minus tail mean score, before and after, for random items and a user with the given cosine."""
    rng = np.random.default_rng(2)
    items = rng.normal(size=(40, 6)) + np.outer(np.linspace(2, -2, 40), rng.normal(size=6))
    gap = items[:4].mean(0) - items[-4:].mean(0)
    length = float(np.sqrt(gap @ gap))
    across = rng.normal(size=6)
    across -= across @ gap / length**2 * gap
    preference = TILT * gap / length + np.sqrt(1 - TILT**2) * across / np.sqrt(across @ across)
    change = gap @ (ALPHA * gap / length + BETA_GAP * preference)
    return {
        "down": bool(change < -1e-9),
        "up": bool(change > 1e-9) and np.isclose(change, length * (ALPHA + BETA_GAP * TILT)),
        "same": bool(abs(change) <= 1e-9),
        "unknown": not np.isclose(change, length * (ALPHA + BETA_GAP * TILT)),
    }


# ---- small worlds


def _is_reached(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether the loss has a minimum. Where `solve_user` finds one, its gradient must vanish there."""
    scores = np.zeros(len(a)), np.zeros(len(b))
    found = correction.solve_user(*scores, a, b)
    if found is not None:
        assert max(map(abs, correction.user_gradient(*scores, a, b, *found))) < 1e-8
    return found is not None and correction.has_minimiser(a, b)


def _world(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(users, items, axis): 30 users, 60 items that spread along an axis, all moved along it by t times 4."""
    rng = np.random.default_rng(0)
    axis = np.eye(5)[0]
    items = rng.normal(size=(60, 5)) * np.array([2.0, 1, 1, 1, 1])
    users = rng.normal(size=(30, 5)) * 0.5
    return users, items - items.mean(0) + 4 * t * axis, axis


def _minima(users: np.ndarray, items: np.ndarray, axis: np.ndarray) -> list[tuple[float, float] | None]:
    """(alpha, beta) of every user, whose positives are eight of the user's twelve best items, by a fixed rule.

    The projections on e_pref are taken from their mean: then only the axis of popularity decides whether there is a
    minimum.
    """
    found = []
    for user in users:
        scores = items @ user
        best = np.argsort(-scores)[:12]
        mine = best[[0, 1, 2, 4, 6, 7, 9, 11]]
        others = np.setdiff1d(np.arange(len(items)), mine)
        preference = items[mine[:3]].sum(0)
        a = items @ (preference / np.sqrt(preference @ preference))
        found.append(
            correction.solve_user(scores[mine], scores[others], a[mine] - a[mine].mean(), items[others] @ axis)
        )
    return found


def _never_falls() -> bool:
    """At the minimum of a user's BPR loss over e_u, no alpha and beta makes the loss of what is served smaller."""
    rng = np.random.default_rng(4)
    positives, negatives, directions = rng.normal(size=(5, 3)), rng.normal(size=(9, 3)), rng.normal(size=(2, 3))
    differences = (positives[:, None] - negatives).reshape(-1, 3)
    user = np.zeros(3)
    for _ in range(60):
        weights = 1 / (1 + np.exp(differences @ user))
        slope, bend = -(weights @ differences), (differences.T * (weights * (1 - weights))) @ differences
        user -= np.linalg.solve(bend, slope)
    least = np.logaddexp(0, -differences @ user).mean()
    moved = [np.logaddexp(0, -differences @ (user + point @ directions)).mean() for point in rng.normal(size=(300, 2))]
    return bool(np.abs(slope).max() < 1e-9 and min(moved) >= least)
