"""PC: a trained model's scores, with a compensation added that is the larger the less popular the item is."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib import checking
from course_lib.backbones.base import Backbone, Tables
from course_lib.debiasing.rival import Rival
from course_lib.interactions import Interactions

BLOCK = 10_000  # pairs whose embeddings are gathered at a time


class PC(Rival):
    """Re-rank a trained model's scores with a compensation that is the larger the less popular the item is.

    Popularity compensation trains as the backbone alone, and serves by::

        r*_ui = r_ui + alpha (n_u / m_u) c_ui,    c_ui = (beta r_ui / n_u + 1 - beta) / (pop_i + 1),

    where ``r_ui = <e_u, e_i>``. ``n_u`` and ``m_u`` are the root mean squares of ``r_ui`` and ``c_ui`` over the items
    that user u does not have: so for each user the compensations are alpha times as large as the scores.

    Parameters
    ----------
    backbone : Backbone
        The model whose scores are served.
    interactions : Interactions
        The training pairs, which say how popular an item is.
    alpha : float
        The size of the compensations. A plain attribute, to be chosen on validation data after training.
    beta : float
        Weighs liking against rarity alone. At 0 the order of the compensations is the same for all users. A plain
        attribute as well.
    generator : torch.Generator
        As for every rival; this one draws nothing.

    Raises
    ------
    ValueError
        For negative numbers, and for a backbone that does not fit the interactions.

    Notes
    -----
    Tables for serving: ``[e_u, (alpha beta / m_u) e_u, alpha (1 - beta) n_u / m_u]`` and ``[e_i, w_i e_i, w_i]`` with
    ``w_i = 1 / (pop_i + 1)``, 2d + 1 numbers per row. ``n_u`` and ``m_u`` come from d x d matrices and the training
    pairs, never from all m x n scores.

    Source: Zhu et al., WSDM 2021 (post-processing). The paper's ``c_ui = (beta r_ui + 1 - beta) / pop_i`` depends on
    the unit of the scores; code that goes with it (found without its repository's name) divides ``r_ui`` by ``n_u``
    first and adds 1 to the count, so that items without a pair are allowed. That is what stands here. The paper itself
    was not at hand, its formulas came from a reader's notes. Its norms divide by the number of items and not by the
    root of it, which cancels in ``n_u / m_u``. The defaults alpha = 1 and beta = 0.4 are a remark in that code.

    Examples
    --------
    All scores of the user are 1, so rarity alone decides: item 1 has one pair fewer than item 0.

    >>> import torch
    >>> from course_lib import backbones, debiasing
    >>> from course_lib.interactions import Interactions
    >>> data, generator = Interactions([0, 0, 1], [0, 1, 0], n_users=3, n_items=2), torch.Generator().manual_seed(0)
    >>> backbone = backbones.MF(3, 2, 1, generator=generator)
    >>> backbone.users.data, backbone.items.data = torch.ones(3, 1), torch.ones(2, 1)
    >>> users, items = debiasing.PC(backbone, data, generator=generator).ranking()
    >>> (users[2] @ items.T).argmax().item(), tuple(items.shape)
    (1, (2, 3))
    """

    rarity: Tensor
    pairs: Tensor

    def __init__(
        self,
        backbone: Backbone,
        interactions: Interactions,
        *,
        alpha: float = 1.0,
        beta: float = 0.4,
        generator: torch.Generator,
    ) -> None:
        super().__init__(backbone, interactions, generator=generator)
        self.alpha, self.beta = checking.real(alpha, "alpha", least=0), checking.real(beta, "beta", least=0)
        self.register_buffer("rarity", torch.reciprocal(self.popularity + 1), persistent=False)  # (n,)
        self.register_buffer("pairs", torch.as_tensor(interactions.pairs.T.copy()), persistent=False)  # (2, |O|)

    def ranking(self) -> Tables:
        """(m, 2d + 1) and (n, 2d + 1): formula in the class."""
        users, items = self.embeddings()
        size, spread = (value.to(users.dtype)[:, None] for value in self.sizes(users, items))
        left = (users, self.alpha * self.beta / spread * users, self.alpha * (1 - self.beta) * size / spread)
        right = (items, self.rarity[:, None] * items, self.rarity[:, None])
        return torch.cat(left, dim=1), torch.cat(right, dim=1)

    def sizes(self, users: Tensor, items: Tensor) -> tuple[Tensor, Tensor]:
        """(n_u, m_u), each (m,) in float64; 1 where all scores, or all compensations, of a user are 0.

        The sum of squares over all items is a quadratic form in e_u; that over the user's own items is taken from it.
        """
        owners, own = self.pairs
        scores = self._pair_scores(users, items).double()  # (|O|,) r_ui of the training pairs
        users, items, rarity, rest = users.double(), items.double(), self.rarity.double(), 1 - self.beta
        every = ((users @ (items.T @ items)) * users).sum(dim=1)
        size = self._unseen_root_mean(every, scores)
        weighted, scaled = rarity[:, None] * items, self.beta / size[:, None] * users
        every = ((scaled @ (weighted.T @ weighted)) * scaled).sum(dim=1)
        every = every + 2 * rest * (scaled @ (weighted.T @ rarity)) + rest**2 * (rarity @ rarity)
        return size, self._unseen_root_mean(every, (self.beta * scores / size[owners] + rest) * rarity[own])

    def _pair_scores(self, users: Tensor, items: Tensor) -> Tensor:
        blocks = zip(torch.split(self.pairs[0], BLOCK), torch.split(self.pairs[1], BLOCK), strict=True)
        return torch.cat([(users[u] * items[i]).sum(dim=1) for u, i in blocks])

    def _unseen_root_mean(self, every: Tensor, values: Tensor) -> Tensor:
        """Root mean square over the items that a user does not have.

        every (m,): sums of squares over all items; values (|O|,): those of the training pairs.
        """
        owners = self.pairs[0]
        seen = torch.zeros_like(every).index_add(0, owners, values.square())
        left = self.n_items - torch.bincount(owners, minlength=self.n_users)
        roots = ((every - seen).clamp(min=0) / left.clamp(min=1)).sqrt()
        return torch.where(roots > 0, roots, 1.0)
