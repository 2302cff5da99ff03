"""The course's own optimisers: each step by hand, and what makes each of them different from the one it resembles."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from refused import refused

from course_lib.checking import some
from course_lib.optimisers import LazyDecaySGD, RowWiseAdagrad, SphereSGD, Together

TABLE = np.array([[3.0, 4.0], [0.6, 0.8], [1.0, -1.0]])
SLOPES = np.array([[0.5, 0.0], [0.0, 0.0], [0.25, 1.0]])  # one row moves in one entry, one not at all, one in both


def stepped(make: object, slopes: list[np.ndarray]) -> np.ndarray:
    """TABLE after a step with each of these gradients."""
    table = torch.nn.Parameter(torch.tensor(TABLE))
    optimiser = make([table])
    for slope in slopes:
        table.grad = torch.tensor(slope)
        optimiser.step()
    return table.detach().numpy()


def test_lazy_decay_takes_the_rows_of_which_any_entry_moves() -> None:
    found = stepped(lambda tables: LazyDecaySGD(tables, lr=0.1, weight_decay=0.5), [SLOPES])
    np.testing.assert_allclose(found[[0, 2]], 0.95 * TABLE[[0, 2]] - 0.1 * SLOPES[[0, 2]], rtol=1e-15)
    assert np.array_equal(found[1], TABLE[1])


def test_row_wise_adagrad_by_hand() -> None:
    """One accumulator for a row: the mean of its squares, also of the entries that are 0."""
    squares, expected = np.zeros((3, 1)), TABLE.copy()
    for slope in some((SLOPES, 2 * SLOPES)):
        squares += (slope**2).mean(axis=1, keepdims=True)
        expected -= 0.1 * slope / (np.sqrt(squares) + 1e-10)
    found = stepped(lambda tables: RowWiseAdagrad(tables, lr=0.1), [SLOPES, 2 * SLOPES])
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_the_radius_of_the_sphere_is_the_root_mean_square_of_the_lengths() -> None:
    """Lengths 5, 1 and sqrt 2: their mean is 2.47, the root of the mean of 25, 1 and 2 is 3.06."""
    radius = np.sqrt((25 + 1 + 2) / 3)
    still = stepped(lambda tables: SphereSGD(tables, lr=0.1), [np.zeros((3, 2))])
    np.testing.assert_allclose(still, radius * TABLE / np.linalg.norm(TABLE, axis=1, keepdims=True), rtol=1e-14)
    moved = still - 0.1 * SLOPES
    found = stepped(lambda tables: SphereSGD(tables, lr=0.1), [SLOPES])
    np.testing.assert_allclose(found, radius * moved / np.linalg.norm(moved, axis=1, keepdims=True), rtol=1e-14)


def test_several_are_stepped_together_and_their_rates_follow_one_triangle() -> None:
    """With cycle 4 and low .1 the rate goes .1, .55, 1, .55, .1 times that of each part."""
    tables = [torch.nn.Parameter(torch.tensor(TABLE)) for _ in range(2)]
    both = Together(torch.optim.SGD([tables[0]], lr=1.0), torch.optim.SGD([tables[1]], lr=10.0), cycle=4)
    for at, share in some(enumerate((0.1, 0.55, 1.0, 0.55, 0.1))):
        assert [group["lr"] for group in both.param_groups] == pytest.approx([share, 10 * share])
        before = [table.detach().clone() for table in tables]
        for table in tables:
            table.grad = torch.full_like(table, at + 1.0)
        both.step()
        for table, old, rate in some(zip(tables, before, (share, 10 * share), strict=True)):
            torch.testing.assert_close(table.detach(), old - rate * (at + 1))


def test_a_restart_of_several_keeps_what_they_remember_and_their_place_in_the_triangle() -> None:
    def start() -> tuple[list[torch.nn.Parameter], Together]:
        tables = [torch.nn.Parameter(torch.tensor(TABLE)) for _ in range(2)]
        return tables, Together(torch.optim.AdamW([tables[0]], lr=0.1), torch.optim.SGD([tables[1]], lr=1.0), cycle=4)

    def go(tables: list[torch.nn.Parameter], both: Together, steps: range) -> None:
        for at in steps:
            for table in tables:
                table.grad = torch.full_like(table, at + 1.0)
            both.step()

    (whole, straight), (first, half), (second, resumed) = start(), start(), start()
    go(whole, straight, range(5))
    go(first, half, range(2))
    resumed.load_state_dict(half.state_dict())
    for table, old in some(zip(second, first, strict=True)):
        table.data.copy_(old.data)
    go(second, resumed, range(2, 5))
    assert all(torch.equal(table, other) for table, other in some(zip(second, whole, strict=True)))
    assert [group["lr"] for group in resumed.param_groups] == [group["lr"] for group in straight.param_groups]


ROWS = [torch.nn.Parameter(torch.tensor(TABLE))]
test_settings_that_are_none_are_refused_by_name = refused(
    (lambda: RowWiseAdagrad(ROWS, lr="x"), "^lr is 'x'"),
    (lambda: RowWiseAdagrad(ROWS, eps=-1.0), "^eps is -1.0; expected a finite number of at least 0"),
    (lambda: RowWiseAdagrad(ROWS, initial=np.nan), "^initial is nan"),
    (lambda: RowWiseAdagrad(ROWS, lr=-1), "^lr is -1"),
    (lambda: LazyDecaySGD(ROWS, lr=0.1, weight_decay=-1), "^weight_decay is -1"),
    (lambda: SphereSGD(ROWS, lr=np.nan), "^lr is nan"),
    (Together, "^optimisers is empty"),
    (lambda: Together(torch.optim.SGD(ROWS, lr=1.0), cycle=0), "^cycle is 0"),
    (lambda: Together(torch.optim.SGD(ROWS, lr=1.0), cycle=4, low=2.0), "^low is 2.0"),
)


def test_without_an_eps_a_row_that_was_not_seen_stays() -> None:
    table = torch.nn.Parameter(torch.ones(2, 2))
    table.grad = torch.tensor([[1.0, 1.0], [0.0, 0.0]])
    RowWiseAdagrad([table], lr=0.5, eps=0.0).step()
    assert table.tolist() == [[0.5, 0.5], [1.0, 1.0]]
