"""PAAC: unpopular items pulled towards the same user's popular ones, and contrast within groups of popularity."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from course_lib import checking, losses
from course_lib.backbones.base import Backbone, Tables, rows, triple_scores
from course_lib.debiasing.rival import Rival, sample
from course_lib.interactions import Interactions


class PAAC(Rival):
    """Pull unpopular items towards the same user's popular ones, and contrast within groups of popularity.

    The loss is ``BPR + align * L_sa + contrast * (L_item + L_user) / 2 + penalty``, with the backbone's penalty and::

        L_sa    mean over users u of |f(i) - f(i')|^2, i from the popular half and i' from the unpopular half of u's
                items, f the embedding scaled to length 1
        L_item  gamma L_pop + (1 - gamma) L_unpop over the items of the batch, cut in halves by popularity, with two
                noisy views h', h'' and E_ij = exp(h'_i.h''_j / tau):
                L_pop = mean over popular i of -ln [E_ii / (sum over popular j of E_ij + beta sum over others of E_ij)]
                and L_unpop with the two halves exchanged
        L_user  the same over the users of the batch, without halves: losses.infonce

    Served like the backbone.

    Parameters
    ----------
    backbone : Backbone
        The model to train.
    interactions : Interactions
        The training pairs, which say how popular an item is.
    align, contrast : float
        The weights of the alignment and of the contrast.
    gamma : float
        The share of the popular items in ``L_item``, in [0, 1].
    beta : float
        The weight of the other half's items, in [0, 1]. Below 1 they are pushed less far away than those of the own
        half; at 0 not at all.
    tau : float
        The temperature, above 0.
    noise : float
        Each view adds to an embedding a vector of this length, its signs those of the embedding.
    limit : int
        At most so many users and items of a batch, drawn at random, enter the contrast, whose cost grows with their
        square.
    generator : torch.Generator
        Draws pairs, views and samples before the first epoch; later each epoch has its own.

    Raises
    ------
    ValueError
        For numbers out of range, and for a backbone that does not fit the interactions.

    Notes
    -----
    ``L_sa`` pulls both ends of a pair: the popular item moves towards the unpopular one as well.

    Source: Cai et al., KDD 2024 (arXiv 2405.20718), equations (4) to (11), and the authors' repository
    ``miaomiao-cai2/KDD2024-PAAC``. Choices: the paper sums over all pairs (i, i') of a user's items in the batch,
    without scaling; the repository aligns scaled embeddings once per epoch, one pair per popular item among all of a
    user's items; here a mean, one random pair per triple of the batch, scaled, among all items of its user. An odd
    item in the middle is left out. Noise is added to the final embeddings, since MF has no others (there: to every
    layer). The repository counts the positive twice in the denominator, the paper and this class once. The paper's
    text says that gamma = 0 stresses popular items, its equation (7), the repository and this class do the opposite;
    its (8) and (9) lack the minus sign that its Figure 2 has.

    Examples
    --------
    A user's two items stand at a right angle, so the squared distance of the scaled embeddings is 2.

    >>> import torch
    >>> from course_lib import backbones, debiasing
    >>> from course_lib.interactions import Interactions
    >>> data, generator = Interactions([0, 0, 1], [0, 1, 0], n_users=2, n_items=2), torch.Generator().manual_seed(0)
    >>> backbone = backbones.MF(2, 2, 2, generator=generator)
    >>> backbone.items.data = torch.tensor([[7.0, 0.0], [0.0, 3.0]])
    >>> model = debiasing.PAAC(backbone, data, generator=generator)
    >>> model.alignment(torch.tensor([0]), model()).item()
    2.0
    """

    ranked: Tensor
    starts: Tensor

    def __init__(
        self,
        backbone: Backbone,
        interactions: Interactions,
        *,
        align: float = 1.0,
        contrast: float = 0.2,
        gamma: float = 0.5,
        beta: float = 0.5,
        tau: float = 0.2,
        noise: float = 0.2,
        limit: int = 512,
        generator: torch.Generator,
    ) -> None:
        super().__init__(backbone, interactions, generator=generator)
        self.gamma, self.beta = (
            checking.real(x, name, least=0, most=1) for x, name in ((gamma, "gamma"), (beta, "beta"))
        )
        self.align, self.noise = checking.real(align, "align", least=0), checking.real(noise, "noise", least=0)
        self.contrast_weight = checking.real(contrast, "contrast", least=0)
        self.tau, self.limit = checking.real(tau, "tau", above=0), checking.whole(limit, "limit")
        order = np.lexsort((interactions.items, -interactions.col_counts[interactions.items], interactions.users))
        ranked = torch.as_tensor(interactions.items[order])  # (|O|,) per user, most popular first
        self.register_buffer("ranked", ranked, persistent=False)
        self.register_buffer("starts", torch.as_tensor(interactions.row_starts.copy()), persistent=False)

    def loss(self, users: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        """The four terms of the class on a batch of triples."""
        tables = self.embeddings()
        loss: Tensor = losses.bpr(*triple_scores(tables, users, positives, negatives))
        loss = loss + self.align * self.alignment(users, tables)
        loss = loss + self.contrast_weight * self.contrasts(users, positives, tables)
        return loss + self.penalty(users, positives, negatives, tables)

    def alignment(self, users: Tensor, tables: Tables) -> Tensor:
        """The mean over the batch's users of |f(i) - f(i')|^2 of one random pair each; one item alone is no pair."""
        half = (self.starts[users + 1] - self.starts[users]) // 2
        able = half > 0
        if not bool(able.any()):
            return tables[1].new_zeros(())
        users, half = users[able], half[able]
        popular, unpopular = (
            (torch.rand(len(users), generator=self.draws, device=users.device, dtype=torch.float64) * half).long()
            for _ in range(2)
        )
        ends = (self.ranked[self.starts[users] + popular], self.ranked[self.starts[users + 1] - 1 - unpopular])
        first, second = (normalize(rows(tables[1], items), dim=1) for items in ends)
        return (first - second).square().sum(dim=1).mean()

    def contrasts(self, users: Tensor, positives: Tensor, tables: Tables) -> Tensor:
        """(L_item + L_user) / 2 over the distinct users and items of the batch."""
        users, items = (sample(torch.unique(ids), self.limit, self.draws) for ids in (users, positives))
        of_users = [self._view(rows(tables[0], users)) for _ in range(2)]
        of_items = [self._view(rows(tables[1], items)) for _ in range(2)]
        by_user: Tensor = losses.infonce(of_users[0] @ of_users[1].T, tau=self.tau)
        return (self.item_contrast(of_items[0], of_items[1], self.popularity[items]) + by_user) / 2

    def item_contrast(self, first: Tensor, second: Tensor, popularity: Tensor) -> Tensor:
        """gamma L_pop + (1 - gamma) L_unpop of two views (n, d) of n items, the more popular half against the rest."""
        order = torch.argsort(popularity, descending=True, stable=True)
        popular, unpopular = order[: (len(order) + 1) // 2], order[(len(order) + 1) // 2 :]
        of_popular = info_nce(first[popular], second[popular], second[unpopular], self.tau, self.beta)
        of_unpopular = info_nce(first[unpopular], second[unpopular], second[popular], self.tau, self.beta)
        return self.gamma * of_popular + (1 - self.gamma) * of_unpopular

    def _view(self, embeddings: Tensor) -> Tensor:
        """A noisy copy, scaled to length 1."""
        noise = torch.rand(embeddings.shape, generator=self.draws, device=embeddings.device, dtype=embeddings.dtype)
        return normalize(embeddings + embeddings.sign() * normalize(noise, dim=1) * self.noise, dim=1)


def info_nce(first: Tensor, second: Tensor, others: Tensor, tau: float, weight: float) -> Tensor:
    """Compute InfoNCE in which further candidates count with a weight.

    It is the mean over rows b of ``-ln [exp(x_b.y_b / tau) / (sum_j exp(x_b.y_j / tau) + weight * sum_k exp(x_b.z_k /
    tau))]``.

    Parameters
    ----------
    first, second : Tensor, shape (n, d)
        The two views x and y of the positives.
    others : Tensor, shape (k, d)
        The further candidates z.
    tau : float
        The temperature.
    weight : float
        The weight of the further candidates. With 0 it is ``infonce``.

    Returns
    -------
    Tensor, shape ()
        The loss in nats; 0 for n = 0.

    Notes
    -----
    A candidate of weight w is one with -ln w as its ``log_q`` in ``losses.in_batch_softmax``.

    Examples
    --------
    One further candidate with the score of the positive and weight 3: ln(1 + 3).

    >>> import torch
    >>> from course_lib.debiasing.paac import info_nce
    >>> x = torch.tensor([[1.0, 0.0]])
    >>> round(float(info_nce(x, x, x, tau=0.5, weight=3.0)), 4)
    1.3863
    """
    if not len(first):
        return first.new_zeros(())
    candidates = torch.cat((second, others)) if weight else second
    log_q = first.new_zeros(len(candidates))
    log_q[len(second) :] = -math.log(weight or 1)
    loss: Tensor = losses.in_batch_softmax(first @ candidates.T, tau=tau, log_q=log_q)
    return loss
