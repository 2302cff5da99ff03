"""What is right in the quiz "gauge-freedom": a function for each question, {answer id: is it right?}.

The numbers of the questions stand here once more, on purpose: the test compares them with what the file marks.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from course_lib import gauge, geometry, losses
from course_lib.arrays import exact

TINY = 1e-9


def what_changes() -> dict[str, bool]:
    """Random users and items, d = (4, 1/4)."""
    rng = np.random.default_rng(0)
    users, items = rng.normal(size=(5, 2)), rng.normal(size=(6, 2))
    new_users, new_items = gauge.apply_gauge(users, items, [4, 1 / 4])
    target = rng.normal(size=(5, 6))

    def differ(before: np.ndarray, after: np.ndarray) -> bool:
        return bool(np.abs(before - after).max() > TINY)

    scores, new_scores = losses.dot_scores(users, items), losses.dot_scores(new_users, new_items)
    return {
        "score": differ(scores, new_scores),
        "loss": differ(((scores - target) ** 2).sum(), ((new_scores - target) ** 2).sum()),
        "item-cosine": differ(losses.cosine_scores(items, items), losses.cosine_scores(new_items, new_items)),
        "item-dot": differ(losses.dot_scores(items, items), losses.dot_scores(new_items, new_items)),
        "mixed-cosine": differ(losses.cosine_scores(users, items), losses.cosine_scores(new_users, new_items)),
    }


def post_hoc() -> dict[str, bool]:
    """Item tables of ten models in two gauges each, rows normalised afterwards; a claim must hold for all ten."""
    rng = np.random.default_rng(1)
    claims = {"equal": True, "order": True, "sign": True}
    for _ in range(10):
        users, items = rng.normal(size=(5, 2)), rng.normal(size=(6, 2))
        tables = [geometry.normalise(table) for table in (items, gauge.apply_gauge(users, items, [3, 1 / 3])[1])]
        first, second = (losses.cosine_scores(table, table) for table in tables)
        lists = [gauge.neighbours(table, 1) for table in tables]
        claims["equal"] &= np.allclose(first, second)
        claims["order"] &= bool((lists[0] == lists[1]).all())
        claims["sign"] &= np.allclose(abs(first), abs(second))
    return {**claims, "nothing": not any(claims.values())}


def which_stretch() -> dict[str, bool]:
    """Exact: the rows (3, 4)/5, (3, -4)/5, (-3, 4)/5, and who keeps their lengths."""
    rows = exact([[3, 4], [3, -4], [-3, 4]]) * Fraction(1, 5)
    loose = gauge.diagonal_gauge_dimension(rows)

    def keeps(first: Fraction, second: Fraction) -> bool:
        """Whether d_1^2 = first, d_2^2 = second keeps all lengths."""
        return gauge.keeps_norms(rows, exact([[first, 0], [0, second]]), tol=0)

    family = [
        (Fraction(t), (1 - Fraction(36, 100) * Fraction(t)) / Fraction(64, 100))
        for t in (Fraction(1, 2), 1, 2, Fraction(25, 10))
    ]
    mirrored = gauge.is_on_sphere(rows.astype(float) * [1, -1])
    return {
        "identity": loose == 0 and not mirrored,
        "mirrors": loose == 0 and mirrored,
        "family": loose == 1 and all(keeps(*squares) for squares in family) and not keeps(Fraction(2), Fraction(2)),
        "all": keeps(Fraction(4), Fraction(1, 4)),
    }


def how_many_rows(k: int = 4) -> dict[str, bool]:
    """The first n for which n random rows leave nothing but R R^T = I."""
    rng = np.random.default_rng(2)
    rows = geometry.normalise(rng.normal(size=(20, k)))
    needed = next(n for n in range(1, 21) if gauge.linear_gauge_dimension(rows[:n]) == 0)
    return {name: needed == value for name, value in {"four": 4, "five": 5, "ten": 10, "sixteen": 16}.items()}


def decay() -> dict[str, bool]:
    """Closed forms of the two objectives of Steck, Ekanadham and Kallus on a small random X; the user table is X A."""
    rng = np.random.default_rng(3)
    X, k, strength = rng.normal(size=(9, 6)), 3, 0.4
    A, B = gauge.steck_second(X, k=k, decay=strength)

    def cost(left: np.ndarray, right: np.ndarray) -> float:
        return float(gauge.steck_objectives(X, left, right, decay=strength)[1])

    Q = np.linalg.qr(rng.normal(size=(k, k)))[0]
    stretched = gauge.apply_gauge(A, B, [1.5, 1.0, 0.7])
    other = gauge.steck_first(X, k=k, decay=strength)[1]
    plain = gauge.steck_second(X, k=k, decay=0.0)
    return {
        "stretch-costs": np.allclose(stretched[0] @ stretched[1].T, A @ B.T) and cost(*stretched) > cost(A, B) + TINY,
        "rotations": bool(np.isclose(cost(A @ Q, B @ Q), cost(A, B)))
        and np.allclose(losses.cosine_scores(B @ Q, B @ Q), losses.cosine_scores(B, B)),
        "one-answer": np.allclose(losses.cosine_scores(other, other), losses.cosine_scores(B, B)),
        "scores-same": np.allclose(plain[0] @ plain[1].T, A @ B.T),
    }


def distances() -> dict[str, bool]:
    """Random unit vectors, and the directions at 0, 45 and 90 degrees."""
    rows = geometry.normalise(np.random.default_rng(4).normal(size=(30, 3)))
    wanted = gauge.neighbours(rows, 29)
    manhattan = np.abs(rows[:, None] - rows[None]).sum(-1) + np.diag(np.full(30, np.inf))
    angles = np.radians([0, 45, 90])
    a, b, c = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    over = geometry.cosine_distance(a, b) + geometry.cosine_distance(b, c)
    return {
        "euclid": bool((gauge.neighbours(rows, 29, "euclidean") == wanted).all()),
        "angle": bool((gauge.neighbours(rows, 29, "geodesic") == wanted).all()),
        "manhattan": bool((np.argsort(manhattan, axis=1)[:, :29] == wanted).all()),
        "metric": bool(over >= geometry.cosine_distance(a, c)),
    }
