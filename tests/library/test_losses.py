"""course_lib.losses: values, exactness, stability, gradients, errors."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refused import refused
from strategies import exact_arrays

from course_lib import losses
from course_lib.arrays import exact
from course_lib.checking import some

finite = st.floats(-700, 700)


@given(score=finite)
def test_logistic_is_its_definition(score: float) -> None:
    """log(1 + exp(-(2a - 1) b)) by mpmath-free arithmetic: log1p of an exponential that cannot overflow."""
    for label in (0, 1):
        margin = (2 * label - 1) * score
        expected = max(-margin, 0) + math.log1p(math.exp(-abs(margin)))
        assert losses.logistic(label, score) == pytest.approx(expected, rel=1e-14)
        assert losses.logistic(label, torch.tensor(score, dtype=torch.float64)).item() == pytest.approx(
            expected, rel=1e-14
        )


@given(scores=exact_arrays((2, 3)))
def test_square_is_exact(scores: np.ndarray) -> None:
    plus, minus = losses.pair_losses("square", scores)
    for index, x in some(np.ndenumerate(scores)):
        assert plus[index] == (1 - x) ** 2 / 2
        assert minus[index] == x**2 / 2
        assert isinstance(plus[index], Fraction)


def test_extreme_scores() -> None:
    plus, minus = losses.pair_losses("logistic", np.array([-1e4, 0.0, 1e4]))
    assert plus.tolist() == [1e4, math.log(2), 0]
    assert minus.tolist() == [0, math.log(2), 1e4]
    assert losses.logistic(0, -50.0) == pytest.approx(math.exp(-50), rel=1e-15)  # not rounded to 0
    left = losses.logistic(0, torch.tensor(25.0, dtype=torch.float64)) - 25  # exp(-25); torch by itself cuts at 20
    assert float(left) == pytest.approx(math.exp(-25), rel=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_type_of_the_scores_is_kept(dtype: type) -> None:
    scores = np.array([-2, 0.5], dtype=dtype)
    for kind in some(losses.LOSSES):
        for mine, tensor in some(
            zip(losses.pair_losses(kind, scores), losses.pair_losses(kind, torch.tensor(scores)), strict=True)
        ):
            assert mine.dtype == dtype
            assert str(tensor.dtype) == f"torch.{np.dtype(dtype).name}"
            np.testing.assert_allclose(tensor.numpy(), mine, rtol=1e-6)


def test_labels_broadcast() -> None:
    scores, labels = np.arange(6.0).reshape(2, 3), np.array([[1, 0, 1], [0, 0, 1]])
    for kind, loss in some(losses.LOSSES.items()):
        plus, minus = losses.pair_losses(kind, scores)
        assert (loss(labels, scores) == np.where(labels == 1, plus, minus)).all()


@pytest.mark.parametrize("kind", ["square", "logistic"])
@pytest.mark.parametrize("label", [0, 1])
def test_gradients(kind: str, label: int) -> None:
    scores = torch.tensor([-60.0, -1.0, 0.0, 0.3, 39.9, 60.0], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(losses.LOSSES[kind](label, scores).sum(), scores)
    expected = scores - label if kind == "square" else torch.sigmoid(scores) - label
    torch.testing.assert_close(slope, expected.detach(), rtol=1e-12, atol=1e-15)
    inside = scores.detach()[1:4].requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x: losses.LOSSES[kind](label, x), (inside,))


def test_bpr_is_a_mean_over_all_pairs_and_its_slope_is_sigma() -> None:
    pos, neg = torch.tensor([[1.0], [-2.0]], requires_grad=True), torch.tensor([[0.5, 3.0, -1.0]])
    loss = losses.bpr(pos, neg)
    terms = [[math.log1p(math.exp(n - p)) for n in (0.5, 3.0, -1.0)] for p in (1.0, -2.0)]
    assert loss.item() == pytest.approx(np.mean(terms), rel=1e-6)
    loss.backward()
    weights = [[1 / (1 + math.exp(p - n)) for n in (0.5, 3.0, -1.0)] for p in (1.0, -2.0)]
    assert pos.grad[:, 0].tolist() == pytest.approx([-sum(row) / 6 for row in weights], rel=1e-6)
    with pytest.raises(ValueError, match="pos_scores holds Fractions"):
        losses.bpr(exact([1]), exact([0]))


def test_the_printed_logistic_loss_does_not_train_negatives() -> None:
    """Erratum: with labels {0, 1}, log(1 + exp(-a b)) is log 2 on every negative."""
    scores = torch.tensor([-3.0, 0.0, 5.0], requires_grad=True)
    negatives = losses.logistic_as_printed(0, scores)
    assert negatives.tolist() == pytest.approx([math.log(2)] * 3)
    (slope,) = torch.autograd.grad(negatives.sum(), scores)
    assert slope.tolist() == [0, 0, 0]
    np.testing.assert_array_equal(
        losses.logistic_as_printed(1, scores).detach(), losses.logistic(1, scores).detach()
    )  # positives are printed correctly


test_errors = refused(
    (lambda: losses.pair_losses("hinge", np.ones(2)), "kind is 'hinge'; expected one of square, logistic"),
    (lambda: losses.square(np.array([0, 2]), np.ones(2)), "only 0 and 1"),
    (lambda: losses.logistic(-1, np.ones(2)), "only 0 and 1"),
    (lambda: losses.logistic(1, exact([1, 2])), "irrational"),
    (lambda: losses.square(1, np.array(["a"])), "score must hold numbers"),
    (lambda: losses.square(1, torch.ones(2, dtype=torch.complex64)), "score must be real"),
    (lambda: losses.dot_scores(np.ones((2, 3)), torch.ones(2, 3)), "the same kind of array"),
)


def test_tensors_of_two_dtypes_and_labels_that_are_bools() -> None:
    wide = losses.dot_scores(torch.ones(2, 3, dtype=torch.float64), torch.ones(2, 3))
    assert wide.dtype == torch.float64 and bool((wide == 3).all())
    assert losses.square(True, torch.zeros(2)).tolist() == [0.5, 0.5]
