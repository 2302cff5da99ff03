"""Two optimisers that PyTorch lacks and that keep, row by row, what plain SGD has."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor


class RowWiseAdagrad(torch.optim.Optimizer):
    """One accumulator per ROW of a table: S_r += mean_n g_rn^2, then row r -= lr g_r / (sqrt(S_r) + eps).

    A row's step is a multiple of its gradient, so a lookup trained on a cosine loss stays exactly tangent (X6). Plain
    Adagrad divides entry by entry and does not. It is the optimiser of many industrial embedding tables.
    """

    def __init__(self, params: Iterable[Tensor], lr: float = 1e-2, *, eps: float = 1e-10, initial: float = 0.0) -> None:
        super().__init__(params, {"lr": _not_negative(lr, "lr"), "eps": eps, "initial": initial})

    @torch.no_grad()
    def step(self, closure=None) -> None:
        for group, parameter in _with_gradient(self):
            state = self.state[parameter]
            if not state:
                state["sum"] = torch.full_like(_rows(parameter)[:, :1], group["initial"])
            gradient = _rows(parameter.grad)
            state["sum"] += gradient.square().mean(dim=1, keepdim=True)
            _rows(parameter).sub_(group["lr"] * gradient / (state["sum"].sqrt() + group["eps"]))


class LazyDecaySGD(torch.optim.Optimizer):
    """SGD whose weight decay touches only the rows that this batch touched: row r *= 1 - lr decay if g_r != 0.

    Then row r -= lr g_r. This is what sparse gradients with decay do in practice; the ordinary decay of
    `torch.optim.SGD` shrinks every row at every step, whether its item was seen or not (X6).
    """

    def __init__(self, params: Iterable[Tensor], lr: float, *, weight_decay: float = 0.0) -> None:
        super().__init__(
            params, {"lr": _not_negative(lr, "lr"), "weight_decay": _not_negative(weight_decay, "weight_decay")}
        )

    @torch.no_grad()
    def step(self, closure=None) -> None:
        for group, parameter in _with_gradient(self):
            rows, gradient = _rows(parameter), _rows(parameter.grad)
            touched = (gradient != 0).any(dim=1, keepdim=True)
            rows.mul_(1 - group["lr"] * group["weight_decay"] * touched.to(rows.dtype))
            rows.sub_(group["lr"] * gradient)


def _with_gradient(optimiser: torch.optim.Optimizer):
    for group in optimiser.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                yield group, parameter


def _rows(x: Tensor) -> Tensor:
    """A view (n, rest): row by row, whatever the number of axes; a vector is one column."""
    return x.view(len(x), -1) if x.ndim else x.view(1, 1)


def _not_negative(value: float, name: str) -> float:
    if not value >= 0:
        raise ValueError(f"{name} is {value}; expected a number that is not negative")
    return value
