"""The error formulas of the Gramian estimates, against sums over their weights and over all outcomes, exactly."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from course_lib.checking import some
from course_lib.gramians import rates

THIRD = Fraction(1, 3)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_the_variance_of_sogram_is_the_sum_of_its_squared_weights(steps: int) -> None:
    """After t updates the estimate is a sum of draws with weights alpha q^k; the correction divides by their sum."""
    weights = [THIRD * (1 - THIRD) ** age for age in range(steps)]
    square = sum(weight**2 for weight in weights)
    assert rates.sogram_variance(THIRD, sigma=2, steps=steps) == 4 * square
    assert rates.sogram_variance(THIRD, sigma=2, steps=steps, corrected=True) == 4 * square / sum(weights) ** 2
    assert rates.sogram_bias_bound(THIRD, delta=5, norm=9, steps=steps) == 10 + 9 * (1 - sum(weights))


def test_in_the_long_run_nothing_is_left_of_the_start() -> None:
    late = rates.sogram_variance(0.25, sigma=3, steps=400)
    assert rates.sogram_variance(0.25, sigma=3) == pytest.approx(late) == pytest.approx(9 / 7)
    lag = rates.sogram_bias_bound(0.25, delta=2, norm=1)
    assert lag == pytest.approx(rates.sogram_bias_bound(0.25, delta=2, norm=1, steps=400)) == pytest.approx(6)
    assert rates.coherent_error(0.25, delta=2, sigma=3) == pytest.approx(late + lag**2)


@pytest.mark.parametrize("beta", [Fraction(0), THIRD, Fraction(1)])
def test_the_error_of_sagram_over_two_equally_likely_batches(beta: Fraction) -> None:
    """Two stale differences m + s and m - s: the estimate moves by beta of the one drawn, and should move by m."""
    m, s = Fraction(3), Fraction(2)
    errors = [(beta * (m + sign * s) - m) ** 2 for sign in (1, -1)]
    assert rates.sagram_error(beta, mean_square=m**2, variance=s**2) == sum(errors) / 2


def test_the_best_beta_is_a_minimum_and_may_be_0_or_1() -> None:
    best = rates.optimal_beta(mean_square=Fraction(9), variance=Fraction(4))
    assert best == Fraction(9, 13)
    near = [rates.sagram_error(best + shift, mean_square=9, variance=4) for shift in (-THIRD, Fraction(0), THIRD)]
    assert near[0] == near[2] > near[1]
    assert rates.optimal_beta(mean_square=0, variance=1) == 0 and rates.optimal_beta(mean_square=1, variance=0) == 1
    for wrong in some([(-1, 2), (2, -1), (0, 0)]):
        with pytest.raises(ValueError, match=r"^(mean_square|variance) is"):
            rates.optimal_beta(mean_square=wrong[0], variance=wrong[1])


def test_one_batch_for_both_pulls_least_when_it_is_everything() -> None:
    for shares in ([rates.same_batch_share(b, 4) for b in (1, 2, 4)], rates.same_batch_share(np.array([1, 2, 4]), 4)):
        assert list(shares) == [1, pytest.approx(1 / 3), 0]
    assert rates.same_batch_share(1, 2) == 1 and rates.same_batch_share(4) == 0.25
    for b, n in some([(0, 4), (5, 4), (1, 1), (0, None)]):
        with pytest.raises(ValueError, match=r"expected 1 <= batch_size <= n$|^n is 1; expected|expected at least 1"):
            rates.same_batch_share(b, n)


@pytest.mark.parametrize("alpha", [0, -0.5, 1.001])
def test_a_rate_outside_0_to_1_is_refused(alpha: float) -> None:
    assert rates.sogram_variance(1) == 1 and rates.random_walk_error(1, delta=1, sigma=3) == 9
    with pytest.raises(ValueError, match=r"^alpha is .*; expected a finite number in \(0, 1\]"):
        rates.sogram_variance(alpha)
    with pytest.raises(ValueError, match=r"^alpha is .*; expected a finite number in \(0, 1\]"):
        rates.sogram_bias_bound(alpha, delta=1, norm=1)


@pytest.mark.parametrize("wrong", [-0.5, float("nan"), np.array([1.0, -1.0]), np.array([1.0, float("nan")])])
def test_a_negative_amount_and_nan_are_refused_by_name(wrong: Any) -> None:
    calls: dict[str, Callable[..., Any]] = {
        "sigma": partial(rates.sogram_variance, 0.5),
        "steps": partial(rates.sogram_variance, 0.5),
        "delta": partial(rates.random_walk_error, 0.5, sigma=1),
        "norm": partial(rates.sogram_bias_bound, 0.5, delta=1),
        "mean_square": partial(rates.sagram_error, 0.5, variance=1),
        "variance": partial(rates.optimal_beta, mean_square=1),
    }
    for name, call in calls.items():
        call(**{name: 1})
        with pytest.raises(ValueError, match=f"^{name} is .* of at least 0"):
            call(**{name: wrong})
        for no_number in ("5", [1, 2], 1j, True, np.array(["1"]), np.empty(0)):
            with pytest.raises(ValueError, match=f"^{name} is .*; expected"):
                call(**{name: no_number})
    for name in ("batch_size", "large_batch"):
        with pytest.raises(ValueError, match=f"^{name} is '5'; expected a finite number"):
            rates.alpha_like_batch(**{"batch_size": 2, "large_batch": 4} | {name: "5"})
    with pytest.raises(ValueError, match=r"^batch_size is '5'"):
        rates.same_batch_share("5", 8)
    with pytest.raises(ValueError, match=r"^corrected is 2; expected one of False, True"):
        rates.sogram_variance(0.5, corrected=2)


def test_a_start_at_zero_is_corrected_after_one_step_at_the_earliest() -> None:
    assert rates.sogram_variance(0.5, steps=0) == 0
    with pytest.raises(ValueError, match=r"^steps is 0"):
        rates.sogram_variance(0.5, steps=0, corrected=True)


@pytest.mark.parametrize(
    ("delta", "sigma", "coherent", "walk"),
    [
        (1e8, 1, 1, 1),
        (1e78, 1, 1, 1),
        (1.0, 1e-200, 1, 1),
        (1e200, 1e-200, 1, 1),
        (1e-200, 1, 2 ** (2 / 3) * 1e-200 ** (2 / 3), 1e-200),
        (0, 1, 0, 0),
    ],
)
def test_the_best_rate_of_extreme_drifts_is_the_limit(delta: float, sigma: float, coherent: float, walk: float) -> None:
    assert rates.optimal_alpha(delta, sigma) == pytest.approx(coherent, rel=1e-12, abs=0)
    assert rates.optimal_alpha(delta, sigma, "random_walk") == pytest.approx(walk, rel=1e-12, abs=0)
    assert rates.optimal_alpha(delta, sigma) <= 1 and rates.optimal_alpha(delta, sigma, "random_walk") <= 1


@pytest.mark.parametrize("make", [lambda x: np.array([x], np.int32), np.int32, lambda x: torch.tensor([x]).int()])
def test_whole_numbers_of_few_bits_do_not_wrap_around(make: Callable[[int], Any]) -> None:
    big = make(70_000)
    calls: tuple[Callable[[Any], Any], ...] = (
        lambda x: rates.sogram_variance(0.5, sigma=x),
        lambda x: rates.coherent_error(0.5, delta=x, sigma=x),
        lambda x: rates.random_walk_error(0.5, delta=x, sigma=x),
        lambda x: rates.sagram_error(x, mean_square=1, variance=1),
        lambda x: rates.optimal_beta(mean_square=x * 30_000, variance=x * 30_000),
        lambda x: rates.same_batch_share(x, 20_000_000),
    )
    for call in calls:
        assert np.ravel(call(big))[0] == pytest.approx(float(call(70_000)), rel=1e-6)
    assert rates.alpha_like_batch(np.int32(15 * 10**8), np.int32(2 * 10**9)) == pytest.approx(6 / 7)
    assert rates.same_batch_share(np.array([2], np.uint8), 1000) == rates.same_batch_share(2, 1000)
