"""course_lib.processes against real averages of gradients, and against every draw of a small catalogue."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import torch
from refused import refused
from torch import Tensor

from course_lib import in_batch, processes
from course_lib.checking import some

B, D = 3, 4


def tables(p: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(p)
    q, k = (torch.randn(p * B, D, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(2))
    return q, k, torch.tensor(0.7, dtype=torch.float64, requires_grad=True)


def rows_loss(q: Tensor, k: Tensor, tau: Tensor, positives: Tensor, reduction: str) -> Tensor:
    return torch.nn.functional.cross_entropy(q @ k.T / tau, positives, reduction=reduction)


def averaged(p: int, rows: str, gather: str, reduction: str) -> list[Tensor]:
    """The average over P processes of the gradients in (queries, items, temperature), each process by itself.

    With gradients a process's vectors get the sum over all processes' losses, which is what the gather sends back.
    """
    total = [torch.zeros_like(x) for x in tables(p)]
    for rank in range(p):
        q, k, tau = tables(p)
        own = torch.zeros(p * B, 1, dtype=torch.bool)
        own[rank * B : (rank + 1) * B] = True
        seen = [torch.where(own, x, x.detach()) if gather == "constant" else x for x in (q, k)]
        here = torch.arange(p * B).reshape(p, B)[rank] if rows == "own" else torch.arange(p * B)
        rows_loss(seen[0][here], seen[1], tau, here, reduction).backward()
        total = [before + x.grad / p for before, x in zip(total, (q, k, tau), strict=True)]
    return total


def expected(p: int, factors: processes.GradientFactors, reduction: str) -> list[Tensor]:
    """The gradient of one process, each of its parts multiplied by its factor."""
    q, k, tau = tables(p)
    probability = (q @ k.T / tau).softmax(1).detach()
    far = torch.block_diag(*[torch.ones(B, B, dtype=torch.float64)] * p) == 0
    push = probability * torch.where(far, float(factors.far), float(factors.near))
    slopes = push - torch.diag(push.diagonal()) + torch.diag((probability.diagonal() - 1) * float(factors.pull))
    scale = 1 / (p * B) if reduction == "mean" else 1
    rows_loss(q, k, tau, torch.arange(p * B), reduction).backward()
    return [float(factors.query) * q.grad, scale * slopes.T @ q.detach() / 0.7, float(factors.direct) * tau.grad]


@pytest.mark.parametrize("reduction", processes.REDUCTIONS)
@pytest.mark.parametrize("gather", processes.GATHERS)
@pytest.mark.parametrize("rows", processes.ROWS)
@pytest.mark.parametrize("p", [1, 2, 4])
def test_the_factors_are_those_of_the_averaged_gradients(p: int, rows: str, gather: str, reduction: str) -> None:
    factors = processes.gradient_factors(processes=p, rows=rows, gather=gather, reduction=reduction)
    found = averaged(p, rows, gather, reduction)
    for value, right in some(list(zip(found, expected(p, factors, reduction), strict=True))):
        torch.testing.assert_close(value, right, rtol=1e-12, atol=1e-14)


def test_what_a_factor_repairs() -> None:
    """All rows without gradients: P for the vectors, and then the temperature has P times its gradient."""
    grid = processes.gradient_factors(processes=8, rows="all", gather="constant")
    assert grid.repair == 8 and grid.times(8) == processes.GradientFactors(*map(Fraction, (1, 1, 1, 1, 8)))
    columns = processes.gradient_factors(processes=8, rows="own", gather="constant")
    assert columns.repair is None
    assert processes.gradient_factors(processes=8, rows="own", gather="gradients", reduction="sum").repair == 8
    push = processes.mean_push(columns, processes=8, batch_size=64)
    assert push == Fraction(63, 511) and processes.mean_push(columns.times(8), processes=8, batch_size=64) < 1


@pytest.mark.parametrize(("p", "b"), [(1, 2), (2, 2), (3, 2), (2, 3)])
def test_local_negatives_weighed_anew_have_the_expectation_of_one_batch(p: int, b: int) -> None:
    labels = np.array([[1, 1, 0], [0, 1, 1], [1, 1, 0]]) * Fraction(1)
    rng = np.random.default_rng(0)
    pos, neg = ([[Fraction(int(x), 7) for x in row] for row in rng.integers(1, 9, (3, 3))] for _ in range(2))
    ratio = processes.negatives_ratio(processes=p, batch_size=b)
    given = {"pos_loss": np.array(pos), "labels": labels}
    local = in_batch.expected_objective("in_batch", neg_loss=ratio * np.array(neg), batch_size=b, **given)
    assert local == in_batch.expected_objective("in_batch", neg_loss=np.array(neg), batch_size=p * b, **given)


def every_step(draw: str, p: int, b: int, m: int) -> list[list[tuple[int, ...]]]:
    """All equally likely steps: what each process holds."""
    if draw == "apart":
        return [list(step) for step in itertools.product(itertools.combinations(range(m), b), repeat=p)]
    if draw == "shards":
        shards = np.arange(m).reshape(p, -1)
        return [list(step) for step in itertools.product(*(itertools.combinations(shard, b) for shard in shards))]
    return [[order[k * b : (k + 1) * b] for k in range(p)] for order in itertools.permutations(range(m), p * b)]


@pytest.mark.parametrize(
    ("draw", "same_shard"), [("together", None), ("apart", None), ("shards", True), ("shards", False)]
)
@pytest.mark.parametrize(("p", "b", "m"), [(2, 2, 6), (3, 1, 6), (2, 1, 4), (1, 2, 4)])
def test_meetings_by_enumeration(draw: str, same_shard: bool | None, p: int, b: int, m: int) -> None:
    e, f = (0, m - 1) if same_shard is False else (0, 1)
    if (same_shard is False and p == 1) or (same_shard and m // p < 2):
        return
    counts = np.zeros(4, dtype=int)
    steps = every_step(draw, p, b, m)
    for step in steps:
        mine, theirs = ([int(x in part) for part in step] for x in (e, f))
        pairs = list(itertools.permutations(range(p), 2))
        counts += [
            sum(mine),
            sum(a * c for a, c in zip(mine, theirs, strict=True)),
            sum(mine[a] * theirs[c] for a, c in pairs),
            sum(mine[a] * mine[c] for a, c in pairs),
        ]
    found = processes.meetings(draw, processes=p, batch_size=b, n_positives=m, same_shard=same_shard)
    assert found == tuple(Fraction(int(count), len(steps)) for count in counts)


def test_positives_that_have_a_shard_each_meet_nobody_in_it() -> None:
    found = processes.meetings("shards", processes=3, batch_size=1, n_positives=3, same_shard=True)
    assert found == (1, 0, 0, 0)


def test_bytes() -> None:
    """Eight processes, 1,024 pairs of 128 floats: 3.7 MB for constants, twice that with gradients; Gramians 0.23 MB."""
    sizes = {"processes": 8, "width": 128}
    own = processes.gathered_bytes(batch_size=1024, rows="own", gather="constant", **sizes)
    assert own == 7 * 1024 * 128 * 4
    assert processes.gathered_bytes(batch_size=1024, rows="all", gather="gradients", **sizes) == 4 * own
    assert processes.gramian_bytes(**sizes) == Fraction(7, 8) * 2 * 2 * 128**2 * 4
    assert processes.gathered_bytes(processes=1, batch_size=9, width=2, rows="own", gather="gradients") == 0
    assert processes.gathered_bytes(batch_size=1024, rows="own", gather="local", **sizes) == 0
    small = {name: np.int8(100) for name in ("processes", "batch_size", "width")}
    assert processes.gathered_bytes(**small, rows="own", gather="constant") == 99 * 100 * 100 * 4


ALONE = processes.gradient_factors(processes=1, rows="own", gather="constant")


def meetings_of_shards(**sizes: object) -> object:
    return processes.meetings("shards", processes=2, batch_size=1, **sizes)


test_nonsense_is_refused_by_name = refused(
    (lambda: processes.gradient_factors(processes=0, rows="own", gather="constant"), "processes is 0"),
    (lambda: processes.gradient_factors(processes=2, rows="mine", gather="constant"), "rows is 'mine'"),
    (lambda: processes.gradient_factors(processes=2, rows="own", gather="none"), "gather is 'none'"),
    (lambda: processes.negatives_ratio(processes=2, batch_size=1), "batch_size is 1"),
    (lambda: processes.meetings("apart", processes=2, batch_size=5, n_positives=4), "batch_size is 5"),
    (lambda: processes.meetings("together", processes=2, batch_size=3, n_positives=4), "batch_size is 3"),
    (lambda: meetings_of_shards(n_positives=5, same_shard=True), "multiple of"),
    (lambda: meetings_of_shards(n_positives=4), "same_shard is None"),
    (lambda: processes.mean_push(ALONE, processes=1, batch_size=1), "batch_size is 1"),
)
