"""course_lib.geometry: identities on random shapes and scales, NumPy against torch, gradients, clamps, errors."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refused import refused
from torch.nn import functional

from course_lib import geometry, losses

EPS = {np.float32: 2.0**-23, np.float64: 2.0**-52}


@st.composite
def pairs(draw: st.DrawFn, *, min_width: int = 1, max_width: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Two nonzero arrays (..., d) that broadcast: random leading axes, width, scale per vector and dtype."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    d = draw(st.integers(min_width, max_width))
    left, right = draw(st.sampled_from([((), ()), ((3,), (3,)), ((2, 3), (3,)), ((4, 1), (1, 5)), ((), (2, 2))]))
    reach = 8 if dtype is np.float32 else 100  # squares stay representable
    arrays = []
    for shape in (left, right):
        x = rng.normal(size=(*shape, d))
        x /= np.linalg.norm(x, axis=-1, keepdims=True)
        arrays.append((x * 10.0 ** rng.uniform(-reach, reach, size=(*shape, 1))).astype(dtype))
    return arrays[0], arrays[1]


def tensors(*arrays: np.ndarray) -> list[torch.Tensor]:
    return [torch.tensor(x) for x in arrays]


def tolerance(x: np.ndarray, factor: float = 16) -> float:
    return factor * EPS[x.dtype.type] * math.sqrt(x.shape[-1])


def clamped_cosine(q: Any, k: Any) -> Any:
    """<q, k> / (max(||q||, eps) max(||k||, eps)), with its true gradient under autograd."""
    eps = geometry.TORCH_COSINE_EPS
    return (geometry.clamped_normalise(q, eps) * geometry.clamped_normalise(k, eps)).sum(-1)


BINARY = [
    geometry.cosine,
    geometry.cosine_gradient,
    geometry.clamped_cosine_gradient,
    geometry.cosine_distance,
    geometry.chord,
    geometry.geodesic,
    geometry.angle_degrees,
]


# ---- identities


@given(pair=pairs())
def test_the_gradient_is_tangent(pair) -> None:
    """Lemma B.1 at every shape, scale and precision."""
    q, k = pair
    slope = geometry.cosine_gradient(q, k)
    inner = (geometry.normalise(q) * slope).sum(axis=-1) * geometry.norm(q)
    assert slope.dtype == q.dtype
    assert np.abs(inner).max() <= tolerance(q)


@given(pair=pairs(), exponents=st.tuples(st.integers(-40, 40), st.integers(-40, 40)))
def test_the_cosine_sees_directions_only(pair, exponents) -> None:
    q, k = (x.astype(np.float64) for x in pair)
    stretched = geometry.cosine(q * 2.0 ** exponents[0], k * 2.0 ** exponents[1])
    np.testing.assert_array_equal(stretched, geometry.cosine(q, k))  # powers of two are exact
    np.testing.assert_allclose(geometry.cosine(-q, k), -geometry.cosine(q, k), atol=0)
    np.testing.assert_allclose(geometry.cosine(3 * q, k), geometry.cosine(q, k), atol=4e-15)


@given(pair=pairs())
def test_split_radial_adds_up(pair) -> None:
    v, q = pair
    radial, tangential = geometry.split_radial(v, q)
    size = geometry.norm(v)[..., None]
    unit = geometry.normalise(q)
    np.testing.assert_allclose((radial + tangential) / size, np.broadcast_to(v / size, radial.shape), atol=tolerance(q))
    assert np.abs((tangential / size * unit).sum(axis=-1)).max() <= tolerance(q)
    np.testing.assert_allclose(geometry.norm(radial / size), np.abs(geometry.cosine(v, q)), atol=tolerance(q))
    squares = geometry.norm(radial / size) ** 2 + geometry.norm(tangential / size) ** 2
    np.testing.assert_allclose(squares, 1, atol=tolerance(q))  # Pythagoras


@given(pair=pairs())
def test_the_distances_agree(pair) -> None:
    a, b = (x.astype(np.float64) for x in pair)
    angle = geometry.geodesic(a, b)
    np.testing.assert_allclose(geometry.chord(a, b), 2 * np.sin(angle / 2), atol=1e-14)
    np.testing.assert_allclose(geometry.cosine_distance(a, b), 1 - geometry.cosine(a, b), atol=1e-14)
    np.testing.assert_allclose(geometry.angle_degrees(a, b), np.degrees(angle), rtol=1e-15)
    assert ((angle >= 0) & (angle <= math.pi + 1e-15)).all()


@given(exponent=st.integers(-14, -1))
def test_small_angles_keep_their_digits(exponent: int) -> None:
    """The arccosine of a rounded cosine would give 0 below 1e-8."""
    angle = 10.0**exponent
    a, b = np.array([1.0, 0.0]), np.array([math.cos(angle), math.sin(angle)])
    assert float(geometry.geodesic(a, b)) == pytest.approx(angle, rel=1e-12)
    assert math.pi - float(geometry.geodesic(a, -b)) == pytest.approx(angle, rel=1e-12, abs=1e-15)
    assert float(geometry.cosine_distance(a, b)) == pytest.approx(2 * math.sin(angle / 2) ** 2, rel=1e-12)


# ---- NumPy and torch, float32 and float64


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
@given(pair=pairs())
def test_numpy_and_torch_agree(function, pair) -> None:
    q, k = pair
    mine, theirs = function(q, k), function(*tensors(q, k))
    assert mine.dtype == q.dtype
    assert str(theirs.dtype) == f"torch.{q.dtype.name}"
    least = geometry.TORCH_COSINE_EPS if function is geometry.clamped_cosine_gradient else 0
    gradient = function.__name__.endswith("gradient")  # its natural unit is 1/||q||: of parallel vectors it is rounding
    unit = np.maximum(geometry.norm(q), least)[..., None] if gradient else 1 / 180
    np.testing.assert_allclose(theirs.numpy() * unit, mine * unit, atol=tolerance(q), rtol=0)


@given(pair=pairs())
def test_numpy_and_torch_agree_on_one_vector(pair) -> None:
    q, _ = pair
    for function in (geometry.norm, geometry.normalise, geometry.clamped_normalise):
        np.testing.assert_allclose(function(torch.tensor(q)).numpy(), function(q), rtol=tolerance(q))
    np.testing.assert_allclose(geometry.norm(geometry.normalise(q)), 1, atol=tolerance(q))


def test_integers_become_float64() -> None:
    assert geometry.cosine([1, 0], [1, 1]).dtype == np.float64
    assert geometry.norm(torch.tensor([3, 4])).item() == 5


# ---- gradients


@given(pair=pairs())
def test_the_gradient_is_that_of_autograd(pair) -> None:
    q, k = tensors(*pair)
    q.requires_grad_()
    value = geometry.cosine(q, k)
    (slope,) = torch.autograd.grad(value.sum(), q)
    mine = geometry.cosine_gradient(q, k).detach()
    mine = mine.sum(dim=tuple(range(mine.ndim - q.ndim))) if mine.ndim > q.ndim else mine
    for axis, size in enumerate(q.shape):
        mine = mine.sum(dim=axis, keepdim=True) if size == 1 and mine.shape[axis] != 1 else mine
    size = geometry.norm(q.detach())[..., None]
    np.testing.assert_allclose(slope * size, mine * size, atol=4 * tolerance(pair[0], 32), rtol=0)


def test_autograd_goes_through_every_function() -> None:
    q = torch.tensor([0.3, -0.2, 0.7], dtype=torch.float64, requires_grad=True)
    k = torch.tensor([0.5, 0.1, 0.4], dtype=torch.float64)
    functions = [lambda q, f=f: f(q, k) for f in BINARY]
    functions += [geometry.norm, geometry.normalise, geometry.clamped_normalise]
    functions += [lambda q: geometry.split_radial(k, q)[0], lambda q: geometry.split_radial(q, k)[1]]
    for function in functions:
        assert torch.autograd.gradcheck(function, (q,))
    assert torch.autograd.gradgradcheck(lambda q: geometry.cosine(q, k), (q,))


def test_a_jacobian_of_torch_func() -> None:
    q, k = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)), torch.ones(3).double()
    found = torch.func.jacrev(lambda x: geometry.cosine(x, k))(q)  # (4, 4, 3)
    torch.testing.assert_close(found[range(4), range(4)], geometry.cosine_gradient(q, k))


# ---- the clamp


@given(pair=pairs(), exponent=st.floats(-14, 1), dtype=st.sampled_from([np.float32, np.float64]))
def test_clamped_functions_have_torchs_values(pair, exponent, dtype) -> None:
    q = (geometry.normalise(pair[0].astype(np.float64)) * 10**exponent).astype(dtype)
    k = geometry.normalise(pair[1].astype(np.float64)).astype(dtype)
    tq, tk = tensors(q, k)
    for mine, theirs in (
        (clamped_cosine(q, k), functional.cosine_similarity(tq, tk, dim=-1)),
        (geometry.clamped_normalise(q), functional.normalize(tq, dim=-1)),
    ):
        np.testing.assert_allclose(mine, theirs.numpy(), rtol=4 * tolerance(q), atol=4 * tolerance(q))


def slope_of(function, q: np.ndarray) -> torch.Tensor:
    x = torch.tensor(q, requires_grad=True)
    return torch.autograd.grad(function(x).sum(), x)[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ratio", [1e-3, 0.1, 0.5, 0.99, 1.01, 10])
def test_the_clamped_gradient(ratio: float, dtype: type) -> None:
    """Inside the clamp: k'/eps with a radial part cos/eps. Outside: tangent. Ours is the true derivative."""
    u, k = np.array([0.6, 0.8]), np.array([1.0, 0.0], dtype=dtype)
    eps = geometry.TORCH_COSINE_EPS
    q = (ratio * eps * u).astype(dtype)
    slope = geometry.clamped_cosine_gradient(q, k)
    radial = float(slope @ geometry.normalise(q)) * eps
    assert radial == pytest.approx(0.6 if ratio < 1 else 0, abs=1e-6)
    np.testing.assert_allclose(
        slope_of(lambda x: clamped_cosine(x, torch.tensor(k)), q), slope, rtol=1e-6, atol=1e-6 / eps
    )


def test_on_the_seam_of_the_clamp_the_gradient_is_the_outer_one() -> None:
    """||q|| = eps exactly: tangent to q, as just outside, and not k/eps, as just inside."""
    q, k = np.array([3.0, 4.0]), np.array([5.0, 0.0])
    slope = geometry.clamped_cosine_gradient(q, k, eps=5.0)
    np.testing.assert_allclose(slope, [0.64 / 5, -0.48 / 5], atol=1e-15)
    assert slope @ q == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("ratio", [1e-3, 0.1, 0.5, 0.99])
def test_torchs_cosine_similarity_hides_its_clamp_from_autograd(ratio: float, dtype: torch.dtype) -> None:
    """Its gradient inside the clamp has the radial part C (1 - rho)/eps of `proofs.prop_clamp`, not the true C/eps.

    If this fails, torch has changed: mend the chapter and the proposition.
    """
    eps, C = geometry.TORCH_COSINE_EPS, 0.6
    u, k = torch.tensor([C, 0.8], dtype=dtype), torch.tensor([1.0, 0.0], dtype=dtype)
    q = (ratio * eps * u).requires_grad_()
    (slope,) = torch.autograd.grad(functional.cosine_similarity(q, k, dim=0), q)
    assert float(slope @ u) * eps == pytest.approx(C * (1 - ratio), rel=1e-4)
    angle = C * (1 - ratio) / math.sqrt(1 - 2 * ratio * C**2 + ratio**2 * C**2)
    assert float(geometry.cosine(q.detach(), slope)) == pytest.approx(angle, rel=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_torchs_normalize_below_its_clamp(dtype: torch.dtype) -> None:
    u, k = torch.tensor([0.6, 0.8], dtype=dtype), torch.tensor([1.0, 0.0], dtype=dtype)
    for norm, radial in ((5e-13, 0.6), (2e-12, 0.0)):
        slope = slope_of(lambda x: functional.normalize(x, dim=0) @ k, (norm * u).numpy())
        assert float(slope @ u) * 1e-12 == pytest.approx(radial, abs=1e-6)


def test_the_zero_vector() -> None:
    """Libraries call its cosine 0 and give it a gradient of length 1/eps."""
    zero, k = torch.zeros(3, dtype=torch.float64), torch.tensor([0.0, 2.0, 0.0], dtype=torch.float64)
    assert clamped_cosine(zero, k) == functional.cosine_similarity(zero, k, dim=0) == 0
    assert geometry.norm(geometry.clamped_cosine_gradient(zero, k)).item() == pytest.approx(1e8)
    slope = slope_of(lambda x: functional.normalize(x, dim=0) @ geometry.normalise(k), zero.numpy())
    assert slope.tolist() == pytest.approx([0, 1e12, 0])


# ---- growth


@given(seed=st.integers(0, 2**32 - 1), exponent=st.floats(-3, 3), d=st.integers(2, 20), scale=st.floats(-2, 2))
def test_the_quartic_law(seed: int, exponent: float, d: int, scale: float) -> None:
    """The norm after 20 steps of InfoNCE on free vectors, from the start and the lengths alone."""
    rng = np.random.default_rng(seed)
    lr = 10.0**exponent
    q = torch.tensor(rng.normal(size=(3, d)) * 10.0**scale)
    K = torch.tensor(rng.normal(size=(5, d)))
    start, h, steps = geometry.norm(q), [], []
    for _ in range(20):
        q.requires_grad_()
        (slope,) = torch.autograd.grad(losses.infonce(losses.cosine_scores(q, K), tau=0.2, positives=[0, 1, 2]), q)
        q = q.detach()
        h.append(geometry.norm(q) * geometry.norm(slope))
        steps.append(lr * geometry.norm(slope))
        moved = q - lr * slope
        assert (geometry.norm(moved) >= geometry.norm(q) * (1 - 1e-15)).all()
        q = moved
    predicted = geometry.quartic_norm(start, lr=lr, h=torch.stack(h, -1), step=torch.stack(steps, -1))
    torch.testing.assert_close(predicted, geometry.norm(q), rtol=1e-12, atol=0)
    by_numpy = geometry.quartic_norm(
        start.numpy(), lr=lr, h=torch.stack(h, -1).numpy(), step=torch.stack(steps, -1).numpy()
    )
    np.testing.assert_allclose(by_numpy, predicted.numpy(), rtol=1e-14)


# ---- errors


test_errors = refused(
    (lambda: geometry.normalise(np.zeros(3)), r"x is the zero vector.*shape \(3,\)"),
    (lambda: geometry.normalise([[1.0, 0.0], [0.0, 0.0]]), r"x\[1\] is the zero vector"),
    (lambda: geometry.cosine(torch.ones(2, 3), torch.zeros(3)), "^k is the zero vector"),
    (lambda: geometry.cosine([1.0, math.nan], [1.0, 0.0]), "norm nan, which is not finite"),
    (lambda: geometry.geodesic([1.0, 0.0], [[1.0, 0.0], [0.0, 0.0]]), r"^b\[1\] is the zero vector"),
    (lambda: geometry.cosine_gradient([1.0, 0.0], [math.inf, 0.0]), "^k has norm inf, which is not finite"),
    (lambda: geometry.cosine(np.ones((2, 3)), np.ones((2, 4))), r"q has width 3 but k has width 4.*\(2, 3\)"),
    (lambda: geometry.chord(np.ones(2), np.ones(3)), "a has width 2 but b has width 3"),
    (lambda: geometry.split_radial(np.ones(2), np.zeros(2)), "^q is the zero vector"),
    (lambda: geometry.split_radial(np.ones(3), np.ones(2)), "q has width 2 but v has width 3"),
    (lambda: geometry.norm(3.0), "x is a single number"),
    (lambda: geometry.norm([Fraction(1, 2), Fraction(1, 3)]), "irrational"),
    (lambda: geometry.cosine(np.ones(2), torch.ones(2)), "both be torch tensors or both NumPy"),
    (lambda: geometry.norm(np.array(["a"])), "x must hold numbers"),
    (lambda: geometry.norm([[1.0], [1.0, 2.0]]), "x is .*whose rows are of one length"),
    (lambda: geometry.cosine(np.ones((3, 2)), np.ones((4, 2))), r"q has shape \(3, 2\) and k \(4, 2\); .* broadcast"),
    (lambda: geometry.clamped_normalise(np.ones(2), eps=0), "expected a finite number above 0"),
    (lambda: geometry.clamped_cosine_gradient(np.ones(2), np.ones(2), eps=-1), "expected a finite number above 0"),
    (lambda: geometry.quartic_norm(0.0, lr=1.0, h=[1.0], step=[1.0]), "start_norm must be positive"),
    (lambda: geometry.quartic_norm(1.0, lr=1.0, h=[1.0], step=[1.0, 2.0]), "h has shape"),
    (lambda: geometry.quartic_norm(1.0, lr=0.1, h=np.ones(2), step=torch.ones(2)), "h and step must both be torch"),
)


@pytest.mark.parametrize("make", [np.asarray, torch.as_tensor])
def test_a_threshold_that_16_bits_round_to_0_leaves_a_zero_vector_zero(make) -> None:
    x = make(np.array([[0.0, 0.0], [3.0, 4.0]], np.float16))
    assert geometry.clamped_normalise(x)[0].tolist() == [0, 0]
    assert geometry.clamped_normalise(x)[1].tolist() == geometry.normalise(x[1]).tolist()
    assert geometry.clamped_cosine_gradient(x[1], x[0]).tolist() == [0, 0]
