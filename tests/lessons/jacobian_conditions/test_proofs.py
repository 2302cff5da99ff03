"""Wrong formulas are found out by the proofs, and the algebra of the proofs is that of the code."""

from __future__ import annotations

import pytest
import sympy as sp
import torch

from course_lib.jacobians import RowWiseAdagrad
from course_lib.lessons.jacobian_conditions import proofs as symbolic

# ---- the checks can fail: put something wrong in and see them complain


def failures(residuals: list[sp.Expr]) -> int:
    return sum(r != 0 for r in residuals)


def test_a_dot_product_is_not_tangent(monkeypatch: pytest.MonkeyPatch) -> None:
    def euler_of_the_dot_product(q, k, parameters):
        return sp.expand(sum(w * sp.diff(symbolic._dot(q, k), w) for w in parameters))

    monkeypatch.setattr(symbolic, "euler", euler_of_the_dot_product)
    assert failures(symbolic.thm_orthogonal_motion())
    assert failures(symbolic.thm_layer_law())
    assert failures(symbolic.prop_beyond_lookup())


def test_the_euler_polynomial_is_zero_for_the_right_parameters_only() -> None:
    q, k = symbolic._vector("q", 3), symbolic._vector("k", 3)
    assert symbolic.euler(q, k, q) == 0 == symbolic.euler(q, k, k)
    assert symbolic.euler(q, k, q[:2]) != 0  # a part of q
    assert symbolic.euler([x + 1 for x in q], k, q) != 0  # an offset
    assert symbolic.euler([x**2 for x in q], k, q) == 0  # homogeneous of any degree
    assert symbolic.euler([q[0], q[1] ** 2, q[2]], k, q) != 0


def test_it_is_the_euler_operator_of_the_cosine() -> None:
    """The polynomial divided by 2 n^(3/2) k^(3/2) is D cos, at a rational point where neither is zero."""
    q, k = symbolic._vector("q", 2), symbolic._vector("k", 2)
    shifted = [q[0] + 1, q[1]]
    point = dict(zip([*q, *k], (1, 2, 3, 5), strict=True))
    derivative = sum(w * sp.diff(symbolic._cosine(shifted, k), w) for w in q).subs(point)
    n, squared = symbolic._dot(shifted, shifted).subs(point), symbolic._dot(k, k).subs(point)
    polynomial = symbolic.euler(shifted, k, q).subs(point)
    assert derivative != 0
    assert sp.simplify(derivative - polynomial / (2 * sp.sqrt(n * squared) ** 3)) == 0


def test_a_wrong_kernel_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def transposed(a, b, c, e):
        return symbolic.combine_kronecker((symbolic.KroneckerProduct(b, a) * symbolic.KroneckerProduct(e, c).T).doit())

    monkeypatch.setattr(symbolic, "_kernel", transposed)
    for name in ("lem_embedding_kernel", "lem_two_layer_kernel"):
        assert failures(getattr(symbolic, name)())


@pytest.mark.seconds
def test_two_layers_need_the_second_order_term(monkeypatch: pytest.MonkeyPatch) -> None:
    """With J in place of one real step, the closed form's lr^2 term is what is left over."""
    monkeypatch.setattr(symbolic, "lr", sp.S.One)
    assert not failures(symbolic.two_layer_step())
    monkeypatch.setattr(symbolic.itertools, "product", lambda *_, **__: iter(()))  # no pairs j, k: no lr^2 term
    assert failures(symbolic.two_layer_step()) == 4


def test_one_row_of_a_shared_table_is_not_tangent() -> None:
    assert symbolic.shared_row_product() == -sp.sqrt(2) / 4


# ---- optimisers: first steps, exactly and in torch

OPTIMISERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.5),
    "decay": lambda p: torch.optim.SGD(p, lr=0.5, weight_decay=0.25),
    "adam": lambda p: torch.optim.Adam(p, lr=0.5, eps=0),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.5, eps=0),
    "row_adagrad": lambda p: RowWiseAdagrad(p, lr=0.5, eps=0),
}


@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize(("q", "g"), [((2, 1), (1, -2)), ((3, -1, 2), (1, 5, 1)), ((1, 2, 3), (-1, -1, 1))])
def test_first_steps_are_those_of_torch(name: str, q: tuple, g: tuple) -> None:
    table = torch.nn.Parameter(torch.tensor([q], dtype=torch.float64))
    table.grad = torch.tensor([g], dtype=torch.float64)
    before = table.detach().clone()
    OPTIMISERS[name]([table]).step()
    exact = symbolic.radial_parts(name, q, g).subs({symbolic.lr: sp.Rational(1, 2), symbolic.decay: sp.Rational(1, 4)})
    assert float((before * (table.detach() - before)).sum()) == pytest.approx(float(exact), abs=1e-14)


def test_which_first_steps_are_tangent() -> None:
    radial = {name: symbolic.radial_parts(name, (2, 1), (1, -2)) for name in OPTIMISERS}
    lr, decay = symbolic.lr, symbolic.decay
    assert radial == {"sgd": 0, "row_adagrad": 0, "adam": -lr, "adagrad": -lr, "decay": -5 * decay * lr}


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("sgd", (1, 0), (1, 0)), "tangent"),
        (("adam", (1, 0), (0, 1)), "zero entry"),
        (("lion", (2, 1), (1, -2)), "optimiser is 'lion'"),
    ],
)
def test_refusals(arguments: tuple, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        symbolic.radial_parts(*arguments)
