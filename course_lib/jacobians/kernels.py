"""Per-example Jacobians and their products, through torch.func."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev
from torch.nn.attention import SDPBackend, sdpa_kernel

Inputs = Any  # a tensor, or a tuple of tensors for a module of several arguments
Parameters = dict[str, Tensor]


def per_example_jacobian(module: nn.Module, inputs: Inputs, *, parameters: Iterable[str] | None = None) -> Tensor:
    """J_i = dq_i / dtheta for every example of a batch, (B, d, P).

    module(inputs) must give (B, d), or a tuple of such outputs, which are laid one below the other (two towers with two
    batches of B give 2 B examples). P counts the trainable parameters in the order of `parameter_names`, each flattened
    row by row; `parameters` keeps some of them by name. The module runs in its present mode: call `.eval()` first if it
    has dropout or batch normalisation (in train mode an example's embedding depends on the rest of its batch, and so
    does this Jacobian). Nothing in the module is changed.
    Source: P0, eqs. (1), (19)-(24). Raises ValueError for outputs of another shape and for a module without parameters.
    """
    values = _values(module, parameters)
    with sdpa_kernel(SDPBackend.MATH):  # attention whose derivative torch can batch
        blocks = _jacobian(lambda some: stacked_outputs(module, inputs, some), values)
    return torch.cat([block.reshape(*block.shape[:2], -1) for block in blocks.values()], dim=2)


def kernel_blocks(module: nn.Module, inputs: Inputs, *, parameters: Iterable[str] | None = None) -> Tensor:
    """K_ij = J_i J_j^T, (B, B, d, d): how a gradient at example j moves example i. Source: P0, eqs. (4), (6).

    `parameters` restricts the sum to some of them: K is the sum of the K of its layers.
    """
    jacobian = per_example_jacobian(module, inputs, parameters=parameters)
    return torch.einsum("iap,jbp->ijab", jacobian, jacobian)


def first_order_motion(module: nn.Module, inputs: Inputs, gradients: Tensor, *, lr: float) -> Tensor:
    """dq_i = -lr sum_j K_ij g_j, (B, d), the motion of the embeddings to first order in lr (P0, eq. 4).

    gradients (B, d): g_j = dL/dq_j. Exact at every lr for towers whose output is linear in their parameters, up to
    O(lr^2) for the others.
    """
    jacobian = per_example_jacobian(module, inputs)
    if gradients.shape != jacobian.shape[:2]:
        raise ValueError(f"gradients must be (B, d) = {tuple(jacobian.shape[:2])}, got {tuple(gradients.shape)}")
    slope = torch.einsum("jbp,jb->p", jacobian, gradients.to(jacobian.dtype))  # dL/dtheta, eq. (2)
    return -lr * torch.einsum("iap,p->ia", jacobian, slope)


def parameter_names(module: nn.Module) -> list[str]:
    """The names of the trainable parameters, in the order in which `per_example_jacobian` lays them side by side."""
    return list(_values(module, None))


def stacked_outputs(module: nn.Module, inputs: Inputs, parameters: Parameters | None = None) -> Tensor:
    """The embeddings (B, d) of module(inputs); those of several outputs one below the other. See `outputs_of`."""
    return torch.cat(outputs_of(module, inputs, parameters))


def outputs_of(module: nn.Module, inputs: Inputs, parameters: Parameters | None = None) -> tuple[Tensor, ...]:
    """The outputs of module(inputs), checked, as a tuple.

    Runs on copies of the module's buffers, so that running statistics stay as they are; `parameters` replace its own.
    """
    outputs = functional_call(module, _state(module, parameters or {}), as_tuple(inputs), tie_weights=False)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    for output in outputs:
        if not isinstance(output, Tensor) or output.ndim != 2:
            found = f"shape {tuple(output.shape)}" if isinstance(output, Tensor) else type(output).__name__
            raise ValueError(f"module(inputs) must give embeddings of shape (B, d), or a tuple of them, got {found}")
    return outputs


def _state(module: nn.Module, parameters: Parameters) -> Parameters:
    """`parameters` and copies of the buffers, under every name that a part of the module has for them.

    A tensor may belong to several parts, and a part may stand in several places of the module. Each part is named once:
    torch's own `tie_weights` would name it twice, and then put a stand-in back where the parameter was.
    """
    replaced = {id(value): parameters[name] for name, value in module.named_parameters() if name in parameters}
    replaced |= {id(buffer): buffer.clone() for buffer in module.buffers()}
    return {
        f"{prefix}.{name}" if prefix else name: replaced[id(value)]
        for prefix, part in module.named_modules()
        for name, value in (*part.named_parameters(recurse=False), *part.named_buffers(recurse=False))
        if id(value) in replaced
    }


def as_tuple(inputs: Inputs) -> tuple[Any, ...]:
    return inputs if isinstance(inputs, tuple) else (inputs,)


def _values(module: nn.Module, wanted: Iterable[str] | None) -> Parameters:
    values = {name: value.detach() for name, value in module.named_parameters() if value.requires_grad}
    if wanted is None:
        kept = values
    else:
        wanted = list(wanted)
        if unknown := [name for name in wanted if name not in values]:
            raise ValueError(f"parameters names {unknown}, but the trainable parameters are {list(values)}")
        kept = {name: values[name] for name in values if name in wanted}
    if not kept:
        raise ValueError("module has no trainable parameter, so there is nothing to differentiate by")
    return kept


def _jacobian(function: Callable[[Parameters], Tensor], values: Parameters) -> Parameters:
    """Each parameter's (B, d, *shape), all rows at once; one row at a time for modules that torch.func cannot batch."""
    try:
        jacobian: Parameters = jacrev(function)(values)
        return jacobian
    except RuntimeError:
        return _jacobian_by_rows(function, values)


def _jacobian_by_rows(function: Callable[[Parameters], Tensor], values: Parameters) -> Parameters:
    leaves = {name: value.clone().requires_grad_() for name, value in values.items()}
    with torch.enable_grad():
        output = function(leaves)
    rows = [
        torch.autograd.grad(entry, list(leaves.values()), retain_graph=True, allow_unused=True, materialize_grads=True)
        for entry in output.flatten()
    ]
    stacked = (torch.stack(column) for column in zip(*rows, strict=True))
    return {
        name: column.reshape(*output.shape, *leaf.shape)
        for (name, leaf), column in zip(leaves.items(), stacked, strict=True)
    }
