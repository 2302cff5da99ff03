"""Tests of a tower: is it linear in its parameters, a lookup in disguise, tangent for every cosine loss?

Each looks at the tower where it is now, at given inputs and parameters. A pass there is no theorem about other inputs;
a failure is a counterexample.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_lib import checking
from course_lib.jacobians import kernels

TOLERANCES = {torch.float64: 1e-10, torch.float32: 1e-4}


@dataclass(frozen=True)
class LookupReport:
    """Hold what ``lookup_equivalent`` found; true when both conditions hold.

    Parameters
    ----------
    alpha : Tensor, shape (B,)
        The mean diagonal entry of each ``K_ii``.
    leak : float
        The largest absolute entry of ``K_ij`` over different inputs (condition i), as a share of the largest of ``K``.
    anisotropy : float
        The largest absolute entry of ``K_ij - alpha_i I`` over equal inputs (condition ii), as a share of the same.
    tol : float
        The largest share that counts as 0.

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders, jacobians
    >>> report = jacobians.lookup_equivalent(encoders.Lookup(3, 2), torch.tensor([0, 1]))
    >>> bool(report), report.alpha.tolist(), report.leak
    (True, [1.0, 1.0], 0.0)
    """

    alpha: Tensor
    leak: float
    anisotropy: float
    tol: float

    def __bool__(self) -> bool:
        return max(self.leak, self.anisotropy) <= self.tol


@dataclass(frozen=True)
class TangentReport:
    """Hold what ``tangent_criterion`` found; true when no tangent gradient pushes an embedding in or out.

    Parameters
    ----------
    pushes : Tensor, shape (B, B, d)
        Entry (i, j) is ``P_j K_ji q_i / ||q_i||``, where ``P_j`` removes the part along ``q_j``. Its negative is the
        tangent gradient at j that drives ``q_i`` outwards most. Its length is the radial speed that a gradient of
        length 1 reaches.
    scale : float
        The largest spectral norm of a ``K_ij``: the speed that gradients reach in any direction.
    tol : float
        The largest leak that counts as 0.

    Notes
    -----
    ``leak`` (B, B) gives the radial speeds as shares of ``scale``, ``worst`` the largest of them.

    Examples
    --------
    In a tower with one bias for all, half of the speed that item 1 gives to item 0 may point outwards.

    >>> import torch
    >>> from course_lib import encoders, jacobians
    >>> tower = encoders.BiasedLookup(2, 2)
    >>> tower.rows.weight.data = torch.eye(2)
    >>> report = jacobians.tangent_criterion(tower, torch.tensor([0, 1]))
    >>> bool(report), report.leak.round(decimals=4).tolist()
    (False, [[0.0, 0.5], [0.5, 0.0]])
    """

    pushes: Tensor
    scale: float
    tol: float

    @property
    def leak(self) -> Tensor:
        """(B, B): the radial speeds as shares of `scale`; 0 where i is safe from j."""
        speeds: Tensor = self.pushes.norm(dim=-1)
        return speeds / self.scale

    @property
    def worst(self) -> float:
        return float(self.leak.max())

    def __bool__(self) -> bool:
        return self.worst <= self.tol


def lookup_equivalent(module: nn.Module, inputs: kernels.Inputs, tol: float | None = None) -> LookupReport:
    """Test whether a step of SGD moves each ``q_i`` along minus its own gradient, as in a lookup.

    The conditions of P0 are (i) ``K_ij = 0`` for ``x_i != x_j`` and (ii) ``K_ij = alpha_i I`` for ``x_i = x_j``.

    Parameters
    ----------
    module : torch.nn.Module
        The tower, where it is now.
    inputs : Tensor or tuple of Tensor
        What the module is called with. Two inputs are the same when all their entries are. Outputs of two towers never
        have the same input.
    tol : float, optional
        The largest share of the largest entry of ``K`` that counts as 0. The default is 1e-10 in float64, 1e-4 in
        float32.

    Returns
    -------
    LookupReport
        True when both conditions hold.

    Raises
    ------
    ValueError
        For a module that gives no embeddings (B, d), has no trainable parameter, or gives several outputs whose number
        is not that of its inputs.

    Notes
    -----
    With both conditions the step of SGD is that of a lookup to first order. P0 calls two architectures
    lookup-equivalent; this function asks for what P0 needs them for. A pass is no theorem about other inputs; a
    failure is a counterexample.

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders, jacobians
    >>> x = torch.tensor([0, 1, 1])
    >>> bool(jacobians.lookup_equivalent(encoders.OneHotLinear(3, 2), x))
    True
    >>> bool(jacobians.lookup_equivalent(encoders.BiasedLookup(3, 2), x))
    False
    """
    kernel = kernels.kernel_blocks(module, inputs)
    same = _same_inputs(module, inputs, len(kernel))[..., None, None]
    diagonal = torch.arange(len(kernel))
    alpha = kernel[diagonal, diagonal].diagonal(dim1=-2, dim2=-1).mean(-1)
    wanted = alpha[:, None, None, None] * torch.eye(kernel.shape[-1], dtype=kernel.dtype, device=kernel.device) * same
    difference, scale = (kernel - wanted).abs(), kernel.abs().max()
    leak, anisotropy = ((difference * mask).max() / scale for mask in (~same, same))
    return LookupReport(alpha, float(leak), float(anisotropy), _tolerance(kernel, tol))


def tangent_criterion(module: nn.Module, inputs: kernels.Inputs, tol: float | None = None) -> TangentReport:
    """Test whether every tangent gradient makes a tangent step: ``K_ji q_i`` lies along ``q_j`` for all i and j.

    Parameters
    ----------
    module : torch.nn.Module
        The tower, where it is now.
    inputs : Tensor or tuple of Tensor
        What the module is called with.
    tol : float, optional
        The largest leak that counts as 0. The default is 1e-10 in float64, 1e-4 in float32.

    Returns
    -------
    TangentReport
        True when the criterion holds.

    Raises
    ------
    ValueError
        For an embedding of length 0, which has no tangent, and for a module that gives no embeddings (B, d) or has no
        trainable parameter.

    Notes
    -----
    The criterion is equivalent to ``<q_i, dq_i> = 0`` to first order for ALL tangent gradients, because
    ``<q_i, dq_i> = -lr sum_j <K_ji q_i, g_j>``, and a vector is orthogonal to all ``g_j`` with ``<q_j, g_j> = 0``
    exactly when it is a multiple of ``q_j``. A failure means that some gradients of the kind that cosine losses have
    break orthogonality, not that every one of them does. Source: claim X7.

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders, jacobians
    >>> x, kinds = torch.tensor([0, 1, 2]), (encoders.ScaledLookup, encoders.BiasedLookup)
    >>> towers = [kind(3, 2, generator=torch.Generator().manual_seed(0)).double() for kind in kinds]
    >>> [bool(jacobians.tangent_criterion(tower, x)) for tower in towers]
    [True, False]
    """
    kernel = kernels.kernel_blocks(module, inputs)
    with torch.no_grad():
        q = kernels.stacked_outputs(module, inputs)
    norms = q.norm(dim=-1, keepdim=True)
    if bool((norms == 0).any()):
        raise ValueError(f"the embedding of example {int((norms[:, 0] == 0).nonzero()[0])} is zero: it has no tangent")
    unit = q / norms
    pushed = torch.einsum("jiab,ib->ija", kernel, unit)  # K_ji q_i / ||q_i||
    pushed = pushed - (pushed * unit).sum(-1, keepdim=True) * unit  # unit[j] broadcasts over i
    scale = float(torch.linalg.matrix_norm(kernel, 2).max())
    return TangentReport(pushed, scale, _tolerance(kernel, tol))


def parameter_linear(
    module: nn.Module, inputs: kernels.Inputs, *, generator: torch.Generator | None = None, tol: float | None = None
) -> bool:
    """Test whether ``q = J theta`` with a Jacobian ``J`` that does not depend on the parameters ``theta``.

    Parameters
    ----------
    module : torch.nn.Module
        The tower. It is not changed: the comparison is made on a copy.
    inputs : Tensor or tuple of Tensor
        What the module is called with.
    generator : torch.Generator, optional
        Draws the second ``theta``, the present one plus standard normal noise.
    tol : float, optional
        The largest relative difference that counts as 0. The default is 1e-10 in float64, 1e-4 in float32.

    Returns
    -------
    bool
        Whether the degree is 1 (``euler_degree``) and ``J`` is the same at both ``theta``.

    Raises
    ------
    ValueError
        For a module that gives no embeddings (B, d) or has no trainable parameter.

    Notes
    -----
    A tower with a fixed offset, ``q = J theta + c``, is not parameter-linear in this sense, although (4) is exact for
    it. Source: P0, eq. (5).

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders, jacobians
    >>> x, generator = torch.tensor([0, 1]), torch.Generator().manual_seed(0)
    >>> jacobians.parameter_linear(encoders.BiasedLookup(3, 2), x, generator=generator)
    True
    >>> jacobians.parameter_linear(encoders.TwoLayers(torch.eye(3), 4, 2), x, generator=generator)
    False
    """
    jacobian, degree = kernels.per_example_jacobian(module, inputs), euler_degree(module, inputs, tol=tol)
    moved = _with_random_parameters(module, generator)
    difference = (kernels.per_example_jacobian(moved, inputs) - jacobian).abs().max() / jacobian.abs().max()
    return degree == 1 and float(difference) <= _tolerance(jacobian, tol)


def euler_degree(module: nn.Module, inputs: kernels.Inputs, *, tol: float | None = None) -> int | None:
    """Find the m with ``J theta = m q``: the degree of which the tower is homogeneous in its parameters.

    Parameters
    ----------
    module : torch.nn.Module
        The tower, where it is now.
    inputs : Tensor or tuple of Tensor
        What the module is called with.
    tol : float, optional
        The largest relative difference that counts as 0. The default is 1e-10 in float64, 1e-4 in float32.

    Returns
    -------
    int or None
        The degree, None if there is none. Lookup and linear layers have 1, with a bias or without; two bias-free layers
        have 2, and two layers with biases other than 0 none. Embeddings that are normalised have 0.

    Raises
    ------
    ValueError
        For a module that gives no embeddings (B, d), gives zeros only, or has no trainable parameter.

    Notes
    -----
    It looks at the present parameters alone. Two layers whose biases still are 0, as at their start, have degree 2
    there.

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders, jacobians
    >>> x = torch.tensor([0, 1])
    >>> jacobians.euler_degree(encoders.Lookup(3, 2), x)
    1
    >>> jacobians.euler_degree(encoders.TwoLayers(torch.eye(3), 4, 2), x)
    2
    """
    jacobian = kernels.per_example_jacobian(module, inputs)
    with torch.no_grad():
        q = kernels.stacked_outputs(module, inputs)
    flat = torch.cat(
        [dict(module.named_parameters())[name].detach().flatten() for name in kernels.parameter_names(module)]
    )
    product = jacobian @ flat
    if not q.any():
        raise ValueError("module gives zeros only, which are homogeneous of every degree")
    degree = round(float((product * q).sum() / (q * q).sum()))
    gap = (product - degree * q).abs().max() / torch.maximum(product.abs().max(), q.abs().max())
    return degree if float(gap) <= _tolerance(jacobian, tol) else None


def _with_random_parameters(module: nn.Module, generator: torch.Generator | None) -> nn.Module:
    moved = copy.deepcopy(module)
    with torch.no_grad():
        for parameter in moved.parameters():
            if parameter.requires_grad:
                noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
                parameter.add_(noise.to(parameter.device))
    return moved


def _same_inputs(module: nn.Module, inputs: kernels.Inputs, examples: int) -> Tensor:
    """(examples, examples): True where two examples have the same input; outputs of two towers never do."""
    inputs = kernels.as_tuple(inputs)
    with torch.no_grad():
        outputs = kernels.outputs_of(module, inputs)
    if len(outputs) == 1:
        return torch.stack([_equal_rows(x) for x in inputs]).all(0)
    if len(outputs) != len(inputs):
        raise ValueError(f"{len(inputs)} inputs give {len(outputs)} outputs: which belongs to which is unknown")
    same = torch.zeros(examples, examples, dtype=torch.bool, device=outputs[0].device)
    start = 0
    for x in inputs:
        same[start : start + len(x), start : start + len(x)] = _equal_rows(x)
        start += len(x)
    return same


def _equal_rows(x: Tensor) -> Tensor:
    rows = x.reshape(len(x), -1)
    return (rows[:, None] == rows[None]).all(-1)


def _tolerance(x: Tensor, tol: float | None) -> float:
    return TOLERANCES.get(x.dtype, 1e-2) if tol is None else checking.real(tol, "tol", least=0)
