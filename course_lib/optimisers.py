"""Optimisers that PyTorch lacks: row by row, on a sphere, and several as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from course_lib import checking, extras

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise extras.missing(error, "course_lib.optimisers") from error

Closure = Callable[[], float] | None  # for the signature of torch.optim.Optimizer.step; not called here


class RowWiseAdagrad(torch.optim.Optimizer):
    """Train with Adagrad that keeps one accumulator per ROW of a table.

    ``S_r += mean_n g_rn^2``, then row r moves by ``-lr g_r / (sqrt(S_r) + eps)``.

    Parameters
    ----------
    params : iterable of Tensor
        The parameters, row by row along the first axis.
    lr : float
        The learning rate.
    eps : float
        Added to the root of the accumulator.
    initial : float
        The accumulators at the start.

    Raises
    ------
    ValueError
        For a learning rate, an ``eps`` or an ``initial`` that is negative or not finite.

    Notes
    -----
    A row's step is a multiple of its gradient, so a lookup trained on a cosine loss stays exactly tangent (claim X6).
    Plain Adagrad divides entry by entry and does not. Row-wise Adagrad is the optimiser of many industrial embedding
    tables.

    Examples
    --------
    The mean of 1^2 and 7^2 is 25, so the row moves by its gradient over 5, times the learning rate.

    >>> import torch
    >>> from course_lib.optimisers import RowWiseAdagrad
    >>> table = torch.nn.Parameter(torch.zeros(1, 2))
    >>> table.grad = torch.tensor([[1.0, 7.0]])
    >>> RowWiseAdagrad([table], lr=5.0).step()
    >>> table.data.round(decimals=4).tolist()
    [[-1.0, -7.0]]
    """

    def __init__(self, params: Iterable[Tensor], lr: float = 1e-2, *, eps: float = 1e-10, initial: float = 0.0) -> None:
        super().__init__(params, _settings(lr=lr, eps=eps, initial=initial))

    @torch.no_grad()
    def step(self, closure: Closure = None) -> Any:
        """One step on every parameter that has a gradient."""
        for group, parameter, gradient in _with_gradient(self):
            state, rows = self.state[parameter], _rows(gradient)
            if not state:
                state["sum"] = torch.full_like(_rows(parameter)[:, :1], group["initial"])
            state["sum"] += rows.square().mean(dim=1, keepdim=True)
            divisor = state["sum"].sqrt() + group["eps"]
            _rows(parameter).sub_(group["lr"] * rows / divisor.masked_fill_(divisor == 0, 1))  # rows without a gradient


class LazyDecaySGD(torch.optim.Optimizer):
    """Train with SGD whose weight decay touches only the rows that this batch touched.

    Row r is multiplied by ``1 - lr weight_decay`` if ``g_r != 0``, then moves by ``-lr g_r``.

    Parameters
    ----------
    params : iterable of Tensor
        The parameters, row by row along the first axis.
    lr : float
        The learning rate.
    weight_decay : float
        The decay of the rows that have a gradient.

    Raises
    ------
    ValueError
        For a learning rate or a decay that is negative or not finite.

    Notes
    -----
    This is what sparse gradients with decay do in practice. The ordinary decay of ``torch.optim.SGD`` shrinks every
    row at every step, whether its item was seen or not (claim X6).

    Examples
    --------
    >>> import torch
    >>> from course_lib.optimisers import LazyDecaySGD
    >>> table = torch.nn.Parameter(torch.ones(2, 1))
    >>> table.grad = torch.tensor([[1.0], [0.0]])
    >>> LazyDecaySGD([table], lr=0.5, weight_decay=0.5).step()
    >>> table.tolist()  # 1 * 0.75 - 0.5, and the row that was not seen
    [[0.25], [1.0]]
    """

    def __init__(self, params: Iterable[Tensor], lr: float, *, weight_decay: float = 0.0) -> None:
        super().__init__(params, _settings(lr=lr, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure: Closure = None) -> Any:
        """One step on every parameter that has a gradient."""
        for group, parameter, gradient in _with_gradient(self):
            rows, slope = _rows(parameter), _rows(gradient)
            touched = (slope != 0).any(dim=1, keepdim=True)
            rows.mul_(1 - group["lr"] * group["weight_decay"] * touched.to(rows.dtype))
            rows.sub_(group["lr"] * slope)


class SphereSGD(torch.optim.SGD):
    """Train with SGD that puts every row of its tables back on one sphere after each step.

    Parameters
    ----------
    params : iterable of Tensor, shape (n, d) each
        The tables.
    lr : float
        The learning rate.

    Raises
    ------
    ValueError
        For a learning rate that is negative or not finite.

    Notes
    -----
    All rows of a table have the same length: the root mean square length of its rows before the first step. The step
    is that of plain SGD, then back to the sphere (a retraction). For a loss of cosines, whose gradients are tangent,
    that is SGD on the sphere; the part of a gradient along its row is not taken out. A row of zeros becomes NaN.

    Examples
    --------
    >>> import torch
    >>> from course_lib.optimisers import SphereSGD
    >>> table = torch.nn.Parameter(torch.tensor([[1.0, 0.0], [0.0, 7.0]]))
    >>> table.grad = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> SphereSGD([table], lr=0.1).step()
    >>> [round(length, 4) for length in table.norm(dim=1).tolist()]  # sqrt((1 + 49) / 2)
    [5.0, 5.0]
    """

    def __init__(self, params: Iterable[Tensor], lr: float) -> None:
        super().__init__(params, lr=checking.real(lr, "lr", least=0))

    @torch.no_grad()
    def step(self, closure: Closure = None) -> Any:
        """One step of plain SGD, then every row back to the sphere; the first step starts by putting them there."""
        tables = [table for group in self.param_groups for table in group["params"]]
        for table in tables:
            if "radius" not in self.state[table]:
                self.state[table]["radius"] = table.square().sum(dim=1).mean().sqrt()
                table.mul_(self.state[table]["radius"] / table.norm(dim=1, keepdim=True))
        super().step()
        for table in tables:
            table.mul_(self.state[table]["radius"] / table.norm(dim=1, keepdim=True))


class Together(torch.optim.Optimizer):
    """Use several optimisers as one, each with its own parameters; with ``cycle`` all rates follow one triangle.

    Parameters
    ----------
    *optimisers : torch.optim.Optimizer
        The parts, of which no two hold the same parameter.
    cycle : int, optional
        Steps of a whole triangle from ``low * lr`` up to ``lr`` and back, an even number (an odd one counts as one
        less). Without it the rates stay.
    low : float
        The lowest rate, as a share of ``lr``, in [0, 1].

    Raises
    ------
    ValueError
        For no optimiser, a ``cycle`` that is no whole number of at least 1, and a ``low`` outside [0, 1].

    Notes
    -----
    The rates are Smith's cyclical rates in the triangular form.

    Examples
    --------
    >>> import torch
    >>> from course_lib.optimisers import Together
    >>> users, items = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    >>> both = Together(torch.optim.SGD([users], lr=1.0), torch.optim.Adam([items], lr=0.1), cycle=4)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates.append(round(both.param_groups[0]["lr"], 4))
    ...     both.step()
    >>> rates
    [0.1, 0.55, 1.0, 0.55, 0.1]
    """

    def __init__(self, *optimisers: torch.optim.Optimizer, cycle: int | None = None, low: float = 0.1) -> None:
        self.optimisers = checking.some(optimisers, "optimisers")
        up = None if cycle is None else max(1, checking.whole(cycle, "cycle") // 2)
        checking.real(low, "low", least=0, most=1)
        super().__init__([group for one in optimisers for group in one.param_groups], {})
        self.param_groups = [group for one in optimisers for group in one.param_groups]  # the very dicts of the parts
        self.schedules = [] if up is None else [_triangle(one, up, low) for one in optimisers]

    @torch.no_grad()
    def step(self, closure: Closure = None) -> Any:
        """One step of each part, then the next rate."""
        for one in self.optimisers:
            one.step()
        for schedule in self.schedules:
            schedule.step()

    def state_dict(self) -> dict[str, Any]:
        """The states of the parts and of their schedules."""
        return {
            "parts": [one.state_dict() for one in self.optimisers],
            "schedules": [one.state_dict() for one in self.schedules],
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Puts back what `state_dict` gave."""
        for one, state in zip(self.optimisers, state_dict["parts"], strict=True):
            one.load_state_dict(state)
        for schedule, state in zip(self.schedules, state_dict["schedules"], strict=True):
            schedule.load_state_dict(state)
        self.param_groups = [group for one in self.optimisers for group in one.param_groups]


def _settings(**given: float) -> dict[str, float]:
    """Finite numbers of at least 0, by name."""
    return {name: checking.real(value, name, least=0) for name, value in given.items()}


def _triangle(optimiser: torch.optim.Optimizer, up: int, low: float) -> torch.optim.lr_scheduler.CyclicLR:
    """The rates of an optimiser go from low * lr to lr in `up` steps, and back."""
    highest = [group["lr"] for group in optimiser.param_groups]
    return torch.optim.lr_scheduler.CyclicLR(
        optimiser, base_lr=[low * rate for rate in highest], max_lr=highest, step_size_up=up, cycle_momentum=False
    )


def _with_gradient(optimiser: torch.optim.Optimizer) -> Iterator[tuple[dict[str, Any], Tensor, Tensor]]:
    """(group, parameter, its gradient) for each parameter that has one."""
    for group in optimiser.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                yield group, parameter, parameter.grad


def _rows(x: Tensor) -> Tensor:
    """A view (n, rest): row by row, whatever the number of axes; a vector is one column."""
    return x.view(len(x), -1) if x.ndim else x.view(1, 1)
