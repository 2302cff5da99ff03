"""One code path for NumPy, torch and exact rational arrays.

The mathematics of this library is written once. Where a formula allows it, it runs on

* NumPy arrays of floats,
* torch tensors, with autograd and on any device,
* NumPy object arrays whose entries are `fractions.Fraction`. These are exact: no function of the library turns a
  Fraction into a float on the way.

This module holds the few helpers that make that possible.
"""

from __future__ import annotations

import functools
import numbers
import sys
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import checking

Array = Any  # a NumPy array, a torch tensor, or an object array of Fractions


def is_torch(x: Any) -> bool:
    """True when x is a torch tensor. Does not import torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def is_exact(x: Any) -> bool:
    """True when x is an array of Python objects (Fractions) or one exact number (int or Fraction)."""
    if isinstance(x, np.ndarray):
        return bool(x.dtype == object)
    return isinstance(x, numbers.Rational)


def namespace(*arrays: Any) -> Any:
    """The array namespace shared by the arrays: torch's if one of them is a tensor, else NumPy's.

    Numbers, lists and None are ignored.
    """
    for x in arrays:
        if is_torch(x):
            import array_api_compat.torch

            return array_api_compat.torch
    return np


def as_array(values: Any, name: str) -> Array:
    """`values` as a floating or exact array; tensors pass through, integers become float64.

    A list or array that holds a Fraction becomes an exact object array. Raises ValueError for anything that is not
    numeric.
    """
    if is_torch(values):
        if values.dtype.is_complex:
            raise ValueError(f"{name} must be real, but its dtype is {values.dtype}")
        return values if values.dtype.is_floating_point else values.double()
    array = np.asarray(values)
    if array.dtype == object:
        return _exact_array(array, name)
    if array.dtype.kind in "biu":
        return array.astype(np.float64)
    if array.dtype.kind != "f":
        raise ValueError(f"{name} must hold numbers, but its dtype is {array.dtype}")
    return array


def as_table(values: Any, name: str) -> Array:
    """`as_array` of a table of embeddings, or a stack of them: (..., n, d) with n, d >= 1."""
    table = as_array(values, name)
    if len(table.shape) < 2 or 0 in shape_of(table)[-2:]:
        raise ValueError(f"{name} has shape {shape_of(table)}; expected shape (..., n, d) with n, d >= 1")
    return table


def same_kind(**values: Any) -> list[Array]:
    """Two or more named arguments by `as_array`, all NumPy, all torch, or all exact."""
    arrays = [as_array(value, name) for name, value in values.items()]
    if len({(is_torch(array), is_exact(array)) for array in arrays}) > 1:
        kinds = ", ".join(f"{name} ({type(a).__name__}, {a.dtype})" for name, a in zip(values, arrays, strict=True))
        raise ValueError(f"{kinds} must be the same kind of array: all NumPy, all torch, or all exact")
    return arrays


def exact(values: Any, name: str = "values") -> np.ndarray:
    """`values` (integers, Fractions, or floats taken at their exact binary value) as an object array of Fractions."""
    array = np.asarray(values, dtype=object)
    return _map(array, lambda v: Fraction(v) if isinstance(v, float) else to_fraction(v, name))


def like(values: Any, reference: Array, name: str) -> Array:
    """`values` in the kind of array that `reference` is: same library, dtype and device.

    Raises ValueError when `reference` is exact and `values` holds floats that are not whole numbers: a computation in
    rationals must not be spoilt silently.
    """
    if is_torch(reference):
        import torch

        values = values if is_torch(values) else np.require(values, np.float64, "W")  # torch warns of read-only memory
        return torch.as_tensor(values, dtype=reference.dtype, device=reference.device)
    if is_torch(values):
        raise ValueError(
            f"{name} is a torch tensor but what it belongs to is a NumPy array; pass both as the same kind"
        )
    if is_exact(reference):
        return _exact_array(np.asarray(values), name)
    return np.asarray(values).astype(reference.dtype)


def as_index(values: Any, reference: Array, name: str) -> Array:
    """Positions (integers) as an index into `reference`: int64, on its device. ValueError for anything but integers."""
    if is_torch(values):
        import torch

        whole = not (values.dtype.is_floating_point or values.dtype.is_complex or values.dtype == torch.bool)
    else:
        values = np.asarray(values)
        whole = values.dtype.kind in "iu"
    if not whole:
        raise ValueError(f"{name} must hold integers, but its dtype is {values.dtype}")
    if is_torch(reference):
        import torch

        values = values if is_torch(values) else np.require(values, np.int64, "W")
        return torch.as_tensor(values, dtype=torch.int64, device=reference.device)
    return np.asarray(values)


def number(value: Any, reference: Array, name: str = "value") -> Any:
    """An exact scalar as a factor for `reference`: a Fraction if `reference` is exact, else a Python float.

    Tensors and arrays (a whole sweep of values) pass through unless `reference` is exact.
    """
    if is_exact(reference):
        if not isinstance(value, numbers.Rational):
            raise ValueError(
                f"{name} must be an int or a fractions.Fraction beside exact arrays, for example "
                f"Fraction(1, 10) instead of 0.1; a float would spoil the exact result (it made the weight {value!r})"
            )
        return to_fraction(value, name)
    return float(value) if isinstance(value, numbers.Real) else value


def to_fraction(value: Any, name: str) -> Fraction:
    """A whole or rational number as a Fraction of Python integers (NumPy integers inside one would overflow)."""
    if isinstance(value, numbers.Rational):  # Fraction, int, NumPy integers, bool
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, (numbers.Real, np.bool_)) and float(value).is_integer():
        return Fraction(int(float(value)))
    raise ValueError(f"{name} holds {value!r} ({type(value).__name__}) ; exact arithmetic needs an int or a Fraction")


def diagonal(x: Array) -> Array:
    """The diagonal of the last two axes: (..., s, s) -> (..., s)."""
    if is_torch(x):
        return x.diagonal(dim1=-2, dim2=-1)
    return np.diagonal(x, axis1=-2, axis2=-1)


def weighted_grid_sum(grid: Array, left: Array, right: Array | None, own: Array | None = None) -> Array:
    """sum_ab left_a grid_ab right_b + sum_a own_a grid_aa, without forming the weights.

    grid (..., p, q), left (..., p), right (..., q) or None for ones, own (..., p) or None for zeros (else p = q).
    Returns (...). The weights have rank one plus a diagonal, so this is one pass over the grid and, under autograd, one
    pass back: weighted grids cost what plain sums cost.
    """
    weights: tuple[Any, ...] = (left, right, own)
    if is_torch(grid) and not (compiling() or any(is_torch(x) and x.requires_grad for x in weights)):
        return _torch_grid_sum()(grid, left, right, own)
    return _grid_sum(grid, left, right, own)


def _grid_sum(grid: Array, left: Array, right: Array | None, own: Array | None) -> Array:
    xp = namespace(grid)
    with full_precision(grid):
        rows = xp.sum(grid, axis=-1) if right is None else (grid @ right[..., None])[..., 0]  # (..., p, q) -> (..., p)
        total = xp.sum(left * rows, axis=-1)  # (..., p) -> (...)
        return total if own is None else total + xp.sum(own * diagonal(grid), axis=-1)


@functools.cache
def _torch_grid_sum() -> Any:
    """`_grid_sum` for tensors, with a gradient that is written once.

    Autograd would build the grid's gradient in parts (one for the sum, a matrix of zeros for the diagonal) and add
    them: two more passes over s^2 numbers, a fifth of a training step. The weights carry no gradient here.
    """
    import torch

    class GridSum(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(grid: Array, left: Array, right: Array | None, own: Array | None) -> Array:
            return _grid_sum(grid, left, right, own)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Array) -> None:
            grid, left, right, own = inputs
            ctx.shape = grid.shape
            ctx.save_for_backward(left, right, own)
            ctx.save_for_forward(left, right, own)

        @staticmethod
        def backward(ctx: Any, slope: Array) -> tuple[Array, None, None, None]:
            left, right, own = ctx.saved_tensors
            column = (slope[..., None] * left)[..., None]  # (...) -> (..., p, 1)
            gradient = column.expand(ctx.shape).contiguous() if right is None else column * right[..., None, :]
            gradient = gradient.expand(ctx.shape)
            if own is not None:
                gradient.diagonal(dim1=-2, dim2=-1).add_(slope[..., None] * own)
            return gradient, None, None, None

        @staticmethod
        def jvp(ctx: Any, grid: Array, *_: Any) -> Array:
            return _grid_sum(grid, *ctx.saved_tensors)

    return GridSum.apply


def detached(x: Array) -> Array:
    """The same numbers as a constant: a tensor without its graph; anything else as it is."""
    return x.detach() if is_torch(x) else x


def copied(x: Any) -> Any:
    """The same numbers in an array of its own; anything that is no array as it is."""
    if is_torch(x):
        return x.detach().clone()
    return x.copy() if isinstance(x, np.ndarray) else x


def at_least_single(x: Array) -> Array:
    """float16 and bfloat16 as float32, anything else as it is: sums and counts do not fit into 16 bits."""
    if is_torch(x):
        return x.float() if x.dtype.itemsize < 4 else x
    return x.astype(np.float32) if x.dtype == np.float16 else x


def same_precision(*values: Array) -> list[Array]:
    """Arrays of one kind in their widest dtype, float32 at least; exact ones as they are."""
    if any(map(is_exact, values)):
        return list(values)
    if is_torch(values[0]):
        import torch

        dtype = functools.reduce(torch.promote_types, (x.dtype for x in values), torch.float32)
        return [x.to(dtype) for x in values]
    return [x.astype(np.result_type(np.float32, *values), copy=False) for x in values]


def full_precision(x: Array) -> AbstractContextManager[None]:
    """Inside, products keep the precision of their factors although autocast is on."""
    if not is_torch(x):
        return nullcontext()
    import torch

    known = torch.amp.is_autocast_available(x.device.type)
    return torch.autocast(x.device.type, enabled=False) if known else nullcontext()


def readable(x: Any) -> bool:
    """False for a tensor without values to ask for: in `torch.compile`, in `torch.func.vmap`, on the meta device."""
    if not is_torch(x):
        return True
    import torch

    if compiling():
        return False
    functorch = torch._C._functorch
    while functorch.is_gradtrackingtensor(x):  # vmap(grad(...)) has a tensor without values inside
        x = functorch.get_unwrapped(x)
    return not (x.is_meta or functorch.is_batchedtensor(x))


def compiling() -> bool:
    """True where `torch.compile` is reading this code. Only for tensors: it imports torch."""
    import torch

    return bool(torch.compiler.is_compiling())


def all_finite(x: Array) -> bool:
    """True when no entry is NaN or infinite. Exact arrays are finite by construction.

    A sum is finite only if its terms are: it is looked at first, as it is faster and needs no memory.
    """
    if is_exact(x):
        return True
    xp, x = namespace(x), detached(x)
    return bool(xp.isfinite(xp.sum(x))) or bool(xp.isfinite(x).all())


def check_finite(x: Array, name: str) -> Array:
    """x, or a ValueError that names its first entry that is NaN or infinite."""
    if all_finite(x):
        return x
    x = detached(x)
    bad = first_index(~namespace(x).isfinite(x)) or ()
    place = f"{name}[{', '.join(map(str, bad))}]" if bad else name
    raise ValueError(f"{place} = {float(x[bad])}: {name} holds NaN or infinity; every entry must be finite")


def check_value(value: Array, terms: dict[str, Array]) -> Array:
    """The value of a loss, if it is finite; else say which of its terms is not.

    Only the value is read, so the check costs nothing; where it cannot be read, there is none.
    """
    if not readable(value) or all_finite(value):
        return value
    for name, term in terms.items():
        check_finite(term, name)
    raise ValueError(
        f"the loss overflowed to {detached(value)} although every entry is finite; use float64 or smaller scores"
    )


def first_index(condition: Array) -> tuple[int, ...] | None:
    """The index of the first True entry, or None."""
    mask = np.asarray(checking.as_numpy(condition), dtype=bool)
    found = np.argwhere(mask)
    return tuple(int(i) for i in found[0]) if len(found) else None


def matrix_shape(x: Any) -> tuple[int, int]:
    """The lengths of the last two axes."""
    return int(x.shape[-2]), int(x.shape[-1])


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape as a plain tuple, for error messages that read alike for NumPy and torch."""
    return tuple(int(n) for n in x.shape)


def _exact_array(array: np.ndarray, name: str) -> np.ndarray:
    return _map(array, lambda v: to_fraction(v, name))


def _map(array: np.ndarray, function: Any) -> np.ndarray:
    result = np.empty(array.shape, dtype=object)
    for index in np.ndindex(array.shape):
        result[index] = function(array[index])
    return result
