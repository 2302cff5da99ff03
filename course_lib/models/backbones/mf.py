"""Matrix factorisation: the trained tables are the embeddings (P1, equation 1; Rendle et al. 2009)."""

from __future__ import annotations

from course_lib.models.backbones.base import Backbone


class MF(Backbone):
    """y_ui = <e_u, e_i> with free vectors e_u, e_i.

    `MF(n_users, n_items, d=64, *, decay=0.0, scale=0.1, generator)`: the arguments are explained at `Backbone`.
    Source: P1, equation (1); Rendle et al., UAI 2009 (arXiv 1205.2618).
    """
