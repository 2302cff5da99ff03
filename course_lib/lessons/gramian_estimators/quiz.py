"""What is right in the quiz "gramian-estimators": a function for each question, {answer id: is it right?}.

The numbers of the questions stand here once more, on purpose: the test compares them with what the file marks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import torch

from course_lib import gramians

ALPHA, BATCH = 0.01, 128  # of the question "memory"


def all_pairs() -> dict[str, bool]:
    """Random tables of seven pairs, against the double sum."""
    left, right = _tables(7, 3)
    double_sum = np.mean([(u @ v) ** 2 for u in left for v in right])
    gram_left, gram_right = gramians.gramian(left), gramians.gramian(right)
    answers = {
        "frobenius": (gram_left * gram_right).sum(),
        "trace": np.trace(gram_left @ gram_right),
        "crossed": (gramians.cross_gramian(left, right) ** 2).sum(),
        "diagonal": ((left * right).sum(1) ** 2).mean(),
    }
    return {name: math.isclose(value, double_sum) for name, value in answers.items()}


def stop_gradient() -> dict[str, bool]:
    """Value and gradient of gravity_loss with the exact Gramians, against those of gravity."""
    (value, gradient), (loss, found) = (_value_and_gradient(f) for f in (gramians.gravity, _loss_with_exact_gramians))
    answers = {"natural": (1, 1), "halved": (1, 0.5), "twice-value": (2, 1), "twice-both": (2, 2)}
    return {
        name: math.isclose(loss, times * value) and np.allclose(found, share * gradient)
        for name, (times, share) in answers.items()
    }


def one_batch() -> dict[str, bool]:
    """Every batch of two of three pairs, with replacement, says what the share is of; the library how large it is."""
    left, right = _tables(3, 2)
    gravity, observed = _batch_gradient(left, right, range(3)), _observed_gradient(left, right)
    batches = list(itertools.product(range(3), repeat=2))
    mean = np.mean([_batch_gradient(left[list(batch)], right[list(batch)], batch) for batch in batches], axis=0)
    surplus = mean - (1 - gramians.same_batch_share(2)) * gravity
    of_observed = np.allclose(surplus, gramians.same_batch_share(2) * observed)
    share, n = gramians.same_batch_share(10), 50
    return {
        "mixture": of_observed and math.isclose(share, 1 / 10),
        "unbiased": np.allclose(mean, gravity),
        "observed": of_observed and share > 0,
        "negatives": np.allclose(surplus, gramians.same_batch_share(2) * gravity),
        "full": gramians.same_batch_share(n, n) >= max(gramians.same_batch_share(b, n) for b in range(1, n)),
    }


def sagram() -> dict[str, bool]:
    """Random caches and tables, every draw."""
    worlds = [_tables(4, 3, seed) for seed in range(20)]
    one, small = ([_estimates(cached, now, beta) for cached, now in worlds] for beta in (1.0, 1 / 4))
    exact = [gramians.gramian(now) for _, now in worlds]
    projected = [gramians.nearest_psd(estimates) for estimates in one]
    lowest = [np.linalg.eigvalsh(np.concatenate(estimates)).min() for estimates in (one, small)]
    errors = {
        beta: np.mean(
            [
                ((_estimates(cached, now, beta) - gram) ** 2).sum((1, 2)).mean()
                for (cached, now), gram in zip(worlds, exact, strict=True)
            ]
        )
        for beta in (0.25, 0.5, 0.75, 1.0)
    }
    return {
        "unbiased": np.allclose(np.mean(one, axis=1), exact),
        "cone": bool(lowest[1] >= -1e-12),
        "cone-one": bool(lowest[0] >= -1e-12),
        "projected": np.allclose(np.mean(projected, axis=1), exact),
        "least": min(errors, key=errors.__getitem__) == 1.0,
    }


def memory() -> dict[str, bool]:
    """`sogram_variance`, and SOGram itself on a Gramian that stands still."""
    variance = gramians.sogram_variance(ALPHA) / BATCH
    early = [gramians.sogram_variance(ALPHA, steps=5, corrected=corrected) for corrected in (False, True)]
    return {
        "like-batch": math.isclose(variance, 1 / 25472),
        "window": math.isclose(variance, 1 / 12800),
        "short": round(100 * _still(corrected=False)) == 63,
        "free": math.isclose(_still(corrected=True), 1) and math.isclose(*early),
    }


def drift() -> dict[str, bool]:
    """delta = sigma/1000, and an eighth of it; batches four times as large."""
    delta, sigma = 1e-3, 1.0
    fall = {
        kind: gramians.optimal_alpha(delta, sigma, kind) / gramians.optimal_alpha(delta / 8, sigma, kind)
        for kind in ("coherent", "random_walk")
    }
    larger = [
        gramians.optimal_alpha(delta, sigma / 2, kind) < gramians.optimal_alpha(delta, sigma, kind) for kind in fall
    ]
    best = gramians.optimal_alpha(delta / 8, sigma)
    lags = [gramians.sogram_bias_bound(alpha, delta=delta / 8, norm=0.0) for alpha in (best, best * 1e-6)]
    return {
        "quarter": math.isclose(fall["coherent"], 4, rel_tol=0.05),
        "eighth": math.isclose(fall["random_walk"], 8, rel_tol=0.05),
        "same": any(math.isclose(ratio, 1) for ratio in fall.values()),
        "larger-batches": any(larger),
        "zero": lags[1] <= 10 * lags[0],
    }


def _tables(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(n, d))


def _value_and_gradient(objective: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> tuple[float, np.ndarray]:
    """Of an objective of both tables, at random tables: its value and its gradient, (2, n, d)."""
    tables = [torch.tensor(table, requires_grad=True) for table in _tables(5, 3)]
    value = objective(*tables)
    return float(value.detach()), np.stack([slope.numpy() for slope in torch.autograd.grad(value, tables)])


def _loss_with_exact_gramians(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    loss: torch.Tensor = gramians.gravity_loss(left, right, gramians.gramian(left), gramians.gramian(right))
    return loss


def _batch_gradient(left: np.ndarray, right: np.ndarray, places: Sequence[int]) -> np.ndarray:
    """The gradient of gravity_loss of a batch with its own Gramians, on the three rows of both tables: (2, 3, d)."""
    rows = [torch.tensor(table, requires_grad=True) for table in (left, right)]
    loss = gramians.gravity_loss(*rows, *(gramians.gramian(table) for table in (left, right)))
    gathered = np.zeros((2, 3, left.shape[1]))
    for side, slope in enumerate(torch.autograd.grad(loss, rows)):
        np.add.at(gathered[side], list(places), slope.numpy())
    return gathered


def _observed_gradient(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Of h, the mean of <u_i, v_i>^2: (2, n, d)."""
    products = (left * right).sum(1, keepdims=True)
    return np.asarray(2 * products / len(left) * np.stack([right, left]))


def _estimates(cached: np.ndarray, now: np.ndarray, beta: float) -> np.ndarray:
    """(n, d, d) SAGram's estimate for each example that may be drawn."""
    follower = gramians.SAGram(len(now), now.shape[1], beta)
    follower.start(cached)
    return np.array([follower.look(np.array([i]), now[[i]]) for i in range(len(now))])


def _still(*, corrected: bool) -> float:
    """What SOGram says of a Gramian of 1 that stands still, after 100 batches that all say 1."""
    follower = gramians.SOGram(1, ALPHA, correct_start=corrected)
    for _ in range(100):
        follower.update(np.zeros(1, dtype=int), np.ones((1, 1)))
    return float(follower.estimate[0, 0])
