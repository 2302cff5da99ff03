"""Constants train the pull more: by differentiating the softmax on every dealing, and a wrong kappa is found."""

from __future__ import annotations

from itertools import permutations

import pytest
import torch

from course_lib.lessons.one_batch_many_machines import machines, proofs


@pytest.mark.parametrize(("p", "b"), [(2, 2), (2, 3), (3, 2)])
def test_the_average_over_dealings_is_kappa_whole_and_the_rest_pull(p: int, b: int) -> None:
    size = p * b
    generator = torch.Generator().manual_seed(size)
    q, k = (torch.randn(size, 3, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(2))

    def gradient(order: torch.Tensor, gather: str) -> torch.Tensor:
        scores = machines.scores_on(q[order], k[order], processes=p, gather=gather)
        return torch.autograd.grad(machines.softmax(scores, torch.arange(size)), k)[0]

    dealings = [torch.tensor(order) for order in permutations(range(size)) if proofs._is_dealing(order, b)]
    mean = torch.stack([gradient(order, "constant") for order in dealings]).mean(0)
    whole = gradient(torch.arange(size), "gradients")
    chance = torch.softmax(q @ k.T, dim=1).diagonal()
    pull = ((chance - 1)[:, None] * q / size).detach()
    kappa = (b - 1) / (size - 1)
    assert torch.allclose(mean, kappa * whole + (1 - kappa) * pull, atol=1e-12)
    assert not torch.allclose(mean, whole, atol=1e-3)


def test_the_proof_leaves_nothing() -> None:
    assert set(proofs.thm_more_pull()) == {0}


def test_dealings_are_visited_once_each() -> None:
    assert sum(proofs._is_dealing(order, 2) for order in permutations(range(4))) == 6
