"""NCL: LightGCN with two contrastive terms, one over neighbours in the graph, one over clusters of like embeddings."""

from __future__ import annotations

import warnings
from typing import Unpack

import numpy as np
import torch
from scipy.cluster.vq import kmeans2
from torch import Tensor

from course_lib import checking
from course_lib.backbones.base import Common, Tables, rows
from course_lib.backbones.contrast import log_partition, unit
from course_lib.backbones.lightgcn import LightGCN
from course_lib.interactions import Interactions

ITERATIONS = 25  # of k-means


class NCL(LightGCN):
    """Add to LightGCN two contrastive terms, one over neighbours in the graph, one over clusters of like embeddings.

    The loss is BPR plus ``structure * S + prototypes * P``. All vectors are normalised to length 1 inside S and P.

    S, the structural neighbours: with ``z^(k)`` the embedding after an even number k of steps (a user's comes from
    like-minded users)::

        S = mean over the batch of -log [ exp(z_u^(k) z_u^(0) / tau) / sum over ALL v of exp(z_u^(k) z_v^(0) / tau) ]
            + alpha * the same over the batch's positive items.

    P, the semantic neighbours: with ``c_u`` the centre of u's cluster among ``clusters`` of k-means on ``E^(0)``,
    found anew before each epoch::

        P = mean over the batch of -log [ exp(z_u^(0) c_u / tau) / sum over all centres c of exp(z_u^(0) c / tau) ]
            + the same over items.

    Parameters
    ----------
    interactions : Interactions
        The training pairs, which are the edges of the graph.
    d : int
        The width of an embedding.
    layers : int
        The number of layers of LightGCN.
    steps : int
        The k of ``z^(k)``, even and at least 2, so that a user meets users.
    structure : float
        The weight of S.
    alpha : float
        The weight of the items in S.
    prototypes : float
        The weight of P.
    clusters : int
        The number of clusters of users, and of items.
    warm_up : int
        The number of first epochs without P.
    tau : float
        The temperature, above 0.
    **common
        ``decay``, ``scale`` and ``generator``, as for ``Backbone``.

    Raises
    ------
    ValueError
        For numbers out of range, odd ``steps``, and more clusters than users or items (unless ``prototypes`` is 0).

    Notes
    -----
    Choices. Means over the batch where the paper and its code sum: their weights 1e-7 (S) and 8e-8 (P) at 4096 pairs
    are 4e-4 and 3e-4 here. P is left out for the first ``warm_up`` epochs, as in RecBole, and the centres carry no
    gradient. k-means starts from random rows and is SciPy's, where RecBole has faiss on a GPU. A user who stands in
    the batch twice counts twice. Source: Lin et al., WWW 2022 (arXiv 2202.06200), equations (5) to (14); defaults of
    RecBole 1.2.1, with fewer clusters.

    Examples
    --------
    The clusters are there after the warm-up:

    >>> import numpy as np, torch
    >>> from course_lib.backbones import NCL
    >>> from course_lib.interactions import Interactions
    >>> data = Interactions([0, 1, 2], [0, 1, 2], n_users=3, n_items=3)
    >>> model = NCL(data, 4, clusters=2, warm_up=1, generator=torch.Generator().manual_seed(0))
    >>> model.begin_epoch(1, np.random.default_rng(0))
    >>> [tuple(centres.shape) for centres, _ in model.centres]  # of users and of items
    [(2, 4), (2, 4)]
    """

    def __init__(
        self,
        interactions: Interactions,
        d: int = 64,
        *,
        layers: int = 3,
        steps: int = 2,
        structure: float = 4e-4,
        alpha: float = 1.0,
        prototypes: float = 3e-4,
        clusters: int = 100,
        warm_up: int = 20,
        tau: float = 0.1,
        **common: Unpack[Common],
    ) -> None:
        """steps: k of z^(k), even. The rest: the class, `LightGCN`."""
        super().__init__(interactions, d, layers=layers, **common)
        self.structure, self.alpha = (
            checking.real(structure, "structure", least=0),
            checking.real(alpha, "alpha", least=0),
        )
        self.prototypes = checking.real(prototypes, "prototypes", least=0)
        self.tau, self.warm_up = checking.real(tau, "tau", above=0), checking.whole(warm_up, "warm_up", 0)
        self.steps, self.clusters = checking.whole(steps, "steps"), checking.whole(clusters, "clusters")
        if steps < 2 or steps % 2:
            raise ValueError(f"steps is {steps!r}; expected an even number of at least 2, so that a user meets users")
        if prototypes and clusters > min(interactions.shape):
            raise ValueError(f"clusters is {clusters}; expected at most {min(interactions.shape)}, the users or items")
        # of users and of items: unit centres (k, d), cluster of each row
        self.centres: tuple[tuple[Tensor, Tensor], ...] | None = None

    def begin_epoch(self, epoch: int, rng: np.random.Generator) -> None:
        """After the warm-up: new clusters of the trained tables."""
        if self.prototypes and epoch >= self.warm_up:
            self.centres = tuple(clustered(table.detach(), self.clusters, rng) for table in (self.users, self.items))

    def contrast(self, users: Tensor, positives: Tensor, tables: Tables) -> Tensor:
        """structure * S + prototypes * P of a batch of positive pairs."""
        total = super().contrast(users, positives, tables)
        batch = [torch.unique(ids, return_counts=True) for ids in (users, positives)]
        starts = [unit(table) for table in (self.users, self.items)]
        if self.structure:
            table = torch.cat((self.users, self.items))
            for _ in range(self.steps):
                table = self.graph(table)
            sides = zip(starts, self.halves(table), batch, strict=True)
            left, right = (
                self._contrast(unit(rows(end, ids)), rows(start, ids), start, counts)
                for start, end, (ids, counts) in sides
            )
            total = total + self.structure * (left + self.alpha * right)
        if self.prototypes and self.centres is not None:
            both = zip(starts, batch, self.centres, strict=True)
            left, right = (
                self._contrast(rows(start, ids), centres[cluster[ids]], centres, counts)
                for start, (ids, counts), (centres, cluster) in both
            )
            total = total + self.prototypes * (left + right)
        return total

    def _contrast(self, anchors: Tensor, own: Tensor, candidates: Tensor, counts: Tensor) -> Tensor:
        """mean of -log [exp(<anchor, own> / tau) / sum over candidates c of exp(<anchor, c> / tau)]; counts weigh it.

        anchors, own (B, d) and candidates (N, d) of length 1; counts (B,): how often each stands in the batch.
        """
        scores = (anchors * own).sum(dim=1) / self.tau
        return (counts * (log_partition(anchors, candidates, self.tau) - scores)).sum() / counts.sum()


def clustered(table: Tensor, clusters: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Cluster the rows of a table by k-means from random rows.

    Parameters
    ----------
    table : Tensor, shape (n, d)
        The rows.
    clusters : int
        The number of clusters, at most n.
    rng : numpy.random.Generator
        Chooses the rows to start from.

    Returns
    -------
    centres : Tensor, shape (clusters, d)
        The centres, scaled to length 1. An empty cluster keeps its centre.
    cluster : Tensor of int64, shape (n,)
        The cluster of each row.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from course_lib.backbones.ncl import clustered
    >>> table = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
    >>> centres, cluster = clustered(table, 2, np.random.default_rng(0))
    >>> [bool(cluster[a] == cluster[b]) for a, b in ((0, 1), (2, 3), (0, 2))]
    [True, True, False]
    >>> sorted(centres.tolist())
    [[0.0, 1.0], [1.0, 0.0]]
    """
    points = table.double().cpu().numpy()
    first = points[rng.choice(len(points), clusters, replace=False)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="One of the clusters is empty")
        centres, cluster = kmeans2(points, first, iter=ITERATIONS, minit="matrix")
    return unit(torch.from_numpy(centres).to(table)), torch.from_numpy(cluster.astype(np.int64)).to(table.device)
