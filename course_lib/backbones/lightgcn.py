"""LightGCN: the trained tables, averaged with their neighbours' on the user-item graph (P1, equation 2)."""

from __future__ import annotations

from typing import Unpack

import torch
from torch import Tensor

from course_lib import checking
from course_lib.backbones.base import Backbone, Common, Tables
from course_lib.backbones.graph import Graph, normalised_adjacency
from course_lib.interactions import Interactions


class LightGCN(Backbone):
    """Average the trained tables with those of their neighbours on the user-item graph, layer after layer.

    ``E^(k) = D^(-1/2) A D^(-1/2) E^(k-1)`` from the trained ``E^(0)``, and e is the mean of
    ``E^(0), ..., E^(layers)``. In words: ``e_u^(k)`` is the sum over the items i of u of
    ``e_i^(k-1) / sqrt(deg u deg i)``, and the same for items.

    Parameters
    ----------
    interactions : Interactions
        The training pairs, which are the edges of the graph.
    d : int
        The width of an embedding.
    layers : int
        The number of layers; 0 is MF.
    **common
        ``decay``, ``scale`` and ``generator``, as for ``Backbone``.

    Raises
    ------
    ValueError
        For numbers out of range.

    Notes
    -----
    P1 leaves the weights alpha_k of the layers open ("typically a weighted sum"). Here they are 1 / (layers + 1), as
    in the LightGCN paper. Source: P1, equation (2); He et al., SIGIR 2020 (arXiv 2002.02126), equations (3), (4) and
    (8).

    Examples
    --------
    A user and an item that have only each other meet halfway:

    >>> import torch
    >>> from course_lib.backbones import LightGCN
    >>> from course_lib.interactions import Interactions
    >>> model = LightGCN(Interactions([0], [0], n_users=1, n_items=1), 2, layers=1, generator=torch.Generator())
    >>> model.users.data, model.items.data = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    >>> [table.tolist() for table in model()]
    [[[0.5, 0.5]], [[0.5, 0.5]]]
    """

    def __init__(self, interactions: Interactions, d: int = 64, *, layers: int = 3, **common: Unpack[Common]) -> None:
        super().__init__(*checking.instance(interactions, "interactions", Interactions).shape, d, **common)
        self.layers = checking.whole(layers, "layers", 0)
        self.graph = Graph(normalised_adjacency(interactions))

    def propagated(self) -> list[Tensor]:
        """[E^(0), ..., E^(layers)], each (m + n, d), users first."""
        tables = [torch.cat((self.users, self.items))]
        for _ in range(self.layers):
            tables.append(self.graph(tables[-1]))
        return tables

    def forward(self) -> Tables:
        """(e_u (m, d), e_i (n, d)): the mean over the layers."""
        return self.mean_of_layers(self.propagated())

    def mean_of_layers(self, tables: list[Tensor]) -> Tables:
        """The mean of E^(0), ..., E^(layers), cut into users and items."""
        return self.halves(torch.stack(tables[: self.layers + 1]).mean(dim=0))
