"""Losses in production precision: 16 bits, autocast, temperatures that are trained, compiled, and given bad numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from drafts import one_quickly
from refused import refused
from torch import Tensor

from course_lib import in_batch, losses
from course_lib.backbones import MF, LightGCN
from course_lib.interactions import Interactions

S = 12
SCORES = torch.randn(S, S, generator=torch.Generator().manual_seed(0))
ROWS, COLS = (torch.randint(200, 400, (S,), generator=torch.Generator().manual_seed(seed)) for seed in (1, 2))


def loss_of(kind: str, scores: Tensor, **options: Any) -> Tensor:
    return in_batch.batch_loss(
        kind,
        pos_loss=losses.logistic(1, scores.diagonal()),
        neg_loss=losses.logistic(0, scores),
        row_counts=ROWS,
        col_counts=COLS,
        n_positives=3000,
        shape=(500, 500),
        **options,
    )


@pytest.mark.parametrize("kind", ["in_batch", "unbiased", "popularity", "pos_neg"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_counts_of_a_few_hundred_fit_into_16_bits(kind: str, dtype: torch.dtype) -> None:
    """300 x 300 is more than float16 can hold: weights and sums are float32, in autocast too."""
    exact = loss_of(kind, SCORES.to(dtype).double())
    with torch.autocast("cpu", dtype):
        for scores in (SCORES, SCORES.to(dtype)):
            found = loss_of(kind, scores)
            assert found.dtype == torch.float32
            assert float(found) == pytest.approx(float(exact), rel=1e-2)
    users, items = torch.randn(2, S, 4, generator=torch.Generator().manual_seed(3)).to(dtype)
    given = {"row_counts": ROWS, "col_counts": COLS, "n_positives": 3000, "shape": (500, 500)}
    with torch.autocast("cpu", dtype):
        square = in_batch.square_batch_loss(kind, users=users, items=items, **given)
    true = in_batch.square_batch_loss(kind, users=users.double(), items=items.double(), **given)
    assert float(square) == pytest.approx(float(true), rel=1e-4)


def test_losses_of_two_dtypes_are_summed_in_the_wider() -> None:
    given = {"row_counts": ROWS, "col_counts": COLS, "n_positives": 3000, "shape": (500, 500)}
    pos, neg = losses.logistic(1, SCORES.diagonal()), losses.logistic(0, SCORES)
    for pos_type, neg_type, wide in (
        (torch.float32, torch.bfloat16, torch.float32),
        (torch.float64, torch.float16, torch.float64),
    ):
        found = in_batch.batch_loss("unbiased", pos_loss=pos.to(pos_type), neg_loss=neg.to(neg_type), **given)
        assert found.dtype == wide and float(found) == pytest.approx(float(loss_of("unbiased", SCORES)), rel=1e-2)


COMPILED: dict[str, Callable[[Tensor], Tensor]] = {
    **{kind: lambda scores, kind=kind: loss_of(kind, scores) for kind in ("in_batch", "unbiased")},
    "omega": lambda scores: loss_of("unbiased_omega", scores, omega=0.5),
    "softmax": lambda scores: losses.in_batch_softmax(scores, tau=0.2, log_q=torch.zeros(S), item_ids=ROWS),
    "infonce": lambda scores: losses.infonce(scores, tau=0.2),
    "bpr": lambda scores: losses.bpr(scores[:, :1], scores),
}


@pytest.mark.seconds
@pytest.mark.parametrize("name", one_quickly(list(COMPILED)))
def test_torch_compiles_it_whole(name: str) -> None:
    ours, theirs = (SCORES.clone().requires_grad_() for _ in "12")
    compiled = torch.compile(COMPILED[name], fullgraph=True, backend="aot_eager")
    plain, found = COMPILED[name](ours), compiled(theirs)
    plain.backward()
    found.backward()
    torch.testing.assert_close(found, plain)
    torch.testing.assert_close(theirs.grad, ours.grad)


NAN = SCORES.clone()
NAN[2, 3] = float("nan")
IDS = torch.arange(2)


test_bad_numbers_are_refused_by_name = refused(
    (lambda: losses.pair_losses("square", NAN), r"scores\[2, 3\] = nan"),
    (lambda: losses.bpr(torch.zeros(2), torch.tensor([0.0, -torch.inf])), r"neg_scores\[1\] = -inf"),
    (lambda: losses.bpr([0.0, np.inf], [0.0, 0.0]), r"pos_scores\[1\] = inf"),  # which costs 0: the mean is finite
    (lambda: losses.bpr(torch.ones(8), torch.ones(8, 8)), r"pos_scores has shape \(8,\) and neg_scores \(8, 8\)"),
    (lambda: losses.bpr(torch.ones(0), torch.ones(0)), "at least one triple"),
    (lambda: MF(3, 3, 2, generator=torch.Generator()).loss(IDS, IDS[:1], IDS[:1]), r"\(2,\), \(1,\) and \(1,\)"),
    (lambda: MF(3, 3, 2, generator=torch.Generator()).loss(IDS[:0], IDS[:0], IDS[:0]), "at least one triple"),
    *(
        (lambda x=x: loss_of("unbiased_omega", SCORES, omega=torch.tensor(x)), f"{x}; expected a finite weight of")
        for x in (-1.0, torch.nan, torch.inf)
    ),
    (lambda: loss_of("unbiased", SCORES, labels=torch.eye(len(SCORES))), "kind='unbiased' does not look at them"),
    (lambda: loss_of("unbiased", NAN), r"pos_loss|neg_loss\[2, 3\] = nan"),
)


def test_a_graph_is_averaged_over_in_float32() -> None:
    """torch has no sparse products of 16 bits; LightGCN trains under autocast all the same, with the same loss."""
    data = Interactions([0, 1, 2, 2], [0, 1, 2, 0], n_users=3, n_items=3)
    model = LightGCN(data, 4, generator=torch.Generator().manual_seed(0))
    batch = [torch.tensor(ids) for ids in ([0, 1], [0, 1], [2, 2])]
    plain = model.loss(*batch)
    with torch.autocast("cpu", torch.bfloat16):
        found = model.loss(*batch)
        found.backward()
    torch.testing.assert_close(found, plain, rtol=1e-2, atol=0)
    assert model.users.grad is not None and bool(model.users.grad.isfinite().all())
