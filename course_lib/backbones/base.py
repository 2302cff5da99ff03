"""What every backbone has in common: two tables of embeddings, an inner product, the BPR loss."""

from __future__ import annotations

from functools import partial
from typing import Required, TypedDict

import numpy as np
import torch
from torch import Tensor, nn

from course_lib import checking, losses

Tables = tuple[Tensor, Tensor]  # final embeddings (m, d) of the users and (n, d) of the items


class Recommender(nn.Module):
    """Give what the training loop and the evaluation ask for: a loss on triples, and two tables to rank by.

    Users are 0 to n_users - 1, items 0 to n_items - 1. The inner product of a row of each table ranks.

    Notes
    -----
    A subclass writes ``forward``, which gives the embeddings (m, d) and (n, d); in this class it raises
    NotImplementedError. The other methods have defaults: ``ranking`` gives the embeddings, ``loss`` is that of BPR
    plus ``penalty``, which is zero. A ``Backbone`` has trained tables of its own; DDC and the rivals of
    ``course_lib.debiasing`` wrap one. ``sparse`` says whether the gradients of the trained tables hold a batch's rows
    alone.

    Examples
    --------
    >>> import torch
    >>> from course_lib.backbones import Recommender
    >>> class Fixed(Recommender):
    ...     def forward(self):
    ...         return torch.tensor([[1.0]]), torch.tensor([[0.0], [2.0]])
    >>> users, items = Fixed().ranking()
    >>> (users @ items.T).tolist()
    [[0.0, 2.0]]
    """

    n_users: int
    n_items: int
    sparse = False  # whether the gradients of the trained tables hold a batch's rows alone

    def forward(self) -> Tables:
        """The embeddings e_u (m, d) and e_i (n, d), differentiable."""
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def ranking(self) -> Tables:
        """Two tables whose inner product ranks the items: by default the embeddings."""
        return self.embeddings()

    def embeddings(self) -> Tables:
        """`self()`, with its type."""
        tables: Tables = self()
        return tables

    def loss(self, users: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        """The scalar loss of a batch of triples, each (B,) of whole numbers: by default BPR's and the penalty."""
        tables = self.embeddings()
        ranked: Tensor = losses.bpr(*triple_scores(tables, users, positives, negatives, sparse=self.sparse))
        return ranked + self.penalty(users, positives, negatives, tables)

    def penalty(self, users: Tensor, positives: Tensor, negatives: Tensor, tables: Tables) -> Tensor:
        """Everything in the loss but BPR; by default nothing."""
        return torch.zeros((), dtype=tables[0].dtype, device=tables[0].device)

    def begin_epoch(self, epoch: int, rng: np.random.Generator) -> None:
        """Called before each pass over the data."""


class Common(TypedDict, total=False):
    """Name the arguments that every backbone takes besides its own; ``Backbone`` explains them.

    Parameters
    ----------
    decay : float
        The weight of the regulariser.
    scale : float
        The standard deviation of the trained tables at the start.
    generator : torch.Generator
        Draws the trained tables. It must be given.
    """

    decay: float
    scale: float
    generator: Required[torch.Generator]


class Backbone(Recommender):
    """Score pairs by ``y_ui = <e_u, e_i>`` and train the embeddings with BPR.

    Users are 0 to m - 1, items 0 to n - 1. A subclass says in ``forward`` how its trained tables become the embeddings
    ``e_u`` and ``e_i``, and, if it has one, in ``contrast`` which contrastive term it adds. So its loss on a batch of
    triples (u, i, j) is::

        mean -ln sigma(<e_u, e_i> - <e_u, e_j>)  +  decay * mean (|e0_u|^2 + |e0_i|^2 + |e0_j|^2)  +  contrast.

    Parameters
    ----------
    n_users, n_items : int
        The numbers m and n.
    d : int
        The width of an embedding.
    decay : float
        The weight lambda of the regulariser, without the 1/2 that some libraries put before it.
    scale : float
        The standard deviation of the tables' normal entries at the start.
    generator : torch.Generator
        Draws the trained tables.

    Raises
    ------
    ValueError
        For sizes that are no whole numbers of at least 1, a negative ``decay`` or ``scale``, and a ``generator`` of
        another kind.

    Notes
    -----
    The second term is ``lambda |Theta|^2`` of P1's equation (3) on the trained rows e0 that the batch touches.
    Equation (3) sums it once over all parameters; practice (RecBole, LightGCN's own code) sums over the batch, as
    here. Source: P1, equations (1) to (3).

    Examples
    --------
    Where all scores are equal, BPR's loss is ln 2.

    >>> import torch
    >>> from course_lib.backbones import Backbone
    >>> model = Backbone(2, 3, d=4, scale=0.0, generator=torch.Generator())
    >>> users, positives, negatives = torch.tensor([[0, 1], [2, 0], [1, 1]])
    >>> round(model.loss(users, positives, negatives).item(), 4)
    0.6931
    """

    def __init__(
        self,
        n_users: int,
        n_items: int,
        d: int = 64,
        *,
        decay: float = 0.0,
        scale: float = 0.1,
        generator: torch.Generator,
    ) -> None:
        """Trained tables with independent normal entries of deviation `scale`, drawn from `generator`."""
        super().__init__()
        self.n_users, self.n_items = checking.whole(n_users, "n_users"), checking.whole(n_items, "n_items")
        self.d, self.decay = checking.whole(d, "d"), checking.real(decay, "decay", least=0)
        checking.instance(generator, "generator", torch.Generator, checking.TORCH_GENERATOR)
        scale, device = checking.real(scale, "scale", least=0), generator.device
        self.users, self.items = (
            nn.Parameter(torch.randn(size, self.d, generator=generator, device=device).mul_(scale))
            for size in (self.n_users, self.n_items)
        )

    def forward(self) -> Tables:
        """The embeddings e_u (m, d) and e_i (n, d), differentiable; here the trained tables themselves."""
        return self.users, self.items

    def penalty(self, users: Tensor, positives: Tensor, negatives: Tensor, tables: Tables) -> Tensor:
        """Everything in the loss but BPR: regulariser and contrastive terms. Methods that change BPR keep it."""
        return self.decay * self.squared_norms(users, positives, negatives) + self.contrast(users, positives, tables)

    def squared_norms(self, users: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        """mean over the batch of |e0_u|^2 + |e0_i|^2 + |e0_j|^2, of the trained rows."""
        of_users, of_positives, of_negatives = (
            rows(table, ids, sparse=self.sparse).square().sum()
            for table, ids in ((self.users, users), (self.items, positives), (self.items, negatives))
        )
        return (of_users + of_positives + of_negatives) / len(users)

    def halves(self, table: Tensor) -> Tables:
        """A table of all nodes (m + n, d), cut into users and items."""
        return table[: self.n_users], table[self.n_users :]

    def contrast(self, users: Tensor, positives: Tensor, tables: Tables) -> Tensor:
        """The contrastive terms of a batch of positive pairs; none by default."""
        return torch.zeros((), dtype=tables[0].dtype, device=tables[0].device)


def triple_scores(
    tables: Tables, users: Tensor, positives: Tensor, negatives: Tensor, *, sparse: bool = False
) -> tuple[Tensor, Tensor]:
    """Compute the two scores of each triple, ``<e_u, e_i>`` and ``<e_u, e_j>``.

    Parameters
    ----------
    tables : tuple of Tensor, shape (m, d) and (n, d)
        The embeddings of users and items.
    users, positives, negatives : Tensor of int, shape (B,)
        The triples (u, i, j).
    sparse : bool
        Whether the gradients of the tables are sparse tensors; only for tables that are trained themselves.

    Returns
    -------
    tuple of Tensor, shape (B,) each
        The scores of the positives and of the negatives.

    Raises
    ------
    ValueError
        For no triple, and for unequal numbers of users, positives and negatives.

    Examples
    --------
    >>> import torch
    >>> from course_lib.backbones import triple_scores
    >>> tables = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 0.0], [0.0, 4.0]])
    >>> positive, negative = triple_scores(tables, torch.tensor([0]), torch.tensor([0]), torch.tensor([1]))
    >>> positive.tolist(), negative.tolist()
    ([3.0], [8.0])
    """
    shapes = [tuple(ids.shape) for ids in (users, positives, negatives)]
    if len({*shapes}) > 1 or len(shapes[0]) != 1 or shapes[0] == (0,):
        found = "users, positives and negatives have shapes {}, {} and {}".format(*shapes)
        raise ValueError(f"{found}; expected (B,) of each, with at least one triple")
    left, right = (partial(rows, table, sparse=sparse) for table in tables)
    chosen = left(users)  # (B, d)
    return (chosen * right(positives)).sum(dim=1), (chosen * right(negatives)).sum(dim=1)


def rows(table: Tensor, ids: Tensor, *, sparse: bool = False) -> Tensor:
    """Gather the rows ``table[ids]`` with a gradient that is the same for any number of threads, unlike indexing.

    Parameters
    ----------
    table : Tensor, shape (n, d)
        The table.
    ids : Tensor of int, shape (B,)
        Which rows.
    sparse : bool
        Whether the gradient is a sparse tensor of these rows; only for a table that is trained itself.

    Returns
    -------
    Tensor, shape (B, d)
        The rows.

    Examples
    --------
    >>> import torch
    >>> from course_lib.backbones.base import rows
    >>> table = torch.tensor([[0.0], [1.0], [2.0]], requires_grad=True)
    >>> chosen = rows(table, torch.tensor([2, 2, 0]), sparse=True)
    >>> chosen.sum().backward()
    >>> chosen.tolist(), table.grad.to_dense().tolist()
    ([[2.0], [2.0], [0.0]], [[1.0], [0.0], [2.0]])
    """
    return nn.functional.embedding(ids, table, sparse=sparse)
