"""P machines inside one: the scores that each of them sees, and a training on films that is the same but for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from course_lib import checking
from course_lib.data import metrics
from course_lib.data.interactions import Interactions
from course_lib.maths import losses

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
    """What a training on films ends with: the two tables, and the loss of its first step."""

    users: Tensor
    items: Tensor
    first_loss: float


def train(
    films: Interactions, *, gather: str, processes: int = 8, log_q: bool = False, seed: int = 0, steps: int = 300
) -> Training:
    """Free vectors of 16 numbers, in-batch softmax over 256 pairs on P machines, Adam with the rate 0.01.

    All settings of one seed start at the same vectors and see the same batches. log_q: take the logarithm of a film's
    share of the pairs from its score. A film's copies in other columns of a row are left out as accidental hits.
    """
    generator, rng = torch.Generator().manual_seed(seed), np.random.default_rng(seed)
    users, items = (
        (0.3 * torch.randn(n, 16, generator=generator)).requires_grad_() for n in (films.n_users, films.n_items)
    )
    optimiser = torch.optim.Adam([users, items], lr=0.01)
    shares = torch.from_numpy(np.log(films.col_counts / len(films))).float()
    first = None
    for _ in range(steps):
        drawn = rng.choice(len(films), PAIRS, replace=False)
        people, shown = torch.from_numpy(films.users[drawn]), torch.from_numpy(films.items[drawn])
        scores = scores_on(users[people], items[shown], processes=processes, gather=gather)
        loss = softmax(scores, shown, shares[shown] if log_q else None)
        first = loss.item() if first is None else first
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
    return Training(users.detach(), items.detach(), first or 0.0)


def softmax(scores: Tensor, shown: Tensor, log_q: Tensor | None = None) -> Tensor:
    """`losses.in_batch_softmax` without accidental hits, for scores of which some are -infinity."""
    if torch.isfinite(scores).all():
        found: Tensor = losses.in_batch_softmax(scores, tau=1.0, log_q=log_q, item_ids=shown)
        return found
    hits = (shown[:, None] == shown[None, :]) & ~torch.eye(len(shown), dtype=torch.bool)
    logits = (scores if log_q is None else scores - log_q).masked_fill(hits, -torch.inf)
    return torch.nn.functional.cross_entropy(logits, torch.arange(len(shown)))


@dataclass(frozen=True)
class Outcome:
    """How a training recommends: recall at ten, the median fans of the films in its lists, how many films it shows.

    turn: the cosine of the mean film's vector with the mean person's.
    """

    recall: float
    fans: float
    shown: int
    turn: float


def outcome(training: Training, known: Interactions, hidden: Interactions) -> Outcome:
    """The lists of ten films that each person does not know, against the hidden ones."""
    users, items = training.users.numpy(), training.items.numpy()
    lists = metrics.top_k(users, items, known, 10)
    recall = float(metrics.evaluate(users, items, known, hidden, 10)["recall@10"])
    middle = torch.cosine_similarity(training.users.mean(0), training.items.mean(0), dim=0)
    return Outcome(recall, float(np.median(known.col_counts[lists])), len(np.unique(lists)), float(middle))
