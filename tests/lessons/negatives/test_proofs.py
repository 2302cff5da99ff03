"""Wrong formulas leave a residual, and the statements hold on random tables."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from course_lib.lessons.negatives import broken, floors, proofs


def test_other_scores_are_no_optimum() -> None:
    """log p, log q and log p - 2 log q leave a slope that log p - log q does not have."""
    p, q = proofs.law(5, 2, 1), proofs.law(1, 1, 4)
    right = [a / b for a, b in zip(p, q, strict=True)]
    assert not any(proofs.slot_gradient(p, q, right, 2))
    for wrong in (p, q, [a / b**2 for a, b in zip(p, q, strict=True)]):
        assert any(proofs.slot_gradient(p, q, wrong, 2))


def test_the_slope_is_that_of_the_loss() -> None:
    """By autograd, over all sets of two candidates."""
    p, q = proofs.law(5, 2, 1), proofs.law(1, 1, 4)
    s = torch.tensor([0.3, -1.0, 0.2], dtype=torch.float64, requires_grad=True)
    loss = sum(
        float(p[y] * q[a] * q[b]) * (torch.logsumexp(s[[y, a, b]], 0) - s[y])
        for y in range(3)
        for a in range(3)
        for b in range(3)
    )
    (slope,) = torch.autograd.grad(loss, s)
    weights = [Fraction(value) for value in s.detach().exp().tolist()]
    assert np.allclose(slope.numpy(), [float(value) for value in proofs.slot_gradient(p, q, weights, 2)], atol=1e-12)


def test_correcting_the_negatives_alone_moves_the_optimum_by_more_than_one() -> None:
    """Four films, two candidates: the minimum of the half-corrected loss, by search, is far from log p."""
    p, q = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.1, 0.2, 0.3, 0.4])

    def loss(scores: np.ndarray, *, own: bool) -> float:
        shift = -np.log(q)
        total = 0.0
        for y in range(4):
            for a in range(4):
                for b in range(4):
                    first = scores[y] + (shift[y] if own else 0.0)
                    rest = np.logaddexp(scores[a] + shift[a], scores[b] + shift[b])
                    total += p[y] * q[a] * q[b] * (np.logaddexp(first, rest) - first)
        return total

    best = {own: minimize(lambda s, own=own: loss(s, own=own), np.zeros(4), tol=1e-10).x for own in (True, False)}
    errors = {own: np.ptp(found - np.log(p)) for own, found in best.items()}
    assert errors[True] < 1e-3 and errors[False] > 0.5


def test_no_table_is_below_the_floor_and_the_simplex_is_on_it() -> None:
    rng = np.random.default_rng(0)

    def loss(u: np.ndarray, v: np.ndarray, tau: float) -> float:
        logits = u @ v.T / tau
        return float(np.mean(np.logaddexp.reduce(logits, axis=1) - np.diag(logits)))

    slack = []
    for _ in range(500):
        n, d, tau = int(rng.integers(2, 9)), int(rng.integers(1, 6)), float(rng.uniform(0.05, 2))
        u = rng.normal(size=(n, d))
        v = u + rng.uniform(0, 1) * rng.normal(size=(n, d))
        u, v = (table / np.linalg.norm(table, axis=1, keepdims=True) for table in (u, v))
        slack.append(loss(u, v, tau) - floors.loss_floor(n, tau))
    assert -1e-12 < min(slack) < 0.05
    for n in (2, 5, 9):
        corners = np.eye(n) - 1 / n
        corners /= np.linalg.norm(corners, axis=1, keepdims=True)
        assert loss(corners, corners, 0.3) == pytest.approx(floors.loss_floor(n, 0.3), abs=1e-12)


def test_the_inverse_of_the_floor() -> None:
    for n in (3, 682, 10**6):
        for p in (0.5, 0.9):
            assert floors.most_probable(n, floors.largest_tau(n, p)) == pytest.approx(p)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: floors.loss_floor(1, 0.2), "n"),
        (lambda: floors.loss_floor(5, 0.0), "tau"),
        (lambda: floors.largest_tau(10, 0.1), "probability is 0.1; expected more than 1/n = 0.1"),
        (lambda: floors.largest_tau(10, 1.0), "probability"),
    ],
)
def test_what_no_temperature_reaches_is_refused_by_name(call: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()  # type: ignore[operator]


def test_windows_give_no_taste_and_shuffled_batches_do() -> None:
    assert broken.shuffled_optimum(0) == [Fraction(8, 5), Fraction(2, 5), 1, 1]
    assert broken.shuffled_optimum(1) == [Fraction(2, 5), Fraction(8, 5), 1, 1]


def test_the_best_bias_of_a_free_table_falls_as_the_batch_doubles() -> None:
    """Scores fixed at the true association, the scale at 1: the learned bias is -log(B - 1), whatever the table is."""
    rng = np.random.default_rng(1)
    joint = rng.dirichlet(np.ones(12)).reshape(3, 4)
    apart = joint.sum(1, keepdims=True) * joint.sum(0)
    association = np.log(joint / apart)

    def bias(size: int) -> float:
        def loss(b: np.ndarray) -> float:
            z = association + b[0]
            return float((joint * np.logaddexp(0, -z) + (size - 1) * apart * np.logaddexp(0, z)).sum())

        return float(minimize(loss, [0.0], tol=1e-12).x[0])

    for size in (32, 64, 128):
        assert bias(size) == pytest.approx(-np.log(size - 1), abs=1e-4)
        assert bias(2 * size) - bias(size) == pytest.approx(-np.log((2 * size - 1) / (size - 1)), abs=1e-3)


def error_of_the_mean_gradient(p: np.ndarray, q: np.ndarray, scores: np.ndarray, m: int, *, refined: bool) -> float:
    """The expected gradient over all candidates minus that of the full softmax, absolute values added up.

    logQ draws its candidates from q, the refined correction from q without the positive.
    """
    n = len(p)
    mean = p - np.exp(scores) / np.exp(scores).sum()
    for y in range(n):
        law = q * (np.arange(n) != y) / (1 - q[y]) if refined else q
        for drawn in map(list, itertools.product(range(n), repeat=m)):
            chance = p[y] * np.prod(law[drawn])
            if not chance:
                continue
            if refined:
                terms = np.exp(scores[drawn]) / law[drawn]
                weight = terms.mean() / (terms.mean() + np.exp(scores[y]))
                np.add.at(mean, drawn, chance * weight * terms / terms.sum())
            else:
                terms = np.exp(scores[[y, *drawn]]) / q[[y, *drawn]]
                np.add.at(mean, [y, *drawn], chance * terms / terms.sum())
                weight = 1.0
            mean[y] -= chance * weight
    return float(np.abs(mean).sum())


def test_enumerated_the_refined_correction_is_less_biased_than_logq_on_most_tables() -> None:
    for m in (1, 2, 4):
        errors = []
        for seed in range(20):
            rng = np.random.default_rng(seed)
            table = rng.dirichlet(np.ones(4)), rng.dirichlet(2 * np.ones(4)), rng.normal(size=4)
            errors.append([error_of_the_mean_gradient(*table, m, refined=refined) for refined in (False, True)])
        logq, refined = np.array(errors).T
        assert refined.mean() < 0.8 * logq.mean() and 14 <= (refined < logq).sum() < 20
