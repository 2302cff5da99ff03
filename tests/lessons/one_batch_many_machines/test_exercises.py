"""The exercises whose solutions are words alone: what they say, in numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import torch

from course_lib import processes

LENGTHS = (32, 32, 32, 4)


def test_a_rate_makes_up_for_a_factor_and_spoils_the_temperature() -> None:
    """ex-rate-for-factor: four times the rate; the temperature then moves four times too far; Adam sees no factor."""
    found = processes.gradient_factors(processes=4, rows="all", gather="constant")
    steps = [Fraction(4, 10) * part for part in (found.query, found.pull, found.near, found.far, found.direct)]
    assert steps == [Fraction(1, 10)] * 4 + [Fraction(4, 10)]
    moved = []
    for factor in (1.0, 0.25):
        x = torch.ones(3, dtype=torch.float64, requires_grad=True)
        optimiser = torch.optim.Adam([x], lr=0.1, eps=0.0)
        for _ in range(3):
            optimiser.zero_grad()
            (factor * (x**2 @ torch.tensor([1.0, 2.0, -3.0], dtype=torch.float64))).backward()
            optimiser.step()
        moved.append(x.detach())
    torch.testing.assert_close(*moved, rtol=1e-12, atol=0)


def test_the_rows_of_a_short_part_weigh_too_much_and_a_factor_in_the_loss_mends_it() -> None:
    """ex-last-batch: 1/16 and not 1/100; with P B_r / sum B in the loss all rows weigh the same."""
    machines, size = len(LENGTHS), sum(LENGTHS)
    plain = [Fraction(1, machines * length) for length in LENGTHS]
    assert plain[-1] == Fraction(1, 16) and plain[0] == Fraction(1, 128) and plain[-1] * size == Fraction(25, 4)
    mended = [Fraction(machines * length, size) * weight for length, weight in zip(LENGTHS, plain, strict=True)]
    assert mended == [Fraction(1, size)] * machines


def test_gradients_that_are_weighed_after_the_gather_get_the_weight_of_the_wrong_machine() -> None:
    """ex-last-batch: slopes[r, s] of machine r's mean in a vector of machine s, two machines of 1 and 3 rows."""
    slopes, lengths = np.array([[1.0, 10.0], [100.0, 1000.0]]), np.array([1, 3])
    right = lengths / lengths.sum() @ slopes  # the mean over all rows
    in_the_loss = (2 * lengths / lengths.sum() @ slopes) / 2
    afterwards = lengths / lengths.sum() * slopes.sum(axis=0)
    assert np.allclose(in_the_loss, right) and not np.allclose(afterwards, right)


def test_eight_machines_with_constants_lose_seven_of_eight_pushes() -> None:
    """ex-more-machines: at most an eighth of the pushes is left, whatever the batch of a machine."""
    columns = processes.gradient_factors(processes=8, rows="own", gather="constant")
    left = [processes.mean_push(columns, processes=8, batch_size=size) for size in (2, 32, 4096)]
    assert left[0] == Fraction(1, 15) and max(left) < Fraction(1, 8) and left[-1] > Fraction(1249, 10_000)
