"""course_lib.gramians against sums over all pairs, and the bridge from P4's gravity to P3's popularity (X17)."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import exact_arrays, label_matrices

from course_lib import gramians, in_batch


@given(data=st.data(), n=st.integers(1, 4), d=st.integers(1, 3))
def test_gramian_is_the_mean_of_outer_products(data: st.DataObject, n: int, d: int) -> None:
    e, w = data.draw(exact_arrays((n, d))), data.draw(exact_arrays((n,)))
    plain = sum(np.outer(row, row) for row in e) / n
    weighted = sum(w[i] * np.outer(e[i], e[i]) for i in range(n)) / n
    assert (gramians.gramian(e) == plain).all()
    assert (gramians.gramian(e, weights=w) == weighted).all()


@given(data=st.data(), m=st.integers(1, 4), n=st.integers(1, 4))
def test_all_pairs_square_is_the_double_sum(data: st.DataObject, m: int, n: int) -> None:
    u, v = data.draw(exact_arrays((m, 2))), data.draw(exact_arrays((n, 2)))
    w, z = data.draw(exact_arrays((m,))), data.draw(exact_arrays((n,)))
    double = sum(w[i] * z[j] * (u[i] @ v[j]) ** 2 for i in range(m) for j in range(n))
    assert gramians.all_pairs_square(u, v, left_weights=w, right_weights=z) == double
    assert gramians.all_pairs_square(u, v) == sum((u[i] @ v[j]) ** 2 for i in range(m) for j in range(n))


@given(data=st.data(), n=st.integers(1, 4))
def test_gravity_is_the_mean_over_all_pairs(data: st.DataObject, n: int) -> None:
    u, v = data.draw(exact_arrays((n, 2))), data.draw(exact_arrays((n, 2)))
    assert gramians.gravity(u, v) == sum((u[x] @ v[y]) ** 2 for x in range(n) for y in range(n)) / n**2


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
    uniform = gramians.all_pairs_square(
        u[rows], v[cols],
        left_weights=1 / (row_counts[rows] + u[rows, 0] * 0), right_weights=1 / (col_counts[cols] + v[cols, 0] * 0),
    )  # fmt: skip
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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gramians.gramian(np.ones(3)), r"embeddings must have shape \(..., n, d\)"),
        (lambda: gramians.gramian(np.ones((0, 3))), "n, d >= 1"),
        (lambda: gramians.gramian(np.ones((2, 3)), weights=np.ones(3)), r"weights has shape \(3,\) but there are 2"),
        (
            lambda: gramians.gravity(np.ones((2, 3)), np.ones((4, 3))),
            "left has 2 rows and right has 4.*all_pairs_square",
        ),
        (lambda: gramians.all_pairs_square(np.ones((2, 3)), np.ones((4, 2))), "width 3 but right has width 2"),
    ],
)
def test_errors(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
