"""course_lib.popularity: correlations, slopes, shares and the direction of popularity."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from course_lib import popularity

seeds = st.integers(0, 2**32 - 1)


def sample(seed: int, n: int = 40, d: int = 6):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(1, 500, n)


# ------------------------------------------------------------------------------------------------------------- norms


@given(seeds)
def test_correlation_and_slope_agree_with_scipy_on_numpy_and_torch(seed: int) -> None:
    items, counts = sample(seed)
    lengths = np.linalg.norm(items, axis=1)
    assert popularity.norm_correlation(lengths, counts) == pytest.approx(stats.pearsonr(lengths, counts).statistic, abs=1e-12)
    slope = stats.linregress(np.log(counts), np.log(lengths)).slope
    assert popularity.log_log_slope(lengths, counts) == pytest.approx(slope, abs=1e-12)
    for dtype, accuracy in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        tensor = torch.tensor(lengths, dtype=dtype)
        assert float(popularity.norm_correlation(tensor, torch.tensor(counts))) == pytest.approx(
            popularity.norm_correlation(lengths, counts), abs=accuracy
        )
        assert float(popularity.log_log_slope(tensor, counts)) == pytest.approx(slope, abs=10 * accuracy)


@given(seeds, st.floats(-2, 2), st.floats(0.1, 10))
def test_slope_finds_a_power_law(seed: int, power: float, factor: float) -> None:
    counts = sample(seed)[1]
    if len(set(counts)) > 1:
        assert popularity.log_log_slope(factor * counts**power, counts) == pytest.approx(power, abs=1e-9)


def test_correlation_carries_a_gradient() -> None:
    items, counts = sample(0)
    table = torch.tensor(items, requires_grad=True)
    popularity.norm_correlation(table.norm(dim=1), counts).backward()
    assert table.grad.abs().sum() > 0


# ------------------------------------------------------------------------------------------------------------- lists


def test_head_and_tail_go_by_count_and_then_by_id() -> None:
    counts = [5, 9, 9, 1, 1, 0]
    assert popularity.head_items(counts, 0.5).tolist() == [1, 2, 0]
    assert popularity.tail_items(counts, 0.34).tolist() == [5, 4]
    assert popularity.head_items(counts, 0.01).tolist() == [1]  # at least one


def test_shares_and_average_popularity_by_hand() -> None:
    counts = np.array([10, 1, 1, 1])
    ranked = np.array([[0, 1], [2, -1], [-1, -1]])
    assert popularity.top_share(ranked, counts, share=0.25) == pytest.approx(1 / 3)
    assert popularity.average_popularity(ranked, counts) == pytest.approx((5.5 + 1) / 2)
    assert popularity.top_share(torch.tensor(ranked), torch.tensor(counts), share=0.25) == pytest.approx(1 / 3)


def test_random_lists_hold_the_head_as_often_as_its_share() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 100, 1000)
    ranked = np.array([rng.permutation(1000)[:100] for _ in range(300)])
    assert popularity.top_share(ranked, counts) == pytest.approx(0.01, abs=0.001)


# ------------------------------------------------------------------------------------------------------------- direction


@given(seeds)
def test_direction_is_that_of_the_paper(seed: int) -> None:
    items, counts = sample(seed)
    order = sorted(range(40), key=lambda i: (-counts[i], i))
    difference = items[order[:2]].mean(0) - items[order[-2:]].mean(0)  # 5 % of 40 items
    expected = difference / np.linalg.norm(difference)
    np.testing.assert_allclose(popularity.popularity_direction(items, counts), expected, rtol=1e-12)
    tensor = popularity.popularity_direction(torch.tensor(items), torch.tensor(counts))
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-12)


def test_the_plain_projection_flatters_and_the_cross_fitted_one_does_not() -> None:
    """Random embeddings know nothing of popularity. 300 repetitions with 300 items in 64 dimensions."""
    plain, fitted = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        items, counts = rng.normal(size=(300, 64)), rng.pareto(1.0, 300) + 1
        plain.append(popularity.projection_correlation(items, counts))
        fitted.append(popularity.cross_fitted_correlation(items, counts, rng=rng))
    assert np.mean(plain) > 0.1
    assert abs(np.mean(fitted)) < 0.02


def test_the_cross_fitted_one_finds_a_direction_that_is_there() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 100, 400)
    items = rng.normal(size=(400, 8))
    items[:, 0] += counts / 10
    assert popularity.cross_fitted_correlation(items, counts, rng=rng, folds=4) > 0.9
    as_tensor = popularity.cross_fitted_correlation(torch.tensor(items), counts, rng=np.random.default_rng(3))
    assert as_tensor == pytest.approx(popularity.cross_fitted_correlation(items, counts, rng=np.random.default_rng(3)))


# ------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: popularity.norm_correlation([1.0, 2.0], [1, 2, 3]), r"x has shape \(2,\) and y \(3,\)"),
        (lambda: popularity.norm_correlation([1.0, 1.0], [1, 2]), "x is constant"),
        (lambda: popularity.norm_correlation([1.0, -1.0], [1, 2]), r"norms\[1\] is -1.0"),
        (lambda: popularity.norm_correlation([1.0, 2.0], [1, -2]), r"counts\[1\] is -2.0"),
        (lambda: popularity.norm_correlation([1.0, np.nan], [1, 2]), "holds NaN or infinity"),
        (lambda: popularity.log_log_slope([1.0, 2.0], [0, 2]), r"counts\[0\] is 0.0; a logarithm needs positive"),
        (lambda: popularity.log_log_slope([1.0, 2.0], [2, 2]), "counts are all equal"),
        (lambda: popularity.head_items([1, 2], 0.0), r"share is 0.0; expected a value in \(0, 1\]"),
        (lambda: popularity.top_share([[0, 9]], [1, 2]), "ranked_items holds ids 0 to 9; expected -1 to 1"),
        (lambda: popularity.top_share([[-1]], [1, 2]), "nothing was recommended"),
        (lambda: popularity.top_share([0, 1], [1, 2]), r"ranked_items has shape \(2,\)"),
        (lambda: popularity.average_popularity([[0.5]], [1, 2]), "dtype float64; expected whole numbers"),
        (lambda: popularity.popularity_direction(np.ones((3, 2)), [1, 2]), r"expected \(2, d\)"),
        (lambda: popularity.popularity_direction(np.ones((4, 2)), [1, 2, 3, 4]), "same mean embedding"),
        (lambda: popularity.popularity_direction(np.eye(4), [1, 2, 3, 4], 0.9), "overlap among 4"),
        (lambda: popularity.popularity_direction([[np.inf], [0.0]], [1, 2]), "items holds NaN or infinity"),
        (lambda: popularity.cross_fitted_correlation(np.eye(4), [1, 2, 3, 4], rng=0), "rng must be a numpy.random.Generator"),
        (
            lambda: popularity.cross_fitted_correlation(np.eye(4), [1, 2, 3, 4], rng=np.random.default_rng(0), folds=3),
            "folds is 3; expected 2 to 2",
        ),
    ],
)
def test_bad_arguments_are_named(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
