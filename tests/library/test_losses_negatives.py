"""What a batch needs to know of its negatives, and the losses that use it, against enumeration and autograd."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from refused import refused
from torch.nn import functional

from course_lib import losses
from course_lib.interactions import Interactions


def tables(m: int, n: int, d: int = 5, dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(m + n)
    make = (torch.randn(rows, d, generator=generator, dtype=torch.float64).to(dtype) for rows in (m, n))
    left, right = (table.requires_grad_() for table in make)
    return left, right


@pytest.mark.parametrize("rows", [1, 3, 100])
@pytest.mark.parametrize("with_extras", [False, True])
def test_chunks_give_the_loss_and_the_gradients_of_the_whole(rows: int, with_extras: bool) -> None:
    left, right = tables(7, 9)
    tau = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    more: dict[str, Any] = {}
    if with_extras:
        more = {
            "log_q": torch.linspace(-2, 0, 9, dtype=torch.float64),
            "item_ids": torch.tensor([0, 1, 0, 2, 3, 4, 5, 1, 0]),
        }
    found = losses.chunked_softmax(left, right, tau=tau, rows=rows, **more)
    expected = losses.in_batch_softmax(left @ right.T, tau=tau, **more)
    assert float(found.detach()) == pytest.approx(float(expected.detach()), rel=1e-13)
    for mine, theirs in zip(
        torch.autograd.grad(3 * found, [left, right, tau]),
        torch.autograd.grad(3 * expected, [left, right, tau]),
        strict=True,
    ):
        assert torch.allclose(mine, theirs, rtol=1e-11, atol=1e-13)


def test_chunks_need_no_gradient_and_keep_16_bits_in_range() -> None:
    left, right = tables(6, 6, dtype=torch.bfloat16)
    loss = losses.chunked_softmax(left, right, tau=0.1)
    torch.autograd.backward(loss)
    assert loss.dtype == torch.float32 and left.grad is not None and left.grad.dtype == torch.bfloat16
    with torch.no_grad():
        again = losses.chunked_softmax(left, right, tau=0.1)
    assert again == loss


def test_chunks_refuse_a_second_derivative() -> None:
    left, right = tables(3, 3)
    square = losses.chunked_softmax(left, right, tau=1.0) ** 2  # its slope leads back to the tables, in part
    (slope,) = torch.autograd.grad(square, [left], create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        torch.autograd.backward(slope.sum())


def test_two_ways_are_torch_cross_entropy_of_rows_and_columns() -> None:
    left, right = tables(6, 6)
    scores = left @ right.T
    target = torch.arange(6)
    expected = (functional.cross_entropy(scores / 0.5, target) + functional.cross_entropy(scores.T / 0.5, target)) / 2
    assert torch.isclose(losses.two_way_softmax(scores, tau=0.5), expected)
    of_candidates, of_queries = -torch.arange(6.0).double(), torch.arange(6.0).double() ** 2 / 9
    there = functional.cross_entropy(scores / 0.5 - of_candidates, target)
    back = functional.cross_entropy(scores.T / 0.5 - of_queries, target)
    found = losses.two_way_softmax(scores, tau=0.5, log_q=of_candidates, log_q_queries=of_queries)
    assert torch.isclose(found, (there + back) / 2)


def test_the_sigmoid_loss_is_the_logistic_loss_of_every_cell() -> None:
    left, right = tables(4, 6)
    scale = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    bias = torch.tensor(-1.0, dtype=torch.float64, requires_grad=True)
    logits = scale * (left @ right.T) + bias
    labels = torch.eye(4, 6, dtype=torch.float64)
    expected = functional.binary_cross_entropy_with_logits(logits, labels, reduction="sum") / 4
    found = losses.in_batch_sigmoid(left @ right.T, scale=scale, bias=bias)
    for mine, theirs in zip(
        torch.autograd.grad(found, [left, scale, bias]), torch.autograd.grad(expected, [left, scale, bias]), strict=True
    ):
        assert torch.allclose(mine, theirs)
    repeated = losses.in_batch_sigmoid(
        (left @ right.T).detach().numpy(), scale=2.0, bias=-1.0, item_ids=[0, 1, 2, 3, 0, 4]
    )
    cell = float(losses.logistic(0, logits[0, 4].detach()))
    assert float(found.detach()) - cell / 4 == pytest.approx(float(repeated))


@pytest.mark.parametrize(("m", "k"), [(1, 1), (4, 1), (4, 2), (4, 4), (7, 3)])
def test_the_law_of_the_hardest_by_visiting_every_sample(m: int, k: int) -> None:
    kept = Counter(item for sample in combinations(range(7), m) for item in sorted(sample)[:k])
    samples = len(list(combinations(range(7), m)))
    assert losses.hardest_law(1, 1, 1).tolist() == [1.0]
    assert losses.hardest_law(7, m, k) == pytest.approx([kept[item] / samples for item in range(7)])


def test_the_mixture_draws_items_without_a_pair_as_well() -> None:
    """A quarter of the slots is uniform over four items, of which one has no pair."""
    law = np.exp(losses.mixed_log_q([6, 3, 1, 0], 0.25))
    assert law == pytest.approx([1 / 16 + 0.75 * share for share in (0.6, 0.3, 0.1, 0)])


def test_false_negatives_are_the_known_pairs_off_the_diagonal() -> None:
    known = Interactions([0, 0, 1, 2], [0, 1, 1, 3], n_users=3, n_items=4)
    found = losses.false_negatives(known, [0, 1, 2], [0, 1, 3, 1])
    assert np.argwhere(found).tolist() == [[0, 1], [0, 3], [1, 3]]
    assert np.argwhere(losses.false_negatives(known, [0, 1, 2], [0, 1, 3])).tolist() == [[0, 1]]  # a square


def test_a_stream_learns_how_often_an_item_is_in_a_batch() -> None:
    rng = np.random.default_rng(0)
    q = np.array([0.6, 0.3, 0.1])
    stream = losses.StreamFrequencies(3, rate=0.005)
    for _ in range(6000):
        stream.update(rng.choice(3, size=2, p=q))
    assert stream.probabilities == pytest.approx(1 - (1 - q) ** 2, rel=0.1)
    assert stream.log_q([0]) == pytest.approx(np.log(stream.probabilities[:1]))


grid: Any = np.zeros((3, 2))
left, right = tables(3, 3)


test_bad_input_is_named = refused(
    (lambda: losses.chunked_softmax(left, right, tau=0.0), "tau"),
    (lambda: losses.chunked_softmax(left, right, tau=torch.tensor(float("inf"))), "tau is .*a finite number above 0"),
    (lambda: losses.chunked_softmax(left, right, tau=1.0, item_ids=torch.ones(len(right)) > 0), "item_ids is"),
    (lambda: losses.chunked_softmax(left, right[:2], tau=1.0), "queries has shape"),
    (lambda: losses.chunked_softmax(left, right.float(), tau=1.0), "dtype"),
    (lambda: losses.chunked_softmax(left * torch.inf, right, tau=1.0), "NaN or infinity"),
    (lambda: losses.chunked_softmax(left, right, tau=1.0, log_q=left[:, 0][:2]), "log_q"),
    (lambda: losses.chunked_softmax(left, right, tau=1.0, log_q=torch.tensor([0.0, torch.nan, 0.0])), "^log_q is"),
    (lambda: losses.chunked_softmax(left, right, tau=1.0, item_ids=torch.ones(3)), "item_ids"),
    (lambda: losses.in_batch_sigmoid(grid.T, scale=float("nan")), "scale"),
    (lambda: losses.false_negatives([(0, 0)], [0], [0]), "known"),  # type: ignore[arg-type]
    (lambda: losses.in_batch_sigmoid(grid), "no diagonal of positives"),
    (lambda: losses.mixed_log_q([1, 2], 1.5), "uniform"),
    (lambda: losses.mixed_log_q([0, 0], 0.5), "counts are all 0"),
    (lambda: losses.hardest_law(3, 4, 1), "m .*the number of items"),
    (lambda: losses.StreamFrequencies(3).log_q([1]), "no batch has held yet"),
    (lambda: losses.StreamFrequencies(3, rate=0.0), "rate"),
)
