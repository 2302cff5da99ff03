"""Plain gradient descent on free vectors, with every move on record.

A free vector is its own parameter, like a row of an embedding table: a step moves it by -lr times its gradient and by
nothing else. Here one can watch what the loss alone does to lengths; what an encoder adds is in
`course_lib.jacobians`. No momentum, no weight decay. The loops are their own, not `training.fit`: fit hides the
single moves, and of those this module is the record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from course_lib import checking, geometry, losses
from course_lib.interactions import Interactions
from course_lib.training.finite import not_finite

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]
Loss = Callable[[Tensor], Tensor]  # scores (m, n) of a batch, positives on the diagonal -> one number
Scores = Callable[[Tensor, Tensor], Tensor]  # Q (m, d), K (n, d) -> (m, n)


@dataclass(frozen=True)
class Moves:
    """Record every move of an item's vector, one line per move, in order of time.

    Parameters
    ----------
    item : ndarray of int64, shape (N,)
        Which item moved.
    step : ndarray of int64, shape (N,)
        When, from 1.
    before, after : ndarray, shape (N,)
        The norm of the vector before the move and after it.
    length : ndarray, shape (N,)
        The length of the move, from the gradient.
    cosine : ndarray, shape (N,)
        ``cos(q, dq)``, from the vector and the gradient: 0 for a tangent step, NaN where the gradient is 0.

    Examples
    --------
    Two tangent moves of lengths 4 and 12 take a vector of length 3 to sqrt(9 + 16 + 144).

    >>> import numpy as np
    >>> from course_lib.training.free_vectors import Moves
    >>> ids, steps, norms = np.array([7, 7]), np.array([1, 2]), (np.array([3.0, 5.0]), np.array([5.0, 13.0]))
    >>> moves = Moves(ids, steps, *norms, length=np.array([4.0, 12.0]), cosine=np.zeros(2))
    >>> [values.tolist() for values in moves.pythagoras()]
    [[13.0], [13.0]]
    >>> len(moves), moves.longer
    (2, 2)
    """

    item: Ids
    step: Ids
    before: Floats
    after: Floats
    length: Floats
    cosine: Floats

    def __len__(self) -> int:
        return len(self.item)

    @property
    def longer(self) -> int:
        """How many moves made their vector longer."""
        return int((self.after > self.before).sum())

    @property
    def shorter(self) -> int:
        """How many moves made their vector shorter."""
        return int((self.after < self.before).sum())

    @property
    def worst_cosine(self) -> float:
        """max |cos(q, dq)| over the moves with a gradient, 0 if none had one."""
        return float(np.abs(self.cosine[~np.isnan(self.cosine)]).max(initial=0.0))

    def path(self, item: int) -> tuple[Ids, Floats]:
        """(steps, norms) of one item, from its start at step 0; each (its moves + 1,)."""
        mine = self.item == item
        if not mine.any():
            raise ValueError(f"item={item!r} never moved; {len(np.unique(self.item))} items did")
        return np.r_[0, self.step[mine]], np.r_[self.before[mine][:1], self.after[mine]]

    def pythagoras(self) -> tuple[Floats, Floats]:
        """Per item that moved: its last norm, and sqrt(||q_0||^2 + sum ||dq||^2), which (18) of P0 predicts."""
        items, where = np.unique(self.item, return_inverse=True)
        last, start = np.zeros(len(items)), np.zeros(len(items))
        last[where] = self.after  # the latest move of an item writes last
        start[where[::-1]] = self.before[::-1]
        added = np.bincount(where, weights=self.length.astype(np.float64) ** 2)
        return last, np.sqrt(start**2 + added)


@dataclass(frozen=True)
class TableRun:
    """Hold two trained tables, the moves of the items, and the loss before each step.

    Parameters
    ----------
    users, items : Tensor, shape (m, d) and (n, d)
        The tables.
    moves : Moves
        The moves of the items.
    loss : ndarray, shape (steps,)
        The loss before each step.
    bias : Tensor, shape (d,), optional
        The vector that all items share, where there is one.

    Examples
    --------
    >>> import torch
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.free_vectors import train_tables
    >>> data, generator = Interactions([0, 1, 2], [0, 1, 2], n_users=3, n_items=3), torch.Generator().manual_seed(0)
    >>> loss = lambda scores: -scores.diagonal().mean()  # minus the mean cosine of the positives
    >>> run = train_tables(data, loss=loss, lr=0.1, steps=4, batch_size=3, d=2, generator=generator)
    >>> tuple(run.items.shape), run.loss.shape, run.bias is None
    ((3, 2), (4,), True)
    """

    users: Tensor
    items: Tensor
    moves: Moves
    loss: Floats
    bias: Tensor | None = None


def train_tables(
    interactions: Interactions,
    *,
    loss: Loss,
    lr: float,
    steps: int,
    generator: torch.Generator,
    scores: Scores = losses.cosine_scores,
    batch_size: int = 512,
    d: int = 32,
    scale: float | None = None,
    dtype: torch.dtype = torch.float64,
    shared_bias: bool = False,
) -> TableRun:
    """Train two embedding tables on batches of positive pairs, drawn uniformly with replacement, by plain SGD.

    Parameters
    ----------
    interactions : Interactions
        The positive pairs.
    loss : callable
        The loss of the (B, B) scores of a batch, positives on the diagonal.
    lr : float
        The learning rate.
    steps : int
        The number of steps.
    generator : torch.Generator
        Draws the start and the batches.
    scores : callable
        ``losses.cosine_scores`` or ``losses.dot_scores``.
    batch_size : int
        The number B of pairs in a batch.
    d : int
        The width of an embedding.
    scale : float, optional
        The standard deviation of the starting entries, 1/sqrt(d) unless given.
    dtype : torch.dtype
        The dtype of the tables.
    shared_bias : bool
        Whether an item's output is its row plus one vector that all items share and that starts at zero. ``moves``
        then watches the outputs of the items in the batch.

    Returns
    -------
    TableRun
        The tables, and the record of the run.

    Raises
    ------
    ValueError
        Where the loss is not one number with a gradient, where it or a gradient is not finite, for numbers of steps,
        pairs or columns that are no whole numbers of at least 1, for an ``lr`` or ``scale`` below 0, and without a
        pair.

    Notes
    -----
    A vector that stands in a batch several times makes one move, by the sum of its gradients.

    Examples
    --------
    A loss on cosines never makes a vector shorter.

    >>> import torch
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.free_vectors import train_tables
    >>> data, generator = Interactions([0, 1, 2], [0, 1, 2], n_users=3, n_items=3), torch.Generator().manual_seed(0)
    >>> loss = lambda scores: -scores.diagonal().mean()  # minus the mean cosine of the positives
    >>> run = train_tables(data, loss=loss, lr=1.0, steps=4, batch_size=3, d=2, generator=generator)
    >>> run.moves.shorter, run.moves.worst_cosine < 1e-9
    (0, True)
    """
    for name, number in (("steps", steps), ("batch_size", batch_size), ("d", d)):
        checking.whole(number, name)
    for name, value in (("lr", lr), ("scale", d**-0.5 if scale is None else scale)):
        checking.real(value, name, least=0)
    if not len(checking.instance(interactions, "interactions", Interactions)):
        raise ValueError(f"interactions is {interactions!r}; expected at least one pair, to draw batches from")
    checking.instance(generator, "generator", torch.Generator, checking.TORCH_GENERATOR)
    start = d**-0.5 if scale is None else scale
    users, items = (
        start * torch.randn(size, d, generator=generator, dtype=torch.float64).to(dtype) for size in interactions.shape
    )
    bias = torch.zeros(d, dtype=dtype)
    pairs = torch.as_tensor(np.stack([interactions.users, interactions.items]))
    record: list[tuple[NDArray[Any], ...]] = []
    values = np.empty(steps)
    for step in range(steps):
        left, right = pairs[:, torch.randint(pairs.shape[1], (batch_size,), generator=generator)]
        Q, K = users[left].requires_grad_(), (items[right] + bias).requires_grad_()
        value = loss(scores(Q, K))
        of_users, of_items = _gradients(value, Q, K, step + 1, lr)
        values[step] = value.item()
        touched, where = torch.unique(right, return_inverse=True)
        slope = torch.zeros(len(touched), d, dtype=dtype).index_add_(0, where, of_items)  # (9): copies add up
        move = -lr * slope
        users.index_add_(0, left, -lr * of_users)
        before = items[touched] + bias
        items[touched] += move
        if shared_bias:
            bias = bias - lr * of_items.sum(dim=0)
        record.append(_moves_of(step + 1, touched, before, move, items[touched] + bias, shared_bias))
    moves = Moves(*map(np.concatenate, zip(*record, strict=True)))
    return TableRun(users, items, moves, values, bias if shared_bias else None)


def descend(
    Q: Tensor, K: Tensor, *, loss: Loss, lr: float, steps: int, scores: Scores = losses.cosine_scores
) -> tuple[Tensor, Tensor]:
    """Descend by the plain gradient on all of two tables, and return their paths.

    Parameters
    ----------
    Q : Tensor, shape (m, d)
        The start of the left vectors.
    K : Tensor, shape (n, d)
        The start of the right vectors.
    loss : callable
        The loss of the scores (m, n).
    lr : float
        The learning rate.
    steps : int
        The number of steps.
    scores : callable
        ``losses.cosine_scores`` or ``losses.dot_scores``.

    Returns
    -------
    tuple of Tensor, shape (steps + 1, m, d) and (steps + 1, n, d)
        The paths of the two tables, from their starts.

    Raises
    ------
    ValueError
        Where the loss is not one number with a gradient, where it or a gradient is not finite, for ``steps`` that are
        no whole number of at least 0, and for an ``lr`` below 0.

    Examples
    --------
    A vector of length 3 moves at a right angle towards its partner, by 12 / 3.

    >>> import torch
    >>> from course_lib.training.free_vectors import descend
    >>> Q, K = torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 3.0]])
    >>> path, _ = descend(Q, K, loss=lambda scores: -scores.sum(), lr=12.0, steps=1)
    >>> path.round(decimals=3).tolist()
    [[[3.0, 0.0]], [[3.0, 4.0]]]
    """
    for name, table in (("Q", Q), ("K", K)):
        checking.instance(table, name, Tensor)
    checking.whole(steps, "steps", 0), checking.real(lr, "lr", least=0)
    left, right = [Q.detach()], [K.detach()]
    for _ in range(steps):
        q, k = left[-1].clone().requires_grad_(), right[-1].clone().requires_grad_()
        of_q, of_k = _gradients(loss(scores(q, k)), q, k, len(left), lr)
        left.append(q.detach() - lr * of_q)
        right.append(k.detach() - lr * of_k)
    return torch.stack(left), torch.stack(right)


def _gradients(value: Tensor, Q: Tensor, K: Tensor, step: int, lr: float) -> tuple[Tensor, Tensor]:
    """Of the loss with respect to Q and K; ValueError where one of the three is not finite, or no number is given."""
    if not (isinstance(value, Tensor) and value.numel() == 1 and value.requires_grad):
        raise checking.refuse(value, "the value of loss", "a tensor of one number, with a gradient")
    if not torch.isfinite(value):
        raise ValueError(f"the loss became {value.item()} at step {step}; expected a smaller lr than {lr!r}")
    of_q, of_k = torch.autograd.grad(value, (Q, K))
    if found := not_finite({"Q": of_q, "K": of_k}):
        raise ValueError(f"the gradient of {found} at step {step}; expected a loss whose gradients are finite")
    return of_q, of_k


def _moves_of(
    step: int, touched: Tensor, before: Tensor, move: Tensor, after: Tensor, measured: bool
) -> tuple[NDArray[Any], ...]:
    """The columns of `Moves` for one step. measured: the move is what was seen, after - before, not the gradient's."""
    move = after - before if measured else move
    length = geometry.norm(move)
    unit = geometry.normalise(before)
    cosine = (unit * move).sum(-1) / length
    columns = (geometry.norm(before), geometry.norm(after), length, cosine)
    return (touched.numpy(), np.full(len(touched), step), *(column.double().numpy() for column in columns))
