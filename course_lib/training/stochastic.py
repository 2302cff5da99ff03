"""P3's stochastic training, many losses at once: AdaGrad on in-batch samples, the learning rate found by halving.

A stack trains C configurations side by side on the same batches; its tables are (m, C, k) and (n, C, k), so that one
gather, one matrix product and one update serve all of them. Theory keeps a step cheap:

- A batch is used through its distinct rows and columns, with the number of copies as a weight.
- The square loss needs no grid: sum_ab r_a c_b <u_a, v_b>^2 is the product of two k x k Gramians, O(s k^2).
- The logistic loss is computed on the grid of distinct rows and columns only.
- The masked loss is the grid sum minus its cells in O, which are found in the CSR rows of the batch.

Not `training.fit`: one step moves C configurations at once, each with its own loss, learning rate and restarts.

One loss, two ways to its gradient. The loss is `in_batch.batch_loss` (for Sogram `in_batch.sogram_loss`). A step on the
CPU takes 2 to 9 times as long by autograd through `in_batch` as by the stacked formulas here (5 losses, square or
logistic, batches of 67 to 6,707 pairs, the cheapest function of `in_batch` for each). So the formulas stay, as an
optimisation: their weights are the same `Coefficients`, and before the first step of every run `check_gradients` holds
them against autograd on pairs of the first batch, in float64. A run whose gradients differ does not start.

Procedure (P3, Appendix D): start at a learning rate that diverges, halve it and restart whenever the training objective
is NaN or more than 100 times its first value, stop when no test metric has improved for 10 epochs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from course_lib import checking, in_batch
from course_lib.arrays import Array
from course_lib.interactions import Interactions, epoch_batches
from course_lib.losses import pair_losses
from course_lib.metrics import metrics_from_ranking, top_k
from course_lib.training import resumable
from course_lib.training.objectives import FullData, full_data, objective_value

DIVERGED_AT = 100.0  # times the first value of the objective
CHECKED_PAIRS = 256  # of a run's first batch: their grid is small, so that the check costs a few hundredths of a second
CHANGING = ("u", "v", "square_u", "square_v", "lr", "kept", "order", "drawn")  # of a stack, besides its generator
TOLERANCE = 1e-9  # of the largest entry: the most that a stacked gradient may differ from autograd's, in float64
Tables = tuple[Array, Array]
Servings = Callable[[str, str, Array, Array, Interactions], dict[str, Tables]]


@dataclass(frozen=True)
class Schedule:
    """Say how long a stack trains, and how often it is evaluated.

    Parameters
    ----------
    first_lr : float
        The learning rate where the search starts (P3: 2^18).
    patience : int
        Stop after so many epochs without a gain in a test metric.
    max_epochs : int
        Stop after so many epochs at the latest.
    evaluations_per_epoch : float
        Checkpoints per epoch (P3: 100; an epoch has at most as many as it has steps; 0.5 is one in two epochs).
    start_scale : float
        The standard deviation of the tables at the start.

    Raises
    ------
    ValueError
        For values that are not above 0.

    Examples
    --------
    >>> from course_lib.training.stochastic import Schedule
    >>> Schedule(patience=3).first_lr
    262144.0
    """

    first_lr: float = 2.0**18
    patience: int = 10
    max_epochs: int = 1000
    evaluations_per_epoch: float = 1
    start_scale: float = 0.1

    def __post_init__(self) -> None:
        for name in ("first_lr", "evaluations_per_epoch", "start_scale"):
            checking.real(getattr(self, name), name, above=0)
        for name in ("patience", "max_epochs"):
            checking.whole(getattr(self, name), name)


@dataclass(frozen=True)
class Batch:
    """Hold one batch by its distinct rows and columns.

    Parameters
    ----------
    rows, cols : Tensor of int64, shape (p,) and (q,)
        The distinct ids.
    row_at, col_at : Tensor of int64, shape (s,)
        Where each sampled pair lies among them.
    row_copies, col_copies : Tensor, shape (p,) and (q,)
        How often each stands in the grid; 0 for a column that only the positives need.
    inside : tuple of Tensor, optional
        For the masked loss: where the positives of the training part lie in the grid, as rows (c,) and columns (c,) of
        it.

    Examples
    --------
    Two pairs of user 1 make one row with two copies:

    >>> import numpy as np
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.stochastic import Schedule, Stack
    >>> train, rng = Interactions([0, 1, 1], [0, 0, 2], n_users=2, n_items=3), np.random.default_rng(0)
    >>> batch = Stack(("unbiased",), "square", train, 2, k=2, rng=rng, schedule=Schedule()).batch(np.array([1, 2]))
    >>> batch.rows.tolist(), batch.row_copies.tolist(), batch.cols.tolist(), batch.col_at.tolist()
    ([1], [2.0], [0, 2], [0, 1])
    """

    rows: Tensor
    cols: Tensor
    row_at: Tensor
    col_at: Tensor
    row_copies: Tensor
    col_copies: Tensor
    inside: tuple[Tensor, Tensor] | None = None


@dataclass
class Trained:
    """Hold one trained configuration: its usable learning rate, its checkpoints, and its tables at the last one.

    Parameters
    ----------
    loss : str
        The batch loss.
    lr : float
        The learning rate, halved until the run did not diverge.
    halvings : int
        How often it was halved.
    steps : int
        The number of steps since the last restart.
    epochs : float
        The epochs at the last checkpoint.
    stopped : str
        Why it stopped: "epoch cap" or "no gain".
    history : list of dict
        One dict per checkpoint with ``step``, ``epoch``, ``objective`` and, under ``metrics``, for each serving
        {metric: (all, half A, half B)}.
    users, items : ndarray, shape (m, k) and (n, k)
        The tables at the last checkpoint.

    Examples
    --------
    >>> from course_lib.training.stochastic import Trained
    >>> Trained("unbiased", lr=2.0**18).history
    []
    """

    loss: str
    lr: float
    halvings: int = 0
    steps: int = 0
    epochs: float = 0.0
    stopped: str = ""
    history: list[dict[str, Any]] = field(default_factory=list)
    users: Array = None
    items: Array = None


class Stack:
    """Train several losses at once on one stream of batches of s pairs of the training part.

    Parameters
    ----------
    losses : tuple of str
        Names of ``in_batch.KINDS``, or ("sogram",) alone. C of them.
    pointwise : str
        "square" or "logistic".
    train : Interactions
        The training pairs.
    batch_size : int
        The number s of pairs in a batch.
    k : int
        The width of an embedding.
    rng : numpy.random.Generator
        Draws the start and the batches.
    schedule : Schedule
        Where the learning rate starts, and the scale of the start.
    omega : float, optional
        That of "unbiased_omega".
    device : str
        Where the tables are.
    dtype : torch.dtype
        Their dtype.
    sampler : callable, optional
        ``sampler(rng)`` gives the positions of the pairs of the next batch. By default the pairs of an epoch are
        shuffled and cut.

    Raises
    ------
    ValueError
        For "sogram" beside another loss, since it draws two batches a step, for another ``pointwise`` loss, and for
        kinds and sizes that do not fit.

    Examples
    --------
    The gradients are those of autograd through ``in_batch``; the check raises FloatingPointError otherwise.

    >>> import numpy as np
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.stochastic import Schedule, Stack
    >>> train, rng = Interactions([0, 1, 1], [0, 0, 2], n_users=2, n_items=3), np.random.default_rng(0)
    >>> stack = Stack(("unbiased", "popularity"), "square", train, 2, k=4, rng=rng, schedule=Schedule(first_lr=0.1))
    >>> stack.check_gradients(next(stack.batches()))
    >>> tuple(stack.u.shape), stack.steps_per_epoch
    ((2, 2, 4), 1)
    """

    def __init__(
        self,
        losses: tuple[str, ...],
        pointwise: str,
        train: Interactions,
        batch_size: int,
        *,
        k: int,
        rng: np.random.Generator,
        schedule: Schedule,
        omega: float | None = None,
        device: str = "cpu",
        dtype: torch.dtype = torch.float32,
        sampler: Callable[[np.random.Generator], NDArray[np.int64]] | None = None,
    ) -> None:
        """losses: names of `in_batch.KINDS`, or ("sogram",) alone; omega: that of "unbiased_omega"."""
        losses = tuple(losses)  # a list ["sogram"] is not ("sogram",)
        checking.choice(pointwise, "pointwise", ("square", "logistic"))
        if "sogram" in losses and len(losses) > 1:
            raise ValueError(f"losses are {losses}: 'sogram' draws two batches a step, so it needs a stack of its own")
        self.pointwise, self.train, self.batch_size, self.schedule = pointwise, train, batch_size, schedule
        self.losses, self.device, self.rng = losses, device, rng
        self.omega, self.dtype, self.sampler = omega, dtype, sampler
        self.kept, self.order, self.drawn = [*range(len(losses))], list[NDArray[np.int64]](), 0
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        checking.instance(train, "train", Interactions), checking.whole(k, "k"), checking.generator(rng)
        self.users_of = torch.tensor(train.users, device=device)
        self.items_of = torch.tensor(train.items, device=device)
        self.row_counts = torch.tensor(train.row_counts, **where)
        self.col_counts = torch.tensor(train.col_counts, **where)
        self.weights = self._weights(batch_size, dtype)
        self.objectives = [_expected(loss, batch_size, train, omega, device) for loss in losses]
        first_u, first_v = (schedule.start_scale * rng.standard_normal((rows, 1, k)) for rows in train.shape)
        self.start = torch.tensor(first_u, **where), torch.tensor(first_v, **where)
        self.u, self.v = (table.repeat(1, len(losses), 1) for table in self.start)
        self.square_u, self.square_v = torch.zeros_like(self.u), torch.zeros_like(self.v)
        self.lr = torch.full((len(losses), 1), float(schedule.first_lr), **where)

    @property
    def steps_per_epoch(self) -> int:
        """Full batches in one pass over the positives; the incomplete last one is left out."""
        return len(self.train) // self.batch_size

    def batches(self) -> Iterator[Batch]:
        """Batches without end: each alone is a uniform subset of s pairs, those of one epoch are disjoint."""
        while True:
            yield self.batch(*self.draw())

    def draw(self) -> tuple[NDArray[np.int64], ...]:
        """The positions of the next batch; for Sogram those of the next two."""
        if self.sampler is not None:
            return (self.sampler(self.rng),)
        if self.drawn % self.steps_per_epoch == 0:
            streams = 2 if self.losses == ("sogram",) else 1
            drawn = (epoch_batches(self.train, self.batch_size, self.rng, drop_last=True) for _ in range(streams))
            self.order = [np.concatenate([*stream]) for stream in drawn]
        start = self.drawn % self.steps_per_epoch * self.batch_size
        self.drawn += 1
        return tuple(order[start : start + self.batch_size] for order in self.order)

    def state_dict(self) -> dict[str, Any]:
        """All that changes while the stack trains."""
        return {name: getattr(self, name) for name in CHANGING} | {"rng": self.rng.bit_generator.state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Puts a new stack where another was; ValueError where this one has dropped configurations already."""
        if len(self.kept) < len(self.lr):
            raise ValueError(f"the stack holds {self.kept} alone; expected a new one")
        self.keep(state["kept"])
        for name in CHANGING:
            setattr(self, name, state[name])
        self.rng.bit_generator.state = state["rng"]

    def batch(self, places: NDArray[np.int64], other: NDArray[np.int64] | None = None) -> Batch:
        """The batch of the pairs at these places; `other`: the pairs whose columns make the grid (Sogram)."""
        at = torch.from_numpy(np.sort(places)).to(self.device)
        crossed = None if other is None else self.items_of[torch.from_numpy(other).to(self.device)]
        return self._batch_of(self.users_of[at], self.items_of[at], crossed)

    def _batch_of(self, users: Tensor, items: Tensor, crossed: Tensor | None) -> Batch:
        rows, row_at, row_copies = _distinct(users, len(self.row_counts))
        if crossed is None:
            cols, col_at, col_copies = _distinct(items, len(self.col_counts))
        else:
            cols, at, _ = _distinct(torch.cat([items, crossed]), len(self.col_counts))
            col_at = at[: len(items)]
            col_copies = torch.bincount(at[len(items) :], minlength=len(cols))
        inside = self.positives_inside(rows, cols) if "masked" in self.losses else None
        return Batch(rows, cols, row_at, col_at, row_copies.to(self.dtype), col_copies.to(self.dtype), inside)

    def positives_inside(self, rows: Tensor, cols: Tensor) -> tuple[Tensor, Tensor]:
        """Where the positives lie in the grid rows x cols: ((c,), (c,)) places among the rows and among the columns."""
        part = self.train.matrix[rows.cpu().numpy()][:, cols.cpu().numpy()].tocoo()
        left, right = (torch.tensor(places, dtype=torch.int64, device=self.device) for places in part.coords)
        return left, right

    def gradients(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Of the batch loss with respect to the distinct rows (p, C, k) and columns (q, C, k)."""
        counts = self.row_counts[batch.rows], self.col_counts[batch.cols]
        return stacked_gradients(self.pointwise, self.u[batch.rows], self.v[batch.cols], batch, counts, self.weights)

    def check_gradients(self, batch: Batch) -> None:
        """Holds the gradients of every loss against autograd through `in_batch`, in float64.

        The first CHECKED_PAIRS pairs of the batch make the batch that is looked at. FloatingPointError names the loss
        whose gradient differs by more than TOLERANCE of its largest entry.
        """
        some = slice(CHECKED_PAIRS)
        users, items = batch.rows[batch.row_at][some], batch.cols[batch.col_at][some]
        crossed = None
        if self.losses == ("sogram",):
            crossed = batch.cols.repeat_interleave(batch.col_copies.long())[some]
        part = self._batch_of(users, items, crossed)
        u, v = self.u[part.rows].double(), self.v[part.cols].double()
        counts = self.row_counts[part.rows].double(), self.col_counts[part.cols].double()
        weights = self._weights(len(users), torch.float64)
        found = stacked_gradients(self.pointwise, u, v, part, counts, weights)
        for at, loss in enumerate(self.losses):
            expected = self._autograd(loss, u[:, at], v[:, at], users, items, crossed, part)
            for ours, theirs in zip(found, expected, strict=True):
                difference = float((ours[:, at] - theirs).abs().max())
                if not difference <= TOLERANCE * float(theirs.abs().max()):
                    raise FloatingPointError(
                        f"the stacked gradient of {loss} ({self.pointwise}) differs from autograd through in_batch by "
                        f"{difference:.3g}; expected at most {TOLERANCE:g} of {float(theirs.abs().max()):.3g}"
                    )

    def _autograd(
        self, loss: str, u: Tensor, v: Tensor, users: Tensor, items: Tensor, crossed: Tensor | None, part: Batch
    ) -> tuple[Tensor, Tensor]:
        """The gradients of one loss on the s x s grid as the paper writes it: (p, k), (q, k)."""
        u, v = u.clone().requires_grad_(), v.clone().requires_grad_()
        across = items if crossed is None else crossed
        left, right = u[part.row_at], v[torch.searchsorted(part.cols, across)]  # distinct ids ascend
        grid = pair_losses(self.pointwise, left @ right.T)
        row_counts, col_counts = self.row_counts[users].double(), self.col_counts[across].double()
        given: dict[str, Any] = {"n_positives": len(self.train), "shape": self.train.shape}
        if crossed is None:
            labels = None
            if loss == "masked":
                dense = self.train.matrix[users.cpu().numpy()][:, items.cpu().numpy()].toarray()
                labels = torch.tensor(dense, dtype=torch.float64, device=self.device)
            value = in_batch.batch_loss(
                loss,
                pos_loss=grid[0].diagonal(),
                neg_loss=grid[1],
                row_counts=row_counts,
                col_counts=col_counts,
                omega=self.omega if loss == "unbiased_omega" else None,
                labels=labels,
                **given,
            )
        else:
            own = pair_losses(self.pointwise, (left * v[part.col_at]).sum(1))
            value = in_batch.sogram_loss(
                pos_loss=own[0],
                neg_diag=own[1],
                neg_cross=grid[1],
                row_counts=row_counts,
                col_counts=col_counts,
                **given,
            )
        du, dv = torch.autograd.grad(value, (u, v))
        return du, dv

    def _weights(self, batch_size: int, dtype: torch.dtype) -> _StackedWeights:
        """Those of all losses for batches of this size."""
        coefficients = [_coefficients(loss, batch_size, self.train, self.omega) for loss in self.losses]
        return _StackedWeights(coefficients, {"device": self.device, "dtype": dtype})

    def step(self, batch: Batch) -> None:
        """One AdaGrad step of every configuration (sum of squares starts at 0, epsilon 1e-10)."""
        du, dv = self.gradients(batch)
        for table, squares, ids, gradient in (
            (self.u, self.square_u, batch.rows, du),
            (self.v, self.square_v, batch.cols, dv),
        ):
            total = squares[ids] + gradient * gradient
            squares[ids] = total
            table[ids] = table[ids] - self.lr * gradient / (total.sqrt_().add_(1e-10))

    def restart(self, at: int, lr: float) -> None:
        """Configuration `at` goes back to the common start with another learning rate."""
        self.u[:, at], self.v[:, at] = self.start[0][:, 0], self.start[1][:, 0]
        self.square_u[:, at] = self.square_v[:, at] = 0.0
        self.lr[at] = lr

    def keep(self, which: list[int]) -> None:
        """Drops the configurations that are finished."""
        self.u, self.v, self.square_u, self.square_v = (
            table[:, which].contiguous() for table in (self.u, self.v, self.square_u, self.square_v)
        )
        self.lr = self.lr[which]
        self.weights = self.weights.keep(which)
        self.objectives = [self.objectives[at] for at in which]
        self.kept = [self.kept[at] for at in which]
        self.losses = tuple(self.losses[at] for at in which) if self.losses != ("sogram",) else self.losses

    def objective(self, at: int) -> float:
        """The expected objective of configuration `at` on the whole training part."""
        return objective_value(self.pointwise, self.u[:, at], self.v[:, at], self.objectives[at])


class _StackedWeights:
    """The coefficients of C losses as tensors: positive, grid, constant, inverse (C,), power of the counts (C,)."""

    def __init__(self, coefficients: list[in_batch.Coefficients], where: dict[str, Any]) -> None:
        self.where, self.coefficients = where, coefficients
        self.masked = [at for at, part in enumerate(coefficients) if part.masked]
        columns = ("positive", "grid", "constant", "inverse", "power")
        self.positive, self.grid, self.constant, self.inverse, self.power = (
            torch.tensor([float(getattr(part, name)) for part in coefficients], **where) for name in columns
        )

    def factor(self, counts: Tensor) -> Tensor:
        """counts^power of each loss: (rows, C)."""
        return counts[:, None] ** self.power

    def own(self, popularity: Tensor) -> Tensor:
        """The weight of each sampled pair's own l-: (s, C)."""
        return self.constant + self.inverse / popularity[:, None]

    def keep(self, which: list[int]) -> _StackedWeights:
        return _StackedWeights([self.coefficients[at] for at in which], self.where)


def stacked_gradients(
    pointwise: str, u: Tensor, v: Tensor, batch: Batch, counts: tuple[Tensor, Tensor], weights: _StackedWeights
) -> tuple[Tensor, Tensor]:
    """Compute the gradients of C batch losses with respect to the distinct rows and columns of a batch.

    Parameters
    ----------
    pointwise : str
        "square"; anything else is the logistic loss.
    u, v : Tensor, shape (p, C, k) and (q, C, k)
        The embeddings of the distinct rows and columns.
    batch : Batch
        The batch.
    counts : tuple of Tensor, shape (p,) and (q,)
        The counts of the rows and columns in the training part.
    weights
        The weights of the losses, such as ``Stack.weights``.

    Returns
    -------
    tuple of Tensor, shape (p, C, k) and (q, C, k)
        The gradients.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.stochastic import Schedule, Stack, stacked_gradients
    >>> train, rng = Interactions([0, 1, 1], [0, 0, 2], n_users=2, n_items=3), np.random.default_rng(0)
    >>> stack = Stack(("unbiased",), "square", train, 2, k=4, rng=rng, schedule=Schedule())
    >>> batch, counts = stack.batch(np.array([0, 1])), (stack.row_counts, stack.col_counts[:1])  # one item, both users
    >>> [tuple(part.shape) for part in stacked_gradients("square", stack.u, stack.v[:1], batch, counts, stack.weights)]
    [(2, 1, 4), (1, 1, 4)]
    """
    row_counts, col_counts = counts
    row_weight = batch.row_copies.to(u)[:, None] * weights.factor(row_counts)  # (p, C)
    col_weight = batch.col_copies.to(u)[:, None] * weights.factor(col_counts) * weights.grid
    u_pairs, v_pairs = u[batch.row_at], v[batch.col_at]  # (s, C, k)
    scores = (u_pairs * v_pairs).sum(-1)  # (s, C)
    own = weights.own(row_counts[batch.row_at] * col_counts[batch.col_at])
    slope, grid = (_square_slope, _square_grid) if pointwise == "square" else (_logistic_slope, _logistic_grid)
    pull = slope(scores, weights.positive, own)[..., None]
    du, dv = grid(u, v, row_weight, col_weight)
    du.index_add_(0, batch.row_at, pull * v_pairs)
    dv.index_add_(0, batch.col_at, pull * u_pairs)
    if batch.inside is not None:  # the positives of the grid are taken out of the masked loss
        rows, cols = batch.inside
        for at in weights.masked:
            u_inside, v_inside = u[rows, at], v[cols, at]
            scores = (u_inside * v_inside).sum(-1)
            slopes = scores if pointwise == "square" else torch.sigmoid(scores)
            less = (-slopes * row_weight[rows, at] * col_weight[cols, at])[:, None]
            du[:, at].index_add_(0, rows, less * v_inside)
            dv[:, at].index_add_(0, cols, less * u_inside)
    return du, dv


def _square_slope(scores: Tensor, positive: Tensor, own: Tensor) -> Tensor:
    return positive * (scores - 1) + own * scores


def _logistic_slope(scores: Tensor, positive: Tensor, own: Tensor) -> Tensor:
    return own * torch.sigmoid(scores) - positive * torch.sigmoid(-scores)


def _square_grid(u: Tensor, v: Tensor, row_weight: Tensor, col_weight: Tensor) -> tuple[Tensor, Tensor]:
    """Gradient of sum_ab r_a c_b <u_a, v_b>^2 / 2 through two Gramians (C, k, k)."""
    left, right = u.permute(1, 0, 2), v.permute(1, 0, 2)  # (C, p, k), (C, q, k)
    scaled_left, scaled_right = left * row_weight.T[..., None], right * col_weight.T[..., None]
    du = scaled_left @ (right.mT @ scaled_right)
    dv = scaled_right @ (left.mT @ scaled_left)
    return du.permute(1, 0, 2).contiguous(), dv.permute(1, 0, 2).contiguous()


def _logistic_grid(u: Tensor, v: Tensor, row_weight: Tensor, col_weight: Tensor) -> tuple[Tensor, Tensor]:
    """Gradient of sum_ab r_a c_b log(1 + exp(<u_a, v_b>)) on the distinct grid, one configuration after the other."""
    du, dv = torch.empty_like(u), torch.empty_like(v)
    for at in range(u.shape[1]):
        slopes = (u[:, at] @ v[:, at].T).sigmoid_()  # (p, q)
        slopes.mul_(row_weight[:, at, None]).mul_(col_weight[:, at])
        du[:, at] = slopes @ v[:, at]
        dv[:, at] = slopes.T @ u[:, at]
    return du, dv


def _distinct(ids: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """(distinct ids ascending, where each id lies among them, copies of each), by counting."""
    copies = torch.bincount(ids, minlength=size)
    found = torch.nonzero(copies).flatten()
    place = torch.empty(size, dtype=torch.int64, device=ids.device)
    place[found] = torch.arange(len(found), device=ids.device)
    return found, place[ids], copies[found]


def _coefficients(loss: str, batch_size: int, train: Interactions, omega: float | None) -> in_batch.Coefficients:
    given: dict[str, Any] = {"n_positives": len(train), "shape": train.shape}
    if loss == "sogram":
        return in_batch.sogram_coefficients(batch_size=batch_size, other_batch_size=batch_size, **given)
    return in_batch.batch_coefficients(
        loss, batch_size=batch_size, omega=omega if loss == "unbiased_omega" else None, **given
    )


def _expected(loss: str, batch_size: int, train: Interactions, omega: float | None, device: str) -> FullData:
    """The objective that the loss minimises in expectation; Sogram's is that of the unbiased loss (P3, F.4)."""
    kind, omega = "unbiased" if loss == "sogram" else loss, omega if loss == "unbiased_omega" else None
    return full_data(kind, train, batch_size=batch_size, omega=omega, device=device)


# ------------------------------------------------------------------------------------------------------ the procedure


def train_stack(
    stack: Stack,
    test: Interactions,
    *,
    cutoffs: tuple[int, ...],
    halves: NDArray[np.bool_],
    servings: Servings,
    progress: Callable[[int, list[Trained]], None] | None = None,
) -> list[Trained]:
    """Train every configuration of a stack to the end of P3's procedure.

    Parameters
    ----------
    stack : Stack
        The configurations.
    test : Interactions
        The test pairs.
    cutoffs : tuple of int
        The lengths K at which precision and recall are measured.
    halves : ndarray of bool, shape (m,)
        Which half of the users each user belongs to, for cross-fitted selection.
    servings : callable
        ``servings(loss, pointwise, users, items, train)`` names the pairs of tables to rank with. One of them is
        "raw".
    progress : callable, optional
        ``progress(step, configurations)`` is called once an epoch.

    Returns
    -------
    list of Trained
        The configurations in the stack's order.

    Raises
    ------
    ValueError
        For ``halves`` that do not say True or False for each user.
    FloatingPointError
        When a gradient differs from autograd's before the first step, or a configuration diverges at every learning
        rate down to 2^-20.

    Notes
    -----
    A configuration starts at the schedule's learning rate, halves it and starts again whenever its objective is NaN or
    more than 100 times its first value, and stops when no test metric has improved for ``patience`` epochs. Source:
    P3, Appendix D.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.stochastic import Schedule, Stack, train_stack
    >>> train = Interactions([0, 0, 1, 1], [0, 1, 1, 2], n_users=2, n_items=4)
    >>> test, rng = Interactions([0, 1], [2, 0], n_users=2, n_items=4), np.random.default_rng(0)
    >>> stack = Stack(("unbiased",), "square", train, 2, k=2, rng=rng, schedule=Schedule(first_lr=0.1, max_epochs=3))
    >>> halves, raw = np.array([True, False]), lambda loss, pointwise, users, items, train: {"raw": (users, items)}
    >>> [run] = train_stack(stack, test, cutoffs=(1,), halves=halves, servings=raw)
    >>> run.stopped, [entry["epoch"] for entry in run.history]
    ('epoch cap', [1.0, 2.0, 3.0])
    """
    halves = checking.as_numpy(halves, "halves")
    if halves.shape != stack.train.shape[:1] or halves.dtype != bool:
        raise checking.refuse(halves, "halves", f"True or False for each of the {stack.train.n_users} users")
    trained = [Trained(loss, stack.schedule.first_lr) for loss in stack.losses]
    active = list(range(len(trained)))
    first = [stack.objective(at) for at in active]
    every = max(1, round(stack.steps_per_epoch / stack.schedule.evaluations_per_epoch))
    going = itertools.takewhile(lambda _: active, itertools.count(1))
    for step in resumable.steps(going, stack, trained, active):
        batch = stack.batch(*stack.draw())
        if step == 1:
            stack.check_gradients(batch)
        stack.step(batch)
        finished = []
        for place, at in enumerate(active):
            run = trained[at]
            run.steps += 1
            due = run.steps % every == 0
            if not due and run.steps & (run.steps - 1):  # early on also at steps 1, 2, 4, ...: a bad rate shows at once
                continue
            value = stack.objective(place)
            if not value <= DIVERGED_AT * first[at]:  # NaN too
                _halve(stack, place, run)
            elif due:
                run.epochs = run.steps / stack.steps_per_epoch
                run.history.append(_checkpoint(stack, place, run, value, test, cutoffs, halves, servings))
                if _stop(run, stack.schedule):
                    run.users, run.items = (table[:, place].cpu().numpy().copy() for table in (stack.u, stack.v))
                    finished.append(place)
        if progress is not None and step % stack.steps_per_epoch == 0:
            progress(step, trained)
        if finished:
            kept = [place for place in range(len(active)) if place not in finished]
            active[:] = [active[place] for place in kept]
            if active:
                stack.keep(kept)
    return trained


def _halve(stack: Stack, place: int, run: Trained) -> None:
    run.lr /= 2
    run.halvings, run.steps, run.history = run.halvings + 1, 0, []
    if run.lr < 2.0**-20:
        raise FloatingPointError(f"{run.loss}: diverged at every learning rate down to 2^-20")
    stack.restart(place, run.lr)


def _checkpoint(
    stack: Stack,
    place: int,
    run: Trained,
    value: float,
    test: Interactions,
    cutoffs: tuple[int, ...],
    halves: NDArray[np.bool_],
    servings: Servings,
) -> dict[str, Any]:
    users, items = (table[:, place].cpu().numpy() for table in (stack.u, stack.v))
    metrics = {}
    for name, tables in servings(run.loss, stack.pointwise, users, items, stack.train).items():
        left, right = (torch.from_numpy(np.ascontiguousarray(table)).to(stack.device) for table in tables)
        ranked = top_k(left, right, stack.train, max(cutoffs))
        found = metrics_from_ranking(ranked, test, cutoffs)
        half = halves[found["users"]]
        metrics[name] = {
            f"{letter}@{k}": [float(part.mean()) for part in (values, values[half], values[~half])]
            for letter, long in (("P", "precision"), ("R", "recall"))
            for k in cutoffs
            for values in [100 * found["per_user"][f"{long}@{k}"]]
        }
    return {"step": run.steps, "epoch": run.epochs, "objective": value, "metrics": metrics}


def _stop(run: Trained, schedule: Schedule) -> bool:
    """Whether the last checkpoint ends the run: at the cap, or no raw metric improved for `patience` epochs."""
    if run.epochs >= schedule.max_epochs:
        run.stopped = "epoch cap"
        return True
    names = run.history[0]["metrics"]["raw"]
    newest = 0.0
    for name in names:
        values = [entry["metrics"]["raw"][name][0] for entry in run.history]
        newest = max(newest, run.history[int(np.argmax(values))]["epoch"])
    if run.epochs - newest >= schedule.patience:
        run.stopped = "no gain"
        return True
    return False


def best_on_test(run: Trained, serving: str, metric: str) -> float:
    """Return P3's number: the best value of the metric over all checkpoints, chosen on the test set itself.

    Parameters
    ----------
    run : Trained
        The trained configuration.
    serving : str
        The pair of tables that ranks, such as "raw".
    metric : str
        The metric, such as "P@5".

    Returns
    -------
    float
        The largest value over all users.

    Examples
    --------
    >>> from course_lib.training.stochastic import Trained, best_on_test
    >>> values = [10.0, 12.0, 8.0], [11.0, 9.0, 13.0]  # at two checkpoints: all users, half A, half B
    >>> history = [{"metrics": {"raw": {"P@5": value}}} for value in values]
    >>> best_on_test(Trained("unbiased", 0.5, history=history), "raw", "P@5")
    11.0
    """
    return max(float(entry["metrics"][serving][metric][0]) for entry in run.history)


def cross_fitted(run: Trained, serving: str, metric: str) -> float:
    """Choose the checkpoint on one half of the users, measure it on the other, both ways, and average: no optimism.

    Parameters
    ----------
    run : Trained
        The trained configuration.
    serving : str
        The pair of tables that ranks, such as "raw".
    metric : str
        The metric, such as "P@5".

    Returns
    -------
    float
        The mean of the two values.

    Examples
    --------
    Half A chooses the first checkpoint, which has 8 on half B. Half B chooses the second, which has 9 on half A.

    >>> from course_lib.training.stochastic import Trained, cross_fitted
    >>> values = [10.0, 12.0, 8.0], [11.0, 9.0, 13.0]  # at two checkpoints: all users, half A, half B
    >>> history = [{"metrics": {"raw": {"P@5": value}}} for value in values]
    >>> cross_fitted(Trained("unbiased", 0.5, history=history), "raw", "P@5")
    8.5
    """
    values = np.array([entry["metrics"][serving][metric] for entry in run.history])  # (checkpoints, 3)
    picked = values[np.argmax(values[:, 1]), 2], values[np.argmax(values[:, 2]), 1]
    return float(np.mean([value for value in picked if not math.isnan(value)]))


def last(run: Trained, serving: str, metric: str) -> float:
    """Return the value of the metric at the last checkpoint: no choice at all.

    Parameters
    ----------
    run : Trained
        The trained configuration.
    serving : str
        The pair of tables that ranks, such as "raw".
    metric : str
        The metric, such as "P@5".

    Returns
    -------
    float
        The value over all users.

    Examples
    --------
    >>> from course_lib.training.stochastic import Trained, last
    >>> values = [10.0, 12.0, 8.0], [9.5, 9.0, 10.0]  # at two checkpoints: all users, half A, half B
    >>> history = [{"metrics": {"raw": {"P@5": value}}} for value in values]
    >>> last(Trained("unbiased", 0.5, history=history), "raw", "P@5")
    9.5
    """
    return float(run.history[-1]["metrics"][serving][metric][0])
