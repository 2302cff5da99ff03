"""Per-example Jacobians and their products, through torch.func."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_lib import checking

Inputs = Any  # a tensor, or a tuple of tensors for a module of several arguments
Parameters = dict[str, Tensor]


def per_example_jacobian(module: nn.Module, inputs: Inputs, *, parameters: Iterable[str] | None = None) -> Tensor:
    """Compute the Jacobian ``J_i = dq_i / dtheta`` for every example of a batch.

    Parameters
    ----------
    module : torch.nn.Module
        The tower. Nothing in it is changed. It runs in its present mode: call ``.eval()`` first if it has dropout or
        batch normalisation. In train mode an example's embedding depends on the rest of its batch, and so does this
        Jacobian.
    inputs : Tensor or tuple of Tensor
        What the module is called with. ``module(inputs)`` must give (B, d), or a tuple of such outputs, which are laid
        one below the other: two towers with two batches of B give 2 B examples.
    parameters : iterable of str, optional
        Names of the trainable parameters to keep. The default is all of them.

    Returns
    -------
    Tensor, shape (B, d, P)
        P counts the trainable parameters in the order of ``parameter_names``, each flattened row by row.

    Raises
    ------
    ValueError
        For outputs of another shape, a module without a trainable parameter, and names that are none.

    Notes
    -----
    Source: P0, eqs. (1), (19)-(24).

    Examples
    --------
    A lookup has an identity at the columns of the row that was asked for, and zeros elsewhere.

    >>> import torch
    >>> from course_lib import encoders, jacobians
    >>> jacobians.per_example_jacobian(encoders.Lookup(3, 2), torch.tensor([1])).tolist()
    [[[0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]]]
    """
    values = _values(module, parameters)
    with sdpa_kernel(SDPBackend.MATH):  # attention whose derivative torch can batch
        blocks = _jacobian(lambda some: stacked_outputs(module, inputs, some), values)
    return torch.cat([block.reshape(*block.shape[:2], -1) for block in blocks.values()], dim=2)


def kernel_blocks(module: nn.Module, inputs: Inputs, *, parameters: Iterable[str] | None = None) -> Tensor:
    """Compute ``K_ij = J_i J_j^T``: how a gradient at example j moves example i.

    Parameters
    ----------
    module : torch.nn.Module
        The tower, in its present mode.
    inputs : Tensor or tuple of Tensor
        What the module is called with, as in ``per_example_jacobian``.
    parameters : iterable of str, optional
        Restricts the sum to some parameters: ``K`` is the sum of the ``K`` of its layers.

    Returns
    -------
    Tensor, shape (B, B, d, d)
        The blocks of the kernel.

    Raises
    ------
    ValueError
        As ``per_example_jacobian`` does.

    Notes
    -----
    Source: P0, eqs. (4), (6).

    Examples
    --------
    One bias that all items share lets the gradient of item 1 move item 0.

    >>> import torch
    >>> from course_lib import encoders, jacobians
    >>> kernel = jacobians.kernel_blocks(encoders.BiasedLookup(3, 2), torch.tensor([0, 1]))
    >>> kernel[0, 0].tolist(), kernel[0, 1].tolist()
    ([[2.0, 0.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]])
    """
    jacobian = per_example_jacobian(module, inputs, parameters=parameters)
    return torch.einsum("iap,jbp->ijab", jacobian, jacobian)


def first_order_motion(module: nn.Module, inputs: Inputs, gradients: Tensor, *, lr: float) -> Tensor:
    """Compute the motion of embeddings in a step of SGD, ``dq_i = -lr sum_j K_ij g_j``, to first order in ``lr``.

    Parameters
    ----------
    module : torch.nn.Module
        The tower. It is not changed.
    inputs : Tensor or tuple of Tensor
        What the module is called with, as in ``per_example_jacobian``.
    gradients : Tensor, shape (B, d)
        The gradients ``g_j = dL/dq_j``.
    lr : float
        The learning rate.

    Returns
    -------
    Tensor, shape (B, d)
        The motion. It is exact at every ``lr`` for towers whose output is linear in their parameters, up to O(lr^2)
        for the others.

    Raises
    ------
    ValueError
        For gradients of another shape, and as ``per_example_jacobian`` does.

    Notes
    -----
    Source: P0, eq. (4).

    Examples
    --------
    An item that stands in the batch twice moves by the sum of its two gradients.

    >>> import torch
    >>> from course_lib import encoders, jacobians
    >>> gradients = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x = torch.tensor([0, 0])
    >>> jacobians.first_order_motion(encoders.Lookup(3, 2), x, gradients, lr=0.5).tolist()
    [[-2.0, -3.0], [-2.0, -3.0]]
    """
    jacobian = per_example_jacobian(module, inputs)
    if not isinstance(gradients, Tensor) or gradients.shape != jacobian.shape[:2]:
        found = tuple(gradients.shape) if isinstance(gradients, Tensor) else type(gradients).__name__
        raise ValueError(f"gradients must be (B, d) = {tuple(jacobian.shape[:2])}, got {found}")
    slope = torch.einsum("jbp,jb->p", jacobian, gradients.to(jacobian.dtype))  # dL/dtheta, eq. (2)
    return -checking.real(lr, "lr") * torch.einsum("iap,p->ia", jacobian, slope)


def parameter_names(module: nn.Module) -> list[str]:
    """List the names of the trainable parameters, in the order of the columns of ``per_example_jacobian``.

    Parameters
    ----------
    module : torch.nn.Module
        The tower.

    Returns
    -------
    list of str
        The names.

    Raises
    ------
    ValueError
        For a module without a trainable parameter.

    Examples
    --------
    >>> from course_lib import encoders, jacobians
    >>> jacobians.parameter_names(encoders.TwoTower(encoders.Lookup(3, 2), encoders.Lookup(4, 2)))
    ['left.weight', 'right.weight']
    """
    return list(_values(module, None))


def stacked_outputs(module: nn.Module, inputs: Inputs, parameters: Parameters | None = None) -> Tensor:
    """Run the module and lay the embeddings of several outputs one below the other.

    Parameters
    ----------
    module : torch.nn.Module
        The tower.
    inputs : Tensor or tuple of Tensor
        What the module is called with.
    parameters : dict of str to Tensor, optional
        Replace the module's own parameters of these names, see ``outputs_of``.

    Returns
    -------
    Tensor, shape (B, d)
        The embeddings.

    Raises
    ------
    ValueError
        For outputs that are no embeddings of shape (B, d).

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders
    >>> from course_lib.jacobians import kernels
    >>> towers = encoders.TwoTower(encoders.Lookup(3, 2), encoders.Lookup(4, 2))
    >>> users, items = torch.tensor([0, 1, 2]), torch.tensor([3, 0])
    >>> tuple(kernels.stacked_outputs(towers, (users, items)).shape)
    (5, 2)
    """
    return torch.cat(outputs_of(module, inputs, parameters))


def outputs_of(module: nn.Module, inputs: Inputs, parameters: Parameters | None = None) -> tuple[Tensor, ...]:
    """Run the module on these inputs and return its outputs, checked, as a tuple.

    Parameters
    ----------
    module : torch.nn.Module
        The tower. It runs on copies of its buffers, so that running statistics stay as they are.
    inputs : Tensor or tuple of Tensor
        What the module is called with.
    parameters : dict of str to Tensor, optional
        Replace the module's own parameters of these names.

    Returns
    -------
    tuple of Tensor, shape (B, d) each
        The embeddings, one entry for each output of the module.

    Raises
    ------
    ValueError
        For an output that is no tensor with two axes.

    Examples
    --------
    >>> import torch
    >>> from course_lib import encoders
    >>> from course_lib.jacobians import kernels
    >>> tower = encoders.Lookup(2, 2)
    >>> [output] = kernels.outputs_of(tower, torch.tensor([1]), {"weight": torch.eye(2)})
    >>> output.tolist()
    [[0.0, 1.0]]
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
    """Return the inputs of a module as a tuple: a tuple as it is, anything else as its only entry.

    Parameters
    ----------
    inputs : Tensor or tuple of Tensor
        What a module is called with.

    Returns
    -------
    tuple
        The arguments of the call.

    Examples
    --------
    >>> from course_lib.jacobians import kernels
    >>> kernels.as_tuple("x"), kernels.as_tuple(("users", "items"))
    (('x',), ('users', 'items'))
    """
    return inputs if isinstance(inputs, tuple) else (inputs,)


def _values(module: nn.Module, wanted: Iterable[str] | None) -> Parameters:
    if not isinstance(module, nn.Module):
        raise checking.refuse(module, "module", "a torch.nn.Module")
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
