"""P machines inside one: the scores that each of them sees, and a training on films that is the same but for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from course_lib import checking, losses
from course_lib.interactions import Interactions

GATHERS = ("none", "constant", "gradients")
PAIRS = 256


def scores_on(queries: Tensor, items: Tensor, *, processes: int, gather: str) -> Tensor:
    """The scores (P B, P B) of a batch on P machines, each of which computes the rows of its own B queries.

    gather: "none" gives a machine its own items alone, the scores with others are -infinity; "constant" gives it the
    other machines' items as numbers without a gradient; "gradients" gives it all, as one machine has them. The gradient
    of a mean over all rows is then the average of the gradients of the machines.
    """
    checking.choice(gather, "gather", GATHERS)
    size = len(queries)
    if size % checking.whole(processes, "processes"):
        raise checking.refuse(processes, "processes", f"a number that divides the {size} pairs of the batch")
    scores = queries @ items.T
    if gather == "gradients":
        return scores
    machine = torch.arange(size) // (size // processes)
    near = machine[:, None] == machine[None, :]
    far = queries @ items.detach().T if gather == "constant" else torch.full_like(scores, -torch.inf)
    return torch.where(near, scores, far)


@dataclass(frozen=True)
class Training:
    """What a training on films has come to: the two tables, and the loss of its first step."""

    users: Tensor
    items: Tensor
    first_loss: float


def train(films: Interactions, *, steps: int = 300, **settings: Any) -> Training:
    """`train_to` one number of steps, with its settings."""
    [found] = train_to([steps], films, **settings)
    return found


def train_to(
    stops: Sequence[int],
    films: Interactions,
    *,
    gather: str,
    processes: int = 8,
    log_q: bool = False,
    temperature: float | None = None,
    seed: int = 0,
) -> Iterator[Training]:
    """One training, as it stands after each of the numbers of steps in `stops`, which grow.

    Free vectors of 16 numbers, in-batch softmax over 256 pairs on P machines, Adam with the rate 0.01. All settings of
    one seed start at the same vectors and see the same batches. log_q: take the logarithm of a film's share of the
    pairs from its score. temperature: the scores are cosines divided by it, and the tables have rows of length 1; None:
    the scores are inner products. A film's copies in other columns of a row are left out as accidental hits.
    """
    if not stops or any(after <= before for before, after in pairwise([0, *stops])):
        raise checking.refuse(stops, "stops", "numbers of steps that grow, from 1 on")
    generator, rng = torch.Generator().manual_seed(seed), np.random.default_rng(seed)
    users, items = (
        (0.3 * torch.randn(n, 16, generator=generator)).requires_grad_() for n in (films.n_users, films.n_items)
    )
    optimiser = torch.optim.Adam([users, items], lr=0.01)
    shares = torch.from_numpy(np.log(films.col_counts / len(films))).float()
    first = 0.0
    for step in range(1, stops[-1] + 1):
        drawn = rng.choice(len(films), PAIRS, replace=False)
        people, shown = torch.from_numpy(films.users[drawn]), torch.from_numpy(films.items[drawn])
        queries, answers = (rows if temperature is None else normalize(rows) for rows in (users[people], items[shown]))
        scores = scores_on(queries / (temperature or 1.0), answers, processes=processes, gather=gather)
        loss = softmax(scores, shown, shares[shown] if log_q else None)
        first = loss.item() if step == 1 else first
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
        if step in stops:
            ends = [table.detach().clone() for table in (users, items)]
            q, k = ends if temperature is None else map(normalize, ends)
            yield Training(q, k, first)


def softmax(scores: Tensor, shown: Tensor, log_q: Tensor | None = None) -> Tensor:
    """`losses.in_batch_softmax` without accidental hits, for scores of which some are -infinity."""
    if torch.isfinite(scores).all():
        found: Tensor = losses.in_batch_softmax(scores, tau=1.0, log_q=log_q, item_ids=shown)
        return found
    hits = (shown[:, None] == shown[None, :]) & ~torch.eye(len(shown), dtype=torch.bool)
    logits = (scores if log_q is None else scores - log_q).masked_fill(hits, -torch.inf)
    return cross_entropy(logits, torch.arange(len(shown)))
