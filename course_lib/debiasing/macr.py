"""MACR: a pair's score times one of the item alone and one of the user alone; serving takes the two out again."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from course_lib import checking, losses
from course_lib.backbones.base import Backbone, Tables, rows, triple_scores
from course_lib.debiasing.rival import Rival
from course_lib.interactions import Interactions


class MACR(Rival):
    """Multiply a pair's score by one of the item and one of the user alone, and take these two out for serving.

    From the match ``y = <e_u, e_i>`` and the own scores ``a_i = <w, e_i>`` and ``a_u = <v, e_u>``::

        training   y_ui = y sigma(a_i) sigma(a_u), binary cross entropy; + alpha that of a_i, + beta that of a_u
        serving    (y - c) sigma(a_i) sigma(a_u) = y_ui - c sigma(a_i) sigma(a_u)

    Parameters
    ----------
    backbone : Backbone
        The model to train.
    interactions : Interactions
        The training pairs.
    alpha, beta : float
        The weights of the two branches, of the item and of the user.
    c : float
        The match that serving takes for granted, chosen on validation data. It is a plain attribute and can be changed
        after training.
    generator : torch.Generator
        Draws the vectors w and v.

    Raises
    ------
    ValueError
        For negative numbers, and for a backbone that does not fit the interactions.

    Notes
    -----
    The own score ``a_i`` learns from labels alone which items are chosen, for all users alike: popularity. Serving
    subtracts what item and user would score if their match were the constant c. For one user, items with match c tie
    at 0, popular or not; above c a popular item gains from its popularity, below it loses, and for c -> infinity the
    list is that of the least ``sigma(a_i)``. Tables for serving: ``sigma(a_u) [e_u, -c]`` and ``sigma(a_i) [e_i, 1]``,
    so d + 1 numbers per row.

    Source: Wei et al., KDD 2021 (arXiv 2010.15363), read in the authors' repository ``weitianxin/MACR``, whose alpha,
    beta and c are the defaults. Choices: the two small models are one vector each, without offset, as in that
    repository (RecBole-Debias has an MLP); a negative counts as label 0 of pair and item; a user's own score meets
    both labels once per triple, as there. c = 40 belongs to its long trainings: where scores have another size it is
    another number, so tune it.

    Examples
    --------
    Both items have the match c = 2 with the user, so both are served with the score 0.

    >>> import torch
    >>> from course_lib import backbones, debiasing
    >>> from course_lib.interactions import Interactions
    >>> data, generator = Interactions([0, 0], [0, 1], n_users=1, n_items=2), torch.Generator().manual_seed(0)
    >>> backbone = backbones.MF(1, 2, 2, generator=generator)
    >>> backbone.users.data, backbone.items.data = torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0, 0.0], [2.0, 5.0]])
    >>> users, items = debiasing.MACR(backbone, data, c=2.0, generator=generator).ranking()
    >>> bool(((users @ items.T).abs() < 1e-6).all())
    True
    """

    user_own: Tensor
    item_own: Tensor

    def __init__(
        self,
        backbone: Backbone,
        interactions: Interactions,
        *,
        alpha: float = 1e-3,
        beta: float = 1e-3,
        c: float = 40.0,
        generator: torch.Generator,
    ) -> None:
        super().__init__(backbone, interactions, generator=generator)
        self.alpha, self.beta = checking.real(alpha, "alpha", least=0), checking.real(beta, "beta", least=0)
        self.c = checking.real(c, "c", least=0)
        for name in ("user_own", "item_own"):
            start = torch.randn(self.d, generator=generator, device=generator.device, dtype=self.popularity.dtype)
            self.register_parameter(name, nn.Parameter(start / self.d**0.5))  # (d,)

    def loss(self, users: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        """L_pair + alpha L_item + beta L_user and the backbone's penalty; each L is a mean over the batch."""
        tables = self.embeddings()
        of_user, of_positive, of_negative = self.own_scores(tables, users, positives, negatives)
        match, other = triple_scores(tables, users, positives, negatives)
        weight = of_user.sigmoid()
        loss = cross_entropy(match * weight * of_positive.sigmoid(), other * weight * of_negative.sigmoid())
        loss = loss + self.alpha * cross_entropy(of_positive, of_negative) + self.beta * cross_entropy(of_user, of_user)
        return loss + self.penalty(users, positives, negatives, tables)

    def own_scores(
        self, tables: Tables, users: Tensor, positives: Tensor, negatives: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """a_u, a_i and a_j of a batch of triples, each (B,)."""
        of_positive, of_negative = (rows(tables[1], items) @ self.item_own for items in (positives, negatives))
        return rows(tables[0], users) @ self.user_own, of_positive, of_negative

    def ranking(self) -> Tables:
        """sigma(a_u) [e_u, -c] (m, d + 1) and sigma(a_i) [e_i, 1] (n, d + 1)."""
        users, items = self.embeddings()
        of_users, of_items = ((users @ self.user_own).sigmoid()[:, None], (items @ self.item_own).sigmoid()[:, None])
        left = torch.cat((users, users.new_full((self.n_users, 1), -self.c)), dim=1)
        right = torch.cat((items, items.new_ones((self.n_items, 1))), dim=1)
        return left * of_users, right * of_items


def cross_entropy(pos_scores: Tensor, neg_scores: Tensor) -> Tensor:
    """Compute the mean of ``-ln sigma(pos) - ln(1 - sigma(neg))``: the logistic losses of labels 1 and 0.

    Parameters
    ----------
    pos_scores, neg_scores : Tensor, shape (B,)
        The scores with label 1 and with label 0.

    Returns
    -------
    Tensor, shape ()
        The mean over the batch, in nats.

    Examples
    --------
    Scores of 0 cost ln 2 for each of the two labels.

    >>> import torch
    >>> from course_lib.debiasing.macr import cross_entropy
    >>> round(float(cross_entropy(torch.zeros(3), torch.zeros(3))), 4)
    1.3863
    """
    values: Tensor = losses.logistic(1, pos_scores) + losses.logistic(0, neg_scores)
    return values.mean()
