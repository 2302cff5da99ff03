"""course_lib.norms: the laws of norm growth, on NumPy, torch and in Fractions, against brute force."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refused

from course_lib import geometry, norms
from course_lib.checking import some

probabilities = st.floats(0, 1)
positive = st.floats(1e-3, 1e3)
squares = st.lists(st.floats(0, 100), min_size=1, max_size=12)
fractions = st.fractions(min_value=0, max_value=1, max_denominator=20)


def both(values: list[float], dtype: str = "float64"):
    """The same numbers as a NumPy array and as a tensor."""
    return np.array(values, dtype=dtype), torch.tensor(values, dtype=getattr(torch, dtype))


# ------------------------------------------------------------------------------------------------------------- counts


@given(fractions, st.integers(1, 6), st.integers(0, 3), st.integers(1, 5))
def test_update_probability_is_exact_in_fractions(p: Fraction, slots: int, negatives: int, n_items: int) -> None:
    found = norms.update_probability(p, slots, negatives=negatives, n_items=n_items)
    assert found == 1 - (1 - p) ** slots * (1 - Fraction(1, n_items)) ** negatives
    floating = norms.update_probability(float(p), slots, negatives=negatives, n_items=n_items)
    assert math.isclose(floating, float(found), abs_tol=1e-14)


@given(st.lists(probabilities, min_size=1, max_size=5), st.integers(1, 2000), st.integers(0, 500))
def test_update_probability_of_numpy_and_torch(p: list[float], slots: int, negatives: int) -> None:
    array, tensor = (norms.update_probability(x, slots, negatives=negatives, n_items=1000) for x in both(p))
    assert isinstance(array, np.ndarray) and isinstance(tensor, torch.Tensor) and tensor.dtype == torch.float64
    np.testing.assert_allclose(array, tensor.numpy(), rtol=1e-12, atol=1e-15)
    assert ((array >= 0) & (array <= 1)).all()
    single = norms.update_probability(both(p, "float32")[1], slots)
    assert single.dtype == torch.float32


def test_update_probability_keeps_small_probabilities() -> None:
    """1 - (1 - p)^B written out loses a probability of 1e-18 entirely."""
    assert norms.update_probability(1e-18, 512) == pytest.approx(512e-18, rel=1e-12)
    assert 1 - (1 - 1e-18) ** 512 == 0
    assert norms.update_probability(1.0, 3) == 1.0 and norms.update_probability(0.0, 3) == 0.0


def test_expected_updates_against_simulation_and_exactly() -> None:
    assert norms.expected_updates(Fraction(1, 3), batch_size=2, steps=9) == 5
    third = Fraction(1, 3)  # one slot and one uniform negative of three items: missed twice with chance 2/3
    assert norms.expected_updates(third, batch_size=1, steps=9, negatives=1, n_items=3) == 5
    rng = np.random.default_rng(0)
    slots = rng.random((20_000, 8)) < 0.05
    assert norms.expected_updates(0.05, batch_size=8, steps=20_000) == pytest.approx(slots.any(1).sum(), rel=0.02)


def test_the_effective_rate_of_a_norm_whose_square_is_0_in_floats() -> None:
    assert norms.effective_learning_rate(1e-300, norm=1e-200) == pytest.approx(1e100)


test_bad_arguments_are_named = refused(
    (lambda: norms.update_probability(1.5, 2), r"p holds 1.5; expected values in \[0, 1\]"),
    (lambda: norms.update_probability(np.array([0.1, -0.1]), 2), r"p holds -0.1 at \(1,\)"),
    (lambda: norms.update_probability(math.nan, 2), "p holds nan"),
    (lambda: norms.update_probability(0.5, 0), "batch_size is 0; expected a whole number of at least 1"),
    (lambda: norms.update_probability(0.5, 2, negatives=3), "n_items is needed for 3 uniform negatives"),
    (lambda: norms.expected_updates(0.5, batch_size=2, steps=-1), "steps is -1"),
    (lambda: norms.coupled_updates(0.5, [[0.1]]), r"uniforms has shape \(1, 1\)"),
    (lambda: norms.coupled_updates(0.5, [1.1]), "uniforms holds 1.1"),
    (lambda: norms.squared_norm_path(0.0, lr=1.0, squared_gradients=[1.0]), "start holds 0.0; expected values more"),
    (lambda: norms.squared_norm_path(1.0, lr=1.0, squared_gradients=[-1.0]), r"gradients holds -1.0 at \(0,\)"),
    (lambda: norms.squared_norm_path(1.0, lr=1.0, squared_gradients=3.0), "squared_gradients is one number"),
    (lambda: norms.decayed_path(1.0, lr=2.0, squared_gradients=[1.0], decay=0.5), "lr \\* decay is 1.0"),
    (lambda: norms.decay_equilibrium(0.5, lr=1.0, decay=1.0, h=1.0), "lr \\* decay is 1.0"),
    (lambda: norms.decay_equilibrium(0.5, lr=0.0, decay=1.0, h=1.0), "^lr is 0.0; expected a finite number above 0"),
    (lambda: norms.decay_equilibrium(0.5, lr=1.0, decay=0.0, h=1.0), "^decay is 0.0; expected a finite number above 0"),
    (lambda: norms.decayed_path(1.0, lr=[0.1, 0.2], squared_gradients=[1.0], decay=0.5), r"^lr is \[0.1, 0.2\]"),
    (lambda: norms.decayed_path(1.0, lr=0.1, squared_gradients=[math.nan], decay=0.5), "^squared_gradients holds nan"),
    (lambda: norms.decayed_path(1.0, lr=0.1, squared_gradients=[1.0], decay=0.5, lazy="x"), "^lazy is 'x'"),
    (lambda: norms.squared_norm_path(math.inf, lr=0.1, squared_gradients=[1.0]), "start holds inf; .*, and finite"),
    (lambda: norms.predicted_norm(True, lr=1.0, h=1.0, updates=2), "^start_norm is True; expected numbers"),
    (lambda: norms.crossover_count(1.0, lr=1.0, h=0.0), "h holds 0.0; expected values more than 0"),
    (lambda: norms.crossover_count(1.0, lr=0.0, h=1.0), "lr holds 0.0; expected values more than 0"),
    (lambda: norms.predicted_norm(1.0, lr=1.0, h=1.0, updates=-2), "updates holds -2"),
    (lambda: norms.expected_squared_gradient(0.5, batch_size=2, coherence=1.5), "coherence holds 1.5"),
)


# ------------------------------------------------------------------------------------------------------------- paths


@given(positive, st.floats(0, 10), squares)
def test_the_path_obeys_the_quartic_law(start: float, lr: float, h2: list[float]) -> None:
    """Against `geometry.quartic_norm`, which takes all steps, and against the closed form from the summaries."""
    array, tensor = (norms.squared_norm_path(start, lr=lr, squared_gradients=x) for x in both(h2))
    np.testing.assert_allclose(array, tensor.numpy(), rtol=1e-12)
    h = np.sqrt(h2)
    step = lr * h / np.sqrt(array[:-1])
    law = geometry.quartic_norm(math.sqrt(start), lr=lr, h=h, step=step)
    np.testing.assert_allclose(array[-1], law**2, rtol=1e-9)
    summary = norms.predicted_norm(
        math.sqrt(start), lr=lr, h=math.sqrt(np.mean(h2)), updates=len(h2), fourth_powers=float((step**4).sum())
    )
    assert summary == pytest.approx(float(law), rel=1e-9)
    lower = norms.predicted_norm(math.sqrt(start), lr=lr, h=math.sqrt(np.mean(h2)), updates=len(h2))
    assert lower <= summary * (1 + 1e-12)


@pytest.mark.seconds
@given(
    st.lists(st.fractions(0, 3, max_denominator=5), min_size=1, max_size=5),
    st.fractions(Fraction(1, 4), 3, max_denominator=4),
)
def test_paths_of_fractions_stay_fractions(h2: list[Fraction], start: Fraction) -> None:
    path = norms.squared_norm_path(start, lr=Fraction(1, 2), squared_gradients=np.array(h2, dtype=object))
    assert path[0] == start and all(isinstance(s, Fraction) for s in some(path))
    for before, after, square in some(zip(path[:-1], path[1:], h2, strict=True)):
        assert after == before + square / 4 / before


def test_gradients_flow_through_the_path() -> None:
    h2 = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    norms.squared_norm_path(1.0, lr=0.5, squared_gradients=h2)[-1].backward()
    assert (h2.grad > 0).all()


# ---- prediction


@given(positive, st.floats(0.01, 10), st.floats(0.01, 2), st.floats(1e-3, 1e9))
def test_slope_is_the_derivative_and_the_crossover_its_middle(start: float, lr: float, h: float, n: float) -> None:
    turn = norms.crossover_count(start, lr=lr, h=h)
    assert norms.predicted_norm(start, lr=lr, h=h, updates=turn) == pytest.approx(2**0.25 * start, rel=1e-9)
    small = 1e-4
    low, high = (norms.predicted_norm(start, lr=lr, h=h, updates=n * (1 + e)) for e in (-small, small))
    slope = (math.log(high) - math.log(low)) / (math.log1p(small) - math.log1p(-small))
    assert slope == pytest.approx(n / (4 * (n + turn)), abs=2e-6)  # 1/8 at the crossover, 1/4 long after it


# ------------------------------------------------------------------------------------------------------------- copies


@given(st.floats(1e-6, 1), st.integers(1, 4000), st.floats(0, 1))
def test_saturation_slope_is_the_derivative(p: float, slots: int, coherence: float) -> None:
    law = {"batch_size": slots, "coherence": coherence}
    slope = norms.expected_squared_gradient_slope(p, **law)
    assert 1 <= slope < 2 or slope == pytest.approx(2)
    low, high = (norms.expected_squared_gradient(p * (1 - e), **law) for e in (1e-4, 2e-4))
    measured = math.log(low / high) / math.log((1 - 1e-4) / (1 - 2e-4))
    assert slope == pytest.approx(measured, abs=1e-3)


def test_copies_with_a_common_part_behave_as_the_law_says() -> None:
    """Gradients = common direction + own noise; coherence is the share of the common part."""
    rng = np.random.default_rng(0)
    p, slots, common, d = 0.1, 30, 0.4, 40
    held = rng.random((20_000, slots)) < p
    k = held.sum(1)
    noise = rng.normal(size=(20_000, d)) * np.sqrt(k * (1 - common) / d)[:, None]
    total = noise.copy()
    total[:, 0] += k * math.sqrt(common)
    expected = norms.expected_squared_gradient(p, batch_size=slots, coherence=common)
    assert (total**2).sum(1).mean() == pytest.approx(expected, rel=0.03)


# ------------------------------------------------------------------------------------------------------------- decay


@settings(deadline=None)
@given(st.floats(0.1, 10), st.floats(0.05, 0.5), st.floats(0.1, 3), st.floats(0.1, 10))
def test_with_updates_at_every_step_decay_reaches_its_equilibrium(
    lr: float, shrink: float, h: float, start: float
) -> None:
    decay = shrink / lr
    path = norms.decayed_path(start, lr=lr, squared_gradients=np.full(600, h * h), decay=decay)
    assert math.sqrt(path[-1]) == pytest.approx(norms.decay_equilibrium(1, lr=lr, decay=decay, h=h), rel=1e-6)
    assert norms.lazy_decay_equilibrium(lr=lr, decay=decay, h=h) == norms.decay_equilibrium(1, lr=lr, decay=decay, h=h)


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.int64])
def test_powers_of_numpys_integers_do_not_overflow(kind: type) -> None:
    large = kind(min(np.iinfo(kind).max, 100_000))
    assert norms.predicted_norm(large, lr=0.1, h=1, updates=0) == pytest.approx(int(large))
    assert norms.crossover_count(large, lr=1, h=1) == int(large) ** 4 / 2
    assert norms.expected_squared_gradient(kind(1), batch_size=1000, coherence=kind(1)) == 1_000_000
    assert norms.decayed_path(1, lr=large, squared_gradients=[1], decay=0).tolist() == [1, 1 + int(large) ** 2]
    assert norms.decay_equilibrium(1.0, lr=kind(100), decay=0.001, h=1) == norms.decay_equilibrium(
        1.0, lr=100, decay=0.001, h=1
    )


def test_paths_without_a_step_have_the_shape_of_the_squares() -> None:
    assert norms.squared_norm_path(2.0, lr=0.1, squared_gradients=np.ones((3, 0))).tolist() == [[2.0]] * 3
