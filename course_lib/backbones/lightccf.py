"""LightCCF: LightGCN (or MF) with a contrast that pulls users to their items and pushes them from other pairs."""

from __future__ import annotations

from typing import Unpack

from torch import Tensor

from course_lib import checking
from course_lib.backbones.base import Common, Tables, rows
from course_lib.backbones.contrast import log_partition, unit
from course_lib.backbones.lightgcn import LightGCN
from course_lib.interactions import Interactions


class LightCCF(LightGCN):
    """Add to LightGCN a contrast that pulls users to their items and pushes them from the other pairs of the batch.

    The loss is BPR plus ``weight * NA``, the neighbourhood-aggregation term. With cosines of the final embeddings and
    the positive pairs (u, i) of a batch B::

        NA = mean over (u, i) in B of  -log [ exp(cos(u, i) / tau) / Z(u) ],
        Z(u) = sum over (u', i') in B of exp((cos(u, i') + cos(u, u')) / tau).

    It draws users towards their own items, away from the users and items of the batch's pairs, their own pair among
    them. Its gradient on a user adds a weighted mean of that user's items, like one layer of LightGCN.

    Parameters
    ----------
    interactions : Interactions
        The training pairs, which are the edges of the graph.
    d : int
        The width of an embedding.
    layers : int
        The number of layers of LightGCN. 0 makes MF the encoder, as its authors have it on Tmall.
    tau : float
        The temperature, above 0.
    weight : float
        The weight of NA, at least 0.
    **common
        ``decay``, ``scale`` and ``generator``, as for ``Backbone``.

    Raises
    ------
    ValueError
        For numbers out of range.

    Notes
    -----
    Choices: each other pair enters with the exponential of the SUM of its two cosines, as in the authors' published
    code (two sums of exponentials would fit the words "away from other positive pairs" as well); the 1e-5 that the
    code adds inside the logarithm is left out. The authors take tau from 0.22 to 0.28 and weight 1 or 5 on larger
    sets; on the films 0.1 does better than 1. Source: Zhang et al., SIGIR 2025 (arXiv 2504.10113); code
    ``github.com/ZzYUuuu/LightCCF``.

    Examples
    --------
    In a batch of one pair the only rival is the pair itself, so NA is 1 / tau.

    >>> import torch
    >>> from course_lib.backbones import LightCCF
    >>> from course_lib.interactions import Interactions
    >>> data = Interactions([0, 0, 1], [0, 1, 1], n_users=2, n_items=2)
    >>> model = LightCCF(data, 4, tau=0.5, weight=1.0, generator=torch.Generator().manual_seed(0))
    >>> round(model.contrast(torch.tensor([0]), torch.tensor([1]), model()).item(), 3)
    2.0
    """

    def __init__(
        self,
        interactions: Interactions,
        d: int = 64,
        *,
        layers: int = 3,
        tau: float = 0.24,
        weight: float = 0.1,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(interactions, d, layers=layers, **common)
        self.tau, self.weight = checking.real(tau, "tau", above=0), checking.real(weight, "weight", least=0)

    def contrast(self, users: Tensor, positives: Tensor, tables: Tables) -> Tensor:
        """weight * NA of a batch of positive pairs."""
        if self.weight == 0:
            return super().contrast(users, positives, tables)
        left, right = (unit(rows(table, ids)) for table, ids in zip(tables, (users, positives), strict=True))
        own = (left * right).sum(dim=1) / self.tau
        return self.weight * (log_partition(left, left + right, self.tau) - own).mean()
