"""The distance correlation that DGCF and DICE share."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from refused import refused

from course_lib.dependence import distance_correlation


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.as_tensor(np.random.default_rng(seed).normal(size=shape))


def test_known_pairs() -> None:
    grid = torch.tensor(list(itertools.product((0.0, 1.0), (0.0, 1.0, 5.0)))).double()
    independent_by_design = distance_correlation(grid[:, :1], grid[:, 1:])
    assert independent_by_design.item() == pytest.approx(0, abs=1e-7)
    x, noise = normal(400, 3), normal(400, 2, seed=1)
    rotation = torch.linalg.qr(normal(3, 3, seed=2)).Q
    for moved in (-2 * x + 1, 5 - 2 * x @ rotation):
        assert distance_correlation(x, moved).item() == pytest.approx(1, rel=1e-9)
    assert distance_correlation(x, noise).item() < 0.25 < distance_correlation(x, x[:, :2] ** 2).item()
    assert distance_correlation(x, noise).item() == pytest.approx(distance_correlation(noise, x).item(), rel=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [1e-20, 1e-4, 0.01, 100.0, 1e15])
def test_the_scale_of_the_embeddings_does_not_matter(scale: float, dtype: torch.dtype) -> None:
    """The square roots once had 1e-8 under them, and squares of float32 once left its range."""
    x, y = normal(40, 3).to(dtype), normal(40, 2, seed=1).to(dtype)
    expected = distance_correlation(x, y).item()
    for left, right in ((scale * x, scale * y), (scale * x, y)):
        found = distance_correlation(left, right).item()
        assert found == pytest.approx(expected, rel=1e-5 if dtype == torch.float32 else 1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, -30.0])
def test_what_is_constant_depends_on_nothing(value: float, dtype: torch.dtype) -> None:
    """Two constants once gave 1 in one of the two copies and 0 in the other."""
    constant = torch.full((30, 3), value, dtype=dtype)
    assert distance_correlation(constant, constant).item() == 0
    assert distance_correlation(constant, normal(30, 3).to(dtype)).item() == 0


NAN_ROWS = torch.full((4, 2), float("nan"))

test_what_has_no_distances_is_refused_by_name = refused(
    (lambda: distance_correlation(NAN_ROWS, normal(4, 2)), r"x\[0, 0\] = nan: x holds NaN or infinity"),
    (lambda: distance_correlation(normal(4, 2), normal(3, 2)), "(?s)y is tensor.* a row for each pair"),
    (lambda: distance_correlation(normal(4), normal(4)), "(?s)x is tensor.* two axes"),
    (lambda: distance_correlation(normal(0, 2), normal(0, 2)), "x is tensor"),
    (lambda: distance_correlation(np.ones((4, 2)), normal(4, 2)), "x is array"),
)


def test_its_gradient_is_finite_where_rows_coincide_and_where_all_is_independent() -> None:
    x = normal(10, 2).index_select(0, torch.tensor([0, 0, 1, 1, 2, 3, 4, 5, 6, 7])).requires_grad_()
    grid = torch.tensor(list(itertools.product((0.0, 1.0), (0.0, 1.0, 5.0)))).double().requires_grad_()
    distance_correlation(x, normal(10, 3, seed=1)).backward()
    distance_correlation(grid[:, :1], grid[:, 1:]).backward()
    assert x.grad.isfinite().all() and grid.grad.isfinite().all() and (x.grad != 0).any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_rows_of_16_bits_are_taken_as_float32(dtype: torch.dtype) -> None:
    x, y = normal(20, 3).to(dtype), normal(20, 2, seed=1).to(dtype)
    assert torch.equal(distance_correlation(x, y), distance_correlation(x.float(), y.float()))
