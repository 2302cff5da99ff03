"""Gradients against finite differences: what a `detach` in the wrong place cannot pass."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from course_lib.checking import some


def assert_gradient_of_the_whole_loss(module: nn.Module, loss: Callable[[], Tensor], step: float = 1e-5) -> None:
    """Autograd's gradient of `loss` in every entry of every parameter is that of central differences.

    module: in float64; loss: of its parameters, the same at each call.
    """
    slopes = torch.autograd.grad(loss(), list(module.parameters()))
    for (key, parameter), slope in some(zip(module.named_parameters(), slopes, strict=True)):
        flat, found = parameter.data.view(-1), torch.empty(parameter.numel(), dtype=torch.float64)
        for at in range(len(flat)):
            value, ends = float(flat[at]), []
            for sign in (1, -1):
                flat[at] = value + sign * step
                ends.append(float(loss().detach()))
            flat[at] = value
            found[at] = (ends[0] - ends[1]) / (2 * step)
        torch.testing.assert_close(slope.flatten(), found, rtol=1e-5, atol=1e-8, msg=f"{key}: {slope} against {found}")
