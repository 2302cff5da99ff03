"""DGCF: the embedding in as many parts as there are intents, each averaged over its own weighting of the graph."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import torch
from torch import Tensor, nn

from course_lib import checking
from course_lib.backbones.base import Backbone, Common, Tables, rows
from course_lib.backbones.graph import Edges, adjacency
from course_lib.dependence import distance_correlation
from course_lib.interactions import Interactions

SAMPLE = 128  # users, and as many items, whose parts are compared


class DGCF(Backbone):
    """Split each embedding into parts, one per intent, and average each part over its own weighting of the graph.

    There are ``K = intents`` parts ``e_1, ..., e_K`` of width d / K. Routing finds how much of each edge (h, t)
    belongs to each part. ``S_k(h, t)`` starts at 1. One layer repeats ``routings`` times, with x the part of the
    previous layer's embedding::

        share_k(h, t) = softmax over k of S_k(h, t);        D_k(h) = sum over neighbours t of share_k(h, t)
        y_k(h) = sum over neighbours t of  share_k(h, t) / sqrt(D_k(h) D_k(t)) * x_k(t)
        S_k(h, t) += < y_k(h), tanh x_k(t) >

    Its outcome is the last y. The embedding is the mean over the layers, 0 included. With one intent this is LightGCN.

    Parameters
    ----------
    interactions : Interactions
        The training pairs, which are the edges of the graph.
    d : int
        The width of an embedding, a multiple of ``intents``.
    intents : int
        The number K of parts.
    layers : int
        The number of layers; 0 is MF.
    routings : int
        How often a layer repeats the routing.
    correlation : float
        The weight of the term in the loss that is the sum over pairs of intents of the distance correlation of their
        parts, which is 0 for independent parts only.
    **common
        ``decay``, ``scale`` and ``generator``, as for ``Backbone``.

    Raises
    ------
    ValueError
        For a width that the intents do not share evenly, and for numbers out of range.

    Notes
    -----
    Choices. (h, t) and (t, h) have affinities of their own, ``y_k(h)`` and ``x_k(t)`` are normalised to length 1 in
    the last line, and S goes on from layer to layer, all three as in the authors' code; the mean over layers, where
    the paper sums, rescales all scores alike. The correlation is that of up to 128 users and 128 items of the batch,
    over all pairs of intents as the paper writes it (its code and RecBole take neighbouring intents only, divide by K
    (K + 1) / 2, and add 1e-8 under every square root, so that their dCor depends on the scale of the embeddings).

    Source: Wang et al., SIGIR 2020 (arXiv 2007.01764), Sections 3.1 to 3.3; code:
    ``xiangwang1223/disentangled_graph_collaborative_filtering``.

    Examples
    --------
    With one intent DGCF gives the embeddings of LightGCN.

    >>> import torch
    >>> from course_lib.backbones import DGCF, LightGCN
    >>> from course_lib.interactions import Interactions
    >>> data = Interactions([0, 0, 1], [0, 1, 1], n_users=2, n_items=2)
    >>> one = DGCF(data, 4, intents=1, routings=1, generator=torch.Generator().manual_seed(0))
    >>> other = LightGCN(data, 4, layers=1, generator=torch.Generator().manual_seed(0))
    >>> torch.allclose(one()[0], other()[0], atol=1e-6)
    True
    """

    def __init__(
        self,
        interactions: Interactions,
        d: int = 64,
        *,
        intents: int = 4,
        layers: int = 1,
        routings: int = 2,
        correlation: float = 0.0,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(*checking.instance(interactions, "interactions", Interactions).shape, d, **common)
        self.intents, self.layers = checking.whole(intents, "intents"), checking.whole(layers, "layers", 0)
        self.routings = checking.whole(routings, "routings")
        self.correlation = checking.real(correlation, "correlation", least=0)
        if d % intents:
            raise ValueError(f"d is {d} and intents {intents}; expected a width that the intents share evenly")
        self.edges = Edges(adjacency(interactions))

    def forward(self) -> Tables:
        """(e_u (m, d), e_i (n, d)): intent k in columns k d / K .. (k + 1) d / K - 1."""
        return self.halves(self.routed()[0])

    def routed(self) -> tuple[Tensor, Tensor]:
        """The embeddings (m + n, d), users first, and the affinities S (K, edges) of the last averaging."""
        both = torch.cat((self.users, self.items))
        x = both.reshape(len(both), self.intents, -1).transpose(0, 1).contiguous()  # (K, N, d / K)
        total, used = x, torch.ones(self.intents, len(self.edges), dtype=x.dtype, device=x.device)
        affinity = used
        for layer in range(self.layers):
            for turn in range(self.routings):
                used, y = affinity, self._averaged(affinity, x)
                if (layer, turn) != (self.layers - 1, self.routings - 1):
                    affinity = affinity + self.edges.products(_unit(y), _unit(x).tanh())
            x = y
            total = total + x
        return total.transpose(0, 1).flatten(1) / (self.layers + 1), used

    def _averaged(self, affinity: Tensor, x: Tensor) -> Tensor:
        """y (K, N, c) of affinities (K, E) and x (K, N, c)."""
        shares = affinity.softmax(dim=0)
        degree = self.edges.sums(shares, torch.ones_like(x[:, :, :1]))  # (K, N, 1)
        inverse = torch.where(degree > 0, degree, torch.ones_like(degree)) ** -0.5
        return inverse * self.edges.sums(shares, inverse * x)

    def contrast(self, users: Tensor, positives: Tensor, tables: Tables) -> Tensor:
        """correlation * (the sum over pairs of intents of the distance correlation of a sample)."""
        if not self.correlation or self.intents == 1:
            return super().contrast(users, positives, tables)
        found = [rows(table, _sample(ids)) for table, ids in zip(tables, (users, positives), strict=True)]
        parts = torch.cat(found).chunk(self.intents, dim=1)
        total = parts[0].new_zeros(())
        for a in range(self.intents):
            for b in range(a):
                total = total + distance_correlation(parts[a], parts[b])
        return self.correlation * total


def _unit(parts: Tensor) -> Tensor:
    """Every part of every node at length 1: (K, N, c)."""
    return nn.functional.normalize(parts, dim=2)


def _sample(ids: Tensor) -> Tensor:
    """At most SAMPLE of the distinct ids of a batch, evenly spread."""
    distinct: Tensor = torch.unique(ids)
    return distinct[np.unique(np.linspace(0, len(distinct) - 1, SAMPLE).round().astype(np.int64))]
