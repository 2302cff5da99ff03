"""DDC as a module: frozen tables, and two scalars for each user (P1, Sections 3.4 and 4).

The mathematics is in `course_lib.correction`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

from course_lib import checking
from course_lib.backbones.base import Recommender, Tables
from course_lib.correction import RULES, Frozen, preference_directions, solve_user, surrogate_user, user_loss
from course_lib.interactions import Interactions
from course_lib.losses import bpr

# Public names of the course: the functions of one user stay importable from here.
__all__ = ["DDC", "preference_directions", "solve_user", "surrogate_user", "user_loss"]

PARTS = ("ab", "a", "b", "")


class DDC(Recommender):
    """Fine-tune one alpha and one beta for each user on frozen tables: the second stage of P1.

    Train it like any ``Recommender``, or set all scalars with ``solve``.

    Parameters
    ----------
    users, items : array_like, shape (m, d) and (n, d)
        The tables of a trained model.
    interactions : Interactions
        Its training pairs. They give the counts and the directions.
    top : float
        The preference directions (10) are made of the best ``top`` of each user's items, a share in (0, 1].
    ratio : float
        The popularity direction (4) has a head and a tail of this share each.
    rule : str
        One of ``RULES``, "positive term _ negative term", where "a" stands for ``alpha e_pop`` and "b" for
        ``beta e_pref``.
    final : str
        Which of the two corrections the served embedding carries: "ab" is (14), "a" and "b" are its ablations, "" is
        none.
    start : float
        Standard deviation of the first scalars. P1 draws them and does not say how; 0 starts at the model.
    generator : torch.Generator, optional
        Draws the first scalars; needed for a positive ``start``.

    Raises
    ------
    ValueError
        For tables that do not fit the interactions, an unknown ``rule`` or ``final``, a share out of range, a negative
        ``start``, and a positive ``start`` without a generator.

    Notes
    -----
    Source: P1, Sections 3.4 and 4. The mathematics is in ``course_lib.correction``.

    Examples
    --------
    With both scalars at 0 the users are those of the model. The solution of the convex problem moves them.

    >>> import numpy as np, torch
    >>> from course_lib import debiasing
    >>> from course_lib.interactions import Interactions
    >>> data, rng = Interactions([0, 1, 1], [0, 0, 1], n_users=2, n_items=3), np.random.default_rng(0)
    >>> model = debiasing.DDC(rng.standard_normal((2, 4)), rng.standard_normal((3, 4)), data)
    >>> torch.equal(model()[0], model.users)
    True
    >>> model.solve(ridge=0.1).tolist(), bool((model.alpha != 0).all())  # with a ridge nobody is without a minimiser
    ([], True)
    """

    users: Tensor
    items: Tensor
    pop: Tensor
    pref: Tensor
    alpha: Tensor
    beta: Tensor

    def __init__(
        self,
        users: Any,
        items: Any,
        interactions: Interactions,
        *,
        top: float = 0.3,
        ratio: float = 0.05,
        rule: str = "b_a",
        final: str = "ab",
        start: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        frozen = Frozen.of(users, items, interactions, top=top, ratio=ratio, rule=checking.choice(rule, "rule", RULES))
        self.n_users, self.n_items = interactions.shape
        self.interactions = interactions
        self.rule, self.final = rule, checking.choice(final, "final", PARTS)
        start = checking.real(start, "start", least=0)
        if start:
            checking.instance(generator, "generator", torch.Generator, f"{checking.TORCH_GENERATOR}, or a start of 0")
        for name in ("users", "items", "pop", "pref"):
            table = getattr(frozen, name)
            self.register_buffer(name, torch.tensor(np.array(table, table.dtype.newbyteorder("="), order="C")))
        for name in ("alpha", "beta"):
            first = self.users.new_zeros(self.n_users)
            if start:
                first = start * torch.randn(self.n_users, generator=generator, dtype=self.users.dtype)
            self.register_parameter(name, torch.nn.Parameter(first))

    def forward(self) -> Tables:
        """(m, d) the corrected users, (n, d) the items as they were."""
        return self.final_users(self.final), self.items

    def final_users(self, parts: str = "ab") -> Tensor:
        """e_u + alpha_u e_pop + beta_u e_pref of (14); parts "a" and "b" are one correction alone, "" is none."""
        checking.choice(parts, "parts", PARTS)
        users = self.users
        if "a" in parts:
            users = users + self.alpha[:, None] * self.pop
        return users + self.beta[:, None] * self.pref if "b" in parts else users

    def loss(self, users: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        """(13) under `rule` on a batch of triples (B,): the positive and the negative item meet two different users."""
        on_positives, on_negatives = self.rule.split("_")
        loss: Tensor = bpr(self._scores(on_positives, users, positives), self._scores(on_negatives, users, negatives))
        return loss

    def _scores(self, parts: str, users: Tensor, items: Tensor) -> Tensor:
        right = self.items[items]
        scores = (self.users[users] * right).sum(-1)
        if "a" in parts:
            scores = scores + self.alpha[users] * (right @ self.pop)
        return scores + self.beta[users] * (self.pref[users] * right).sum(-1) if "b" in parts else scores

    @torch.no_grad()
    def solve(
        self, negatives: int | None = None, *, ridge: float = 0.0, rng: Generator | None = None
    ) -> NDArray[np.int64]:
        """Sets every user's scalars to the minimiser of the mean loss over the user's triples; returns who has none.

        negatives: so many random ones for each positive, drawn from `rng`; None: all pairs of the user's items with the
        others.
        ridge: adds ridge (alpha^2 + beta^2) / 2, which gives everyone a unique minimiser. Without it the users of the
        answer, those without a unique minimiser or without a triple, keep 0 and 0. Under "a_a" and "b_b" the scalar
        that the loss does not know stays 0.
        """
        users, items, pop, pref = map(checking.as_numpy, (self.users, self.items, self.pop, self.pref))
        frozen = Frozen(users, items, pop, pref, self.interactions, self.rule)
        alpha, beta, without = frozen.solve(negatives, ridge=ridge, rng=rng)
        self.alpha.copy_(torch.from_numpy(alpha))
        self.beta.copy_(torch.from_numpy(beta))
        return without
