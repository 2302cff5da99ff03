"""Matrix factorisation: the trained tables are the embeddings (P1, equation 1; Rendle et al. 2009)."""

from __future__ import annotations

from typing import Unpack

from course_lib import checking
from course_lib.backbones.base import Backbone, Common


class MF(Backbone):
    """y_ui = <e_u, e_i> with free vectors e_u, e_i.

    sparse: a gradient holds the rows of its batch alone, so that a step takes as long for any number of users and
    items; for optimisers that take such gradients. decay=0.0, scale=0.1, generator: as for `Backbone`.
    Source: P1, equation (1); Rendle et al., UAI 2009 (arXiv 1205.2618).
    """

    def __init__(
        self, n_users: int, n_items: int, d: int = 64, *, sparse: bool = False, **common: Unpack[Common]
    ) -> None:
        super().__init__(n_users, n_items, d, **common)
        self.sparse = checking.choice(sparse, "sparse", (True, False))
