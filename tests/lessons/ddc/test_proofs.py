"""The proofs of DDC: every residual is zero, the library computes the formulas that are proved, and every
counterexample refutes.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import sympy as sp
import torch

from course_lib import correction, datasets
from course_lib.debiasing import ddc
from course_lib.interactions import Interactions
from course_lib.lessons.ddc import broken as broken_ddc
from course_lib.lessons.ddc import proofs
from course_lib.popularity import popularity_direction
from course_lib.training import recommenders
from course_lib.training.bpr import bpr_epoch


def residuals(name: str) -> list[Any]:
    found = getattr(proofs, name)()
    return found if isinstance(found, list) else [found]


# ---- the formulas of the proofs are those of the library


def one_user(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(s, a, t, b) of two positives and two negatives, with both signs in a and in b."""
    rng = np.random.default_rng(seed)
    s, t = rng.normal(size=(2, 2))
    return s, np.array([1.0, -1.0]) * rng.uniform(0.2, 2, 2), t, np.array([1.0, -1.0]) * rng.uniform(0.2, 2, 2)


def numbers(expression: sp.Expr, user: tuple[np.ndarray, ...], alpha: float, beta: float) -> float:
    s, a, t, b = user
    named = zip((proofs.s, proofs.a, proofs.t, proofs.b), (s, a, t, b), strict=True)
    values = {symbol: value for symbols, row in named for symbol, value in zip(symbols, row, strict=True)}
    return float(expression.subs(values | {proofs.alpha: alpha, proofs.beta: beta}))


@pytest.mark.parametrize("seed", range(3))
def test_the_loss_and_its_slopes_are_those_that_are_proved(seed: int) -> None:
    s, a, t, b = user = one_user(seed)
    at = (0.3, -0.7)
    loss = proofs.loss(proofs.ddc_margin(i, j) for i, j in proofs.PAIRS)
    assert ddc.user_loss(s, t, a, b, *at) == pytest.approx(numbers(loss, user, *at), rel=1e-12)
    slopes = [numbers(loss.diff(scalar), user, *at) for scalar in (proofs.alpha, proofs.beta)]
    assert correction.user_gradient(s, t, a, b, *at) == pytest.approx(slopes, rel=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_levelling_is_the_optimum_of_the_library(seed: int) -> None:
    s, _, t, _ = one_user(seed)
    c, d = 1.5, 0.5
    level = ((t[1] - t[0]) / (2 * d), (s[1] - s[0]) / (2 * c))
    assert ddc.solve_user(s, t, [c, -c], [d, -d]) == pytest.approx(level, abs=1e-6)


def test_the_rules_are_those_of_the_library() -> None:
    assert set(proofs.RULES) == set(correction.RULES) and len(proofs.RULES) == 9


# ---- what the enumerations and residuals catch


def test_a_weaker_condition_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """min <= 0 <= max is not enough: a zero among the a_i does not stop beta."""
    monkeypatch.setattr(proofs, "changes_sign", lambda values: min(values) <= 0 <= max(values))
    assert proofs.enumerate_ddc_minimiser() > 0


@pytest.mark.parametrize(
    ("wrong", "caught"),
    [
        (lambda x: 1 / (1 + sp.exp(-x)), "prop_sign_of_alpha"),  # sigmoid(x) in place of sigmoid(-x)
        (lambda x: 1 / (1 + sp.exp(x)) ** 2, "thm_ddc_minimiser"),
        (lambda x: 1 / (1 + sp.exp(-x)), "prop_beta_gradient"),
        (lambda x: sp.Rational(1, 2) * sp.exp(-x), "thm_objective_not_embedding"),
    ],
)
def test_a_wrong_weight_is_caught(monkeypatch: pytest.MonkeyPatch, wrong: Any, caught: str) -> None:
    monkeypatch.setattr(proofs, "weight", wrong)
    assert any(residual != 0 for residual in residuals(caught))


def test_a_wrong_margin_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """(14) in place of (13): the free margin and the surrogate are statements about (13)."""
    monkeypatch.setattr(proofs, "ddc_margin", proofs.final_margin)
    assert any(residual != 0 for residual in residuals("prop_free_margin"))
    assert any(residual != 0 for residual in residuals("prop_surrogate"))


# ---- counterexamples


def test_every_pair_wrong_through_the_whole_of_ddc() -> None:
    """The same four items as a data set: e_pop by (4), e_pref by (10), the optimum by Newton's method, the losses of
    the docstring.
    """
    user = broken_ddc.TURNED
    items = np.concatenate([user.positives, user.negatives]).astype(float)  # the third is the head, the fourth the tail
    pairs = [(0, 0), (0, 1), (1, 2), (2, 2), (3, 2), (1, 0), (2, 1)]
    data = Interactions(*np.array(sorted(pairs)).T, n_users=4, n_items=4)
    users = np.tile(user.vector.astype(float), (4, 1))
    model = ddc.DDC(users, items, data, top=0.5, ratio=0.25)
    assert model.pop.tolist() == [0, 1] and model.pref[0].tolist() == [1, 0]
    assert 0 not in model.solve()
    alpha, beta = user.optimum
    assert (model.alpha[0].item(), model.beta[0].item()) == pytest.approx((float(alpha), float(beta)), abs=1e-6)
    triples = [torch.tensor(column) for column in zip(*itertools.product([0], [0, 1], [2, 3]), strict=True)]
    with torch.no_grad():
        after = float(model.loss(*triples))
        model.alpha.zero_(), model.beta.zero_()
        before = float(model.loss(*triples))
    assert (before, after) == pytest.approx((0.0906, 0.0041), abs=5e-5) and after < 0.05 * before


# ---- the exercise in words


@pytest.mark.seconds
def test_the_controls_that_the_exercise_names() -> None:
    """ex-design: on the films one c for everyone gains no less than DDC, and moving the origin makes the lists more
    popular, and more accurate.
    """
    films = datasets.load("movietweetings", core=10)
    train, valid, test = recommenders.split_811(films, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    users, items = (rng.normal(scale=0.1, size=(rows, 32)) for rows in train.shape)
    for _ in range(60):
        bpr_epoch(users, items, train, lr=0.05, decay=0.003, rng=rng)

    def measured(left: np.ndarray) -> tuple[float, float]:
        found = recommenders.measure((left, items), train, test, seen=valid)
        return found["mrr"], found["avgpop"]

    def served(shift: float) -> tuple[float, float]:
        pop = popularity_direction(items, train.col_counts)
        model = ddc.DDC(users, items + shift * (items @ pop).std() * pop, train)
        model.solve(3, ridge=1e-3, rng=np.random.default_rng(1))
        return measured(model.final_users().detach().numpy())

    plain, at = measured(users), {shift: served(shift) for shift in (-2, 0, 2)}
    one = measured(users + 2 * ddc.preference_directions(users, items, train))
    assert one[0] > plain[0] and one[0] > at[0][0] - 0.005
    assert at[-2][1] > plain[1] and at[-2][1] > 1.1 * at[2][1]
    assert at[-2][0] > plain[0]  # more popular lists and more accurate ones: not "by" removing popularity
