"""The proofs of the popularity direction:
every residual is zero, and is not when the code or the statement is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy as sp

from course_lib import popularity
from course_lib.lessons.popularity_direction import broken as broken_bpr
from course_lib.lessons.popularity_direction import proofs
from course_lib.popularity import TripleLaw


def residuals(name: str) -> list[Any]:
    found = getattr(proofs, name)()
    return found if isinstance(found, list) else [found]


# ---- wrong code is caught


def keeps_its_own(labels: Any, law: TripleLaw | None = None) -> Any:
    """Collisions kept, whatever the law says."""
    law = law or TripleLaw()
    return pull(labels, TripleLaw(law.users, law.negatives, "keep"))


def forgets_users(labels: Any, law: TripleLaw | None = None) -> Any:
    law = law or TripleLaw()
    return pull(labels, TripleLaw("pairs", law.negatives, law.collision))


def popular_positives(labels: Any, law: TripleLaw | None = None) -> Any:
    """The positive role without skips."""
    positives, negatives = roles(labels, law)
    return labels.sum(0) + 0 * positives, negatives


pull, roles = popularity.pull_matrix, popularity.expected_roles


@pytest.mark.seconds
@pytest.mark.parametrize(
    ("target", "wrong", "caught"),
    [
        ("pull_matrix", keeps_its_own, "enumerate_laws_of_negatives"),
        ("pull_matrix", forgets_users, "enumerate_laws_of_negatives"),
        ("expected_roles", popular_positives, "enumerate_laws_of_negatives"),
        ("expected_roles", popular_positives, "enumerate_mean_user"),
        ("pull_matrix", lambda labels, law=None: -pull(labels, law), "enumerate_mean_user"),
        ("direction_error", lambda *_: popularity.DirectionError(1.0, 1.0, 0.5), "enumerate_direction_error"),
        ("double_dipping_law", lambda counts, width, ratio: popularity.ChanceLaw(0.1, 0.1), "prop_double_dipping"),
    ],
)
def test_a_wrong_formula_is_caught(monkeypatch: pytest.MonkeyPatch, target: str, wrong: Callable, caught: str) -> None:
    monkeypatch.setattr(proofs.popularity, target, wrong)
    assert any(residual != 0 for residual in residuals(caught))


def test_the_proofs_see_a_loss_that_is_no_function_of_the_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    """f(<e_u, e_i> - 2 <e_u, e_j>) conserves nothing, and its pull is another."""

    def lopsided(users: Any, items: Any, key: tuple[int, int, int], bias: Any = None) -> sp.Expr:
        u, i, j = key
        return sp.expand(users[u, :].dot(items[i, :] - 2 * items[j, :]))

    monkeypatch.setattr(proofs, "_margin", lopsided)
    for name in ("thm_bpr_conservation", "prop_item_pull"):
        assert any(residual != 0 for residual in residuals(name))


def test_the_gradient_is_that_of_torch() -> None:
    """-M(w)'U against autograd, on the labels of the enumerations, for a law with skips."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    law = proofs._spelled_out(TripleLaw("users", "popularity", "skip"))
    users, items = (torch.tensor(rng.normal(size=(size, 2)), requires_grad=True) for size in (3, 4))
    margins = {key: (users[key[0]] * (items[key[1]] - items[key[2]])).sum() for key in law}
    loss = sum(float(often) * torch.nn.functional.softplus(-margins[key]) for key, often in law.items())
    loss.backward()
    weighted = np.zeros((3, 4))
    for (u, i, j), often in law.items():
        w = float(often) * torch.sigmoid(-margins[u, i, j]).item()
        weighted[u, i] += w
        weighted[u, j] -= w
    np.testing.assert_allclose(items.grad.numpy(), -weighted.T @ users.detach().numpy(), atol=1e-12)


# ---- counterexamples


def test_two_tastes_in_floating_point() -> None:
    """The exact argument (odd against even) and numpy's singular vectors say the same."""
    pull_matrix = popularity.pull_matrix(broken_bpr.TWO_TASTES.astype(float))
    _, sizes, right = np.linalg.svd(pull_matrix)
    counts = broken_bpr.TWO_TASTES.sum(0).astype(float)
    assert abs(np.corrcoef(right[0], counts)[0, 1]) < 1e-12
    found = broken_bpr.taste_beats_popularity()
    assert sizes[0] == pytest.approx(found.actual) and found.actual > 2 * found.claimed


def test_numbers_that_the_chapter_quotes() -> None:
    assert broken_bpr.one_percent().actual == Fraction(1, 4)
    assert broken_bpr.popular_positives_weigh_less().actual == sp.Rational(1, 5)
    assert broken_bpr.sign_steps().actual < 0
