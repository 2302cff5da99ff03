"""Wrong formulas are found out by the proofs, and the algebra of the proofs is that of the code."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from course_lib import geometry, losses
from course_lib.lessons.cosine_orthogonality import proofs as symbolic

# ---- the checks can fail: put a wrong formula in and see them complain


def nonzero(residuals: list[sp.Expr]) -> list[int]:
    return [index for index, r in enumerate(residuals) if r != 0]


WRONG_COSINES = {
    "dot product": lambda key: symbolic.gram("q", key) / sp.sqrt(symbolic.gram(key, key)),
    "||q||^2 in the denominator": lambda key: symbolic.gram("q", key) / (symbolic.b * sp.sqrt(symbolic.gram(key, key))),
    "a distance": lambda key: symbolic.b - 2 * symbolic.gram("q", key) + symbolic.gram(key, key),
}


@pytest.mark.seconds
@pytest.mark.parametrize("wrong", WRONG_COSINES.values(), ids=list(WRONG_COSINES))
def test_what_is_no_cosine_is_not_tangent(wrong, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbolic, "cosine", wrong)
    assert 0 in nonzero(symbolic.lem_cosine_orthogonality())
    assert nonzero(symbolic.lem_cosine_gradient())
    assert nonzero(symbolic.thm_degree_zero())
    assert nonzero(symbolic.cor_gradient_length())


@pytest.mark.seconds
def test_the_dot_product_is_not_tangent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbolic, "cosine", WRONG_COSINES["dot product"])
    assert len(nonzero(symbolic.thm_tangent_gradient())) >= 5  # the generic F and the losses alike
    assert 0 in nonzero(symbolic.cor_pythagoras())


def test_a_wrong_chain_rule_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_the_two(f: sp.Expr, names: list[str]) -> symbolic.Combination:
        parts = {name: sp.diff(f, symbolic.gram("q", name)) for name in names}
        return symbolic.Combination({**parts, "q": sp.diff(f, symbolic.b)})

    monkeypatch.setattr(symbolic, "gradient", without_the_two)
    for name in ("lem_cosine_gradient", "lem_cosine_orthogonality", "cor_gradient_length"):
        assert nonzero(getattr(symbolic, name)()), name


def test_a_misprinted_gradient_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    right = symbolic.cosine_gradient_as_printed
    monkeypatch.setattr(symbolic, "cosine_gradient_as_printed", lambda key: sp.Rational(1001, 1000) * right(key))
    assert nonzero(symbolic.lem_cosine_gradient())


def test_a_clamp_that_autograd_sees_has_another_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    def fully_clamped(key: str) -> symbolic.Combination:
        scale = 1 / (symbolic.eps * sp.sqrt(symbolic.gram(key, key)))
        return symbolic.gradient(scale * symbolic.gram("q", key), [key])

    monkeypatch.setattr(symbolic, "gradient_of_half_clamped", fully_clamped)
    assert nonzero(symbolic.prop_clamp())


# ---- the scalars of the proofs are those of the code


def values(q: np.ndarray, k: np.ndarray) -> dict[sp.Symbol, float]:
    """The symbols of `gram` for one q (d,) and the rows of k (r, d)."""
    found = {symbolic.b: q @ q}
    for i, left in enumerate(symbolic.keys(len(k))):
        found[symbolic.gram("q", left)] = q @ k[i]
        for j, right in enumerate(symbolic.keys(len(k))):
            found[symbolic.gram(left, right)] = k[i] @ k[j]
    return {symbol: float(x) for symbol, x in found.items()}


@pytest.mark.parametrize("d", [2, 3, 7, 64])
def test_the_symbolic_gradient_is_that_of_the_code(d: int) -> None:
    rng = np.random.default_rng(d)
    q, k = rng.normal(size=d), rng.normal(size=(1, d))
    slope = symbolic.gradient(symbolic.cosine("k1"), ["k1"])
    at = values(q, k)
    vector = float(slope.parts["q"].subs(at)) * q + float(slope.parts["k1"].subs(at)) * k[0]
    np.testing.assert_allclose(vector, geometry.cosine_gradient(q, k[0]), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("InfoNCE", lambda cos, m: losses.infonce(cos, tau=0.3, positives=[0])),
        ("(1 - cos)^2", lambda cos, m: losses.one_minus_cosine_squared(cos[0, 0])),
        ("cosine margin", lambda cos, m: losses.cosine_margin(cos, tau=0.3, margin=m, positives=[0])),
        ("angular margin", lambda cos, m: losses.angular_margin(cos, tau=0.3, margin=m, positives=[0])),
        ("triplet margin, where it is active", lambda cos, m: losses.triplet_margin(cos[0, 0], cos[0, 1], margin=m)),
    ],
)
def test_the_proved_losses_are_those_of_the_code(name: str, loss) -> None:
    rng = np.random.default_rng(3)
    q, k = rng.normal(size=5), rng.normal(size=(3, 5))
    k[0] -= q  # so that the positive loses and the triplet margin is active
    at = {**values(q, k), symbolic.tau: 0.3, sp.Symbol("m", positive=True): 0.2}
    cos = losses.cosine_scores(q[None, :], k)
    assert float(loss(cos, 0.2)) == pytest.approx(float(symbolic.instances()[name].subs(at)), rel=1e-12)
