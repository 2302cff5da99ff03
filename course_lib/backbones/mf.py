"""Matrix factorisation: the trained tables are the embeddings (P1, equation 1; Rendle et al. 2009)."""

from __future__ import annotations

from typing import Unpack

from course_lib import checking
from course_lib.backbones.base import Backbone, Common


class MF(Backbone):
    """Factorise the user-item matrix: ``y_ui = <e_u, e_i>`` with free vectors ``e_u`` and ``e_i``.

    Parameters
    ----------
    n_users, n_items : int
        The numbers of users and items.
    d : int
        The width of an embedding.
    sparse : bool
        Whether a gradient holds the rows of its batch alone. Then a step takes as long for any number of users and
        items. It is for optimisers that take such gradients.
    **common
        ``decay=0.0``, ``scale=0.1`` and ``generator``, as for ``Backbone``.

    Raises
    ------
    ValueError
        For numbers out of range.

    Notes
    -----
    Source: P1, equation (1); Rendle et al., UAI 2009 (arXiv 1205.2618).

    Examples
    --------
    >>> import torch
    >>> from course_lib.backbones import MF
    >>> model = MF(1000, 500, d=4, sparse=True, generator=torch.Generator().manual_seed(0))
    >>> model.loss(torch.tensor([7]), torch.tensor([3]), torch.tensor([4])).backward()
    >>> model.users.grad.coalesce().indices().tolist(), model.items.grad.coalesce().indices().tolist()
    ([[7]], [[3, 4]])
    """

    def __init__(
        self, n_users: int, n_items: int, d: int = 64, *, sparse: bool = False, **common: Unpack[Common]
    ) -> None:
        super().__init__(n_users, n_items, d, **common)
        self.sparse = checking.choice(sparse, "sparse", (True, False))
