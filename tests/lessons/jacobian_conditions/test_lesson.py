"""The chapter on Jacobian conditions: its proofs, findings, figures and quiz."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp
import torch
from matplotlib.figure import Figure

from course_lib import datasets, encoders, jacobians, losses
from course_lib.jacobians import RowWiseAdagrad
from course_lib.lessons.jacobian_conditions import findings as about
from course_lib.lessons.jacobian_conditions import people, plots
from course_lib.lessons.jacobian_conditions import proofs as symbolic
from course_lib.lessons.jacobian_conditions import quiz as jacobian_conditions
from course_lib.lessons.shared.findings import FindingError
from course_lib.papers import p0
from tests.refused import refused

# ---- the checks can fail: put something wrong in and see them complain


def of_the_dot_product(q, k, parameters):
    return sp.expand(sum(w * sp.diff(symbolic._dot(q, k), w) for w in parameters))


def transposed(a, b, c, e):
    return symbolic.combine_kronecker((symbolic.KroneckerProduct(b, a) * symbolic.KroneckerProduct(e, c).T).doit())


P = symbolic
WRONG = [
    (P, "euler", lambda f: of_the_dot_product, [P.thm_orthogonal_motion, P.thm_layer_law, P.prop_beyond_lookup]),
    (P, "_kernel", lambda f: transposed, [P.lem_embedding_kernel, P.lem_two_layer_kernel]),
]


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


@pytest.mark.seconds
def test_two_layers_need_the_second_order_term(monkeypatch: pytest.MonkeyPatch) -> None:
    """With J in place of one real step, the closed form's lr^2 term is what is left over."""
    monkeypatch.setattr(symbolic, "lr", sp.S.One)
    monkeypatch.setattr(symbolic.itertools, "product", lambda *_, **__: iter(()))  # no pairs j, k: no lr^2 term
    assert sum(residual != 0 for residual in symbolic.two_layer_step()) == 4


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


test_nonsense_is_named = refused(
    (lambda: symbolic.radial_parts("sgd", (1, 0), (1, 0)), "tangent"),
    (lambda: symbolic.radial_parts("adam", (1, 0), (0, 1)), "zero entry"),
    (lambda: symbolic.radial_parts("lion", (2, 1), (1, -2)), "optimiser is 'lion'"),
)


# ==== the chapter's findings on lengths whose answer is known, and the network that its pages train

GROWING = torch.tensor([[1.0, 2.0], [1.0, 2.5], [1.5, 3.0]], dtype=torch.float64)  # (steps + 1, watched)
FALLING = GROWING.flip(0)
TURNING = torch.tensor([[1.0, 2.0], [2.0, 3.0], [1.5, 2.5]], dtype=torch.float64)  # longer at the end


def test_a_step_that_keeps_the_length_does_not_shorten() -> None:
    assert not about.shorter(GROWING).any()
    assert about.shorter(FALLING).tolist() == [[True, True], [False, True]]


FINDINGS = [
    (about.no_film_shortens, ([GROWING],), ([TURNING],)),
    (about.every_person_ends_shorter, ([FALLING],), ([GROWING],)),
    (about.most_moves_shorten_people, ([FALLING],), ([GROWING],)),
    (about.the_first_step_jumps, ([GROWING * torch.tensor([[1.0], [20.0], [20.0]])],), ([GROWING],)),
    (about.these_changes_never_shorten, ({"plain": [GROWING]},), ({"plain": [GROWING], "decay": [TURNING]},)),
    (about.these_changes_shorten, ({"decay": [0.2]}, [0.0]), ({"decay": [0.2], "scale": [0.0]}, [0.0])),
    (about.inversion_always_shortens, ([1.0],), ([0.999],)),
    (about.own_film_tables_only_lengthen, ({"table": [GROWING]},), ({"table": [GROWING, FALLING]},)),
    (about.shared_tables_shorten_films, ([0.5], [1.0]), ([1.0], [1.0])),
    (about.people_move_each_other, ([0.7],), ([0.0],)),
    (about.others_push_as_well, ([0.9],), ([0.0],)),
    (about.transformer_moves_together, ([0.99], 24), ([0.2], 24)),
    (about.other_towers_can_be_pushed, ({"linear": [0.3, 0.32]}, [0.0, 0.0]), ({"scale": [0.0, 0.0]}, [0.0, 0.0])),
    (about.each_dial_raises_the_share, ({"lr": ([0.1, 0.12], [0.3, 0.32])},), ({"lr": ([0.3, 0.3], [0.1, 0.2])},)),
]


def test_outputs_that_fall_because_a_layer_shrinks_support_nothing() -> None:
    rise_and_fall, layer = [1.0, 9.0, 3.0], [1.0, 2.0, 3.0]
    assert about.outputs_fall_while_layers_grow.evidence([(rise_and_fall, [layer])])
    for outputs, layers in ((rise_and_fall, [layer, layer[::-1]]), (layer, [layer])):
        with pytest.raises(FindingError):
            about.outputs_fall_while_layers_grow.evidence([(outputs, layers)])


def test_the_toy_is_compared_with_chance_and_the_cosines_with_the_start() -> None:
    assert about.toy_shares_beat_chance.cases({"E4": [0.2]}, 0.11)["E4"].value == pytest.approx(0.09)
    assert about.people_spread_out.cases([0.9], [0.5])["MovieTweetings"].value == pytest.approx(0.4)


def test_the_network_is_no_lookup_and_the_film_table_is_one() -> None:
    films = datasets.load("movietweetings", min_rating=7, core=10)
    towers, some = people.towers(films, seed=0), torch.arange(3)
    assert not towers.shared_parameters()
    assert not jacobians.lookup_equivalent(towers.left, some)
    assert jacobians.lookup_equivalent(towers.right, some)
    again = people.network(films, seed=0)
    assert torch.equal(again(some), towers.left(some))
    assert not any(name.endswith("bias") for name, _ in people.network(films, seed=0, bias=False).named_parameters())


# ==== the figures of the chapter on Jacobian conditions

FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "angle_roses": lambda: plots.angle_roses({"a": [90.0, 88.0], "b": [10.0, 120.0, 95.0]}, chance=0.11),
    "kernel_blocks": lambda: plots.kernel_blocks(
        {"lookup": np.eye(4).reshape(2, 2, 2, 2).transpose(0, 2, 1, 3) - 0.1}, ["a", "b"]
    ),
    "leak_map": lambda: plots.leak_map([[0.0, 0.3], [0.2, 1.0]], ["a", "b"]),
    "tower_norms": lambda: plots.tower_norms({"users": [[1.0, 2.0], [3.0, 1.0]]}, named={"users": {0: "a user"}}),
}


# ==== the quiz of the chapter: course_lib decides its answers, and its numbers are right


class ElementwiseAdagrad(torch.optim.Adagrad):
    """What row-wise Adagrad would be with a rate for each number."""


WRONG_FORMULAS = [
    (jacobians, "kernel_blocks", lambda right: lambda *a: 6 / 5 * right(*a), "linear-kernel", ""),
    (jacobians, "RowWiseAdagrad", lambda right: ElementwiseAdagrad, "which-optimisers", ""),
    (losses, "cosine_scores", lambda right: lambda q, k: q @ k.T, "which-towers", ""),
    (losses, "cosine_scores", lambda right: lambda q, k: q @ k.T, "deep-tower", ""),
    (p0, "chance_of_right_angle", lambda right: lambda d: 20 / 180, "twenty-per-cent", ""),
]


def test_the_numbers_in_the_explanations() -> None:
    assert [round(100 * p0.chance_of_right_angle(d)) for d in (2, 3, 4, 64)] == [11, 17, 22, 83]
    with_bias = encoders.DenseLinear(torch.tensor([[1.0, 2.0], [3.0, 1.0]]), 8, bias=True)
    torch.testing.assert_close(jacobians.kernel_blocks(with_bias, torch.arange(2))[0, 1], 6 * torch.eye(8))


def test_momentum_is_perpendicular_once() -> None:
    """ "The first step is perpendicular, the second is not." """
    worst = [
        jacobian_conditions._worst(
            encoders.Lookup(6, 3, generator=jacobian_conditions._generator()),
            lambda p: torch.optim.SGD(p, 0.3, momentum=0.9),
            steps,
        )
        for steps in (1, 2, 3)
    ]
    assert worst[0] < 1e-12 and max(worst[1:]) > 1e-3
