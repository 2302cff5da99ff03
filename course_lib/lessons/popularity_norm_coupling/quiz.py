"""What is right in the quiz "popularity-norm-coupling": a function for each question, {answer id: is it right?}.

The numbers of the questions stand here once more, on purpose: the test compares them with what the file marks.
"""

from __future__ import annotations

import math

import numpy as np

from course_lib import geometry, losses, norms
from course_lib.lessons.popularity_norm_coupling.proofs import conflicting_items


def sixteen_times() -> dict[str, bool]:
    """Two items with the same gradients, n and 16 n updates, both long after the crossover count."""
    lr, h, n = 0.5, 0.3, 10**12
    assert n > 10**6 * norms.crossover_count(1.0, lr=lr, h=h)
    ratio = norms.predicted_norm(1.0, lr=lr, h=h, updates=16 * n) / norms.predicted_norm(1.0, lr=lr, h=h, updates=n)
    return {
        name: math.isclose(ratio, value, rel_tol=1e-6)
        for name, value in {"one": 1, "two": 2, "four": 4, "sixteen": 16}.items()
    }


def same_picture() -> dict[str, bool]:
    """Two small trainings with the same batches: starts times 2, rate times 4."""
    first, second = _trained(lr=0.8, scale=1.0), _trained(lr=3.2, scale=2.0)
    pairs = [(a, b) for one, other in zip(first, second, strict=True) for a, b in zip(one, other, strict=True)]
    bends = [norms.crossover_count(norm, lr=lr, h=0.3) for norm, lr in ((1.0, 0.8), (2.0, 3.2))]
    scores = [[losses.dot_scores(*tables) for tables in run] for run in (first, second)]
    return {
        "cosines": all(
            np.allclose(losses.cosine_scores(*a), losses.cosine_scores(*b)) for a, b in zip(first, second, strict=True)
        ),
        "double": all(np.allclose(2 * geometry.norm(a), geometry.norm(b)) for a, b in pairs),
        "later": bends[1] > bends[0] * (1 + 1e-9),
        "lists": any((np.argsort(a, axis=1) != np.argsort(b, axis=1)).any() for a, b in zip(*scores, strict=True)),
    }


def who_grows() -> dict[str, bool]:
    """The small training, and the consistent and the conflicting item of the proofs."""
    tables = [
        table for pair in zip(*_trained(lr=0.8, scale=1.0), strict=True) for table in [np.stack(pair)]
    ]  # (steps, n, d) each
    lengths = [geometry.norm(table) for table in tables]
    consistent, conflicting = conflicting_items((1000, 100))
    equal = conflicting_items((100, 100))
    q, k = np.array([0.6, 0.8]), np.array([1.0, 0.3])
    steps = [float(geometry.norm(geometry.cosine_gradient(scale * q, k))) for scale in (1.0, 3.0)]
    return {
        "never-shrinks": all((np.diff(length, axis=0) >= -1e-12).all() for length in lengths),
        "more-is-longer": consistent >= conflicting,
        "slower": steps[1] < steps[0],
        "forgets": math.isclose(*equal),
    }


def head_of_the_catalogue() -> dict[str, bool]:
    """Two items with 1 % and 2 % of the positives, batches of 1024, copies without coherence."""
    batch_size, shares, steps = 1024, np.array([0.01, 0.02]), 10**9
    updates = norms.update_probability(shares, batch_size)
    assert (updates > 0.9999).all()
    squares = norms.expected_squared_gradient(
        shares, batch_size=batch_size, coherence=0.0
    )  # per step, so all steps count
    small, large = norms.predicted_norm(1.0, lr=1.0, h=np.sqrt(squares), updates=steps)
    answers = {"same": 1.0, "quarter": 1.19, "half": 1.4, "proportional": 2.0}
    return {name: round(float(large / small), 2) == value for name, value in answers.items()}


def weight_decay() -> dict[str, bool]:
    """Update probabilities 1 and 1/16 under decay of every row, and under decay of the rows of the batch."""
    weak, strong = [
        [float(norms.decay_equilibrium(p, lr=0.1, decay=decay, h=0.3)) for p in (1.0, 1 / 16)] for decay in (0.01, 1.0)
    ]
    lazy = [_lazy_limit(every) for every in (1, 16)]
    return {
        "every-step": math.isclose(weak[0] / weak[1], 2),
        "cure": math.isclose(weak[0], weak[1]),
        "lazy": math.isclose(*lazy, rel_tol=1e-6),
        "stronger": strong[0] / strong[1] < weak[0] / weak[1] * (1 - 1e-9),
    }


def serving() -> dict[str, bool]:
    """Lists of random users and items, whose lengths differ and lie near the fourth roots of their counts."""
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 1000, size=12)
    users = rng.normal(size=(20, 4))
    items = geometry.normalise(rng.normal(size=(12, 4))) * (counts**0.25 * rng.uniform(0.8, 1.25, 12))[:, None]
    wanted = np.argsort(-losses.cosine_scores(users, items), axis=1)

    def as_wanted(left: np.ndarray, right: np.ndarray, factor: np.ndarray | float = 1.0) -> bool:
        return bool((np.argsort(-losses.dot_scores(left, right) * factor, axis=1) == wanted).all())

    assert not as_wanted(users, items)
    return {
        "items": as_wanted(users, geometry.normalise(items)),
        "users": as_wanted(geometry.normalise(users), items),
        "both": as_wanted(geometry.normalise(users), geometry.normalise(items)),
        "mean": as_wanted(users, items / geometry.norm(items).mean()),
        "popularity": as_wanted(users, items, counts**-0.25),
    }


def _trained(*, lr: float, scale: float, steps: int = 30) -> list[tuple[np.ndarray, np.ndarray]]:
    """Both tables after every step of full-batch SGD on (1 - cos)^2 of six pairs; lengths start at about `scale`."""
    rng = np.random.default_rng(3)
    users, items = (scale * geometry.normalise(rng.normal(size=(4, 3))) for _ in range(2))
    left, right = np.array([0, 1, 2, 3, 0, 1]), np.array([0, 1, 2, 3, 2, 3])
    path = [(users, items)]
    for _ in range(steps):
        u, v = users[left], items[right]
        slope = -2 * (1 - geometry.cosine(u, v))[:, None]
        for_users, for_items = np.zeros_like(users), np.zeros_like(items)
        np.add.at(for_users, left, slope * geometry.cosine_gradient(u, v))
        np.add.at(for_items, right, slope * geometry.cosine_gradient(v, u))
        users, items = users - lr * for_users, items - lr * for_items
        path.append((users, items))
    return path


def _lazy_limit(every: int) -> float:
    """||q||^2 after long training with decay at updates only, one update in `every` steps."""
    squares = np.zeros(400 * every)
    squares[::every] = 0.3**2
    return float(norms.decayed_path(1.0, lr=0.5, squared_gradients=squares, decay=0.1, lazy=True)[-1])
