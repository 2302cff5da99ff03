"""How an estimate of a moving Gramian errs, and the rates that make the error least (P4, Section 3).

Symbols: sigma^2 the variance E||u u' - G||_F^2 of one draw (of a batch of b draws: sigma^2 / b); delta how far the
Gramian moves in one step, in the Frobenius norm; q = 1 - alpha; t the number of updates since the start at zero.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from course_lib import checking
from course_lib.arrays import is_torch

DRIFTS = ("coherent", "random_walk")


def sogram_variance(alpha: Any, *, sigma: Any = 1, steps: Any = None, corrected: bool = False) -> Any:
    """Return the variance of SOGram's estimate, ``E||G_hat - G_bar||^2`` with ``G_bar = E G_hat``, after some updates.

    ``sigma^2 alpha/(2 - alpha) (1 - q^(2t))`` with ``q = 1 - alpha`` and ``t`` steps; with the start at zero corrected,
    ``sigma^2 alpha/(2 - alpha) (1 + q^t)/(1 - q^t)``.

    Parameters
    ----------
    alpha : float or array
        The rate, with ``0 < alpha <= 1``.
    sigma : float or array, optional
        ``sigma^2`` is the variance of one draw.
    steps : int or array, optional
        The number ``t`` of updates. None stands for the long run.
    corrected : bool, optional
        Whether the start at zero is corrected.

    Returns
    -------
    float or array
        The variance.

    Raises
    ------
    ValueError
        For a rate outside (0, 1], and a negative sigma or number of steps; for no step, if corrected.

    Notes
    -----
    Source: P4, equation (12), there as a bound. It is an equality where each draw has variance ``sigma^2``.

    Examples
    --------
    After one step the estimate is half a draw, with a quarter of its variance 9. In the long run it averages
    over several:

    >>> from course_lib import gramians
    >>> gramians.sogram_variance(0.5, sigma=3, steps=1)
    2.25
    >>> gramians.sogram_variance(0.5, sigma=3)
    3.0
    """
    alpha, sigma = _rate(alpha), _numbers(sigma, "sigma", least=0)
    corrected = checking.choice(corrected, "corrected", (False, True))
    _numbers(1 if steps is None else steps, "steps", least=int(corrected))
    level = sigma**2 * alpha / (2 - alpha)
    if steps is None:
        return level
    kept = (1 - alpha) ** steps  # q^t
    return level * ((1 + kept) / (1 - kept) if corrected else 1 - kept**2)


def sogram_bias_bound(alpha: Any, *, delta: Any, norm: Any, steps: Any = None) -> Any:
    """Return the bound on the bias ``||G_bar - G||`` of SOGram.

    ``delta (1/alpha - 1) + q^t norm`` with ``q = 1 - alpha`` and ``t`` steps.

    Parameters
    ----------
    alpha : float or array
        The rate, with ``0 < alpha <= 1``.
    delta : float or array
        The most that the Gramian moves in a step.
    norm : float or array
        ``||G||`` now.
    steps : int or array, optional
        The number ``t`` of updates. None stands for the long run, without the last term.

    Returns
    -------
    float or array
        The bound.

    Raises
    ------
    ValueError
        For a rate outside (0, 1], and a negative delta, norm or number of steps.

    Notes
    -----
    The last term is what the start at zero leaves. The bound is attained by a Gramian that moves on a straight line, in
    the long run (first term), or stands still (second). Source: P4, equation (13).

    Examples
    --------
    >>> from course_lib import gramians
    >>> gramians.sogram_bias_bound(0.5, delta=1, norm=4, steps=2)
    2.0
    >>> gramians.sogram_bias_bound(0.5, delta=1, norm=4)
    1.0
    """
    alpha, delta, norm = _rate(alpha), _numbers(delta, "delta", least=0), _numbers(norm, "norm", least=0)
    _numbers(0 if steps is None else steps, "steps", least=0)
    lag = delta * (1 / alpha - 1)
    return lag if steps is None else lag + (1 - alpha) ** steps * norm


def coherent_error(alpha: Any, *, delta: Any, sigma: Any) -> Any:
    """Return the mean square error of SOGram in the long run when the Gramian moves straight on.

    ``sigma^2 alpha/(2 - alpha) + delta^2 (1/alpha - 1)^2``.

    Parameters
    ----------
    alpha : float or array
        The rate, with ``0 < alpha <= 1``.
    delta : float or array
        How far the Gramian moves in a step.
    sigma : float or array
        ``sigma^2`` is the variance of one draw.

    Returns
    -------
    float or array
        The mean square error.

    Raises
    ------
    ValueError
        For a rate outside (0, 1], and a negative delta or sigma.

    Examples
    --------
    A variance of 3 and a squared bias of 1:

    >>> from course_lib import gramians
    >>> gramians.coherent_error(0.5, delta=1, sigma=3)
    4.0
    """
    return sogram_variance(alpha, sigma=sigma) + sogram_bias_bound(alpha, delta=delta, norm=0) ** 2


def random_walk_error(alpha: Any, *, delta: Any, sigma: Any) -> Any:
    """Return the mean square error of SOGram in the long run when the Gramian takes independent steps.

    ``[sigma^2 alpha^2 + delta^2 (1 - alpha)^2] / (alpha (2 - alpha))``: a scalar Kalman filter of gain alpha.

    Parameters
    ----------
    alpha : float or array
        The rate, with ``0 < alpha <= 1``.
    delta : float or array
        ``delta^2`` is the mean square of a step.
    sigma : float or array
        ``sigma^2`` is the variance of one draw.

    Returns
    -------
    float or array
        The mean square error.

    Raises
    ------
    ValueError
        For a rate outside (0, 1], and a negative delta or sigma.

    Notes
    -----
    Source: claim X14.

    Examples
    --------
    With ``alpha = 1`` the estimate is the latest draw, and its error the variance of that draw:

    >>> from course_lib import gramians
    >>> gramians.random_walk_error(1.0, delta=1, sigma=3)
    9.0
    >>> round(gramians.random_walk_error(0.5, delta=1, sigma=3), 4)
    3.3333
    """
    alpha, delta, sigma = _rate(alpha), _numbers(delta, "delta", least=0), _numbers(sigma, "sigma", least=0)
    return (sigma**2 * alpha**2 + delta**2 * (1 - alpha) ** 2) / (alpha * (2 - alpha))


def optimal_alpha(delta: float, sigma: float, drift: str = "coherent") -> float:
    """Return the rate alpha of SOGram that makes the mean square error least.

    For "coherent" drift, it is the root of ``delta^2 (1-alpha)(2-alpha)^2 = sigma^2 alpha^3``, close to
    ``(2 delta/sigma)^(2/3)`` when small. For "random_walk", it is ``(sqrt(r^2 + 4r) - r)/2`` with
    ``r = (delta/sigma)^2``, the steady gain of a Kalman filter.

    Parameters
    ----------
    delta : float
        How far the Gramian moves in a step, at least 0.
    sigma : float
        ``sigma^2`` is the variance of one draw, above 0.
    drift : {"coherent", "random_walk"}, optional
        Whether the Gramian moves straight on or takes independent steps.

    Returns
    -------
    float
        The rate: 0 for ``delta = 0``, and 1 where ``delta`` is so large that the rate rounds to it.

    Raises
    ------
    ValueError
        Unless ``delta >= 0`` and ``sigma > 0`` are finite, and for another drift.

    Notes
    -----
    Source: claim X14.

    Examples
    --------
    A Gramian that moves slowly allows a long memory:

    >>> from course_lib import gramians
    >>> round(gramians.optimal_alpha(0.001, 1.0), 4), round(gramians.optimal_alpha(1.0, 1.0), 2)
    (0.0157, 0.74)
    >>> round(gramians.optimal_alpha(1.0, 1.0, "random_walk"), 4)
    0.618
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
    """Return the alpha at which SOGram on batches of ``b`` varies as sampling on batches of ``B``.

    ``alpha/(2 - alpha) = b/B``, so ``alpha = 2b/(B + b)``.

    Parameters
    ----------
    batch_size : int
        The size ``b`` of SOGram's batches, above 0.
    large_batch : int
        The size ``B`` of the other batches, at least ``b``.

    Returns
    -------
    float
        The rate.

    Raises
    ------
    ValueError
        Unless ``0 < batch_size <= large_batch``.

    Examples
    --------
    >>> from course_lib import gramians
    >>> gramians.alpha_like_batch(100, 300)
    0.5
    """
    batch_size, large_batch = _numbers(batch_size, "batch_size"), _numbers(large_batch, "large_batch")
    if not 0 < batch_size <= large_batch:
        raise ValueError(f"batch_size is {batch_size} and large_batch {large_batch}, but 0 < batch_size <= large_batch")
    return 2 * batch_size / (large_batch + batch_size)


def sagram_error(beta: Any, *, mean_square: Any, variance: Any) -> Any:
    """Return the mean square error of SAGram, ``E||G_hat - G||^2``.

    ``(1 - beta)^2 ||m||^2 + beta^2 V``, where ``delta_i = u_i u_i' - (cached)`` is how stale example ``i`` is and ``m``
    the mean of the ``delta_i``.

    Parameters
    ----------
    beta : float or array
        The weight of the correction by the batch.
    mean_square : float or array
        ``||m||^2``.
    variance : float or array
        The variance ``V`` of the ``delta_i``, over the batch: divided by its size.

    Returns
    -------
    float or array
        The mean square error.

    Raises
    ------
    ValueError
        For a beta that is not finite, and a negative mean square or variance.

    Notes
    -----
    Source: claim X15.

    Examples
    --------
    Without a correction the error is the staleness, with the full correction it is the variance. The best lies between:

    >>> from course_lib import gramians
    >>> [round(gramians.sagram_error(beta, mean_square=4.0, variance=2.0), 4) for beta in (0, 2 / 3, 1)]
    [4.0, 1.3333, 2.0]
    """
    beta = _numbers(beta, "beta")
    mean_square, variance = _numbers(mean_square, "mean_square", least=0), _numbers(variance, "variance", least=0)
    return (1 - beta) ** 2 * mean_square + beta**2 * variance


def optimal_beta(*, mean_square: Any, variance: Any) -> Any:
    """Return the beta of SAGram that makes ``sagram_error`` least.

    ``||m||^2 / (||m||^2 + V)``.

    Parameters
    ----------
    mean_square : float or array
        ``||m||^2`` as in ``sagram_error``, at least 0.
    variance : float or array
        ``V`` as in ``sagram_error``, at least 0.

    Returns
    -------
    float or array
        The weight.

    Raises
    ------
    ValueError
        For a negative number, and when both are 0.

    Notes
    -----
    Source: claim X15.

    Examples
    --------
    >>> from course_lib import gramians
    >>> round(gramians.optimal_beta(mean_square=4.0, variance=2.0), 4)
    0.6667
    """
    mean_square, variance = _numbers(mean_square, "mean_square", least=0), _numbers(variance, "variance", least=0)
    if np.any(np.asarray(mean_square + variance == 0)):
        raise ValueError(f"mean_square is {mean_square} and variance {variance}; expected at least one above 0")
    return mean_square / (mean_square + variance)


def same_batch_share(batch_size: Any, n: Any = None) -> Any:
    """Return the share of ``grad h`` in the gradient when one batch serves for the Gramian and the gradient.

    ``E = grad g + share (grad h - grad g)`` is the expected gradient, with ``g`` the gravity term and ``h = (1/n) sum_i
    <u_i, v_i>^2``. The gradient of ``h`` pulls the scores of the observed pairs towards zero.

    Parameters
    ----------
    batch_size : int or array
        The size ``b`` of the batch, at least 1.
    n : int, optional
        The number of examples. None stands for a batch drawn with replacement, whose share is ``1/b``. Without
        replacement the share is ``(n - b)/(b (n - 1))``, which is 0 for the full batch.

    Returns
    -------
    float or array
        The share.

    Raises
    ------
    ValueError
        For a batch size below 1 or above ``n``, and for ``n`` below 2.

    Notes
    -----
    Source: claim X16.

    Examples
    --------
    >>> from course_lib import gramians
    >>> gramians.same_batch_share(2)
    0.5
    >>> gramians.same_batch_share(2, 5), gramians.same_batch_share(5, 5)
    (0.375, 0.0)
    """
    batch_size = _numbers(batch_size, "batch_size")
    if n is None:
        if not np.all(np.asarray(batch_size) >= 1):
            raise ValueError(f"batch_size is {batch_size}; expected at least 1")
        return 1 / batch_size
    n = checking.whole(n, "n", 2)
    if not np.all((np.asarray(batch_size) >= 1) & (np.asarray(batch_size) <= n)):
        raise ValueError(f"batch_size is {batch_size} and n {n}; expected 1 <= batch_size <= n")
    return (n - batch_size) / (batch_size * (n - 1))


def _rate(alpha: Any) -> Any:
    return _numbers(alpha, "alpha", above=0, most=1)


def _numbers(value: Any, name: str, **bounds: float) -> Any:
    """Check the numbers of an array by its least and its greatest, and a number; the symbols of a proof pass.

    Returns the value. Whole numbers of NumPy or torch come in 64 bits: in fewer, squares and products wrap around.
    """
    if hasattr(value, "free_symbols"):
        return value
    array = checking.numeric(value, name) if hasattr(value, "ndim") else np.empty(0)
    narrow = array.dtype.kind in "iu" and array.dtype.itemsize < 8
    numbers = array.astype(np.float64) if array.ndim else np.empty(0)
    for extreme in (numbers.min(), numbers.max()) if numbers.size else (value,):  # both are NaN where one number is
        checking.real(extreme, name, **bounds)
    if not narrow:
        return value
    return value.long() if is_torch(value) else value.astype(np.int64)
