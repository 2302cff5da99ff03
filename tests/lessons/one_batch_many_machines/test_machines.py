"""Many machines inside one: the scores have the gradients of the theorem, and a training starts as its rivals do."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from course_lib import losses
from course_lib.data.interactions import Interactions
from course_lib.lessons.one_batch_many_machines import machines
from course_lib.maths import processes

SIZE = 6


def tables() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(SIZE, 2, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(2))
    return q, k


@pytest.fixture(scope="module")
def films() -> Interactions:
    """Every one of 40 people likes 20 of 40 films."""
    users, items = np.nonzero(np.add.outer(np.arange(40), np.arange(40)) % 2 == 0)
    return Interactions(users, items, n_users=40, n_items=40)


def gradients(gather: str) -> tuple[torch.Tensor, ...]:
    q, k = tables()
    scores = machines.scores_on(q, k, processes=3, gather=gather)
    return torch.autograd.grad(machines.softmax(scores, torch.arange(SIZE)), (q, k))


def test_a_gather_with_gradients_is_one_machine() -> None:
    q, k = tables()
    right = torch.autograd.grad(losses.infonce(q @ k.T, tau=1), (q, k))
    for found, expected in zip(gradients("gradients"), right, strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-14)


def test_constants_lose_the_far_pushes_and_nothing_else() -> None:
    q, k = (x.detach() for x in tables())
    chance = (q @ k.T).softmax(1)
    far = torch.arange(SIZE)[:, None] // 2 != torch.arange(SIZE)[None, :] // 2
    (kept_q, kept_k), (whole_q, whole_k) = gradients("constant"), gradients("gradients")
    assert processes.gradient_factors(processes=3, rows="own", gather="constant").far == 0
    torch.testing.assert_close(whole_k - kept_k, (chance * far).T @ q / SIZE, rtol=0, atol=1e-14)
    torch.testing.assert_close(whole_q, kept_q, rtol=0, atol=1e-14)


def test_without_a_gather_the_loss_is_the_mean_of_three_small_ones() -> None:
    q, k = tables()
    parts = [losses.infonce(q[at : at + 2] @ k[at : at + 2].T, tau=1) for at in (0, 2, 4)]
    right = torch.autograd.grad(torch.stack(parts).mean(), (q, k))
    for found, expected in zip(gradients("none"), right, strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-14)


def test_an_accidental_hit_is_left_out_whoever_is_gathered() -> None:
    scores = torch.tensor([[1.0, 2.0], [0.5, 3.0]])
    shown = torch.tensor([7, 7])
    assert machines.softmax(scores, shown) == 0
    cut = torch.tensor([[1.0, -torch.inf], [-torch.inf, 3.0]])
    assert machines.softmax(cut, torch.tensor([7, 8]), torch.tensor([0.1, 0.2])) == 0


def test_all_ways_start_alike_and_end_apart(films: Interactions) -> None:
    made = {gather: machines.train(films, gather=gather, steps=3, seed=1) for gather in ("gradients", "constant")}
    one, eight = made.values()
    assert one.first_loss == eight.first_loss
    assert torch.equal(machines.train(films, gather="constant", steps=3, seed=1).items, eight.items)
    assert not torch.allclose(one.items, eight.items)


def test_the_outcome_counts_what_is_shown(films: Interactions) -> None:
    users, items = torch.ones(40, 2), torch.stack((torch.arange(40.0), torch.zeros(40)), 1)
    hidden = Interactions([0], [39], n_users=40, n_items=40)
    found = machines.outcome(machines.Training(users, items, 1.0), films, hidden)
    assert found.recall == 1 and found.fans == 20 and found.shown == 20
    assert found.turn == pytest.approx(2**-0.5)


def test_nonsense_is_refused_by_name() -> None:
    q, k = tables()
    with pytest.raises(ValueError, match="gather is 'all'"):
        machines.scores_on(q, k, processes=2, gather="all")
    with pytest.raises(ValueError, match=r"processes is 4; expected a number that divides the 6 pairs"):
        machines.scores_on(q, k, processes=4, gather="none")
