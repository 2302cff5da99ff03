"""DDC as a module: frozen tables, and two scalars for each user (P1, Sections 3.4 and 4).

The mathematics is in `course_lib.maths.correction`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from course_lib.data.interactions import Interactions, sample_negatives
from course_lib.maths.correction import (
    BLOCK,
    RULES,
    Float,
    bounded_below,
    checked_tables,
    has_minimiser,
    newton_minima,
    pair_products,
    preference_directions,
    solve_user,
    surrogate_user,
    user_gradient,
    user_loss,
)
from course_lib.maths.losses import bpr
from course_lib.maths.popularity import popularity_direction
from course_lib.models.backbones.base import Recommender

__all__ = [
    "DDC",
    "RULES",
    "has_minimiser",
    "preference_directions",
    "solve_user",
    "surrogate_user",
    "user_gradient",
    "user_loss",
]

PARTS = ("ab", "a", "b", "")
TABLE = 20_000_000  # numbers that a table of all users and items may hold


class DDC(Recommender):
    """P1's fine-tuning stage as a `Recommender`: frozen tables, one alpha and one beta for each user. Train it like any
    other.

    users (m, d), items (n, d): the tables of a trained model; interactions: its training pairs, which give the counts,
    the popularity direction (4) with head and tail of `ratio` each, and the preference directions (10) of the best
    `top` of each user's items. rule: one of RULES, "positive term _ negative term", where "a" stands for alpha e_pop
    and "b" for beta e_pref. final: which of the two corrections the served embedding carries ("ab" is (14), "a" and "b"
    its ablations).
    start: standard deviation of the first scalars, drawn from `generator` (P1 draws them and does not say how; 0 starts
    at the model).
    """

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
        users, items = checked_tables(users, items, interactions)
        super().__init__()
        self.n_users, self.n_items = interactions.shape
        self.interactions, self.rule, self.final = (
            interactions,
            _one_of(rule, RULES, "rule"),
            _one_of(final, PARTS, "final"),
        )
        if start < 0 or (start and generator is None):
            raise ValueError(
                f"start is {start} and generator {generator!r}; expected 0, or a positive start and a torch.Generator"
            )
        directions = {
            "users": users,
            "items": items,
            "pop": popularity_direction(items, interactions.col_counts, ratio),
            "pref": preference_directions(users, items, interactions, top),
        }
        for name, table in directions.items():
            self.register_buffer(name, torch.tensor(table))
        for name in ("alpha", "beta"):
            first = (
                start * torch.randn(self.n_users, generator=generator, dtype=self.users.dtype)
                if start
                else self.users.new_zeros(self.n_users)
            )
            self.register_parameter(name, torch.nn.Parameter(first))

    def forward(self) -> tuple[torch.Tensor, torch.Tensor]:
        """(m, d) the corrected users, (n, d) the items as they were."""
        return self.final_users(self.final), self.items

    def final_users(self, parts: str = "ab") -> torch.Tensor:
        """e_u + alpha_u e_pop + beta_u e_pref of (14);
        parts "a" leaves the preference out, "b" the popularity, "" both.
        """
        _one_of(parts, PARTS, "parts")
        users = self.users
        if "a" in parts:
            users = users + self.alpha[:, None] * self.pop
        return users + self.beta[:, None] * self.pref if "b" in parts else users

    def loss(self, users: torch.Tensor, positives: torch.Tensor, negatives: torch.Tensor) -> torch.Tensor:
        """(13) under `rule` on a batch of triples (B,): the positive and the negative item meet two different users."""
        on_positives, on_negatives = self.rule.split("_")
        return bpr(self._scores(on_positives, users, positives), self._scores(on_negatives, users, negatives))

    def shipped_loss(self, users: torch.Tensor, positives: torch.Tensor, negatives: torch.Tensor) -> torch.Tensor:
        """BPR's loss of the embedding that is served (P1, Section 5.4.2): not what `loss` minimises."""
        return bpr(self._scores(self.final, users, positives), self._scores(self.final, users, negatives))

    def _scores(self, parts: str, users: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        right = self.items[items]
        scores = (self.users[users] * right).sum(-1)
        if "a" in parts:
            scores = scores + self.alpha[users] * (right @ self.pop)
        return scores + self.beta[users] * (self.pref[users] * right).sum(-1) if "b" in parts else scores

    @torch.no_grad()
    def solve(
        self, negatives: int | None = None, *, ridge: float = 0.0, rng: np.random.Generator | None = None
    ) -> NDArray[np.int64]:
        """Sets every user's scalars to the minimiser of his mean loss over his triples; returns who has none.

        negatives: so many random ones for each positive, drawn from `rng`; None: all pairs of the user's items with the
        others.
        ridge: adds ridge (alpha^2 + beta^2) / 2, which gives everyone a unique minimiser. Without it the users of the
        answer, those without a unique minimiser or without a triple, keep 0 and 0. Under "a_a" and "b_b" the scalar
        that the loss does not know stays 0.
        """
        if not (np.isfinite(ridge) and ridge >= 0):
            raise ValueError(f"ridge is {ridge}; expected a finite number of at least 0")
        alpha, beta = np.zeros(self.n_users), np.zeros(self.n_users)
        solved = np.zeros(self.n_users, dtype=bool)
        for owners, offset, by_alpha, by_beta in self._problems(negatives, ridge, rng):
            ids, owner = np.unique(owners, return_inverse=True)
            able = np.ones(len(ids), bool) if ridge else bounded_below(owner, len(ids), by_alpha, by_beta)
            here, renamed = able[owner], np.cumsum(able) - 1
            found = newton_minima(
                renamed[owner[here]], int(able.sum()), offset[here], by_alpha[here], by_beta[here], ridge=ridge
            )
            alpha[ids[able]], beta[ids[able]] = found
            solved[ids[able]] = True
        with torch.no_grad():
            self.alpha.copy_(torch.from_numpy(alpha))
            self.beta.copy_(torch.from_numpy(beta))
        return np.flatnonzero(~solved)

    def _problems(self, negatives: int | None, ridge: float, rng: np.random.Generator | None) -> Iterator[tuple]:
        """(users, margins at 0, dx/dalpha, dx/dbeta), one entry for each triple, in blocks that never part a user."""
        data, frozen = (
            self.interactions,
            [getattr(self, name).cpu().numpy().astype(np.float64) for name in ("users", "items", "pref", "pop")],
        )
        if negatives is None:
            able = np.flatnonzero((data.row_counts > 0) & (data.row_counts < data.n_items))
            parts = (part for user in able if (part := self._all_pairs(int(user), ridge, *frozen)) is not None)
            yield from _in_blocks(parts)
        elif isinstance(negatives, int) and negatives >= 1 and isinstance(rng, np.random.Generator):
            able = (data.row_counts > 0) & (data.row_counts < data.n_items)
            block = np.cumsum(data.row_counts * negatives) // BLOCK
            for number in np.unique(block[able]):
                mine = (able & (block == number))[data.users]
                owners = np.repeat(data.users[mine], negatives)
                yield (
                    owners,
                    *self._margins(
                        owners, np.repeat(data.items[mine], negatives), sample_negatives(data, owners, rng), *frozen
                    ),
                )
        else:
            raise ValueError(
                f"negatives is {negatives!r} and rng {rng!r}; expected None, or a whole number of at least 1 and a numpy Generator"
            )

    def _all_pairs(self, user: int, ridge: float, users: Float, items: Float, pref: Float, pop: Float) -> tuple | None:
        """One user's problem over all pairs of his items with the others; None where "b_a" cannot have a minimiser."""
        his = self.interactions.items_of(user)
        others = np.setdiff1d(np.arange(self.n_items), his, assume_unique=True)
        scores, toward_pref, toward_pop = items @ users[user], items @ pref[user], items @ pop
        if self.rule == "b_a" and not ridge and not has_minimiser(toward_pref[his], toward_pop[others]):
            return None
        margins, by_alpha, by_beta = (
            (on_his[his][:, None] - on_others[others]).ravel()
            for on_his, on_others in ((scores, scores), self._sides("a", toward_pop), self._sides("b", toward_pref))
        )
        return np.full(margins.size, user), margins, by_alpha, by_beta

    def _margins(
        self,
        owners: NDArray,
        positives: NDArray,
        negatives: NDArray,
        users: Float,
        items: Float,
        pref: Float,
        pop: Float,
    ) -> tuple[Float, Float, Float]:
        """The same three columns for any triples (T,)."""
        along = items @ pop

        def products(table: Float) -> list[Float]:
            """<table[owner], item> of the positive and the negative items:
            read off the table of all products where it is small.
            """
            if len(table) * len(items) <= min(TABLE, 20 * len(owners)):
                every = (table @ items.T).ravel()
                return [every[owners * len(items) + column] for column in (positives, negatives)]
            return [pair_products(table, owners, items, column) for column in (positives, negatives)]

        sides = products(users), [along[positives], along[negatives]], products(pref)
        return tuple(
            on_positive - on_negative
            for on_positive, on_negative in (sides[0], self._sides("a", *sides[1]), self._sides("b", *sides[2]))
        )

    def _sides(self, part: str, on_positives: Float, on_negatives: Float | None = None) -> tuple[Float, Float]:
        """A direction's projections of the positive and the negative items, 0 where the rule does not apply the
        correction.
        """
        on_negatives = on_positives if on_negatives is None else on_negatives
        return tuple(
            values * (part in term)
            for values, term in zip((on_positives, on_negatives), self.rule.split("_"), strict=True)
        )


def _in_blocks(parts: Iterator[tuple]) -> Iterator[tuple]:
    """Joins tuples of columns until they hold about BLOCK entries."""
    held, size = [], 0
    for part in parts:
        held, size = [*held, part], size + len(part[0])
        if size >= BLOCK:
            yield tuple(map(np.concatenate, zip(*held, strict=True)))
            held, size = [], 0
    if held:
        yield tuple(map(np.concatenate, zip(*held, strict=True)))


def _one_of(value: str, known: tuple[str, ...], name: str) -> str:
    if value not in known:
        raise ValueError(f"{name} is {value!r}; expected one of {', '.join(map(repr, known))}")
    return value
