"""course_lib.gramians against sums over all pairs, and the bridge from P4's gravity to P3's popularity (X17)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter
from strategies import exact_arrays, label_matrices

from course_lib import checking, gramians, in_batch
from course_lib.training import Plan, fit


@pytest.mark.seconds
@given(data=st.data(), n=st.integers(1, 4), d=st.integers(1, 3))
def test_gramian_is_the_mean_of_outer_products(data: st.DataObject, n: int, d: int) -> None:
    e, w = data.draw(exact_arrays((n, d))), abs(data.draw(exact_arrays((n,))))
    plain = sum(np.outer(row, row) for row in e) / n
    weighted = sum(w[i] * np.outer(e[i], e[i]) for i in range(n)) / n
    assert (gramians.gramian(e) == plain).all()
    assert (gramians.gramian(e, weights=w) == weighted).all()


@pytest.mark.seconds
@given(labels=label_matrices(), data=st.data())
def test_gravity_over_training_pairs_is_the_popularity_term(labels: np.ndarray, data: st.DataObject) -> None:
    """X17: M^2 gravity over the pairs of O = sum_ij pop_ij <u_i, v_j>^2; weights 1/|O_i|, 1/|O_j| make it uniform."""
    m, n = labels.shape
    u, v = data.draw(exact_arrays((m, 2))), data.draw(exact_arrays((n, 2)))
    rows, cols = np.nonzero(labels)
    row_counts, col_counts = labels.sum(axis=1), labels.sum(axis=0)
    gravity = gramians.gravity(u[rows], v[cols])
    pop = in_batch.pair_popularity(row_counts, col_counts)
    assert len(rows) ** 2 * gravity == (pop * (u @ v.T) ** 2).sum()
    assert len(rows) ** 2 * gravity == gramians.all_pairs_square(
        u, v, left_weights=row_counts, right_weights=col_counts
    )
    each = 1 / (row_counts[rows] + u[rows, 0] * 0), 1 / (col_counts[cols] + v[cols, 0] * 0)  # rationals
    uniform = gramians.all_pairs_square(u[rows], v[cols], left_weights=each[0], right_weights=each[1])
    assert uniform == ((u @ v.T) ** 2).sum()


def test_torch_and_leading_axes() -> None:
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 4, 3))
    weights = rng.random(5)
    both = gramians.all_pairs_square(u, v, left_weights=weights)
    tensors = gramians.all_pairs_square(torch.tensor(u), torch.tensor(v), left_weights=weights)
    np.testing.assert_allclose(tensors.numpy(), both, rtol=1e-12)
    for k in range(2):
        assert both[k] == pytest.approx((weights[:, None] * (u[k] @ v[k].T) ** 2).sum())
    a, b = (torch.randn(3, 2, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(gramians.gravity, (a, b))


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape)


EYE = np.eye(2)


def begun(estimator: gramians.SOGram | gramians.SAGram, partners: np.ndarray | None) -> Any:
    """After a first batch, and after its state has been carried to another estimator."""
    again = copy.deepcopy(estimator)
    estimator.update([0, 1], EYE, partners)
    again.load_state_dict(estimator.state_dict())
    return again


REFUSED = [
    (lambda: gramians.gramian(ones(3)), r"embeddings has shape \(3,\); expected shape \(..., n, d\)"),
    (lambda: gramians.gramian(ones(0, 3)), "n, d >= 1"),
    (lambda: gramians.gramian(ones(2, 3), weights=ones(3)), r"weights has shape \(3,\) but there are 2"),
    (lambda: gramians.gravity(ones(2, 3), ones(4, 3)), "left has 2 rows and right has 4.*all_pairs_square"),
    (lambda: gramians.all_pairs_square(ones(2, 3), ones(4, 2)), "width 3 but right has width 2"),
    (lambda: gramians.gravity(ones(4, 1), ones(4, 3)), "width 1 but right has width 3"),
    (lambda: gramians.all_pairs_square(torch.ones(2, 3), ones(4, 3)), "the same kind of array"),
    (lambda: gramians.gramian([[1.0, np.nan]]), r"embeddings\[0, 1\] = nan"),
    (lambda: gramians.gramian(EYE, weights=[1, -1]), r"weights\[1\] is -1.0; expected weights of at least 0"),
    (lambda: gramians.all_pairs_square(EYE, EYE, right_weights=[np.nan, 1]), r"right_weights\[0\] = nan"),
    (lambda: gramians.SOGram(3, 0), r"alpha is 0; expected a finite number in \(0, 1\]"),
    (lambda: gramians.SAGram(4, 3, 1).drift(), "no cache before start"),
    (lambda: begun(gramians.SAGram(2, 2, 1), EYE).drift(), "no drift with partners"),
    (lambda: begun(gramians.SAGram(2, 2, 1), EYE).update([0], EYE[:1]), "partners are given in some batches"),
    (lambda: begun(gramians.SAGram(2, 2, 1), None).look([0], EYE[:1], EYE[:1]), "partners are given in some batches"),
    (lambda: begun(gramians.SOGram(2, 0.5), None).update([0], EYE[:1], EYE[:1]), "partners are given in some batches"),
    (lambda: begun(gramians.SOGram(2, 0.5), EYE).update([0], EYE[:1], [[1.0]]), r"partners has shape \(1, 1\)"),
    (lambda: begun(gramians.SAGram(2, 2, 1), EYE).renew([0], EYE[:1], [[1.0]]), r"expected \(b, 2\), as before"),
    (lambda: gramians.SAGram(4, 3, 1).update(None, ones(1, 3)), "indices is None"),
    (lambda: gramians.SOGram(0, 0.5), "d is 0"),
    (lambda: gramians.SOGram(3, lambda t: 2.0).update([0], ones(1, 3)), r"alpha\(t\) is 2.0"),
    (lambda: gramians.SAGram(10, 3, 1.5), "beta is 1.5"),
    (lambda: gramians.SAGram(10**9, 64, 1), "256,000,000,000 bytes, and budget is 2,147,483,648"),
    (lambda: gramians.SOGram(1, 0.5).update([0, 1], ones(2, 1), [[1.0], [np.nan]]), r"partners\[1, 0\] = nan"),
    (lambda: gramians.SAGram(2, 1, 1).update([0, 1], ones(2, 1), [[1.0], [np.nan]]), r"partners\[1, 0\] = nan"),
    (lambda: gramians.SOGram(3, 0.5).estimate, "before the first update"),
    (lambda: gramians.SOGram(3, 0.5).update([0], ones(1, 2)), r"expected \(b, 3\)"),
    (lambda: gramians.SOGram(3, 0.5).update([0, 1], ones(1, 3)), "one row for each index"),
    (lambda: gramians.SAGram(4, 3, 1).update([4], ones(1, 3)), "integers from 0 to 3"),
    (lambda: gramians.gravity_loss(ones(2, 3), ones(2, 3), ones(2, 2), ones(3, 3)), "gram_left has shape"),
    (lambda: gramians.gravity_loss(ones(2, 3), ones(1, 3), np.eye(3), np.eye(3)), "'left': 2, 'right': 1"),
    (lambda: gramians.gravity_with_prior(ones(2, 3), ones(2, 3), ones(1, 1), ones(2, 1)), "the rows are"),
    (lambda: gramians.gravity_with_prior(ones(2, 3), ones(2, 3), [1, 2], [1, 2]), r"left_prior has shape \(2,\)"),
    (lambda: gramians.optimal_alpha(1, 0), "sigma is 0"),
    (lambda: gramians.optimal_alpha(-1, 1), "delta is -1"),
    (lambda: gramians.optimal_alpha(1, 1, "brownian"), "drift is 'brownian'"),
    (lambda: gramians.nearest_psd([[np.nan, 0.0], [0.0, 1.0]]), r"matrix\[0, 0\] = nan"),
    (lambda: gramians.nearest_psd(np.ones((2, 3))), r"matrix has shape \(2, 3\)"),
    (lambda: gramians.SAGram(2, 1, 1, budget="5"), "budget is '5'"),
    (lambda: gramians.SAGram(2, 1, 1).update(["0"], [[1.0]]), "indices must be integers from 0 to 1"),
    (lambda: gramians.gramian([[1.0], [2.0]], weights=["1", "2"]), "weights is .*; expected an array of real numbers"),
    (lambda: gramians.cross_gramian([[1.0]], [[1j]]), "partners is .*; expected an array of real numbers"),
    (lambda: gramians.cross_gramian(torch.ones(1, 1), torch.ones(1, 1) * 1j), "partners must be real"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_errors_say_what_was_expected(call: Callable[[], object], message: str) -> None:
    with pytest.raises(MemoryError if "bytes" in message else ValueError, match=message):
        call()


def test_tables_of_16_bits_do_not_overflow() -> None:
    half = torch.full((1000, 1), 10.0, dtype=torch.float16)
    assert gramians.gramian(half).item() == 100 == gramians.BatchGramian().update(None, half).item()
    assert gramians.all_pairs_square(half, half).item() == 1e10
    assert gramians.gramian(np.ones((70_000, 1), dtype=np.float16)).item() == 1
    assert gramians.gravity_loss(half, half, [[100.0]], [[100.0]]).item() == 20_000


def test_a_batch_of_two_precisions_is_taken_in_the_wider() -> None:
    left, right = torch.randn(2, 6, 3, generator=torch.Generator().manual_seed(0))
    grams = gramians.gramian(left), gramians.gramian(right)
    loss = gramians.gravity_loss(left, right.double(), *grams)
    assert loss.dtype == torch.float64 and loss.item() == pytest.approx(2 * gramians.gravity(left, right).item(), 1e-5)


def test_a_cross_gramian_keeps_its_precision_under_autocast() -> None:
    left, right = torch.randn(2, 50, 3, generator=torch.Generator().manual_seed(0))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert gramians.cross_gramian(left, right).dtype == torch.float32
        assert abs(gramians.gravity_with_prior(left, right, left, right).item()) < 1e-5


# ---- estimators of a Gramian that moves


def some(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape)


@pytest.mark.seconds
@given(data=st.data(), n=st.integers(1, 4))
def test_the_prior_form_is_the_double_sum(data: st.DataObject, n: int) -> None:
    u, v, q, r = (data.draw(exact_arrays((n, width))) for width in (2, 2, 1, 1))
    double = sum((u[x] @ v[y] - q[x] @ r[y]) ** 2 for x in range(n) for y in range(n)) / n**2
    assert gramians.gravity_with_prior(u, v, q, r) == double


def test_the_gradient_of_the_loss_is_that_of_the_gravity_term() -> None:
    """With exact Gramians of the whole table as the batch; without a prior the value is twice the term."""
    rng = np.random.default_rng(1)
    u, v = (torch.tensor(some(rng, 6, 3), requires_grad=True) for _ in range(2))
    q, r = some(rng, 6, 2), some(rng, 6, 2)
    cross = {"cross_left": gramians.cross_gramian(u, q), "cross_right": gramians.cross_gramian(v, r)}
    for prior, term in (
        ({}, gramians.gravity(u, v)),
        ({"left_prior": q, "right_prior": r, **cross}, gramians.gravity_with_prior(u, v, q, r)),
    ):
        loss = gramians.gravity_loss(u, v, gramians.gramian(u), gramians.gramian(v), **prior)
        ours, true = (torch.autograd.grad(value, (u, v), retain_graph=True) for value in (loss, term))
        assert all(torch.allclose(a, b, atol=1e-12) for a, b in checking.some(zip(ours, true, strict=True)))
        assert prior or float(loss.detach()) == pytest.approx(2 * float(term.detach()))
    lost = gramians.gravity_loss(u * np.nan, v, gramians.gramian(v), gramians.gramian(v))
    assert bool(torch.isnan(lost))  # as in any other loss: the training loop says that it diverged
    with pytest.raises(ValueError, match="'left': 6, 'left_prior': 5"):
        prior = {"left_prior": q[:5], "right_prior": r[:5], **cross}
        gramians.gravity_loss(u, v, gramians.gramian(u), gramians.gramian(v), **prior)


@pytest.mark.seconds
@given(data=st.data())
def test_sogram_is_the_weighted_sum_of_its_batches(data: st.DataObject) -> None:
    alpha = Fraction(data.draw(st.integers(1, 4)), 5)
    batches = [data.draw(exact_arrays((2, 2))) for _ in range(3)]
    plain, corrected = gramians.SOGram(2, alpha), gramians.SOGram(2, alpha, correct_start=True)
    for batch in batches:
        plain.update([0, 1], batch), corrected.update([0, 1], batch)
    weights = [alpha * (1 - alpha) ** (2 - t) for t in range(3)]
    expected = sum(w * gramians.gramian(batch) for w, batch in zip(weights, batches, strict=True))
    assert (plain.estimate == expected).all()
    assert (corrected.estimate == expected / (1 - (1 - alpha) ** 3)).all()


def test_a_corrected_start_is_exact_for_a_changing_alpha_too() -> None:
    """The weight of all batches together follows alpha_1, alpha_2, ...: a table that stands still is found at once."""
    table = np.array([[Fraction(1), Fraction(2)], [Fraction(-1), Fraction(3)]])
    alphas = [Fraction(1, 2), Fraction(1, 5), Fraction(3, 4)]
    estimator = gramians.SOGram(2, lambda t: alphas[t - 1], correct_start=True)
    for _ in alphas:
        assert (estimator.update([0, 1], table) == gramians.gramian(table)).all()
    assert estimator.weight == 1 - (1 - alphas[0]) * (1 - alphas[1]) * (1 - alphas[2])


def test_an_alpha_of_one_over_t_averages_all_batches() -> None:
    rng = np.random.default_rng(0)
    batches = [some(rng, 4, 3) for _ in range(5)]
    estimator = gramians.SOGram(3, lambda t: 1 / t)
    for batch in batches:
        estimator.update(range(4), batch)
    assert np.allclose(estimator.estimate, np.mean([gramians.gramian(b) for b in batches], axis=0))


@pytest.mark.seconds
@given(data=st.data(), beta=st.sampled_from([Fraction(1, 3), Fraction(1, 2), Fraction(1)]))
def test_sagram_in_expectation_over_every_draw(data: st.DataObject, beta: Fraction) -> None:
    """E G_hat - G = (1 - beta)(S - G): no bias for beta = 1."""
    cached, now = data.draw(exact_arrays((3, 2))), data.draw(exact_arrays((3, 2)))
    total = 0
    for i in range(3):
        estimator = gramians.SAGram(3, 2, beta)
        estimator.start(cached)
        total = total + estimator.look([i], now[[i]])
    bias = total / 3 - gramians.gramian(now)
    assert (bias == (1 - beta) * (gramians.gramian(cached) - gramians.gramian(now))).all()


def test_sagram_renews_its_cache_and_counts_a_double_draw_once() -> None:
    rng = np.random.default_rng(0)
    cached, now = some(rng, 5, 2), some(rng, 5, 2)
    estimator = gramians.SAGram(5, 2, 1)
    estimator.start(cached)
    estimator.update([3, 3, 1], now[[3, 3, 1]])
    mixed = cached.copy()
    mixed[[3, 1]] = now[[3, 1]]
    estimator.beta = 1e-12
    assert np.allclose(estimator.look([0], mixed[[0]]), gramians.gramian(mixed))
    assert estimator.drift() < 1e-12


def test_beta_one_leaves_the_cone_and_the_projection_returns_with_a_bias() -> None:
    """n = 2, k = 1, cache (2, 0), all embeddings now 0: the estimates are -2 and 2 with mean 0 = G;
    projected, 0 and 2.
    """
    found = {}
    for project in (False, True):
        estimates = []
        for i in range(2):
            estimator = gramians.SAGram(2, 1, 1, project=project)
            estimator.start(np.array([[2.0], [0.0]]))
            estimates.append(float(estimator.look([i], np.zeros((1, 1)))[0, 0]))
        found[project] = estimates
    assert found == {False: [-2.0, 2.0], True: [0.0, 2.0]}


def test_the_projection_is_the_nearest_matrix_of_the_cone() -> None:
    rng = np.random.default_rng(0)
    matrix = some(rng, 4, 4)
    matrix = matrix + matrix.T
    nearest = gramians.nearest_psd(matrix)
    assert np.linalg.eigvalsh(nearest).min() > -1e-12
    for _ in range(200):
        other = some(rng, 4, 4)
        assert np.linalg.norm(matrix - other @ other.T) >= np.linalg.norm(matrix - nearest)
    assert np.allclose(gramians.nearest_psd(other @ other.T), other @ other.T)


def test_of_a_stack_of_matrices_each_one_is_made_symmetric_first() -> None:
    stack = np.random.default_rng(0).normal(size=(3, 4, 4))
    found = gramians.nearest_psd(stack)
    for matrix, nearest in checking.some(zip(stack, found, strict=True)):
        assert np.allclose(nearest, gramians.nearest_psd((matrix + matrix.T) / 2))


def test_a_float32_stream_does_not_drift() -> None:
    """The same stream with the sum kept in float32 drifts far more."""
    rng = np.random.default_rng(0)
    estimator = gramians.SAGram(64, 4, 1)
    table = some(rng, 64, 4).astype(np.float32)
    estimator.start(table)
    naive = table.T @ table
    for _ in range(3000):
        i = rng.integers(64, size=8)
        fresh = (some(rng, 8, 4) * 100).astype(np.float32)
        _, first = np.unique(i, return_index=True)
        naive = naive + (fresh[first].T @ fresh[first] - table[i[first]].T @ table[i[first]])
        table[i[first]] = fresh[first]
        estimator.update(i, fresh)
    exact = table.astype(float).T @ table.astype(float)
    assert estimator.drift() < 1e-10 < 1e-7 < np.linalg.norm(naive - exact) / np.linalg.norm(exact)


MAKERS = [gramians.BatchGramian, lambda: gramians.SOGram(3, 0.3)]
MAKERS += [lambda: gramians.SAGram(9, 3, 0.5), lambda: gramians.SAGram(9, 3, 1, project=True)]


@pytest.mark.parametrize("make", MAKERS)
def test_numpy_and_torch_agree_and_the_estimate_is_a_constant(make: Callable[[], gramians.BatchGramian]) -> None:
    rng = np.random.default_rng(0)
    ours, theirs = make(), make()
    for _ in range(4):
        i, batch = rng.integers(9, size=5), some(rng, 5, 3)
        tensor = theirs.update(torch.tensor(i), torch.tensor(batch, requires_grad=True))
        assert np.allclose(ours.update(i, batch), tensor.numpy(), atol=1e-12) and not tensor.requires_grad


def test_partners_make_cross_gramians() -> None:
    u, q = np.random.default_rng(0).normal(size=(2, 6, 3))
    for estimator in (gramians.BatchGramian(), gramians.SOGram(3, 1), gramians.SAGram(6, 3, 1)):
        assert np.allclose(estimator.update(range(6), u, q[:, :2]), gramians.cross_gramian(u, q[:, :2]))


def test_the_loss_of_several_batches_is_that_of_each() -> None:
    rng = np.random.default_rng(0)
    left, right = some(rng, 4, 5, 3), some(rng, 4, 5, 3)
    both = gramians.gramian(left), gramians.gramian(right)
    each = [gramians.gravity_loss(*(table[at] for table in (left, right, *both))) for at in range(4)]
    assert gramians.gravity_loss(left, right, *both) == pytest.approx(each, rel=1e-12)


# ---- rates


@given(delta=st.floats(1e-6, 1e3), sigma=st.floats(1e-3, 1e3))
def test_optimal_alpha_is_least_on_a_fine_grid(delta: float, sigma: float) -> None:
    for drift, error in (("coherent", gramians.coherent_error), ("random_walk", gramians.random_walk_error)):
        best = gramians.optimal_alpha(delta, sigma, drift)
        assert 0 < best <= 1
        grid = np.geomspace(1e-9, 1, 400)
        assert error(best, delta=delta, sigma=sigma) <= error(grid, delta=delta, sigma=sigma).min() * (1 + 1e-9)


def test_the_long_run_of_a_random_walk_is_what_the_formula_says() -> None:
    """Simulation, in one dimension: mean square error over many steps against the formula at three rates."""
    rng = np.random.default_rng(0)
    steps, delta, sigma = 200_000, 0.3, 1.0
    path = np.cumsum(delta * rng.normal(size=steps))
    seen = path + sigma * rng.normal(size=steps)
    for alpha in (0.1, gramians.optimal_alpha(delta, sigma, "random_walk"), 0.7):
        estimate = lfilter([alpha], [1, alpha - 1], seen)
        measured = np.mean((estimate - path)[1000:] ** 2)
        assert measured == pytest.approx(gramians.random_walk_error(alpha, delta=delta, sigma=sigma), rel=0.05)


# ---- precision, restarts, bad batches


ESTIMATORS = (
    gramians.BatchGramian,
    lambda: gramians.SOGram(4, 0.3, correct_start=True),
    lambda: gramians.SAGram(64, 4, 0.5),
)


def followed(dtype: torch.dtype, alpha: float = 0.001, steps: int = 600, cast: bool = False) -> float:
    """How far SOGram is, in the end, from the Gramian of a table that stands still; its start is corrected."""
    table = torch.randn(200, 8, generator=torch.Generator().manual_seed(0)).to(dtype)
    true = table.double().T @ table.double() / len(table)
    online, rng = gramians.SOGram(8, alpha, correct_start=True), np.random.default_rng(0)
    with torch.autocast("cpu", torch.bfloat16, enabled=cast):
        for _ in range(steps):
            rows = torch.from_numpy(rng.integers(200, size=64))
            estimate = online.update(rows, table[rows])
    return float((estimate.double() - true).norm() / true.norm())


def test_sogram_of_16_bits_is_as_near_as_that_of_32() -> None:
    """alpha = 0.001: an average kept in bfloat16 cannot take up a thousandth of a batch, and is off by half."""
    single = followed(torch.float32)
    assert single < 0.02
    for dtype in (torch.bfloat16, torch.float16):
        assert followed(dtype) < 1.1 * single
    assert followed(torch.float32, cast=True) == single


def test_long_rows_of_float16_do_not_overflow() -> None:
    rows = torch.full((64, 4), 100.0, dtype=torch.float16)
    for estimator in ESTIMATORS:
        estimate = estimator().update(np.arange(64), rows)
        share = 0.5 if isinstance(estimator(), gramians.SAGram) else 1  # beta, of a cache that starts at zero
        torch.testing.assert_close(estimate, torch.full((4, 4), share * 1e4))


def batches(count: int, seed: int, kind: Callable = torch.from_numpy) -> list[tuple[np.ndarray, torch.Tensor]]:
    rng = np.random.default_rng(seed)
    return [(rng.integers(64, size=5), kind(rng.normal(size=(5, 4)).astype(np.float32))) for _ in range(count)]


@pytest.mark.parametrize("make", ESTIMATORS)
@pytest.mark.parametrize("kind", [torch.from_numpy, np.asarray])
def test_a_restart_changes_no_bit(make: Callable[[], gramians.BatchGramian], kind: Callable) -> None:
    whole, first, second = make(), make(), make()
    for batch in batches(6, 0, kind):
        whole.update(*batch)
    for batch in batches(6, 0, kind)[:3]:
        first.update(*batch)
    state = first.state_dict()
    second.load_state_dict(state)
    assert (np.asarray(second.estimate) == np.asarray(first.estimate)).all()
    for batch in batches(6, 0, kind)[3:]:
        second.update(*batch)
    assert (np.asarray(second.estimate) == np.asarray(whole.estimate)).all()
    assert (np.asarray(first.estimate) == np.asarray(state["estimate"])).all()  # what was loaded is a copy


def test_states_travel_through_files_and_are_checked(tmp_path: Path) -> None:
    for make in ESTIMATORS:
        estimator = make()
        estimator.update(*batches(1, 0)[0])
        torch.save(estimator.state_dict(), tmp_path / "state.pt")
        make().load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
        make().load_state_dict(make().state_dict())  # before the first batch
    with pytest.raises(ValueError, match="expected those of SOGram"):
        gramians.SOGram(4, 0.3).load_state_dict(estimator.state_dict())
    with pytest.raises(ValueError, match=r"state_dict\['cache'\] has shape \(64, 4\); expected \(65, 4\)"):
        gramians.SAGram(65, 4, 0.5).load_state_dict(estimator.state_dict())


@pytest.mark.parametrize("make", ESTIMATORS)
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_batch_that_is_not_finite_is_refused_and_leaves_no_trace(make: Callable, bad: float) -> None:
    estimator, untouched = make(), make()
    for one in (estimator, untouched):
        one.update(*batches(1, 0)[0])
    ids, rows = batches(1, 1)[0]
    spoilt = rows.clone()
    spoilt[2, 1] = bad
    with pytest.raises(ValueError, match=r"embeddings\[2, 1\] = (nan|inf)"):
        estimator.update(ids, spoilt)
    for one in (estimator, untouched):
        one.update(ids, rows)
    assert torch.equal(estimator.estimate, untouched.estimate)


@pytest.mark.parametrize("make", ESTIMATORS[1:])
def test_one_estimator_sees_one_kind_of_array(make: Callable) -> None:
    estimator = make()
    ids, rows = batches(1, 0)[0]
    estimator.update(ids, rows.numpy())
    with pytest.raises(ValueError, match="embeddings are torch tensors, but the batches before were NumPy arrays"):
        estimator.update(ids, rows)


def test_fit_carries_estimators_over_a_restart(tmp_path: Path) -> None:
    """Two towers with SOGram and SAGram in the step, three epochs at once or in two runs: the same bits."""

    def run(epochs: int, checkpoint: Path | None = None) -> torch.Tensor:
        table = torch.nn.Embedding.from_pretrained(batches(1, 3)[0][1].repeat(12, 1), freeze=False)
        sides = {"users": gramians.SOGram(4, 0.1), "items": gramians.SAGram(60, 4, 0.5)}

        def step(module: torch.nn.Module, ids: torch.Tensor) -> torch.Tensor:
            rows = module(ids)
            grams = [side.update(ids, rows) for side in sides.values()]
            return gramians.gravity_loss(rows, rows, *grams)

        given = {"batches": lambda epoch, rng: (torch.from_numpy(rng.integers(60, size=8)) for _ in range(4))}
        given |= {"step": step, "plan": Plan(epochs), "seed": 0, "stateful": sides}
        optimizer = torch.optim.SGD(table.parameters(), lr=0.1)
        fit(table, optimizer, checkpoint=checkpoint, progress=False, **given)
        return table.weight.detach()

    whole = run(3)
    run(2, tmp_path / "c.pt")
    assert torch.equal(run(3, tmp_path / "c.pt"), whole)
