"""DDC as a module: frozen tables, and two scalars for each user (P1, Sections 3.4 and 4).

The mathematics is in `course_lib.correction`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

from course_lib import checking
from course_lib.backbones.base import Recommender, Tables
from course_lib.correction import (
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
    user_loss,
)
from course_lib.interactions import Interactions, sample_negatives
from course_lib.losses import bpr
from course_lib.popularity import popularity_direction

# Public names of the course: the functions of one user stay importable from here.
__all__ = ["DDC", "preference_directions", "solve_user", "surrogate_user", "user_loss"]

PARTS = ("ab", "a", "b", "")
TABLE = 20_000_000  # numbers that a table of all users and items may hold
Ids = NDArray[np.int64]


class Frozen(NamedTuple):
    """Hold the frozen tables of a ``DDC`` in float64.

    Parameters
    ----------
    users, pref : ndarray, shape (m, d)
        The embeddings of the users, and their preference directions.
    items : ndarray, shape (n, d)
        The embeddings of the items.
    pop : ndarray, shape (d,)
        The popularity direction.
    """

    users: Float
    items: Float
    pref: Float
    pop: Float


class Problem(NamedTuple):
    """Hold the margins of users' triples as functions of their scalars, one entry for each triple.

    Parameters
    ----------
    owners : ndarray of int64, shape (T,)
        The user of each triple.
    margins : ndarray, shape (T,)
        The margin x at alpha = beta = 0.
    by_alpha, by_beta : ndarray, shape (T,)
        The derivatives ``dx/dalpha`` and ``dx/dbeta``.
    """

    owners: Ids
    margins: Float
    by_alpha: Float
    by_beta: Float


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
        users, items = checked_tables(users, items, interactions)
        super().__init__()
        self.n_users, self.n_items = interactions.shape
        self.interactions = interactions
        self.rule, self.final = _one_of(rule, RULES, "rule"), _one_of(final, PARTS, "final")
        if start < 0 or (start and generator is None):
            expected = "0, or a positive start and a torch.Generator"
            raise ValueError(f"start is {start} and generator {generator!r}; expected {expected}")
        directions = {
            "users": users,
            "items": items,
            "pop": popularity_direction(items, interactions.col_counts, ratio),
            "pref": preference_directions(users, items, interactions, top),
        }
        for name, table in directions.items():
            self.register_buffer(name, torch.tensor(table))
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
        _one_of(parts, PARTS, "parts")
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
        ridge = checking.real(ridge, "ridge", least=0)
        alpha, beta = np.zeros(self.n_users), np.zeros(self.n_users)
        solved = np.zeros(self.n_users, dtype=bool)
        for owners, *columns in self._problems(negatives, ridge, rng):
            ids, owner = np.unique(owners, return_inverse=True)
            able: NDArray[np.bool_] = np.ones(len(ids), bool)
            if not ridge:
                able = bounded_below(owner, len(ids), columns[1], columns[2])
            here, renamed = able[owner], np.cumsum(able) - 1
            offset, by_alpha, by_beta = (column[here] for column in columns)
            found = newton_minima(renamed[owner[here]], int(able.sum()), offset, by_alpha, by_beta, ridge=ridge)
            alpha[ids[able]], beta[ids[able]] = found
            solved[ids[able]] = True
        self.alpha.copy_(torch.from_numpy(alpha))
        self.beta.copy_(torch.from_numpy(beta))
        return np.flatnonzero(~solved)

    def _problems(self, negatives: int | None, ridge: float, rng: Generator | None) -> Iterator[Problem]:
        """The users' problems in blocks that never part a user."""
        data = self.interactions
        tables = (self.users, self.items, self.pref, self.pop)
        frozen = Frozen(*(table.cpu().numpy().astype(np.float64) for table in tables))
        able = (data.row_counts > 0) & (data.row_counts < data.n_items)
        if negatives is None:
            found = (self._all_pairs(int(user), ridge, frozen) for user in np.flatnonzero(able))
            yield from _in_blocks(problem for problem in found if problem is not None)
        elif isinstance(negatives, int) and negatives >= 1 and isinstance(rng, Generator):
            block = np.cumsum(data.row_counts * negatives) // BLOCK
            for number in np.unique(block[able]):
                mine = (able & (block == number))[data.users]
                owners, positives = (np.repeat(ids[mine], negatives) for ids in (data.users, data.items))
                yield self._triples(owners, positives, sample_negatives(data, owners, rng), frozen)
        else:
            expected = "None, or a whole number of at least 1 and a numpy Generator"
            raise ValueError(f"negatives is {negatives!r} and rng {rng!r}; expected {expected}")

    def _all_pairs(self, user: int, ridge: float, frozen: Frozen) -> Problem | None:
        """One user's own items with all others; None where "b_a" cannot have a minimiser."""
        own = self.interactions.items_of(user)
        others = np.setdiff1d(np.arange(self.n_items), own, assume_unique=True)
        users, items, pref, pop = frozen
        scores, toward_pref, toward_pop = items @ users[user], items @ pref[user], items @ pop
        if self.rule == "b_a" and not ridge and not has_minimiser(toward_pref[own], toward_pop[others]):
            return None
        margins, by_alpha, by_beta = (
            (on_own[own][:, None] - on_others[others]).ravel()
            for on_own, on_others in (
                (scores, scores),
                self._sides("a", toward_pop, toward_pop),
                self._sides("b", toward_pref, toward_pref),
            )
        )
        return Problem(np.full(margins.size, user), margins, by_alpha, by_beta)

    def _triples(self, owners: Ids, positives: Ids, negatives: Ids, frozen: Frozen) -> Problem:
        """The same for any triples (T,)."""
        users, items, pref, pop = frozen
        along = items @ pop
        of_scores, of_pref = (_products(table, items, owners, positives, negatives) for table in (users, pref))
        margins, by_alpha, by_beta = (
            on_positives - on_negatives
            for on_positives, on_negatives in (
                of_scores,
                self._sides("a", along[positives], along[negatives]),
                self._sides("b", *of_pref),
            )
        )
        return Problem(owners, margins, by_alpha, by_beta)

    def _sides(self, part: str, on_positives: Float, on_negatives: Float) -> tuple[Float, Float]:
        """A direction's projections of both kinds of items, 0 where the rule does not apply the correction."""
        of_positives, of_negatives = self.rule.split("_")
        return on_positives * (part in of_positives), on_negatives * (part in of_negatives)


def _products(table: Float, items: Float, owners: Ids, positives: Ids, negatives: Ids) -> tuple[Float, Float]:
    """<table[owner], item> of the positive and the negative items of triples (T,): (T,) each.

    Read off the table of all products where that is small.
    """
    if len(table) * len(items) > min(TABLE, 20 * len(owners)):
        return pair_products(table, owners, items, positives), pair_products(table, owners, items, negatives)
    every, start = (table @ items.T).ravel(), owners * len(items)
    return every[start + positives], every[start + negatives]


def _in_blocks(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Joins problems until they hold about BLOCK entries."""
    held: list[Problem] = []
    size = 0
    for problem in problems:
        held, size = [*held, problem], size + len(problem.owners)
        if size >= BLOCK:
            yield Problem(*map(np.concatenate, zip(*held, strict=True)))
            held, size = [], 0
    if held:
        yield Problem(*map(np.concatenate, zip(*held, strict=True)))


def _one_of(value: str, known: tuple[str, ...], name: str) -> str:
    if value not in known:
        raise ValueError(f"{name} is {value!r}; expected one of {', '.join(map(repr, known))}")
    return value
