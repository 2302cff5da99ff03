"""One real optimiser step, and how every embedding moved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_lib.jacobians.kernels import Inputs, as_tuple

Optimiser = torch.optim.Optimizer | Sequence[torch.optim.Optimizer]


@dataclass(frozen=True)
class Motion:
    """Where embeddings were before a step and after it, (B, d) each, and the loss gradients there (None if not known).

    For an embedding that did not move the cosine and the angle are NaN. `step` is a difference of stored numbers: a
    step that is much smaller than the embedding keeps few correct digits, and its cosine an error of about
    eps ||q|| / ||dq||, with eps = 2e-16 in float64.
    """

    before: Tensor
    after: Tensor
    gradient: Tensor | None = None

    @property
    def step(self) -> Tensor:
        """dq, (B, d)."""
        return self.after - self.before

    @property
    def radial(self) -> Tensor:
        """<q, dq>, (B,): positive outwards, 0 for a tangent step."""
        return (self.before * self.step).sum(-1)

    @property
    def moved(self) -> Tensor:
        """(B,) booleans."""
        return torch.any(self.step != 0, dim=-1)

    @property
    def cosine(self) -> Tensor:
        """cos(q, dq), (B,)."""
        cosine: Tensor = self.radial / (self.before.norm(dim=-1) * self.step.norm(dim=-1))
        return cosine

    @property
    def angle(self) -> Tensor:
        """The angle between q and dq in degrees, (B,): 90 for a tangent step, less outwards, more inwards."""
        return torch.rad2deg(torch.arccos(self.cosine.clamp(-1, 1)))

    @property
    def norms(self) -> tuple[Tensor, Tensor]:
        """(||q|| before, ||q|| after), (B,) each."""
        return self.before.norm(dim=-1), self.after.norm(dim=-1)

    @property
    def growth(self) -> Tensor:
        """||q||^2 after minus before, (B,): for a tangent step it is ||dq||^2 (P0, eq. 18)."""
        return (self.step * (self.before + self.after)).sum(-1)

    @property
    def worst(self) -> float:
        """max |cos(q, dq)| over the embeddings that moved, 0 if none did."""
        moved = self.cosine[self.moved].abs()
        return float(moved.max()) if len(moved) else 0.0


def measure_step(
    module: nn.Module, inputs: Inputs, loss: Callable[..., Tensor], optimiser: Optimiser, *, probe: Inputs | None = None
) -> Motion | tuple[Motion, ...]:
    """Takes one step of `optimiser` (or of several) on loss(module(inputs)), and measures how the embeddings moved.

    module(inputs) gives one (B, d) or a tuple of them, and loss is called with these, each as one argument; the result
    has one Motion for each. probe: other inputs whose embeddings are watched in place of the batch (all items, say).
    The module is changed, as by any step of training. In train mode dropout would draw anew for before and after:
    the two are taken in eval mode.
    """
    optimisers = list(optimiser) if isinstance(optimiser, Sequence) else [optimiser]
    before = _embeddings(module, inputs if probe is None else probe)
    for each in optimisers:
        each.zero_grad(set_to_none=True)
    outputs = module(*as_tuple(inputs))
    single = not isinstance(outputs, tuple)
    outputs = (outputs,) if single else outputs
    for output in outputs:
        if output.requires_grad:
            output.retain_grad()
    value = loss(*outputs)
    if value.ndim != 0:
        raise ValueError(f"loss must give one number, got shape {tuple(value.shape)}")
    torch.autograd.backward(value)
    for each in optimisers:
        each.step()
    after = _embeddings(module, inputs if probe is None else probe)
    gradients = [output.grad if probe is None else None for output in outputs]
    motions = tuple(Motion(*parts) for parts in zip(before, after, gradients, strict=True))
    return motions[0] if single else motions


def measure_parameters(
    module: nn.Module, inputs: Inputs, loss: Callable[..., Tensor], optimiser: Optimiser
) -> dict[str, Motion]:
    """The same for the parameters: one Motion of shape (1, size) for each trainable parameter, by name.

    For a layer that the loss does not feel being scaled, cos(W, dW) is 0 under SGD (the layer law, claim X7).
    """
    named = {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}
    before = {name: parameter.detach().clone() for name, parameter in named.items()}
    measure_step(module, inputs, loss, optimiser)
    flat = {
        name: (before[name].reshape(1, -1), value.detach().clone().reshape(1, -1), value.grad)
        for name, value in named.items()
    }
    return {name: Motion(a, b, None if g is None else g.reshape(1, -1)) for name, (a, b, g) in flat.items()}


def share_near_tangent(angles: Tensor, within: float = 10.0) -> float:
    """The share of angles (degrees) within 90 +- `within`; NaN angles, of embeddings that did not move, are left out.

    Compare it with `papers.p0.chance_of_right_angle(d)`: 11.1 % of all directions of the plane do as well, and
    83.3 % of those in 64 dimensions.
    """
    angles = angles[~angles.isnan()]
    if not len(angles):
        raise ValueError("angles holds no number: no embedding moved")
    return float(((angles - 90).abs() <= within).double().mean())


@torch.no_grad()
def _embeddings(module: nn.Module, inputs: Inputs) -> list[Tensor]:
    """The outputs in eval mode, as a list; every part of the module gets its own mode back."""
    in_training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        outputs = module(*as_tuple(inputs))
    finally:
        for part in in_training:
            part.training = True
    return [output.detach().clone() for output in (outputs if isinstance(outputs, tuple) else (outputs,))]
