"""Losses of a batch: InfoNCE and the margins, against torch and each other, tangent to the embeddings."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from course_lib import geometry, losses


@st.composite
def batches(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Q (m, d), K (n, d), a positive column per row, a temperature; some rows of K are duplicates."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, n, d = draw(st.integers(1, 7)), draw(st.integers(1, 7)), draw(st.integers(1, 9))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    Q, K = (rng.normal(size=(size, d)).astype(dtype) * 10 ** rng.uniform(-2, 2) for size in (m, n))
    K = K[rng.integers(0, n, size=n)]
    return Q.astype(dtype), K.astype(dtype), rng.integers(0, n, size=m), 10.0 ** draw(st.floats(-1.5, 1))


SIMILAR = {np.dtype(np.float32): 2e-4, np.dtype(np.float64): 1e-11}


@given(batch=batches())
def test_infonce_is_torchs_cross_entropy(batch) -> None:
    Q, K, positives, tau = batch
    scores = losses.cosine_scores(Q, K)
    theirs = functional.cross_entropy(torch.tensor(scores, dtype=torch.float64) / tau, torch.tensor(positives))
    mine = losses.infonce(scores, tau=tau, positives=positives)
    tensor = losses.infonce(torch.tensor(scores), tau=tau, positives=torch.tensor(positives))
    assert mine.dtype == scores.dtype == Q.dtype
    assert str(tensor.dtype) == f"torch.{Q.dtype.name}"
    for found in (mine, tensor):
        assert float(found) == pytest.approx(float(theirs), rel=SIMILAR[Q.dtype], abs=SIMILAR[Q.dtype])


def test_the_diagonal_is_the_default() -> None:
    scores = np.random.default_rng(0).normal(size=(5, 5))
    assert losses.infonce(scores, tau=0.1) == losses.infonce(scores, tau=0.1, positives=np.arange(5))
    assert losses.infonce(np.eye(3), tau=1e-3) == pytest.approx(0, abs=1e-12)
    assert losses.infonce(np.zeros((4, 4)), tau=0.5) == pytest.approx(math.log(4))


def test_infonce_does_not_overflow() -> None:
    scores = np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert losses.infonce(-scores, tau=1e-6) == pytest.approx(2e6)


def test_a_duplicate_of_the_positive_is_a_negative() -> None:
    """Two copies of one item: the loss cannot fall below log 2."""
    q, k = np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [1.0, 0.0]])
    assert losses.infonce(losses.cosine_scores(q, k), tau=0.01, positives=[0]) == pytest.approx(math.log(2))


@given(batch=batches(), margin=st.floats(0, 1))
def test_margins(batch, margin: float) -> None:
    """Margin 0 is InfoNCE; a margin is InfoNCE of changed scores; a larger margin is a larger loss."""
    Q, K, positives, tau = batch
    scores = losses.cosine_scores(Q.astype(np.float64), K.astype(np.float64))
    rows = np.arange(len(scores))
    plain = losses.infonce(scores, tau=tau, positives=positives)
    changed = scores.copy()
    changed[rows, positives] -= margin
    found = losses.cosine_margin(scores, tau=tau, margin=margin, positives=positives)
    assert found == pytest.approx(losses.infonce(changed, tau=tau, positives=positives), rel=1e-12)
    assert found >= plain - 1e-12
    changed = scores.copy()
    changed[rows, positives] = np.cos(np.arccos(np.clip(scores[rows, positives], -1, 1)) + margin)
    assert losses.angular_margin(scores, tau=tau, margin=margin, positives=positives) == pytest.approx(
        losses.infonce(changed, tau=tau, positives=positives), rel=1e-6, abs=1e-6
    )
    for loss in (losses.cosine_margin, losses.angular_margin):
        assert loss(scores, tau=tau, margin=0.0, positives=positives) == pytest.approx(plain, rel=1e-12, abs=1e-12)
        tensor = loss(torch.tensor(scores), tau=tau, margin=margin, positives=torch.tensor(positives))
        assert float(tensor) == pytest.approx(
            loss(scores, tau=tau, margin=margin, positives=positives), rel=1e-10, abs=1e-12
        )


def test_the_angular_margin_has_a_gradient_where_a_pair_is_parallel() -> None:
    cos = torch.eye(3, dtype=torch.float64, requires_grad=True)
    losses.angular_margin(cos, tau=0.2, margin=0.3).backward()
    assert torch.isfinite(cos.grad).all()


def test_losses_of_a_pair_of_cosines() -> None:
    cos = np.array([1.0, 0.0, -1.0], dtype=np.float32)
    assert losses.one_minus_cosine_squared(cos).tolist() == [0, 1, 4]
    assert losses.one_minus_cosine_squared(torch.tensor(cos)).tolist() == [0, 1, 4]
    np.testing.assert_allclose(losses.triplet_margin([0.9, 0.3], [0.2, 0.4], margin=0.5), [0, 0.6])
    assert losses.triplet_margin(torch.tensor([0.3]), torch.tensor([0.4]), margin=0.5).item() == pytest.approx(0.6)


COSINE_LOSSES = {
    "infonce": lambda c, p: losses.infonce(c, tau=0.2, positives=p),
    "one minus cosine squared": lambda c, p: losses.one_minus_cosine_squared(c[range(len(c)), p]).sum(),
    "cosine margin": lambda c, p: losses.cosine_margin(c, tau=0.2, margin=0.3, positives=p),
    "angular margin": lambda c, p: losses.angular_margin(c, tau=0.2, margin=0.3, positives=p),
    "triplet": lambda c, p: losses.triplet_margin(c[range(len(c)), p][:, None], c, margin=0.4).sum(),
    "something made up": lambda c, p: (
        torch.sin(3 * c) ** 3 * c.roll(1, dims=0) + torch.exp(c.prod(dim=1))[:, None]
    ).sum(),
}


def gradients(loss, Q: np.ndarray, K: np.ndarray, positives: np.ndarray, scores=losses.cosine_scores):
    tensors = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (Q, K)]
    return torch.autograd.grad(loss(scores(*tensors), list(positives)), tensors)


@pytest.mark.parametrize("name", COSINE_LOSSES)
@settings(max_examples=25)
@given(batch=batches())
def test_any_function_of_cosines_is_tangent_to_both_towers(name: str, batch) -> None:
    """P0, (13)-(16): by autograd, for queries and for keys."""
    Q, K, positives, _ = batch
    for X, slope in zip((Q, K), gradients(COSINE_LOSSES[name], Q, K, positives), strict=True):
        size = geometry.norm(X.astype(np.float64))
        inner = (X * slope.numpy()).sum(axis=1)
        bound = 1e-12 * (1 + geometry.norm(slope.numpy()) * size)
        # at cos = +-1 ArcFace's root multiplies rounding by 1e15: its gradient is meant away from there
        if name == "angular margin" and (np.abs(losses.cosine_scores(Q, K)) > 1 - 1e-6).any():
            continue
        assert (np.abs(inner) <= bound).all()


def test_the_dot_product_is_not_tangent() -> None:
    """<q_i, grad_i> = sum_j (p_ij - y_ij) s_ij / (B tau), exactly (P0, Table 1, row 2)."""
    rng = np.random.default_rng(0)
    Q, K, positives, tau = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), np.arange(4), 0.7
    slope, _ = gradients(lambda s, p: losses.infonce(s, tau=tau, positives=p), Q, K, positives, losses.dot_scores)
    s = losses.dot_scores(Q, K)
    p = np.exp(s / tau) / np.exp(s / tau).sum(axis=1, keepdims=True)
    expected = ((p - np.eye(4)) * s).sum(axis=1) / (4 * tau)
    np.testing.assert_allclose((Q * slope.numpy()).sum(axis=1), expected, rtol=1e-12)
    assert np.abs(expected).min() > 1e-3


def test_a_shared_table_is_tangent_in_the_sum_only() -> None:
    """k = x + y holds q = x: <x, grad_x> + <y, grad_y> = 0, but neither is (proofs.prop_shared_vector)."""
    x, y = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([3.0, 0.0], [0.0, 4.0]))
    gx, gy = torch.autograd.grad(geometry.cosine(x, x + y), (x, y))
    assert (x @ gx + y @ gy).item() == pytest.approx(0, abs=1e-15)
    assert (x @ gx).item() == pytest.approx(144 / (3 * 125))


def test_leading_axes_of_scores() -> None:
    rng = np.random.default_rng(1)
    Q, K = rng.normal(size=(2, 3, 4)), rng.normal(size=(5, 4))
    scores = losses.cosine_scores(Q, K)
    assert scores.shape == (2, 3, 5)
    np.testing.assert_allclose(scores[1, 2, 3], geometry.cosine(Q[1, 2], K[3]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: losses.infonce(np.ones((2, 3)), tau=1.0), r"shape \(2, 3\), no diagonal"),
        (lambda: losses.infonce(np.ones(3), tau=1.0), r"scores has shape \(3,\)"),
        (lambda: losses.infonce(np.ones((0, 0)), tau=1.0), r"scores has shape \(0, 0\)"),
        (lambda: losses.infonce(np.eye(2), tau=0.0), "tau is .*; expected a finite number above 0"),
        (lambda: losses.infonce(np.eye(2), tau=float("nan")), "tau is .*; expected a finite number above 0"),
        (lambda: losses.infonce(np.eye(2), tau=1.0, positives=[0]), r"positives has shape \(1,\)"),
        (lambda: losses.infonce(np.eye(2), tau=1.0, positives=[0, 2]), "columns 0 to 1.*0 to 2"),
        (lambda: losses.infonce(np.eye(2), tau=1.0, positives=[-1, 0]), "columns 0 to 1"),
        (lambda: losses.infonce(np.eye(2), tau=1.0, positives=[0.5, 1.0]), "positives must hold integers"),
        (
            lambda: losses.cosine_margin(np.eye(2), tau=1.0, margin=-0.1),
            "margin is .*; expected a finite number of at least 0",
        ),
        (
            lambda: losses.angular_margin(np.eye(2), tau=1.0, margin=float("inf")),
            "margin is .*; expected a finite number of at least 0",
        ),
        (lambda: losses.cosine_scores(np.ones((2, 3)), np.ones((2, 4))), r"Q has shape \(2, 3\) and K \(2, 4\)"),
        (lambda: losses.cosine_scores(np.ones((2, 3)), np.zeros((2, 3))), r"K\[0\] is the zero vector"),
    ],
)
def test_errors(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
