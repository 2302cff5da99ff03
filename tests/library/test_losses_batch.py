"""Losses of a batch: InfoNCE and the margins, against torch and each other; what their floor refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refused import refused
from torch.nn import functional

from course_lib import geometry, losses
from course_lib.losses.floors import largest_tau, loss_floor, most_probable


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


def test_leading_axes_of_scores() -> None:
    rng = np.random.default_rng(1)
    Q, K = rng.normal(size=(2, 3, 4)), rng.normal(size=(5, 4))
    scores = losses.cosine_scores(Q, K)
    assert scores.shape == (2, 3, 5)
    np.testing.assert_allclose(scores[1, 2, 3], geometry.cosine(Q[1, 2], K[3]))


@pytest.mark.parametrize("mask", [-math.inf, float(np.finfo(np.float32).min), -1e38, -1e9])
@pytest.mark.parametrize("loss", [losses.infonce, losses.in_batch_softmax, losses.two_way_softmax])
def test_a_negative_that_is_masked_leaves_a_learned_temperature_its_gradient(loss, mask: float) -> None:
    """Divided by a temperature below 1, the least number of its kind is -infinity."""
    scores, tau = torch.randn(4, 4, generator=torch.Generator().manual_seed(0)), torch.tensor(0.07, requires_grad=True)
    scores[0, 1] = mask
    loss(scores, tau=tau).backward()
    slope = (loss(scores.double(), tau=0.07 + 1e-6) - loss(scores.double(), tau=0.07 - 1e-6)) / 2e-6
    assert float(tau.grad) == pytest.approx(float(slope), rel=1e-4)
    assert loss(scores.numpy(), tau=0.07) == pytest.approx(float(loss(scores, tau=0.07)), rel=1e-6)


test_errors = refused(
    (lambda: losses.triplet_margin([math.nan], [0.0], margin=0.1), r"pos_cos\[0\] = nan"),
    (lambda: losses.in_batch_sigmoid(torch.eye(2), scale=torch.ones(2, 1)), r"scale is a tensor of shape \(2, 1\)"),
    (lambda: losses.in_batch_sigmoid(torch.eye(2), bias=torch.ones(2)), r"bias is a tensor of shape \(2,\)"),
    (lambda: losses.in_batch_sigmoid(torch.eye(2), scale=torch.tensor(torch.nan)), r"scale is tensor\(nan\); expected"),
    (lambda: losses.infonce(np.ones((2, 3)), tau=1.0), r"shape \(2, 3\), no diagonal"),
    (lambda: losses.infonce(np.ones(3), tau=1.0), r"scores has shape \(3,\)"),
    (lambda: losses.infonce(np.ones((0, 0)), tau=1.0), r"scores has shape \(0, 0\)"),
    (lambda: losses.infonce(np.eye(2), tau=0.0), "tau is .*; expected a finite number above 0"),
    (lambda: losses.infonce(np.eye(2), tau=float("nan")), "tau is .*; expected a finite number above 0"),
    (lambda: losses.infonce(np.eye(2), tau=1.0, positives=[0]), r"positives has shape \(1,\)"),
    (lambda: losses.infonce(np.eye(2), tau=1.0, positives=[0, 2]), "columns 0 to 1.*0 to 2"),
    (lambda: losses.infonce(np.eye(2), tau=1.0, positives=[-1, 0]), "columns 0 to 1"),
    (lambda: losses.infonce(np.eye(2), tau=1.0, positives=[0.5, 1.0]), "positives must hold integers"),
    (lambda: losses.cosine_margin(np.eye(2), tau=1.0, margin=-0.1), "margin is .*; expected a finite number of at"),
    (lambda: losses.angular_margin(np.eye(2), tau=1.0, margin=np.inf), "margin is .*; expected a finite number of"),
    (lambda: losses.cosine_scores(np.ones((2, 3)), np.ones((2, 4))), r"Q has shape \(2, 3\) and K \(2, 4\)"),
    (lambda: losses.two_way_softmax(np.eye(2), tau=1.0, log_q_queries=[0.0]), r"^log_q_queries has shape \(1,\)"),
    (lambda: losses.two_way_softmax(np.eye(2), tau=1.0, log_q_queries=[0.0, np.nan]), "log_q_queries holds NaN"),
    (lambda: losses.triplet_margin([0.5, 0.5], [0.1] * 3, margin=0.1), r"^neg_cos has shape \(3,\); expected"),
    (lambda: losses.cosine_scores(np.ones((2, 3)), np.zeros((2, 3))), r"K\[0\] is the zero vector"),
)


ONE_NTH = {n: float(np.nextafter(1 / n, 1)) for n in (38, 68, 70)}  # but for rounding
NO_COUNTS = (1, 2.0, "5", None, float("nan"), 10**400)
FLOORS = (lambda n: loss_floor(n, 0.2), lambda n: most_probable(n, 0.2), lambda n: largest_tau(n, 0.9))
test_what_counts_no_films_is_refused = refused(
    *(
        (lambda n=n, of=of: of(n), r"n is .*; expected a whole number from 2 to 10{15}")
        for n in NO_COUNTS
        for of in FLOORS
    ),
    *((lambda n=n: largest_tau(n, ONE_NTH[n]), r"probability is 0\.0.*expected more than 1/n") for n in ONE_NTH),
)


def test_the_largest_number_of_films_still_has_an_inverse() -> None:
    assert most_probable(10**15, largest_tau(10**15, 0.5)) == pytest.approx(0.5, rel=1e-9)
