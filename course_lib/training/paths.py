"""L-BFGS on P3's objectives, wholly on one device and in float64, with a look at stated iterations: a path, not an end.

`objectives.minimise` hands every gradient to SciPy: two copies of all embeddings between device and host in each
iteration. Here the iterations are those of `torch.optim.LBFGS` (strong Wolfe conditions), which stay on the device, as
does the objective: dense blocks of scores, for the square and the logistic loss alike. `DenseObjective` is compared
with `objectives.GRADIENTS` and the iterations with `objectives.minimise` in tests/library/test_paths.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_lib import checking
from course_lib.arrays import Array
from course_lib.training import resumable
from course_lib.training.objectives import FullData

BLOCK_CELLS = {"cpu": 2**20, "cuda": 2**27}  # entries of one block of scores: the processor's cache; a GPU's memory
RULE = 1e-7  # the gradient norm at which P3 stops
Look = Callable[[Tensor, Tensor], dict[str, float]]
softplus = partial(torch.nn.functional.softplus, threshold=40)  # beyond torch's own 20 it would be wrong in digit 9


@dataclass(frozen=True)
class Pointwise:
    """Hold what a score costs a pair and another cell, and the slopes of both: functions of a tensor.

    Parameters
    ----------
    positive, negative : callable
        The losses ``l+`` and ``l-`` of a score.
    positive_slope, negative_slope : callable
        Their derivatives.

    Examples
    --------
    >>> import torch
    >>> from course_lib.training.paths import POINTWISE
    >>> square, score = POINTWISE["square"], torch.tensor(0.5)
    >>> square.positive(score).item(), square.negative(score).item(), square.positive_slope(score).item()
    (0.125, 0.125, -0.5)
    """

    positive: Callable[[Tensor], Tensor]
    negative: Callable[[Tensor], Tensor]
    positive_slope: Callable[[Tensor], Tensor]
    negative_slope: Callable[[Tensor], Tensor]


POINTWISE = {
    "square": Pointwise(lambda s: (s - 1) ** 2 / 2, lambda s: s**2 / 2, lambda s: s - 1, torch.clone),
    "logistic": Pointwise(lambda s: softplus(-s), softplus, lambda s: -torch.sigmoid(-s), torch.sigmoid),
}


class DenseObjective:
    """An objective of P3 and its gradient, from dense blocks of scores, on the device and in the dtype of the tables.

    Parameters
    ----------
    point_loss : str
        "square" or "logistic".
    data : FullData
        The pairs and the weights, on the device.
    cells : int, optional
        The number of scores in a block. By default a MB on a processor, and a GB on a GPU.

    Raises
    ------
    ValueError
        For another loss.

    Examples
    --------
    All scores are 1, so the one negative cell, (1, 0), costs 1/2. It is one of four.

    >>> import torch
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.objectives import full_data
    >>> from course_lib.training.paths import DenseObjective
    >>> data = full_data("unbiased", Interactions([0, 0, 1], [0, 1, 1], n_users=2, n_items=2))
    >>> value, du, dv = DenseObjective("square", data)(*(torch.ones(2, 1, dtype=torch.float64) for side in "uv"))
    >>> value.item(), du.tolist(), dv.tolist()
    (0.125, [[0.0], [0.25]], [[0.25], [0.0]])
    """

    def __init__(self, point_loss: str, data: FullData, cells: int | None = None) -> None:
        self.loss = POINTWISE[checking.choice(point_loss, "point_loss", POINTWISE)]
        self.data, (m, n) = data, checking.instance(data, "data", FullData).shape
        rows = max(1, (BLOCK_CELLS[data.rows.device.type] if cells is None else checking.whole(cells, "cells")) // n)
        ends = [*range(0, m, rows), m]
        pairs = data.indptr[torch.tensor(ends, device=data.indptr.device)].tolist()
        self.blocks = [(slice(*ends[at : at + 2]), slice(*pairs[at : at + 2])) for at in range(len(ends) - 1)]
        self.scale = data.grid or 1.0  # of all slopes; a grid of weight 0 leaves those of the pairs
        self.grid = self.scale * data.row_weight[data.rows] * data.col_weight[data.cols]  # of the pairs' own cells

    def __call__(self, users: Tensor, items: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(L, dL/dU, dL/dV) of the tables (m, k) and (n, k); L is a tensor, so that nothing waits for it."""
        data, loss = self.data, self.loss
        left, right = data.row_weight[:, None] * users, data.col_weight[:, None] * items
        value, du, dv = users.new_zeros(()), torch.empty_like(users), torch.zeros_like(items)
        for rows, pairs in self.blocks:
            here, own = (data.rows[pairs] - rows.start, data.cols[pairs]), data.own[pairs]
            scores = users[rows] @ items.T  # (b, k) @ (k, n) -> (b, n)
            on_pairs = scores[here]
            value += data.grid * (data.row_weight[rows] @ (loss.negative(scores) @ data.col_weight))
            value += (data.positive * loss.positive(on_pairs) + own * loss.negative(on_pairs)).sum()
            slopes = loss.negative_slope(scores)  # of a cell without the grid's weight, which is put on below
            if not data.grid:
                slopes.zero_()
            more = data.positive * loss.positive_slope(on_pairs) + own * loss.negative_slope(on_pairs)
            slopes[here] += more / self.grid[pairs]  # no pair stands there twice
            du[rows] = slopes @ right
            dv += slopes.T @ left[rows]
        return value, self.scale * data.row_weight[:, None] * du, self.scale * data.col_weight[:, None] * dv


@dataclass
class Path:
    """Hold what was seen along a minimisation.

    Parameters
    ----------
    points : list of dict
        One dict for each look: "iteration", "evaluations" (of the gradient so far), "objective", "gradient norm", and
        what ``look`` returned.
    users, items : Tensor, shape (m, k) and (n, k)
        The embeddings at the end.
    stopped : str
        Why it stopped.
    rule_met : int, optional
        The first iteration with a gradient of norm 1e-7 at most, at which there is a look as well.

    Examples
    --------
    >>> import torch
    >>> from course_lib.training.paths import Path
    >>> Path([{"iteration": 0, "objective": 0.5}], torch.ones(1, 1), torch.ones(1, 1)).rule_met is None
    True
    """

    points: list[dict[str, float]]
    users: Tensor
    items: Tensor
    stopped: str = ""
    rule_met: int | None = None


def log_even(last: int, per_factor_10: int = 16) -> list[int]:
    """List iterations from 0 to ``last``, about evenly in their logarithm, such that a longer list begins alike.

    Parameters
    ----------
    last : int
        The last iteration.
    per_factor_10 : int
        The number of iterations between 1 and 10, between 10 and 100, and so on.

    Returns
    -------
    list of int
        The iterations, each once, with 0 and ``last``.

    Raises
    ------
    ValueError
        For a `last` below 0 and a `per_factor_10` below 1, or not whole.

    Examples
    --------
    >>> from course_lib.training.paths import log_even
    >>> log_even(100, 4)
    [0, 1, 2, 3, 6, 10, 18, 32, 56, 100]
    >>> len(log_even(300))
    34
    """
    checking.whole(last, "last", 0)
    checking.whole(per_factor_10, "per_factor_10")
    steps = range(int(np.log10(last) * per_factor_10 + 1e-9) + 1 if last else 0)
    return sorted({0, *(round(10 ** (step / per_factor_10)) for step in steps), last})


def descend(
    objective: DenseObjective, start: tuple[Array, Array], *, at: Iterable[int], look: Look, memory: int = 10
) -> Path:
    """Go down an objective by L-BFGS without leaving its device, and look at the tables at stated iterations.

    Parameters
    ----------
    objective : DenseObjective
        The objective.
    start : tuple of array_like, shape (m, k) and (n, k)
        The embeddings to start from.
    at : iterable of int
        The iterations to look at; the largest is the last one that is made.
    look : callable
        ``look(users, items)`` returns more numbers about the tables.
    memory : int
        The number of corrections that L-BFGS keeps.

    Returns
    -------
    Path
        What was seen.

    Raises
    ------
    ValueError
        For no iteration to look at, and arguments that do not fit.
    FloatingPointError
        Where the objective or its gradient is not finite.

    Notes
    -----
    As ``objectives.minimise`` it works on ``U' = A^(1/2) U`` and ``V' = B^(1/2) V``, with A, B the grid's weights, and
    measures the gradient in the original coordinates. torch is given the sum over all cells in place of the mean: it
    learns no curvature from changes below 1e-10. It goes on where the gradient's norm has fallen to 1e-7, P3's
    rule, and ends before the last iteration only where no step goes down any more.

    Examples
    --------
    Where every cell is positive, scores of 1 everywhere cost nothing.

    >>> import numpy as np
    >>> from course_lib.interactions import Interactions
    >>> from course_lib.training.objectives import full_data, random_start
    >>> from course_lib.training.paths import DenseObjective, descend
    >>> data = full_data("unbiased", Interactions([0, 0, 1, 1], [0, 1, 0, 1], n_users=2, n_items=2))
    >>> start = random_start((2, 2), 1, np.random.default_rng(0), 0.5)
    >>> path = descend(DenseObjective("square", data), start, at=(0, 2, 20), look=lambda users, items: {})
    >>> [point["iteration"] for point in path.points[:2]], path.points[-1]["objective"] < 1e-9
    ([0, 2], True)
    """
    checking.instance(objective, "objective", DenseObjective)
    checking.whole(memory, "memory")
    at = [checking.whole(step, "at", 0) for step in checking.some(at, "at")]
    objective.data.check_start(start)
    start = checking.as_numpy(start[0]), checking.as_numpy(start[1])
    wanted, data, m = set(at), objective.data, len(start[0])
    root = torch.cat([data.row_weight, data.col_weight])[:, None].sqrt()  # (m + n, 1)
    theta = torch.nn.Parameter(torch.tensor(np.concatenate(start), dtype=root.dtype, device=root.device) * root)
    how = {"max_iter": 1, "max_eval": 26, "history_size": memory, "tolerance_grad": 0, "tolerance_change": 0}
    optimiser = torch.optim.LBFGS([theta], **how, line_search_fn="strong_wolfe")
    step: Callable[..., Tensor] = optimiser.step
    last = _Evaluation(objective, root, m)
    path = Path([], *last.tables(theta.detach()))
    before = theta.detach().clone()
    numbers = itertools.takewhile(lambda _: not path.stopped, range(max(wanted) + 1))
    for iteration in resumable.steps(numbers, theta, before, optimiser, path, last):
        if iteration:
            step(lambda: last.at(theta))
            if torch.equal(theta.detach(), before):
                path.stopped = "no step goes down"
                continue
            before.copy_(theta.detach())
        last.at(theta)  # known already, unless the line search ended elsewhere
        norm = float(last.norm)
        if not np.isfinite(norm):
            raise FloatingPointError(f"the gradient's norm is {norm} at iteration {iteration}; expected finite numbers")
        newly_met = path.rule_met is None and norm <= RULE
        path.rule_met = iteration if newly_met else path.rule_met
        if iteration in wanted or newly_met:
            path.users, path.items = last.tables(theta.detach())
            about: dict[str, float] = {"iteration": iteration, "evaluations": last.count}
            about |= {"objective": float(last.value), "gradient norm": norm}
            path.points.append(about | look(path.users, path.items))
    path.stopped = path.stopped or "last iteration"
    return path


class _Evaluation:
    """The objective at the last tables that were asked for; the same tables are not computed again.

    value and norm are those of the mean over the cells, gradient that of the sum, in the coordinates of L-BFGS.
    """

    def __init__(self, objective: DenseObjective, root: Tensor, m: int) -> None:
        self.objective, self.root, self.m, self.count = objective, root, m, 0
        self.cells = objective.data.shape[0] * objective.data.shape[1]
        self.theta = self.value = self.norm = self.gradient = root.new_full((), torch.nan)

    def state_dict(self) -> dict[str, Any]:
        """What was evaluated last."""
        return {name: getattr(self, name) for name in ("theta", "count", "value", "norm", "gradient")}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Remembers it."""
        vars(self).update(state)

    def tables(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """(users, items) in the original coordinates."""
        table = theta / self.root
        return table[: self.m], table[self.m :]

    def at(self, theta: torch.nn.Parameter) -> Tensor:
        """The value at theta, whose gradient is set: what torch calls a closure."""
        if not torch.equal(self.theta, theta.detach()):
            self.theta, self.count = theta.detach().clone(), self.count + 1
            self.value, du, dv = self.objective(*self.tables(self.theta))
            gradient = torch.cat([du, dv])
            self.norm, self.gradient = gradient.norm(), gradient * (self.cells / self.root)
        theta.grad = self.gradient.clone()
        return self.value * self.cells
