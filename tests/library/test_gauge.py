"""Gauges: properties on random tables (NumPy and torch, float32 and float64), exact counterexamples, refusals."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refused
from scipy.optimize import brentq

from course_lib import gauge, geometry
from course_lib.arrays import exact, is_torch
from course_lib.checking import some
from course_lib.gauge import counting, nearest
from course_lib.gauge.firmness import stretch_within

Case = tuple[np.ndarray, np.ndarray, np.random.Generator]
KINDS = {
    "numpy64": lambda x: np.asarray(x, dtype=np.float64),
    "numpy32": lambda x: np.asarray(x, dtype=np.float32),
    "torch64": lambda x: torch.tensor(x, dtype=torch.float64),
    "torch32": lambda x: torch.tensor(x, dtype=torch.float32),
}
ROUNDING = {"numpy64": 1e-10, "numpy32": 2e-3, "torch64": 1e-10, "torch32": 2e-3}
kinds = st.sampled_from(sorted(KINDS))


def array(x: Any) -> np.ndarray:
    return x.numpy() if is_torch(x) else np.asarray(x)


@st.composite
def tables(draw: st.DrawFn, max_width: int = 6) -> Case:
    """Two tables of one width 2 ... max_width, of any length and scale, and a generator."""
    k, m, n = draw(st.integers(2, max_width)), draw(st.integers(1, 12)), draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = 10.0 ** draw(st.integers(-3, 3))
    return scale * rng.standard_normal((m, k)), rng.standard_normal((n, k)) / scale, rng


def unit(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    return geometry.normalise(rng.standard_normal((n, k)))


def signs(k: int) -> np.ndarray:
    """All 2^k rows with entries +-1/2, exact."""
    rows = [[Fraction(s, 2) for s in row] for row in itertools.product((1, -1), repeat=k)]
    return exact(np.array(rows, dtype=object))


# ---- applying


@given(tables(), kinds)
def test_a_gauge_keeps_every_score(case: Case, kind: str) -> None:
    A, B, rng = case
    d = gauge.random_diagonal_gauge(A.shape[1], spread=0.7, rng=rng) * rng.choice([-1, 1], A.shape[1])
    R = gauge.random_linear_gauge(A.shape[1], spread=0.5, rng=rng)
    scores = A @ B.T
    size = np.abs(A).max() * np.abs(B).max() * A.shape[1]
    a, b = KINDS[kind](A), KINDS[kind](B)
    for new_a, new_b in (gauge.apply_gauge(a, b, d), gauge.apply_linear_gauge(a, b, R)):
        assert type(new_a) is type(a) and new_a.dtype == a.dtype and new_b.dtype == b.dtype
        assert np.abs(array(new_a @ new_b.T) - scores).max() <= ROUNDING[kind] * size


def test_exact_gauges_keep_scores_exactly() -> None:
    A, B = exact(np.array([[1, 2], [3, -1], [0, 5]])), exact(np.array([[2, 7], [1, 1]]))
    d, R = exact(np.array([Fraction(3, 2), -7])), exact(np.array([[1, 2], [3, 4]]))
    for a, b in (gauge.apply_gauge(A, B, d), gauge.apply_linear_gauge(A, B, R)):
        assert (a @ b.T == A @ B.T).all() and all(isinstance(v, Fraction) for v in some(b.flat))


def test_batches_of_tables_are_broadcast() -> None:
    rng = np.random.default_rng(0)
    A, B, d = rng.standard_normal((2, 4, 3)), rng.standard_normal((2, 5, 3)), rng.uniform(1, 2, (2, 3))
    a, b = gauge.apply_gauge(A, B, d)
    np.testing.assert_allclose(a @ b.transpose(0, 2, 1), A @ B.transpose(0, 2, 1))


@given(tables(max_width=4))
def test_find_gauge_recovers_the_gauge(case: Case) -> None:
    _, _, rng = case
    A = rng.standard_normal((9, 4))
    R = gauge.random_linear_gauge(4, spread=0.5, rng=rng)
    found, misfit = gauge.find_gauge(A, A @ R)
    np.testing.assert_allclose(found, R, atol=1e-8)
    assert misfit < 1e-10
    _, misfit = gauge.find_gauge(A, rng.standard_normal((9, 4)))
    assert misfit > 1e-3  # an unrelated table is no gauge of A


@pytest.mark.parametrize("given", ["numpy64", "torch32"])
def test_a_gauge_in_a_tables_frame_follows_the_table(given: str) -> None:
    """A turned table gets the turned gauge: table R^-T is the same, sign by sign; without `rows` it is not."""
    rng = np.random.default_rng(3)
    B = rng.standard_normal((40, 5)) * [5, 3, 1, 1, 0.1]
    for turn in (np.diag([1.0, -1, -1, 1, -1]), np.linalg.qr(rng.standard_normal((5, 5)))[0]):
        first, second = (
            gauge.random_linear_gauge(5, spread=0.5, rng=np.random.default_rng(7), rows=KINDS[given](table))
            for table in (B, B @ turn)
        )
        np.testing.assert_allclose(second, turn.T @ first, atol=ROUNDING[given])
        plain = gauge.random_linear_gauge(5, spread=0.5, rng=np.random.default_rng(7))
        assert np.abs(plain - turn.T @ plain).max() > 0.1


def test_a_gauge_in_a_tables_frame_is_uniform_whatever_the_table() -> None:
    """Entries of a uniform rotation have mean 0, mean square 1/k, mean fourth power 3/(k(k+2)); 5 standard errors."""
    rng, k, draws = np.random.default_rng(0), 3, 4000
    B = rng.standard_normal((20, k)) * [10, 1, 0.1]
    Q = np.array([gauge.random_linear_gauge(k, spread=0, rng=rng, rows=B) for _ in range(draws)])
    np.testing.assert_allclose(Q @ Q.transpose(0, 2, 1), np.broadcast_to(np.eye(k), Q.shape), atol=1e-9)
    assert np.abs(Q.mean(0)).max() < 5 * (1 / k / draws) ** 0.5
    assert np.abs((Q**2).mean(0) - 1 / k).max() < 5 * (3 / (k * (k + 2)) / draws) ** 0.5
    assert np.abs((Q**4).mean(0) - 3 / (k * (k + 2))).max() < 5 / draws**0.5
    assert 0.45 < (np.linalg.det(Q) > 0).mean() < 0.55


def test_a_table_of_low_rank_still_has_one_frame() -> None:
    """Outside the span of the rows the rotation is arbitrary, and moves none of them."""
    flat = np.random.default_rng(0).standard_normal((30, 2)) @ np.random.default_rng(1).standard_normal((2, 5))
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((5, 5)))[0]
    moved = [
        table @ gauge.random_linear_gauge(5, spread=0.5, rng=np.random.default_rng(7), rows=table)
        for table in (flat, flat @ turn)
    ]
    np.testing.assert_allclose(moved[1], moved[0], atol=1e-9)


def test_random_directions_keep_lengths_and_need_no_basis(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every direction keeps all lengths, and another basis of the same span gives the same directions."""
    A = unit(np.random.default_rng(0), 7, 4)  # 10 unknowns: 3 directions
    expected = gauge.random_linear_directions(A, 5, rng=np.random.default_rng(1))
    assert expected.shape == (5, 4, 4)
    np.testing.assert_allclose((expected**2).sum((1, 2)), 1)
    np.testing.assert_allclose(np.einsum("ni,dij,nj->dn", A, expected, A), 0, atol=1e-12)
    basis = gauge.linear_gauge_directions(A)
    other = np.tensordot([[0, -1, 0], [1, 2, 0], [0.5, 0, -3]], basis, axes=1)
    monkeypatch.setattr(counting, "linear_gauge_directions", lambda A: other)
    np.testing.assert_allclose(gauge.random_linear_directions(A, 5, rng=np.random.default_rng(1)), expected, atol=1e-12)
    monkeypatch.setattr(counting, "linear_gauge_directions", lambda A: basis[:0])
    with pytest.raises(ValueError, match="no linear direction"):
        gauge.random_linear_directions(A, 5, rng=np.random.default_rng(1))


# ---- counting


@given(st.integers(2, 5), st.integers(1, 20), st.integers(0, 2**32 - 1), kinds)
def test_generic_tables_have_the_generic_dimensions(k: int, n: int, seed: int, kind: str) -> None:
    A = KINDS[kind](unit(np.random.default_rng(seed), n, k))
    assert gauge.diagonal_gauge_dimension(A) == max(k - n, 0)
    assert gauge.linear_gauge_dimension(A) == max(k * (k + 1) // 2 - n, 0)


@given(tables(max_width=4))
@settings(deadline=None)
def test_no_direction_is_weaker_than_the_weakest(given_tables: Case) -> None:
    A, _, rng = given_tables
    k = A.shape[1]
    margin, E = gauge.weakest_direction(A)
    unit = geometry.normalise(A)

    def growth(E: np.ndarray) -> float:
        return float(np.sqrt((((unit @ E) * unit).sum(1) ** 2).mean()))

    assert np.linalg.norm(E) == pytest.approx(1) and np.allclose(E, E.T)
    assert growth(E) == pytest.approx(margin, abs=1e-7)
    assert abs(np.linalg.eigvalsh(E)).max() == pytest.approx(np.linalg.eigvalsh(E).max())
    for random in some(rng.standard_normal((20, k, k))):
        other = (random + random.T) / np.linalg.norm(random + random.T)
        assert growth(other) >= margin - 1e-9


def test_a_table_of_full_rank_may_be_nearly_free() -> None:
    """Rows a hair off the sign codes: rank says that no gauge is left, the margin that one nearly is."""
    codes = signs(3).astype(float) + 1e-4 * np.random.default_rng(0).standard_normal((8, 3))
    assert gauge.linear_gauge_dimension(codes) == 0
    assert 0 < gauge.weakest_direction(codes)[0] < 1e-3
    assert gauge.weakest_direction(signs(3))[0] < 1e-12


@pytest.mark.parametrize("change", [1e-6, 1e-3])
def test_a_stretch_within_a_change_uses_it_up(change: float) -> None:
    rows = geometry.normalise(np.random.default_rng(0).standard_normal((60, 4)))
    R = stretch_within(gauge.weakest_direction(rows), change)
    assert np.sqrt(((geometry.norm(rows @ R) - 1) ** 2).mean()) == pytest.approx(change, rel=0.05)


def test_a_stretch_within_any_change_stays_a_gauge() -> None:
    """A free direction costs no length at all; the stretch then stops where S would no longer be positive."""
    codes = geometry.normalise(signs(3).astype(float))
    for change in (1e-9, 1e9):
        R = stretch_within(gauge.weakest_direction(codes), change)
        assert np.linalg.cond(R) > 2 and np.allclose(geometry.norm(codes @ R), 1)


@given(st.integers(2, 4), st.integers(1, 3), st.integers(0, 2**32 - 1), kinds)
def test_every_direction_keeps_the_lengths_and_moves_cosines(k: int, fewer: int, seed: int, kind: str) -> None:
    """Of tables with fewer rows than columns, which leave some."""
    rng = np.random.default_rng(seed)
    A = KINDS[kind](unit(rng, max(k - fewer, 1), k))
    delta = gauge.gauge_directions(A)
    assert array(delta).shape == (k, gauge.diagonal_gauge_dimension(A))
    for g in some(range(array(delta).shape[1])):
        d = gauge.stretch_along(delta[:, g], 0.5)
        assert gauge.is_on_sphere(A * d, tol=ROUNDING[kind])
    E = gauge.linear_gauge_directions(A)
    assert array(E).shape == (gauge.linear_gauge_dimension(A), k, k)
    for direction in some(E):
        R = gauge.linear_stretch_along(direction, 0.5)
        new = A @ R
        assert gauge.is_on_sphere(new, tol=ROUNDING[kind])
        np.testing.assert_allclose(array(R @ R.T), np.eye(k) + 0.5 * array(direction), atol=ROUNDING[kind])


def test_an_exact_direction_is_stretched_in_floats() -> None:
    exact = np.array([[Fraction(1), Fraction(0)], [Fraction(0), Fraction(-1)]], dtype=object)
    R = gauge.linear_stretch_along(exact, Fraction(1, 2))
    np.testing.assert_allclose(R @ R.T, [[1.5, 0], [0, 0.5]], rtol=1e-15)
    A, b = [[1, 1], [2, -1]], [1, 3]
    rational = np.array([[Fraction(x) for x in row] for row in A], dtype=object)
    ours, floats = gauge.second_linear_gauge(rational, [Fraction(x) for x in b]), gauge.second_linear_gauge(A, b)
    np.testing.assert_allclose(ours, floats, rtol=1e-12)
    for delta in (np.array([1.0, -1.0]), torch.tensor([1.0, -1.0], dtype=torch.float64)):
        assert gauge.stretch_along(delta, Fraction(3, 4)).tolist() == gauge.stretch_along(delta, 0.75).tolist()


def test_exact_directions_span_the_null_space() -> None:
    delta = gauge.gauge_directions(signs(4))
    assert delta.shape == (4, 3) and (gauge.squares(signs(4)) @ delta == 0).all()
    assert gauge.diagonal_gauge_dimension(signs(4)) == gauge.linear_gauge_dimension(signs(4)) == 3
    E = gauge.linear_gauge_directions(signs(3))
    A = signs(3)
    assert E.shape == (2, 3, 3) and all(((A @ e) * A).sum(-1).any() == 0 for e in some(E))


def test_long_tables_are_reduced_without_changing_the_rank() -> None:
    rng = np.random.default_rng(0)
    long = np.concatenate([signs(4).astype(float)] * 400)
    assert gauge.linear_gauge_dimension(long) == 3
    assert gauge.linear_gauge_dimension(np.concatenate([long, unit(rng, 2, 4)])) == 1
    assert gauge.linear_gauge_dimension(torch.tensor(long, dtype=torch.float32)) == 3


def test_a_flat_table_has_freedom_that_its_cosines_cannot_feel() -> None:
    rng = np.random.default_rng(0)
    flat = unit(rng, 30, 3) @ np.linalg.qr(rng.standard_normal((5, 5)))[0][:3]  # rank 3 in R^5
    assert gauge.linear_gauge_dimension(flat) == 15 - 6 and gauge.visible_linear_dimension(flat) == 0
    in_axes = np.pad(unit(rng, 30, 3), ((0, 0), (0, 2)))
    assert gauge.diagonal_gauge_dimension(in_axes) == 2 and gauge.visible_diagonal_dimension(in_axes) == 0
    A = exact(np.array([[1, 1, 0], [1, -1, 0]]))
    assert gauge.diagonal_gauge_dimension(A) == 2 and gauge.visible_diagonal_dimension(A) == 1


@given(st.integers(2, 4), st.integers(1, 8), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_two_sided_dimensions_of_generic_tables(k: int, m: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, B = unit(rng, m, k), unit(rng, n, k)
    assert gauge.two_sided_diagonal_dimension(A, B) == max(k - m - n, 0)
    assert gauge.two_sided_linear_dimension(A, B) == max(k * (k + 1) // 2 - m - n, 0)


def test_a_search_finds_the_second_gauge_that_the_theorem_names() -> None:
    rng = np.random.default_rng(0)
    A, B = (geometry.normalise(rng.standard_normal((rows, 3))) for rows in (5, 1))
    known = gauge.second_linear_gauge(A, B[0])
    found = gauge.search_second_gauge(A, B, starts=20, rng=rng)
    assert found is not None
    np.testing.assert_allclose(found, known @ known.T, atol=1e-6)


def test_a_search_finds_no_gauge_where_a_certificate_excludes_it() -> None:
    rng = np.random.default_rng(0)
    A, B = (geometry.normalise(rng.standard_normal((6, 3))) for _ in "AB")
    assert gauge.rigidity_certificate(A, B) is not None
    assert gauge.search_second_gauge(A, B, starts=3, rng=rng) is None


@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_swapped_squares_are_a_second_gauge_of_any_width(k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = unit(rng, 2, k)
    A, B = a * rng.choice([-1, 1], (7, k)), b * rng.choice([-1, 1], (5, k))
    new_a, new_b = gauge.apply_gauge(A, B, gauge.swap_squares(a, b))
    assert gauge.is_on_sphere(new_a, tol=1e-9) and gauge.is_on_sphere(new_b, tol=1e-9)


def second_diagonal_gauge(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """d = sqrt(1 + t delta): A leaves one direction, and t is the root of sum_l b_l^2 delta_l / (1 + t delta_l)."""
    delta = gauge.gauge_directions(A)[:, 0]
    ends = [-(1 - 1e-9) / edge for edge in (delta.max(), delta.min())]
    return gauge.stretch_along(
        delta, brentq(lambda t: float((b * b * delta / (1 + t * delta)).sum()), *ends, xtol=1e-15)
    )


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_one_row_short_of_the_count_there_is_a_second_gauge_of_every_width(k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, b = unit(rng, k - 1, k), unit(rng, 1, k)
    try:
        d = second_diagonal_gauge(A, b[0])
    except ValueError:  # nearly no part in the extreme axis: allowed, and rare
        assert (b**2).min() < 1e-3
    else:
        new_a, new_b = gauge.apply_gauge(A, b, d)
        assert gauge.is_on_sphere(new_a, tol=1e-6) and gauge.is_on_sphere(new_b, tol=1e-6)
        assert gauge.two_sided_diagonal_dimension(A, b) == 0 and np.abs(d - 1).max() > 1e-9
    A = unit(rng, k * (k + 1) // 2 - 1, k)
    try:
        R = gauge.second_linear_gauge(A, b[0])
    except ValueError:
        return
    new_a, new_b = gauge.apply_linear_gauge(A, b, R)
    assert gauge.is_on_sphere(new_a, tol=1e-5) and gauge.is_on_sphere(new_b, tol=1e-5)
    assert gauge.two_sided_linear_dimension(A, b) == 0 and np.abs(R @ R.T - np.eye(k)).max() > 1e-9


def test_second_gauges_agree_with_the_two_closed_forms() -> None:
    a1, a2, b = unit(np.random.default_rng(3), 3, 2)
    R = gauge.second_linear_gauge(np.stack([a1, a2]), b)
    np.testing.assert_allclose(R @ R.T, gauge.second_plane_gauge(a1, a2, b), atol=1e-9)
    a, b = np.sqrt([1 / 3, 2 / 3]), np.sqrt([2 / 3, 1 / 3])
    np.testing.assert_allclose(second_diagonal_gauge(a[None], b), gauge.swap_squares(a, b), atol=1e-9)


def test_the_second_plane_gauge_is_exact_and_has_two_exceptions() -> None:
    a1, a2, b = (exact(np.array(v)) for v in ([1, 0], [3, 4], [5, 12]))
    S = gauge.second_plane_gauge(a1, a2, b)
    inverse = np.array([[S[1, 1], -S[0, 1]], [-S[1, 0], S[0, 0]]]) / (S[0, 0] * S[1, 1] - S[0, 1] ** 2)
    assert gauge.keeps_norms(np.stack([a1, a2]), S, tol=0) and gauge.keeps_norms(b[None], inverse, tol=0)
    assert S[0, 1] == Fraction(-96, 169)
    assert (gauge.second_plane_gauge(a1, a2, a2 * 3) == np.array([[1, 0], [0, 1]])).all()
    with pytest.raises(ValueError, match="bisector"):
        gauge.second_plane_gauge(a1, a2, exact(np.array([2, 1])))


@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_certificate_lies_in_both_spans_and_rules_out_the_others(k: int) -> None:
    """Tables that leave each one direction: both spans are smaller than the space, and a wrong M falls out of them."""
    rows = k * (k + 1) // 2 - 1
    drawn = [unit(np.random.default_rng(seed), 2 * rows, k) for seed in range(40)]
    pairs = [(table[:rows], table[rows:]) for table in drawn]
    found = [(A, B, gauge.rigidity_certificate(A, B)) for A, B in pairs]
    for A, B, M in some((A, B, M) for A, B, M in found if M is not None):
        assert np.linalg.eigvalsh(M)[0] > 0
        for table in (A, B):  # M is orthogonal to every E with a^T E a = 0
            assert all(abs((M * E).sum()) < 1e-8 for E in some(gauge.linear_gauge_directions(table)))
        for E in some(gauge.linear_gauge_directions(A)):  # S keeps A, so tr(M S) = tr M < tr(M S^-1), and B must move
            S = np.eye(k) + 0.5 * E
            assert gauge.keeps_norms(A, S) and not gauge.keeps_norms(B, np.linalg.inv(S), tol=1e-6)
            assert np.trace(M @ S) == pytest.approx(np.trace(M)) and np.trace(M @ np.linalg.inv(S)) > np.trace(M) + 1e-6


def test_a_certificate_can_exist_where_first_order_freedom_is_left() -> None:
    """A = B = an orthonormal basis: E with a zero diagonal is free at first order, yet tr S = tr S^-1 = k, so S = I."""
    basis = np.eye(3)
    assert gauge.two_sided_linear_dimension(basis, basis) == 3
    np.testing.assert_allclose(gauge.rigidity_certificate(basis, basis), np.eye(3), atol=1e-12)


def test_no_certificate_where_a_second_gauge_exists() -> None:
    """Also of rows of zeros, which keep their length in every gauge, so that their span says nothing."""
    a, b = np.sqrt([1 / 3, 2 / 3]), np.sqrt([2 / 3, 1 / 3])
    A, B = a * np.array([[1, 1], [-1, 1]]), b * np.array([[1, 1], [1, -1]])
    assert gauge.rigidity_certificate(A, B) is None
    rng = np.random.default_rng(0)
    a1, a2, b = unit(rng, 3, 2)
    assert gauge.rigidity_certificate(np.stack([a1, a2]), b[None]) is None
    rows, nothing = rng.normal(size=(9, 2)), np.zeros((3, 2))
    assert gauge.rigidity_certificate(nothing, rows) is None and gauge.rigidity_certificate(rows, nothing) is None


# ---- purpose


@pytest.mark.parametrize("kind", ["numpy64", "torch64"])
def test_any_independent_rows_can_be_made_the_nearest(kind: str) -> None:
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((40, 16)), rng.standard_normal((300, 16))
    chosen = rng.choice(np.arange(1, 300), 10, replace=False)
    R = gauge.gauge_for_neighbours(KINDS[kind](B), 0, chosen)
    new_a, new_b = gauge.apply_linear_gauge(KINDS[kind](A), KINDS[kind](B), R)
    assert set(array(gauge.neighbours(new_b, 10, queries=[0]))[0]) == set(chosen)
    assert np.abs(array(new_a @ new_b.T) - A @ B.T).max() < 1e-10
    rows = B[[0, *chosen]]  # R^-1 f = (s ||f|| + 1 / stretch) f
    f, length = np.linalg.pinv(rows).sum(1), np.linalg.norm(rows, axis=1).mean()
    np.testing.assert_allclose(np.linalg.solve(array(R), f), (length * np.linalg.norm(f) + 0.01) * f, rtol=1e-8)


def test_rows_are_reduced_in_blocks_and_keep_their_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows than a block holds give the singular values of all of them; single precision stays single."""
    A = np.random.default_rng(0).standard_normal((60, 3))
    wanted = np.linalg.svd(gauge.counting.outer_rows(A), compute_uv=False)
    monkeypatch.setattr(gauge.algebra, "BLOCK_NUMBERS", 30)
    np.testing.assert_allclose(np.linalg.svd(gauge.counting.reduced_outer(A), compute_uv=False), wanted, rtol=1e-12)
    assert gauge.counting.reduced_outer(A.astype(np.float32)).dtype == np.float32
    A[10:20] *= 1e-200  # more than a block of rows without weight
    assert gauge.linear_gauge_dimension(A) == 0


@given(tables(), st.floats(0, 2))
def test_score_rows_are_the_same_in_every_gauge(case: Case, spread: float) -> None:
    A, B, rng = case
    k = A.shape[1]
    rows = gauge.score_rows(A, B)
    scores = A @ B.T
    size = np.abs(scores.T @ scores).max() + 1e-30
    np.testing.assert_allclose(rows @ rows.T / size, scores.T @ scores / size, atol=1e-9)
    other = gauge.score_rows(*gauge.apply_linear_gauge(A, B, gauge.random_linear_gauge(k, spread=spread / 4, rng=rng)))
    np.testing.assert_allclose(other @ other.T / size, rows @ rows.T / size, atol=1e-8)


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_balanced_tables_have_the_least_size_of_all_gauges(k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, B = gauge.balance_tables(rng.standard_normal((12, k)), rng.standard_normal((9, k)))
    np.testing.assert_allclose(A.T @ A, B.T @ B, atol=1e-9)
    size = (A**2).sum() + (B**2).sum()
    new_a, new_b = gauge.apply_linear_gauge(A, B, gauge.random_linear_gauge(k, spread=0.3, rng=rng))
    assert (new_a**2).sum() + (new_b**2).sum() > size
    q = np.linalg.qr(rng.standard_normal((k, k)))[0]
    assert ((A @ q) ** 2).sum() + ((B @ q) ** 2).sum() == pytest.approx(size)


# ---- Steck, Ekanadham and Kallus


@pytest.mark.seconds
@settings(max_examples=6)
@given(st.integers(1, 3), st.floats(0.1, 3), st.integers(0, 2**32 - 1))
def test_the_closed_forms_cannot_be_improved(k: int, decay: float, seed: int) -> None:
    """L-BFGS from the closed form, and from a random start, finds nothing lower."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((8, 5))
    for at, solve in enumerate((gauge.steck_first, gauge.steck_second)):
        A, B = solve(X, k=k, decay=decay)
        best = float(gauge.steck_objectives(X, A, B, decay=decay)[at])
        for start in ((A, B), (rng.standard_normal((5, k)), rng.standard_normal((5, k)))):
            a, b = (torch.tensor(table.copy(), requires_grad=True) for table in start)
            optimiser = torch.optim.LBFGS([a, b], max_iter=200, line_search_fn="strong_wolfe")

            def closure(a: Any = a, b: Any = b, at: int = at, optimiser: Any = optimiser) -> Any:
                optimiser.zero_grad()
                loss = gauge.steck_objectives(torch.tensor(X), a, b, decay=decay)[at]
                loss.backward()
                return loss

            optimiser.step(closure)
            assert float(closure().detach()) >= best - 1e-8 * (1 + best)


def test_the_first_objective_has_every_gauge_and_the_second_only_rotations() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 8))
    R, q = gauge.random_linear_gauge(3, spread=0.5, rng=rng), np.linalg.qr(rng.standard_normal((3, 3)))[0]
    A, B = gauge.steck_first(X, k=3, decay=2.0)
    before, after = (gauge.steck_objectives(X, *t, decay=2.0)[0] for t in ((A, B), gauge.apply_linear_gauge(A, B, R)))
    assert after == pytest.approx(before, rel=1e-12)
    A, B = gauge.steck_second(X, k=3, decay=2.0)
    before = gauge.steck_objectives(X, A, B, decay=2.0)[1]
    assert gauge.steck_objectives(X, A @ q, B @ q, decay=2.0)[1] == pytest.approx(before, rel=1e-12)
    assert gauge.steck_objectives(X, *gauge.apply_linear_gauge(A, B, R), decay=2.0)[1] > before * 1.001
    towers = X @ A
    np.testing.assert_allclose(towers.T @ towers, B.T @ B, atol=1e-10)  # balanced: where decay leads


# ---- neighbours


@given(st.integers(3, 12), st.integers(2, 5), st.integers(0, 2**32 - 1), kinds)
def test_neighbours_by_brute_force(n: int, d: int, seed: int, kind: str) -> None:
    X = np.random.default_rng(seed).standard_normal((n, d))
    for metric, distance in (
        *((name, getattr(geometry, name)) for name in ("chord", "geodesic")),
        ("cosine", geometry.cosine_distance),
        ("euclidean", lambda a, b: np.linalg.norm(a - b)),
        ("dot", lambda a, b: -a @ b),
    ):
        found = array(gauge.neighbours(KINDS[kind](X), 2, metric))
        for i in range(n):
            far = np.array([distance(X[i], X[j]) if j != i else np.inf for j in range(n)], dtype=float)
            np.testing.assert_allclose(far[found[i]], np.sort(far)[:2], atol=ROUNDING[kind])


def test_ties_go_to_the_lower_id_and_queries_choose_rows() -> None:
    X = np.array([[1.0, 0], [0, 1], [2, 0], [3, 0], [1, 1]])
    assert gauge.neighbours(X, 2).tolist()[0] == [2, 3]
    assert gauge.neighbours(X, 2, queries=[3]).tolist() == [[0, 2]]


def test_blocks_do_not_change_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).standard_normal((50, 3))
    whole = gauge.neighbours(X, 4, "geodesic")
    monkeypatch.setattr(nearest, "BLOCK_NUMBERS", 400)
    assert (gauge.neighbours(X, 4, "geodesic") == whole).all()


# ---- refusals

TABLE, RNG = np.arange(6.0).reshape(3, 2) + 1, np.random.default_rng(0)
NO_DIRECTIONS = (np.ones((2, 3)), np.ones(3), np.array([[0.0, 1.0], [0.0, 0.0]]), np.full((2, 2), np.nan))
test_bad_input_is_refused_with_a_reason = refused(
    *((lambda E=E: stretch_within((0.5, E), 0.1), "^E ") for E in NO_DIRECTIONS),
    (lambda: stretch_within((0.5, np.diag([1.0, -1.0])), 0.0), "change"),
    (lambda: gauge.swap_squares([1.0, 2.0], [3.0]), r"a has shape \(2,\) and b \(1,\); expected both \(k,\)"),
    (lambda: gauge.swap_squares([1.0, 2.0], [3.0, np.nan]), r"b\[1\] = nan"),
    (lambda: gauge.find_gauge(np.eye(2), np.zeros((2, 2))), "other is zero everywhere"),
    (lambda: gauge.apply_gauge(TABLE, np.ones((3, 3)), [1, 1]), "width 2 but B has width 3"),
    (lambda: gauge.apply_gauge(TABLE, TABLE, [1, 1, 1]), "one factor per axis"),
    (lambda: gauge.apply_gauge(TABLE, TABLE, [1, 0]), "other than 0"),
    (lambda: gauge.apply_gauge(TABLE, TABLE, [1, np.nan]), "finite"),
    (lambda: gauge.apply_linear_gauge(TABLE, TABLE, np.ones((2, 2))), "singular"),
    (lambda: gauge.apply_linear_gauge(TABLE, TABLE, np.eye(3)), r"expected \(2, 2\)"),
    (lambda: gauge.diagonal_gauge_dimension(TABLE[0]), r"shape \(2,\)"),
    (lambda: gauge.diagonal_gauge_dimension(TABLE * np.inf), r"A\[0, 0\] = inf: A holds NaN or infinity"),
    (lambda: gauge.find_gauge(np.ones((3, 2)), TABLE), "rank 1 but width 2"),
    (lambda: gauge.random_linear_gauge(3, spread=1, rng=RNG, rows=TABLE), r"rows has shape \(3, 2\), expected"),
    (lambda: gauge.stretch_along(np.array([1.0, -2.0]), 0.5), r"outside \(-1, 0.5\)"),
    (lambda: gauge.stretch_along(np.array([0.0, -2.0]), 0.5), r"outside \(-infinity, 0.5\)"),
    (lambda: gauge.linear_stretch_along(np.diag([1.0, -2.0]), 0.6), "not positive"),
    (lambda: gauge.swap_squares([1.0, 0.0], [1.0, 1.0]), "zeros"),
    (lambda: gauge.apply_linear_gauge(np.eye(2), np.eye(2), np.ones((3, 2, 2))), r"R has shape \(3, 2, 2\)"),
    (lambda: gauge.find_gauge(np.eye(2), np.ones((3, 2))), r"other has shape \(3, 2\); expected that of A"),
    (lambda: gauge.stretch_along(0.5, 10.0), r"delta has shape \(\); expected \(k,\)"),
    (lambda: gauge.neighbours(np.eye(3), 1, queries=[]), "queries is .*; expected the ids of one row or more"),
    (lambda: gauge.neighbours(np.eye(3), 1, queries=[0, 3]), "queries is .*; expected the ids .* from 0 to 2"),
    (lambda: gauge.neighbours(np.eye(3), 1, queries=[0.0]), "queries is .*; expected the ids .* from 0 to 2"),
    (lambda: gauge.neighbour_overlap([[0.5, np.nan]], [[0, 1]]), "dtypes float64 and int64; expected whole ids"),
    (lambda: gauge.keeps_norms(TABLE, np.eye(3)), r"^S has shape \(3, 3\); expected \(2, 2\)"),
    (lambda: gauge.keeps_norms(TABLE, np.eye(2) * np.nan), "S holds NaN or infinity"),
    (lambda: gauge.keeps_norms(TABLE, np.eye(2), tol=np.nan), "^tol is nan"),
    (lambda: gauge.is_on_sphere(TABLE, tol="x"), "^tol is 'x'"),
    (lambda: gauge.apply_linear_gauge(TABLE, TABLE, np.eye(2) * np.nan), "R holds NaN or infinity"),
    (lambda: gauge.gauge_for_neighbours(TABLE, 0, 1), "^chosen is 1; expected ids of rows"),
    (lambda: gauge.second_plane_gauge([1.0, 0], [2.0, 0], [1.0, 1]), "not parallel"),
    (lambda: gauge.second_linear_gauge(TABLE[:1], [1.0, 1]), "leaves 2 linear directions"),
    (lambda: gauge.second_linear_gauge([[1.0, 1], [1.0, -1]], [1.0, 0]), "no second gauge"),
    (lambda: gauge.second_linear_gauge([[0.0]], [1.0]), "does not change its sign"),
    (lambda: gauge.gauge_for_neighbours(TABLE, 0, [1]), "fewer than the width 2"),
    (lambda: gauge.gauge_for_neighbours(np.ones((3, 4)), 0, [1]), "linearly dependent"),
    (lambda: gauge.neighbours(TABLE, 3), "expected a whole number from 1 to 2"),
    (lambda: gauge.neighbours(TABLE, 1, "manhattan"), "expected one of"),
    (lambda: gauge.neighbours(np.zeros((3, 2)), 1), "zero vector"),
    (lambda: gauge.neighbour_overlap([[1]], [[1, 2]]), "same"),
    (lambda: gauge.neighbours(torch.tensor(TABLE) * 1e200, 1, "dot"), "a distance by 'dot' overflows"),
    (lambda: gauge.linear_gauge_dimension(torch.tensor(TABLE) * 1e-200), "entries up to .*squares .* cannot hold"),
    (lambda: gauge.diagonal_gauge_dimension(np.float32(1e-25) * TABLE.astype(np.float32)), "squares float32 cannot"),
    (lambda: gauge.gauge_directions(torch.tensor(TABLE) * 1e200), "scale it, which changes no rank"),
    (lambda: gauge.steck_first(TABLE, k=3, decay=1.0), "from 1 to 2, the rank of X"),
    (lambda: gauge.steck_first(TABLE, k=1, decay=-1.0), "decay"),
    (lambda: gauge.balance_tables(np.ones((3, 2)), TABLE), "ranks 1 and 2"),
    (lambda: gauge.random_diagonal_gauge(2, spread=-1, rng=np.random.default_rng(0)), "spread"),
    (lambda: gauge.is_on_sphere(TABLE, radius=0), "radius"),
    (lambda: gauge.linear_stretch_along([[0, 1], [0, 0]], 0.5), "E differs from its transpose by up to 1"),
    (lambda: gauge.linear_stretch_along(np.ones((2, 3)), 0.5), r"E has shape \(2, 3\); expected \(k, k\)"),
    (lambda: gauge.linear_stretch_along(np.eye(2), np.nan), "^t is nan; expected a finite number"),
    (lambda: gauge.stretch_along([1, -1], np.nan), "^t is nan; expected a finite number"),
    (lambda: gauge.random_diagonal_gauge(2, spread=1.0, rng=0), "expected a numpy.random.Generator"),
    (lambda: gauge.random_linear_gauge(2, spread=1.0, rng=0), "expected a numpy.random.Generator"),
    (lambda: gauge.random_linear_directions(np.eye(3), 2, rng=0), "expected a numpy.random.Generator"),
    (lambda: gauge.search_second_gauge(np.eye(2), np.eye(2), starts=1, rng=0), "expected a numpy.random.Generator"),
    (lambda: gauge.search_second_gauge(np.eye(2), np.eye(2), starts=0, rng=np.random.default_rng(0)), "starts is 0"),
    (lambda: gauge.random_linear_gauge(-1, spread=1.0, rng=np.random.default_rng(0)), "k is -1"),
    (lambda: gauge.random_diagonal_gauge(2.5, spread=1.0, rng=np.random.default_rng(0)), "k is 2.5"),
    (lambda: gauge.random_linear_directions(np.eye(3), -1, rng=np.random.default_rng(0)), "draws is -1"),
    (lambda: gauge.gauge_for_neighbours(np.eye(3), -1, [0]), "query is -1; expected a whole number from 0 to 2"),
    (lambda: gauge.gauge_for_neighbours(np.eye(3), 0, [7]), "chosen is 7; expected a whole number from 0 to 2"),
    (lambda: gauge.linear_gauge_directions(np.eye(3)[None]), r"A has shape \(1, 3, 3\); expected one table"),
    (lambda: gauge.rigidity_certificate(np.eye(3), np.eye(3)[None]), r"B has shape \(1, 3, 3\); expected one table"),
    (lambda: gauge.second_linear_gauge([[1.0, 1], [1.0, -1]], [1.0]), r"b has shape \(1,\); expected \(2,\)"),
    (lambda: gauge.second_plane_gauge([1.0, 0], [1.0], [1.0, 1]), r"a2 has shape \(1,\); expected \(2,\)"),
    (lambda: gauge.steck_objectives(np.eye(3), TABLE, TABLE[:2], decay=1.0), "a column of X, a row of A and a row of"),
    (lambda: gauge.steck_objectives(np.eye(len(TABLE)), TABLE, TABLE, decay=-1.0), "decay is -1"),
)


def test_a_sphere_is_as_round_as_its_width_and_not_its_length_allow() -> None:
    """The tolerance grows with the sums of k squares that rounding enters, not with the number of rows."""
    X = np.eye(2).repeat(500, axis=0)
    X[0] *= 1 + 1e-14
    assert not gauge.is_on_sphere(X) and gauge.is_on_sphere(X, tol=2e-14)
    assert gauge.is_on_sphere(np.eye(2), tol=0.0)


@pytest.mark.parametrize("kind", [np.float16, torch.float16, torch.bfloat16, Fraction])
def test_tables_that_lapack_cannot_take_are_taken_in_floats(kind: Any) -> None:
    A = np.random.default_rng(0).integers(-8, 8, (6, 3)) / 4  # numbers that 16 bits hold
    given = (
        exact(A) if kind is Fraction else torch.tensor(A).to(kind) if isinstance(kind, torch.dtype) else A.astype(kind)
    )
    calls = (
        lambda X: gauge.apply_linear_gauge(X, X, [[1, 0, 0], [0, 2, 0], [1, 0, 4]])[1],
        lambda X: gauge.find_gauge(X, X)[0],
        lambda X: gauge.gauge_for_neighbours(X, 0, [1], stretch=Fraction(3)),
        lambda X: gauge.score_rows(X, X),
        lambda X: abs(gauge.balance_tables(X, X)[0]),
        lambda X: gauge.steck_first(X, k=2, decay=Fraction(1, 2))[1] @ gauge.steck_first(X, k=2, decay=0.5)[0].T,
        lambda X: abs(gauge.steck_second(X, k=2, decay=Fraction(1, 2))[1]),
        lambda X: gauge.linear_stretch_along(X[:3] + X[:3].T, 0.01),
    )
    for call in calls:
        found, wanted = array(call(given)).astype(np.float64), call(A)
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.uint64])
def test_the_ids_of_queries_are_no_mask(dtype: type) -> None:
    X, ids = torch.randn(6, 3, generator=torch.Generator().manual_seed(0)), [5, 1, 2, 3, 4, 0]
    assert torch.equal(gauge.neighbours(X, 2, queries=np.array(ids, dtype)), gauge.neighbours(X, 2, queries=ids))


def test_neighbours_by_dot_products_that_16_bits_cannot_hold() -> None:
    X = np.random.default_rng(0).integers(-200, 200, (6, 64))
    found, wanted = gauge.neighbours(X.astype(np.float16), 2, "dot"), gauge.neighbours(X, 2, "dot")
    assert found.tolist() == wanted.tolist()
