"""IPS: the ranking loss of each observed pair, divided by the chance that such a pair is observed at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_lib import checking, losses
from course_lib.backbones.base import Backbone, rows, triple_scores
from course_lib.debiasing.rival import Rival
from course_lib.interactions import Interactions


class IPS(Rival):
    """Weigh the ranking loss of each pair by the inverse of the chance that the pair is observed at all.

    The loss is the mean over the batch of ``w_i * (-ln sigma(s_ui - s_uj))`` with ``w_i = 1 / p_i``, capped at the
    median and divided by its mean unless ``cap`` and ``balanced`` say otherwise. Served like the backbone.

    Parameters
    ----------
    backbone : Backbone
        The model to train.
    interactions : Interactions
        The training pairs, which say how popular an item is.
    propensities : array_like, shape (n,), optional
        The ``p_i``, in (0, 1]. The default is the count of item i over the largest count, a guess: counts hold liking
        as well as showing.
    power : float
        The exponent of the default.
    cap : float, "median" or None
        The largest weight; "median" is that of the items' weights, None is no cap. A cap trades bias for variance.
    balanced : bool
        Whether to divide the weights by their mean over the training pairs, so that learning rate and decay keep their
        meaning.
    generator : torch.Generator
        As for every rival; this one draws nothing.

    Raises
    ------
    ValueError
        For propensities outside (0, 1] or not one per item, a ``cap`` of another kind, and a backbone that does not
        fit the interactions.

    Notes
    -----
    If a pair that the user would like is observed with probability ``p_i > 0``, independently, then dividing by
    ``p_i`` gives the loss over all pairs that the user would like, on average over what happens to be observed:
    ``E[sum over observed of l_ui / p_i] = sum over liked of l_ui``. That needs the true propensities, no cap, and a law
    of the negatives j that does not look at what was observed. Negatives "outside the observed pairs" hide liked items
    among them, and then the weighted loss is biased even with the true ``p_i``.

    Sources: Joachims, Swaminathan and Schnabel, WSDM 2017, which P1 cites, and Schnabel et al., ICML 2016, for the
    estimator; Bottou et al., JMLR 2013, for the cap. P1 says neither which propensities it used nor whether it capped.
    Popularity as propensity, the cap at the median and the division by a constant are what DICE's authors did
    (repository ``tsinghua-fib-lab/DICE``, there divided by the largest weight). The estimator is the standard one; the
    papers named here were not at hand.

    Examples
    --------
    Item 0 has two pairs, item 1 has one, so a pair with item 1 counts twice as much.

    >>> import torch
    >>> from course_lib import backbones, debiasing
    >>> from course_lib.interactions import Interactions
    >>> data, generator = Interactions([0, 1, 1], [0, 0, 1], n_users=2, n_items=2), torch.Generator().manual_seed(0)
    >>> backbone = backbones.MF(2, 2, 4, generator=generator)
    >>> debiasing.IPS(backbone, data, cap=None, balanced=False, generator=generator).weights.tolist()
    [1.0, 2.0]
    >>> debiasing.IPS(backbone, data, cap=None, generator=generator).weights.tolist()
    [0.75, 1.5]
    """

    weights: Tensor

    def __init__(
        self,
        backbone: Backbone,
        interactions: Interactions,
        *,
        propensities: Any = None,
        power: float = 1.0,
        cap: float | str | None = "median",
        balanced: bool = True,
        generator: torch.Generator,
    ) -> None:
        super().__init__(backbone, interactions, generator=generator)
        counts = interactions.col_counts
        checking.real(power, "power", least=0)
        if propensities is None:
            propensities = (np.maximum(counts, 1) / max(counts.max(), 1)) ** power
        chances = torch.as_tensor(checking.vector(propensities, "propensities", self.n_items))
        if not bool(((chances > 0) & (chances <= 1)).all()):
            raise ValueError("propensities must lie in (0, 1]: a pair that is never observed cannot be weighted for")
        weights = 1 / chances
        if cap == "median":
            weights = weights.clamp(max=float(weights.quantile(0.5)))
        elif isinstance(cap, str):
            raise ValueError(f"cap is {cap!r}; expected a number above 0, 'median' or None")
        elif cap is not None:
            weights = weights.clamp(max=checking.real(cap, "cap", above=0))
        if checking.choice(balanced, "balanced", (True, False)):
            weights = weights * len(interactions) / (weights * torch.as_tensor(counts.copy())).sum()
        self.register_buffer("weights", weights.to(self.popularity.dtype), persistent=False)  # (n,)

    def loss(self, users: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        """The weighted BPR loss of a batch of triples, and the backbone's penalty."""
        tables = self.embeddings()
        weights = rows(self.weights[:, None], positives)[:, 0]
        weighted: Tensor = weights * losses.bpr_losses(*triple_scores(tables, users, positives, negatives))
        return weighted.mean() + self.penalty(users, positives, negatives, tables)
