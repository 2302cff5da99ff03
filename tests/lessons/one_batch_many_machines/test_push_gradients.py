"""The averaged gradient that SCALE-X6 computes by hand is that of autograd through the lesson's own scores."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import normalize

from course_lib import losses
from course_lib.experiments.scale import lost_pushes
from course_lib.lessons.one_batch_many_machines import machines


@pytest.mark.parametrize("count", [1, 2, 4, 8])
@pytest.mark.parametrize("temperature", [None, 0.3])
def test_the_averaged_gradient_is_that_of_autograd(count: int, temperature: float | None) -> None:
    generator = torch.Generator().manual_seed(count)
    users, items = torch.randn(2, 8, 3, generator=generator, dtype=torch.float64)
    films, log_q = torch.tensor([0, 1, 2, 0, 3, 1, 4, 5]), torch.log(torch.arange(1.0, 7.0).double() / 21)
    items = items[films]
    leaves = [users.clone().requires_grad_(), items.clone().requires_grad_()]
    q, k = leaves if temperature is None else [normalize(leaf) for leaf in leaves]
    scores = machines.scores_on(q / (temperature or 1.0), k, processes=count, gather="constant")
    loss = losses.in_batch_softmax(scores, tau=1.0, log_q=log_q[films], item_ids=films)
    right = torch.autograd.grad(loss, leaves)
    found, slopes = lost_pushes.averaged(users, items, films, log_q, machines=count, temperature=temperature)
    assert found == pytest.approx(float(loss.detach()), rel=1e-12)
    for one, other in zip(slopes, right, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)
