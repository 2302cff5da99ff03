"""`losses.in_batch_softmax`: against torch's cross entropy, against every draw of a batch, and its bad inputs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from refused import refused
from torch.nn import functional

from course_lib import losses
from course_lib.checking import some

RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(4, 6))
LOG_Q = np.log(RNG.dirichlet(np.ones(6)))
IDS = np.array([3, 1, 3, 0, 1, 7])  # item 3 stands in columns 0 and 2, item 1 in columns 1 and 4


def unchanged(cosine: torch.Tensor) -> torch.Tensor:
    return cosine


def by_hand(
    scores: torch.Tensor,
    tau: torch.Tensor | float,
    out: torch.Tensor,
    columns: Iterable[int],
    log_q: np.ndarray | None = None,
    changed: Callable[[torch.Tensor], torch.Tensor] = unchanged,
) -> torch.Tensor:
    """The loss a row at a time, with torch's cross entropy over the candidates that are not left out."""
    values = []
    for row, column in enumerate(columns):
        kept = torch.nonzero(~out[row]).flatten()
        logits = torch.where(kept == column, changed(scores[row, column]), scores[row, kept]) / tau
        if log_q is not None:
            logits = logits - torch.from_numpy(log_q)[kept]
        values.append(functional.cross_entropy(logits[None], torch.nonzero(kept == column)[0]))
    return torch.stack(values).mean()


def hits_of(ids: np.ndarray | None, columns: int) -> torch.Tensor:
    """(4, columns): where another column holds the item of the row."""
    if ids is None:
        return torch.zeros(4, columns, dtype=torch.bool)
    return torch.from_numpy((ids[:4, None] == ids) & ~np.eye(4, columns, dtype=bool))


@pytest.mark.parametrize("log_q", [None, LOG_Q])
@pytest.mark.parametrize("ids", [None, IDS, IDS * (IDS > 1), -IDS])
@pytest.mark.parametrize("columns", [4, 6])
def test_it_is_the_cross_entropy_over_the_candidates_that_count(
    log_q: np.ndarray | None, ids: np.ndarray | None, columns: int
) -> None:
    """Square or with further negatives, in NumPy and torch, with the gradients of scores and temperature."""
    shift, items = (None if x is None else x[:columns] for x in (log_q, ids))
    ours, theirs = (
        [torch.tensor(SCORES[:, :columns], requires_grad=True), torch.nn.Parameter(torch.tensor(0.3))] for _ in "12"
    )
    found = losses.in_batch_softmax(ours[0], tau=ours[1], log_q=shift, item_ids=items)
    expected = by_hand(*theirs, hits_of(items, columns), range(4), shift)
    for value, leaves in ((found, ours), (expected, theirs)):
        value.backward()
        assert all(leaf.grad is not None for leaf in some(leaves))
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    for mine, other in some(zip(ours, theirs, strict=True)):
        torch.testing.assert_close(mine.grad, other.grad, rtol=1e-6, atol=1e-12)
    plain = losses.in_batch_softmax(SCORES[:, :columns], tau=0.3, log_q=shift, item_ids=items)
    assert plain == pytest.approx(
        float(losses.in_batch_softmax(torch.tensor(SCORES[:, :columns]), tau=0.3, log_q=shift, item_ids=items))
    )


def test_a_number_for_each_item_is_learned_through_log_q() -> None:
    """As the card "logQ" says: what is subtracted from log q is added to the score of its column."""
    scores, log_q = torch.from_numpy(SCORES), torch.from_numpy(LOG_Q)
    number = torch.zeros(len(LOG_Q), dtype=torch.float64, requires_grad=True)
    losses.in_batch_softmax(scores, tau=0.3, log_q=log_q - number).backward()
    rows = torch.arange(len(scores))
    share = torch.softmax(scores / 0.3 - log_q, dim=1)
    share[rows, rows] -= 1
    torch.testing.assert_close(number.grad, share.mean(0))


def test_log_q_makes_the_sum_over_negatives_that_of_the_catalogue() -> None:
    """Every batch of three slots drawn from q, enumerated: the mean of sum_j exp(s_j - log q_j) is 3 sum exp(s).

    Without the correction it is 3 sum q exp(s): popular items push harder. The loss itself stays biased, for its
    logarithm is concave and the positive is always in the sum.
    """
    q, scores = np.array([0.6, 0.3, 0.1]), np.array([0.5, -1.0, 2.0])
    full = np.exp(scores).sum()
    sums = dict.fromkeys((True, False), 0.0)
    corrected_loss = 0.0
    for batch in itertools.product(range(3), repeat=3):
        chance = math.prod(q[list(batch)])
        row = np.concatenate(([0.7], scores[list(batch)]))[None, :]  # the positive, then what was drawn
        for corrected in sums:
            log_q = np.concatenate(([0.0], np.log(q[list(batch)]))) if corrected else None
            loss = losses.in_batch_softmax(row, tau=1.0, log_q=log_q)
            sums[corrected] += chance * (math.exp(loss + 0.7) - math.exp(0.7))  # the sum without the positive's part
        corrected_loss += chance * (
            losses.in_batch_softmax(row, tau=1.0, log_q=np.concatenate(([0.0], np.log(3 * q[list(batch)]))))
        )
    assert sums[True] == pytest.approx(3 * full, rel=1e-12)
    assert sums[False] == pytest.approx(3 * (q * np.exp(scores)).sum(), rel=1e-12)
    assert abs(sums[False] / 3 / full - 1) > 0.2
    assert corrected_loss < math.log(math.exp(0.7) + full) - 0.7 - 1e-3  # Jensen


def test_every_pair_of_a_batch_may_be_one_item() -> None:
    """Nothing but the positive is left: the loss is 0 and its gradient too."""
    scores = torch.randn(3, 3, requires_grad=True)
    loss = losses.in_batch_softmax(scores, tau=0.1, item_ids=[5, 5, 5])
    loss.backward()
    assert float(loss.detach()) == 0 and bool((scores.grad == 0).all())


@pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
def test_what_is_masked_takes_no_part(kind) -> None:
    """A mask of one's own by -infinity is that of item_ids; what item_ids leaves out may even be NaN."""
    scores = [[0.3, 0.1, 0.7], [0.2, 0.5, 0.4]]
    plain = losses.in_batch_softmax(kind(scores), tau=0.5, item_ids=[1, 2, 1])
    for masked, ids in ((-np.inf, None), (np.nan, [1, 2, 1])):
        scores[0][2] = masked
        assert float(losses.in_batch_softmax(kind(scores), tau=0.5, item_ids=ids)) == float(plain)


COLUMNS = [2, 0, 3, 5]  # a positive for each row of SCORES
PLACES = torch.tensor(COLUMNS)
TANH = np.tanh(SCORES)  # for the margins, which take cosines


def angle_wider(cosine: torch.Tensor) -> torch.Tensor:
    return torch.cos(torch.arccos(cosine) + 0.2)


MASKED: dict[str, tuple[Callable[..., torch.Tensor], Callable[[torch.Tensor], torch.Tensor], list[int]]] = {
    "in_batch_softmax": (losses.in_batch_softmax, unchanged, [0, 1, 2, 3]),
    "with log_q": (partial(losses.in_batch_softmax, log_q=torch.from_numpy(LOG_Q)), unchanged, [0, 1, 2, 3]),
    "with item_ids": (partial(losses.in_batch_softmax, item_ids=torch.tensor(IDS)), unchanged, [0, 1, 2, 3]),
    "infonce": (partial(losses.infonce, positives=PLACES), unchanged, COLUMNS),
    "cosine_margin": (
        partial(losses.cosine_margin, margin=0.2, positives=PLACES),
        lambda cosine: cosine - 0.2,
        COLUMNS,
    ),
    "angular_margin": (partial(losses.angular_margin, margin=0.2, positives=PLACES), angle_wider, COLUMNS),
}
"""By name: the loss, what it does to a positive's cosine, the columns of the positives."""


def some_left_out(columns: list[int]) -> torch.Tensor:
    """(4, 6): nothing left out in row 0, all negatives in row 1, some in the others."""
    out = torch.zeros(4, 6, dtype=torch.bool)
    out[1], out[2, 1], out[3, :3] = True, True, True
    out[range(4), columns] = False
    return out


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", MASKED)
def test_a_mask_of_ones_own_has_the_gradients_of_the_loss_without_it(name: str, dtype: torch.dtype) -> None:
    """The temperature's gradient too, of any precision: s / tau has the slope -s / tau^2, which no mask may enter."""
    loss, changed, columns = MASKED[name]
    out = some_left_out(columns)
    ours, theirs = (
        [torch.tensor(TANH, dtype=dtype, requires_grad=True), torch.nn.Parameter(torch.tensor(0.3, dtype=dtype))]
        for _ in "12"
    )
    found = loss(ours[0].masked_fill(out, -math.inf), tau=ours[1])
    scores, tau = (leaf.double() for leaf in theirs)
    if name == "with item_ids":  # two masks, of which neither lies in the other
        hits = hits_of(IDS, 6)
        assert bool((hits & ~out).any()) and bool((out & ~hits).any())
        out = out | hits
    expected = by_hand(scores, tau, out, columns, LOG_Q if name == "with log_q" else None, changed)
    found.backward()
    expected.backward()
    rough = {"rtol": 10 * torch.finfo(dtype).eps, "atol": torch.finfo(dtype).eps}
    torch.testing.assert_close(found.double(), expected, **rough)
    for mine, other in some(zip(ours, theirs, strict=True)):
        torch.testing.assert_close(mine.grad, other.grad, **rough)


@pytest.mark.seconds
@pytest.mark.parametrize("name", MASKED)
def test_masked_losses_are_differentiated_right_as_functions(name: str) -> None:
    """Against finite differences, twice; row by row of a stack of temperatures by vmap; compiled as a whole."""
    loss, _, columns = MASKED[name]
    out = some_left_out(columns)
    scores, tau = (torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (TANH, 0.3))

    def of(scores: torch.Tensor, tau: torch.Tensor) -> torch.Tensor:
        return loss(scores.masked_fill(out, -math.inf), tau=tau)

    assert torch.autograd.gradcheck(of, (scores, tau))
    assert torch.autograd.gradgradcheck(of, (scores, tau))
    slope = torch.autograd.grad(of(scores, tau), tau)[0]
    apart = torch.func.vmap(torch.func.grad(of, argnums=1), in_dims=(None, 0))(scores.detach(), tau.detach().repeat(3))
    torch.testing.assert_close(apart, slope.repeat(3))
    compiled = torch.compile(of, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(torch.autograd.grad(compiled(scores, tau), tau)[0], slope)


@pytest.mark.parametrize("stands_there", [math.nan, math.inf, -math.inf, 7.0])
def test_accidental_hits_have_no_part_in_the_gradient_of_the_temperature(stands_there: float) -> None:
    tau, twin = (torch.nn.Parameter(torch.tensor(0.3, dtype=torch.float64)) for _ in "12")
    scores = torch.tensor(SCORES, requires_grad=True)
    hits = hits_of(IDS, 6)
    losses.in_batch_softmax(scores.masked_fill(hits, stands_there), tau=tau, item_ids=IDS).backward()
    by_hand(torch.tensor(SCORES), twin, hits, range(4)).backward()
    torch.testing.assert_close(tau.grad, twin.grad, rtol=1e-12, atol=0)
    assert bool((scores.grad[hits] == 0).all()) and bool(scores.grad.isfinite().all())


def test_what_item_ids_leave_out_is_not_named_for_what_stands_elsewhere() -> None:
    scores = SCORES.copy()
    scores[0, 2], scores[1, 3] = math.nan, math.inf  # an accidental hit, and a fault
    for given, tau in ((scores, 0.3), (torch.tensor(scores), torch.nn.Parameter(torch.tensor(0.3)))):
        with pytest.raises(ValueError, match=r"scores\[1, 3\] = inf, a negative"):
            losses.in_batch_softmax(given, tau=tau, item_ids=IDS)


@pytest.mark.parametrize("tau", [0.5, "learned"])
@pytest.mark.parametrize("kind", [np.asarray, torch.tensor])
@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ((2, 2), -math.inf, r"scores\[2, 2\] = -inf, the positive of its row"),
        ((slice(1, 2), slice(None)), -math.inf, r"scores\[1, 1\] = -inf, the positive of its row"),
        ((2, 1), math.inf, r"scores\[2, 1\] = inf, a negative"),
        ((2, 1), math.nan, r"scores\[2, 1\] = nan, a negative"),
    ],
)
@pytest.mark.parametrize(
    "loss",
    [
        losses.in_batch_softmax,
        losses.infonce,
        partial(losses.cosine_margin, margin=0.1),
        partial(losses.angular_margin, margin=0.1),
        partial(losses.in_batch_softmax, item_ids=[4, 5, 6]),
    ],
)
def test_what_cannot_be_left_out_is_named_and_a_mask_before_it_is_not(
    loss: Callable[..., object], place: Any, value: float, words: str, kind: Callable[..., Any], tau: Any
) -> None:
    scores = TANH[:3, :3].copy()
    scores[0, 1] = -math.inf  # a mask, and right
    scores[place] = value
    given = kind(scores)
    if tau == "learned":
        given, tau = torch.as_tensor(given), torch.nn.Parameter(torch.tensor(0.5))
    with pytest.raises(ValueError, match=words + "; expected finite scores, and -infinity only for negatives"):
        loss(given, tau=tau)


def softmax(scores: Any = ((0.0, 0.0), (0.0, 0.0)), **given: Any) -> object:
    return losses.in_batch_softmax(scores, **{"tau": 1.0} | given)


ZEROS = torch.zeros(2, 2)
test_what_does_not_fit_is_refused = refused(
    (lambda: softmax(np.zeros((3, 2))), r"expected \(m, n\) with m <= n"),
    (lambda: softmax(np.zeros((0, 2))), "expected a matrix"),
    (lambda: softmax(np.full((2, 2), np.nan)), r"scores\[0, 0\] = nan"),
    (lambda: softmax(tau=0), "tau is 0; expected a finite number above 0"),
    (lambda: softmax(tau=torch.tensor(0.5)), "one number as a tensor beside scores that are a tensor"),
    (lambda: softmax(ZEROS, tau=torch.tensor([0.5, 0.5])), r"tau is a tensor of shape \(2,\)"),
    (lambda: softmax(ZEROS, tau=torch.tensor(-1.0)), "tau is .*1.*; expected a finite number above 0"),
    (lambda: softmax(log_q=[0.0]), r"log_q has shape \(1,\); expected \(2,\)"),
    (lambda: softmax(log_q=[0.0, -np.inf]), r"log_q\[1\] = -inf"),
    (lambda: softmax(item_ids=[1, 2, 3]), r"item_ids has shape \(3,\); expected \(2,\)"),
    (lambda: softmax(item_ids=[1.0, 2.0]), "item_ids must hold integers"),
    (lambda: softmax(ZEROS, item_ids=torch.tensor([True, False])), "item_ids must hold integers"),
)
