"""`losses.in_batch_softmax`: against torch's cross entropy, against every draw of a batch, and its bad inputs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from course_lib import losses
from course_lib.checking import some

RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(4, 6))
LOG_Q = np.log(RNG.dirichlet(np.ones(6)))
IDS = np.array([3, 1, 3, 0, 1, 7])  # item 3 stands in columns 0 and 2, item 1 in columns 1 and 4


def by_hand(
    scores: torch.Tensor, tau: torch.Tensor | float, log_q: np.ndarray | None, ids: np.ndarray | None
) -> torch.Tensor:
    """The loss a row at a time, with torch's cross entropy over the candidates that count."""
    values = []
    for row in range(len(scores)):
        kept = [c for c in range(scores.shape[1]) if c == row or ids is None or ids[c] != ids[row]]
        logits = scores[row, kept] / tau
        if log_q is not None:
            logits = logits - torch.from_numpy(log_q)[kept]
        values.append(functional.cross_entropy(logits[None], torch.tensor([kept.index(row)])))
    return torch.stack(values).mean()


@pytest.mark.parametrize("log_q", [None, LOG_Q])
@pytest.mark.parametrize("ids", [None, IDS])
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
    expected = by_hand(theirs[0], theirs[1], shift, items)
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


def test_infonce_is_the_plain_case() -> None:
    assert losses.infonce(SCORES[:, :4], tau=0.2) == losses.in_batch_softmax(SCORES[:, :4], tau=0.2)


def test_a_constant_in_log_q_changes_nothing() -> None:
    both = [losses.in_batch_softmax(SCORES, tau=0.2, log_q=LOG_Q + c) for c in (0, 5)]
    assert both[0] == pytest.approx(both[1])


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


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scores": np.zeros((3, 2))}, r"expected \(m, n\) with m <= n"),
        ({"scores": np.zeros((0, 2))}, "expected a matrix"),
        ({"scores": np.full((2, 2), np.nan)}, r"scores\[0, 0\] = nan"),
        ({"tau": 0}, "tau is 0; expected a finite number above 0"),
        ({"tau": torch.tensor(0.5)}, "one number as a tensor beside scores that are a tensor"),
        ({"scores": torch.zeros(2, 2), "tau": torch.tensor([0.5, 0.5])}, r"tau is a tensor of shape \(2,\)"),
        ({"scores": torch.zeros(2, 2), "tau": torch.tensor(-1.0)}, "tau is .*1.*; expected a finite number above 0"),
        ({"log_q": [0.0]}, r"log_q has shape \(1,\); expected \(2,\)"),
        ({"log_q": [0.0, -np.inf]}, r"log_q\[1\] = -inf"),
        ({"item_ids": [1, 2, 3]}, r"item_ids has shape \(3,\); expected \(2,\)"),
        ({"item_ids": [1.0, 2.0]}, "item_ids must hold integers"),
        ({"scores": torch.zeros(2, 2), "item_ids": torch.tensor([True, False])}, "item_ids must hold integers"),
        ({"scores": [[-np.inf, 0.0], [0.0, 0.0]]}, r"scores\[0, 0\] = -inf"),  # a positive
        ({"scores": [[0.0, np.inf], [0.0, 0.0]]}, r"scores\[0, 1\] = inf"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        losses.in_batch_softmax(**{"scores": np.zeros((2, 2)), "tau": 1.0} | change)
