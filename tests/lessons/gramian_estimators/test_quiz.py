"""The quiz on Gramian estimators: verdicts come from course_lib, and so do the numbers in the explanations.

What holds for every quiz (each marked answer is computed, each wrong one explained, the page) is in test_quiz.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from course_lib import gramians
from course_lib.lessons.gramian_estimators import quiz as gramian_estimators
from tests.lessons.every import explanation

WRONG_FORMULAS = [
    (gramians, "gramian", lambda f: lambda x: f(x) * len(x), "all-pairs", "frobenius"),
    (gramians, "gramian", lambda f: lambda x: np.diag(np.diag(f(x))), "all-pairs", "trace"),
    (
        gramians,
        "gravity_loss",
        lambda f: lambda u, v, g, h: ((u @ h) * u).sum(1).mean() + ((v @ g) * v).sum(1).mean(),
        "stop-gradient",
        "twice-both",
    ),
    (gramians, "gravity_loss", lambda f: lambda *a: f(*a) / 2, "stop-gradient", "halved"),
    (gramians, "gravity", lambda f: lambda u, v: f(u, v) * len(u), "stop-gradient", "twice-value"),
    (gramians, "same_batch_share", lambda f: lambda b, n=None: f(b, n) / 2, "one-batch", "mixture"),
    (gramians, "same_batch_share", lambda f: lambda b, n=None: 1 / b if n is None else b / n, "one-batch", "full"),
    (gramians, "gravity_loss", lambda f: lambda u, v, g, h: f(u, v, np.eye(2), np.eye(2)), "one-batch", "unbiased"),
    (gramians, "nearest_psd", lambda f: lambda matrix: matrix, "sagram", "projected"),
    (gramians, "sogram_variance", lambda f: lambda alpha, **k: f(alpha, **k) * (2 - alpha), "memory", "window"),
    (gramians, "sogram_variance", lambda f: lambda alpha, **k: f(alpha), "memory", "free"),
    (gramians, "SOGram", lambda f: lambda d, alpha, correct_start: f(d, alpha, correct_start=True), "memory", "short"),
    (gramians, "optimal_alpha", lambda f: lambda delta, sigma, kind="coherent": delta / sigma, "drift", "quarter"),
    (
        gramians,
        "optimal_alpha",
        lambda f: lambda delta, sigma, kind="coherent": f(delta, sigma, "coherent"),
        "drift",
        "eighth",
    ),
    (
        gramians,
        "optimal_alpha",
        lambda f: lambda delta, sigma, kind="coherent": f(delta * sigma**2, 1.0, kind),
        "drift",
        "larger-batches",
    ),
    (gramians, "sogram_bias_bound", lambda f: lambda alpha, **k: f(0.5, **k), "drift", "zero"),
]


@pytest.mark.parametrize(("right", "answer"), [(1.0, "unbiased"), (0.25, "cone")])
def test_another_beta_changes_the_verdicts_on_sagram(
    monkeypatch: pytest.MonkeyPatch, right: float, answer: str
) -> None:
    estimates = gramian_estimators._estimates
    monkeypatch.setattr(
        gramian_estimators,
        "_estimates",
        lambda cached, now, beta: estimates(cached, now, 0.6 if beta == right else beta),
    )
    assert gramian_estimators.sagram()[answer] is False


def test_the_numbers_in_the_explanations() -> None:
    level = gramians.sogram_variance(gramian_estimators.ALPHA)
    assert (
        round(1 / level) == 199
        and "1/199" in explanation("gramian-estimators", "memory", "like-batch")
        and 128 * 199 == 25472
    )
    assert gramians.alpha_like_batch(128, 25472) == pytest.approx(0.01)
    assert gramians.sogram_variance(0.01, steps=1, corrected=True) == pytest.approx(
        1
    )  # "the whole variance of a batch"
    assert gramians.sogram_variance(0.01, steps=1) == pytest.approx(0.01**2)  # "one hundredth of that batch"
    assert pytest.approx(0.63, abs=0.005) == 1 - 0.99**100
    assert gramians.optimal_alpha(1e-4, 1.0) == pytest.approx((2e-4) ** (2 / 3), rel=0.02) and pytest.approx(
        4
    ) == 8 ** (2 / 3)
    assert gramians.optimal_alpha(1e-4, 1.0, "random_walk") == pytest.approx(1e-4, rel=0.02)
    assert gramians.same_batch_share(10, 10) == 0 and "is 0" in explanation("gramian-estimators", "one-batch", "full")


def test_the_best_beta_is_below_one_for_random_caches() -> None:
    """The formula in the explanation, against a search; `stale` as in course_lib.gramians.sagram_error."""
    cached, now = gramian_estimators._tables(4, 3)
    stale = np.einsum("ia,ib->iab", now, now) - np.einsum("ia,ib->iab", cached, cached)
    square = (stale.mean(0) ** 2).sum()
    variance = ((stale - stale.mean(0)) ** 2).sum((1, 2)).mean()
    best = gramians.optimal_beta(mean_square=square, variance=variance)
    exact = gramians.gramian(now)
    betas = np.linspace(0.01, 1, 100)
    errors = [
        ((gramian_estimators._estimates(cached, now, float(beta)) - exact) ** 2).sum((1, 2)).mean() for beta in betas
    ]
    assert betas[np.argmin(errors)] == pytest.approx(best, abs=0.006) and best < 1


def test_projecting_ends_too_large() -> None:
    """'Their mean ends too large', in every world of the question: the trace only grows."""
    for seed in range(20):
        cached, now = gramian_estimators._tables(4, 3, seed)
        estimates = gramian_estimators._estimates(cached, now, 1.0)
        assert np.trace(gramians.nearest_psd(estimates).mean(0)) >= np.trace(gramians.gramian(now)) - 1e-12
