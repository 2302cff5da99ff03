"""How an estimate of a moving Gramian errs, and the rates that make the error least (P4, Section 3).

Symbols: sigma^2 the variance E||u u' - G||_F^2 of one draw (of a batch of b draws: sigma^2 / b); delta how far the
Gramian moves in one step, in the Frobenius norm; q = 1 - alpha; t the number of updates since the start at zero.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from course_lib import checking

DRIFTS = ("coherent", "random_walk")


def sogram_variance(alpha: Any, *, sigma: Any = 1, steps: Any = None, corrected: bool = False) -> Any:
    """E||G_hat - G_bar||^2 of SOGram after `steps` updates (None: in the long run).

    sigma^2 alpha/(2 - alpha) (1 - q^(2t)); with the start at zero corrected, sigma^2 alpha/(2 - alpha) (1 + q^t)/(1 -
    q^t). 0 < alpha <= 1. Numbers or arrays. Source: P4, (12), there as a bound; equality where each draw has variance
    sigma^2.
    """
    _rate(alpha)
    level = sigma**2 * alpha / (2 - alpha)
    if steps is None:
        return level
    kept = (1 - alpha) ** steps  # q^t
    return level * ((1 + kept) / (1 - kept) if corrected else 1 - kept**2)


def sogram_bias_bound(alpha: Any, *, delta: Any, norm: Any, steps: Any = None) -> Any:
    """The bound on ||G_bar - G|| of SOGram: delta (1/alpha - 1) + q^t norm.

    delta: the most that the Gramian moves in a step; norm: ||G|| now. The last term is what the start at zero leaves.
    Attained by a Gramian that moves on a straight line (first term), or stands still (second). Source: P4, (13).
    """
    _rate(alpha)
    lag = delta * (1 / alpha - 1)
    return lag if steps is None else lag + (1 - alpha) ** steps * norm


def coherent_error(alpha: Any, *, delta: Any, sigma: Any) -> Any:
    """Mean square error in the long run when the Gramian moves straight on.

    sigma^2 alpha/(2 - alpha) + delta^2 (1/alpha - 1)^2.
    """
    return sogram_variance(alpha, sigma=sigma) + sogram_bias_bound(alpha, delta=delta, norm=0) ** 2


def random_walk_error(alpha: Any, *, delta: Any, sigma: Any) -> Any:
    """Mean square error in the long run when the Gramian takes independent steps of mean square delta^2 (claim X14).

    [sigma^2 alpha^2 + delta^2 (1 - alpha)^2] / (alpha (2 - alpha)): a scalar Kalman filter of gain alpha.
    """
    _rate(alpha)
    return (sigma**2 * alpha**2 + delta**2 * (1 - alpha) ** 2) / (alpha * (2 - alpha))


def optimal_alpha(delta: float, sigma: float, drift: str = "coherent") -> float:
    """The rate alpha of SOGram that makes the mean square error least (claim X14).

    drift "coherent": the root of delta^2 (1-alpha)(2-alpha)^2 = sigma^2 alpha^3, close to (2 delta/sigma)^(2/3) when
    small. drift "random_walk": (sqrt(r^2 + 4r) - r)/2 with r = (delta/sigma)^2, the steady gain of a Kalman filter.
    0 for delta = 0, 1 where delta is so large that nothing else is left after rounding.
    Raises ValueError unless delta >= 0 and sigma > 0 are finite.
    """
    checking.choice(drift, "drift", DRIFTS)
    delta, sigma = checking.real(delta, "delta", least=0), checking.real(sigma, "sigma", above=0)
    ratio = delta / sigma
    if ratio > 1e50 or ratio < 1e-153:  # the square would overflow, or lose digits: the limits
        return min(ratio if drift == "random_walk" else (2 * ratio) ** (2 / 3), 1.0)
    r = ratio**2
    if drift == "random_walk":
        return 2 * r / (math.sqrt(r * r + 4 * r) + r)  # = (sqrt(r^2 + 4r) - r)/2 without its cancellation
    # r (1-a)(2-a)^2 - a^3 falls from 4r at 0 to -1 at 1: one real root
    roots = np.roots([-(1 + r), 5 * r, -8 * r, 4 * r])
    root = float(roots[np.abs(roots.imag).argmin()].real)
    return min(root, 1.0) if root < 1.5 else 1 - 1 / r  # beyond delta = 1e7 sigma the other two, near 2, look real too


def alpha_like_batch(batch_size: Any, large_batch: Any) -> Any:
    """The alpha at which SOGram on batches of b varies as sampling on batches of B.

    alpha/(2 - alpha) = b/B, so alpha = 2b/(B + b).
    """
    if not 0 < batch_size <= large_batch:
        raise ValueError(f"batch_size is {batch_size} and large_batch {large_batch}, but 0 < batch_size <= large_batch")
    return 2 * batch_size / (large_batch + batch_size)


def sagram_error(beta: Any, *, mean_square: Any, variance: Any) -> Any:
    """E||G_hat - G||^2 of SAGram: (1 - beta)^2 ||m||^2 + beta^2 V (claim X15).

    delta_i = u_i u_i' - (cached) is how stale example i is; m the mean of the delta_i, ||m||^2 = mean_square; V their
    variance, over the batch: divided by its size.
    """
    return (1 - beta) ** 2 * mean_square + beta**2 * variance


def optimal_beta(*, mean_square: Any, variance: Any) -> Any:
    """The beta of SAGram that makes `sagram_error` least: ||m||^2/(||m||^2 + V). ValueError when both are 0.

    Source: claim X15.
    """
    if np.any(mean_square < 0) or np.any(variance < 0) or np.any(mean_square + variance == 0):
        raise ValueError(f"mean_square is {mean_square} and variance {variance}; expected at least 0, not both 0")
    return mean_square / (mean_square + variance)


def same_batch_share(batch_size: Any, n: Any = None) -> Any:
    """The share of grad h in the expected gradient when one batch serves for the Gramian and the gradient.

    E = grad g + share (grad h - grad g), h = (1/n) sum_i <u_i, v_i>^2: the pull towards zero of the *observed* pairs.
    b >= 1. Drawn with replacement (n None): 1/b. Without: (n - b)/(b (n - 1)), 0 for the full batch.
    Source: claim X16.
    """
    if n is None:
        if not np.all(np.asarray(batch_size) >= 1):
            raise ValueError(f"batch_size is {batch_size}; expected at least 1")
        return 1 / batch_size
    if not 1 <= batch_size <= n or n < 2:
        raise ValueError(f"batch_size is {batch_size} and n {n}; expected 1 <= batch_size <= n and n >= 2")
    return (n - batch_size) / (batch_size * (n - 1))


def _rate(alpha: Any) -> None:
    if hasattr(alpha, "free_symbols"):  # a sympy symbol: the proofs run these lines
        return
    if not (np.all(np.asarray(alpha, dtype=float) > 0) and np.all(np.asarray(alpha, dtype=float) <= 1)):
        raise ValueError(f"alpha is {alpha}; expected 0 < alpha <= 1")
