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
    """Record where embeddings were before a step and after it.

    Parameters
    ----------
    before, after : Tensor, shape (B, d)
        The embeddings before the step and after it.
    gradient : Tensor, shape (B, d), optional
        The gradients of the loss at ``before``; None if they are not known.

    Notes
    -----
    For an embedding that did not move the cosine and the angle are NaN. ``step`` is a difference of stored numbers: a
    step that is much smaller than the embedding keeps few correct digits, and its cosine has an error of about
    ``eps ||q|| / ||dq||``, with eps = 2e-16 in float64.

    Examples
    --------
    >>> import torch
    >>> from course_lib import jacobians
    >>> motion = jacobians.Motion(torch.tensor([[3.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    >>> round(motion.angle.item(), 2), motion.growth.item()  # a tangent step of length 4 adds 4^2 to the squared norm
    (90.0, 16.0)
    >>> [norm.item() for norm in motion.norms]
    [3.0, 5.0]
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
    """Take one step of the optimiser on ``loss(module(inputs))`` and measure how the embeddings moved.

    Parameters
    ----------
    module : torch.nn.Module
        The tower, or two. It is changed, as by any step of training. Its output is one (B, d), or a tuple of them.
    inputs : Tensor or tuple of Tensor
        The batch.
    loss : callable
        Called with the outputs, each as one argument. It gives one number.
    optimiser : torch.optim.Optimizer or sequence of them
        Takes one step; several take one each.
    probe : Tensor or tuple of Tensor, optional
        Other inputs whose embeddings are watched in place of the batch, such as all items.

    Returns
    -------
    Motion or tuple of Motion
        One for each output of the module. With a ``probe`` the gradients are None.

    Raises
    ------
    ValueError
        For a loss that is not one number.

    Notes
    -----
    In train mode dropout would draw anew for before and after. So the embeddings before and after are taken in eval
    mode.

    Examples
    --------
    A cosine loss moves the embedding at a right angle, so its norm can only grow.

    >>> import torch
    >>> from course_lib import encoders, jacobians
    >>> tower, target = encoders.Lookup(1, 2), torch.tensor([[0.0, 1.0]])
    >>> tower.weight.data = torch.tensor([[3.0, 0.0]])
    >>> loss = lambda q: -torch.cosine_similarity(q, target).sum()
    >>> motion = jacobians.measure_step(tower, torch.tensor([0]), loss, torch.optim.SGD(tower.parameters(), lr=12))
    >>> round(motion.angle.item(), 2), [round(norm.item(), 4) for norm in motion.norms]
    (90.0, [3.0, 5.0])
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
    if not isinstance(value, Tensor) or value.ndim != 0:
        found = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(f"loss must give one number, a tensor (), got {found}")
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
    """Take one step as ``measure_step`` does and measure how each trainable parameter moved.

    Parameters
    ----------
    module : torch.nn.Module
        The tower, or two. It is changed, as by any step of training.
    inputs : Tensor or tuple of Tensor
        The batch.
    loss : callable
        Called with the outputs of the module, each as one argument. It gives one number.
    optimiser : torch.optim.Optimizer or sequence of them
        Takes one step; several take one each.

    Returns
    -------
    dict of str to Motion
        By name one ``Motion`` of shape (1, size) for each trainable parameter.

    Raises
    ------
    ValueError
        For a loss that is not one number.

    Notes
    -----
    For a layer whose scale the loss does not feel, ``cos(W, dW)`` is 0 under SGD (the layer law, claim X7).

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders, jacobians
    >>> tower = encoders.DenseLinear(torch.eye(2), 2, generator=torch.Generator().manual_seed(0)).double()
    >>> loss = lambda q: torch.cosine_similarity(q[0], q[1], dim=0)
    >>> sgd = torch.optim.SGD(tower.parameters(), lr=0.1)
    >>> motions = jacobians.measure_parameters(tower, torch.tensor([0, 1]), loss, sgd)
    >>> list(motions), motions["1.weight"].worst < 1e-9
    (['1.weight'], True)
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
    """Compute the share of angles that lie near a right angle.

    Parameters
    ----------
    angles : Tensor
        Angles in degrees, such as ``Motion.angle``. NaN, of embeddings that did not move, is left out.
    within : float
        How far from 90 degrees an angle may lie.

    Returns
    -------
    float
        The share of angles within 90 +- ``within``.

    Raises
    ------
    ValueError
        If no angle is a number.

    Notes
    -----
    Compare it with ``papers.p0.chance_of_right_angle(d)``: with the default, 11.1 % of all directions of the plane lie
    that near, and 83.3 % of those in 64 dimensions.

    Examples
    --------
    >>> import torch
    >>> from course_lib import jacobians
    >>> jacobians.share_near_tangent(torch.tensor([90.0, 95.0, 60.0, 120.0, torch.nan]))
    0.5
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
