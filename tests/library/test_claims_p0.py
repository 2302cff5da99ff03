"""Statements of P0 that several chapters rest on, each recomputed, and the decimals of its errata.

Formulas are written out here as the paper prints them, with torch's own layers and optimisers, and never taken from
`course_lib`: where the library states the same, a test compares the two. Exact arithmetic wherever a statement is
exact.
"""

import inspect

import pytest
import torch
from torch import nn

from course_lib.checking import some
from course_lib.lessons.popularity_norm_coupling.proofs import conflicting_items
from course_lib.papers import p0, table
from tests import errata_numbers
from tests.torch_steps import (
    EXACT,
    INDICES,
    ONE_HOT,
    TABLE_1,
    against,
    close,
    cosines,
    infonce,
    module,
    normal,
    output_gradients,
    step,
    toy_run,
    two_layers,
)

# ---- Section 2.1 to 2.4: one equation, kernels


def shared_table_step(seed):
    """A table that both towers use: users are the mean of two items.

    <q, dL/dq> and <q, dq> of each item, and the sums.
    """
    items = module(lambda: nn.Embedding(6, 3), seed=seed).weight
    history = torch.tensor([[0, 1], [2, 3], [4, 5]])
    target = torch.tensor([2, 4, 0])
    loss = infonce(items[history].mean(1), items[target])
    (gradient,) = torch.autograd.grad(loss, items)
    return (items * gradient).sum(-1).detach(), items.detach(), gradient


def test_towers_that_share_a_table_move_off_the_tangent_and_only_the_sum_vanishes():
    """Section 2.1 asks for disjoint parameters. Without them Theorem 2.1 fails, although every score is a cosine."""
    for seed in range(5):
        radial, items, gradient = shared_table_step(seed)
        assert radial.abs().max() > 0.01
        assert radial.sum().abs() < EXACT
        lr = 0.5
        dq = -lr * gradient
        assert ((items * dq).sum(-1) / (items.norm(dim=-1) * dq.norm(dim=-1))).abs().max() > 0.05


# ---- Section 2.5: tangent gradients


@pytest.mark.seconds
def test_eq17_and_eq18_a_step_along_a_tangent_gradient_adds_its_square():
    made, loss = module(lambda: nn.Embedding(4, 3)), against(infonce, 4)
    for _ in range(20):
        q, g = output_gradients(made, INDICES, loss)
        dq = step(made, INDICES, loss, lr=3.0)
        assert cosines(g, dq).add(1).abs().max() < 1e-9  # parallel
        assert cosines(q, dq).abs().max() < 1e-9  # (17)
        assert close(made(INDICES).detach().square().sum(-1) - q.square().sum(-1), dq.square().sum(-1))  # (18), (29)


# ---- Section 2.6: the theorem


def test_two_layers_have_norms_that_a_step_can_shrink():
    """ "After update, the norm always increases" fails for outputs of two layers (Section 2.7 is right to object)."""
    made, loss = module(two_layers), against(infonce, 4)
    before = made(ONE_HOT).detach().norm(dim=1)
    step(made, ONE_HOT, loss, lr=0.05)
    assert (made(ONE_HOT).detach().norm(dim=1) < before).any()


def test_each_layer_of_a_homogeneous_tower_grows_by_the_square_of_its_step():
    """What survives of the criticised sentence:
    the loss does not see the scale of a bias-free layer, so its norm grows.
    """
    made = module(
        lambda: nn.Sequential(
            nn.Linear(4, 6, bias=False),
            nn.LeakyReLU(),
            nn.Linear(6, 5, bias=False),
            nn.LeakyReLU(),
            nn.Linear(5, 3, bias=False),
        )
    )
    inputs, loss = normal(4, 4, seed=6), against(infonce, 4)
    for _ in range(5):
        before = [p.detach().clone() for p in made.parameters()]
        step(made, inputs, loss, lr=0.5)
        for old, p in some(zip(before, made.parameters(), strict=True)):
            change = p.detach() - old
            assert abs((old * change).sum()) < 1e-12 * (1 + old.norm() * change.norm())
            assert p.detach().square().sum() == pytest.approx(
                float(old.square().sum() + change.square().sum()), rel=1e-12
            )
            assert change.norm() > 1e-6


# ---- Section 4 and 5: experiments


@pytest.mark.parametrize("experiment", TABLE_1)
def test_table_1_row_by_row(experiment):
    """Each tick of Table 1 is an exact zero at every step, each cross a move that is far from tangent."""
    row = next(row for row in table("P0", "T1") if row["experiment"] == experiment)
    found = toy_run(*TABLE_1[experiment])
    for side, orthogonal in (("user", row["left_orthogonal"]), ("item", row["item_orthogonal"])):
        assert (found[side].max() < 1e-7) == orthogonal, (side, found[side].max())
        assert orthogonal or found[side].median() > 0.05, (side, found[side].median())


# ---- the prose of the errata


def errata_numbers_of_p0():
    """Each decimal of the errata that no scalar of its row holds, and the number it stands for."""
    popular, rare = conflicting_items()
    by_chance = {f"{100 * p0.chance_of_right_angle(d):.1f}": 100 * p0.chance_of_right_angle(d) for d in (2, 3, 4, 64)}
    printed = {"0.007": p0.printed(9, "share_dot"), "0.1": p0.printed(9, "learning_rate"), "0.01": 0.01}
    printed |= {
        "0.7": 100 * p0.printed(9, "share_cos"),
        "0.5": inspect.signature(conflicting_items).parameters["rate"].default,
    }
    return {"1.0895": popular, "2.3227": rare} | by_chance | printed


@pytest.mark.seconds
def test_every_decimal_in_the_errata_comes_from_a_table_or_a_computation():
    known = errata_numbers_of_p0()
    for text, number in some(known.items()):
        assert float(text) == pytest.approx(number, abs=0.5 * 10.0 ** -len(text.split(".")[1])), text
    assert errata_numbers.unknown("P0", set(known)) == []
    assert len(errata_numbers.decimals("P0")) > 8
