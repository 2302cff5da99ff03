"""One code path for NumPy, torch and exact rational arrays.

The mathematics of this library is written once. Where a formula allows it, it runs on

* NumPy arrays of floats,
* torch tensors, with autograd and on any device,
* NumPy object arrays whose entries are `fractions.Fraction`. These are exact: no function of the library turns a
  Fraction into a float on the way, unless its docstring says that it answers in floats.

This module holds the few helpers that make that possible.
"""

from __future__ import annotations

import functools
import numbers
import sys
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np

from course_lib import checking

Array = Any  # a NumPy array, a torch tensor, or an object array of Fractions


def is_torch(x: Any) -> bool:
    """Return whether something is a torch tensor, without importing torch.

    Parameters
    ----------
    x : object
        Anything.

    Returns
    -------
    bool
        True for a torch tensor.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from course_lib import arrays
    >>> arrays.is_torch(torch.ones(2)), arrays.is_torch(np.ones(2))
    (True, False)
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def is_exact(x: Any) -> bool:
    """Return whether something is an array of exact numbers, or one exact number.

    Parameters
    ----------
    x : object
        Anything.

    Returns
    -------
    bool
        True for a NumPy array of Python objects (Fractions), an int and a Fraction.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from course_lib import arrays
    >>> arrays.is_exact(arrays.exact([1, 2])), arrays.is_exact(Fraction(1, 3)), arrays.is_exact(3)
    (True, True, True)
    >>> arrays.is_exact(np.ones(2)), arrays.is_exact(0.5)
    (False, False)
    """
    if isinstance(x, np.ndarray):
        return bool(x.dtype == object)
    return isinstance(x, numbers.Rational)


def namespace(*arrays: Any) -> Any:
    """Return the module of array functions that fits some arrays: that of torch or NumPy.

    Parameters
    ----------
    *arrays : object
        The arrays. Numbers, lists and None are ignored.

    Returns
    -------
    module
        ``array_api_compat.torch`` if one of the arrays is a tensor, else ``numpy``.

    Examples
    --------
    One formula for both libraries:

    >>> import numpy as np
    >>> import torch
    >>> from course_lib import arrays
    >>> for x in (np.array([1.0, 4.0]), torch.tensor([1.0, 4.0])):
    ...     xp = arrays.namespace(x)
    ...     print(xp.sqrt(x).tolist(), type(xp.sqrt(x)).__name__)
    [1.0, 2.0] ndarray
    [1.0, 2.0] Tensor
    """
    for x in arrays:
        if is_torch(x):
            import array_api_compat.torch

            return array_api_compat.torch
    return np


def as_array(values: Any, name: str) -> Array:
    """Return values as a floating or exact array.

    Parameters
    ----------
    values : array_like
        The values. A list or array that holds a Fraction becomes an exact object array. Integers become float64.
        Tensors and arrays of floats pass through.
    name : str
        What an error message calls ``values``.

    Returns
    -------
    array
        The array or tensor.

    Raises
    ------
    ValueError
        For anything that is not numeric, for complex numbers, and for a float that is not whole beside a Fraction.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from course_lib import arrays
    >>> arrays.as_array([1, 2], "x").tolist()
    [1.0, 2.0]
    >>> arrays.as_array([Fraction(1, 2), 2], "x").tolist()
    [Fraction(1, 2), Fraction(2, 1)]
    >>> arrays.as_array(["one"], "x")
    Traceback (most recent call last):
    ValueError: x must hold numbers, but its dtype is <U3
    """
    if is_torch(values):
        if values.dtype.is_complex:
            raise ValueError(f"{name} must be real, but its dtype is {values.dtype}")
        return values if values.dtype.is_floating_point else values.double()
    array = checking.as_numpy(values, name)
    if array.dtype == object:
        return _exact_array(array, name)
    if array.dtype.kind in "biu":
        return array.astype(np.float64)
    if array.dtype.kind != "f":
        raise ValueError(f"{name} must hold numbers, but its dtype is {array.dtype}")
    return array


def as_real(values: Any, name: str) -> Array:
    """Return ``as_array(values)`` for a formula with exponentials or roots, which exact fractions cannot enter.

    Parameters
    ----------
    values : array_like
        The numbers.
    name : str
        What an error calls them.

    Returns
    -------
    array
        The numbers as floats.

    Raises
    ------
    ValueError
        For Fractions, and as ``as_array``.

    Examples
    --------
    >>> from course_lib import arrays
    >>> arrays.as_real([0.5], "score").tolist()
    [0.5]
    """
    array = as_array(values, name)
    if is_exact(array):
        raise ValueError(
            f"{name} holds Fractions, but exponentials and cosines are irrational; "
            "use the square loss for exact results or convert the scores to float64"
        )
    return array


def as_table(values: Any, name: str) -> Array:
    """Return a table of embeddings, or a stack of them, as a floating or exact array.

    Parameters
    ----------
    values : array_like, shape (..., n, d)
        The table, with ``n, d >= 1``. See :func:`as_array`.
    name : str
        What an error message calls ``values``.

    Returns
    -------
    array, shape (..., n, d)
        The table.

    Raises
    ------
    ValueError
        For fewer than two axes, for a table without rows or columns, and for what :func:`as_array` refuses.

    Examples
    --------
    >>> from course_lib import arrays
    >>> arrays.as_table([[1, 2], [3, 4], [5, 6]], "items").shape
    (3, 2)
    >>> arrays.as_table([1, 2], "items")
    Traceback (most recent call last):
    ValueError: items has shape (2,); expected shape (..., n, d) with n, d >= 1
    """
    table = as_array(values, name)
    if len(table.shape) < 2 or 0 in shape_of(table)[-2:]:
        raise ValueError(f"{name} has shape {shape_of(table)}; expected shape (..., n, d) with n, d >= 1")
    return table


def same_kind(**values: Any) -> list[Array]:
    """Return the named arguments as arrays of one kind: all NumPy, all torch, or all exact.

    Parameters
    ----------
    **values : array_like
        Two or more arguments. Their names are what an error message calls them.

    Returns
    -------
    list of arrays
        The arrays by :func:`as_array`, in the order of the arguments.

    Raises
    ------
    ValueError
        For arrays of different kinds, and for what :func:`as_array` refuses.

    Examples
    --------
    >>> import torch
    >>> from course_lib import arrays
    >>> q, k = arrays.same_kind(q=[1, 2], k=[3, 4])
    >>> float(q @ k)
    11.0
    >>> arrays.same_kind(q=[1, 2], k=torch.ones(2))
    Traceback (most recent call last):
    ValueError: q (ndarray, float64), k (Tensor, torch.float32) must be the same kind of array: all NumPy, ...
    """
    arrays = [as_array(value, name) for name, value in values.items()]
    if len({(is_torch(array), is_exact(array)) for array in arrays}) > 1:
        kinds = ", ".join(f"{name} ({type(a).__name__}, {a.dtype})" for name, a in zip(values, arrays, strict=True))
        raise ValueError(f"{kinds} must be the same kind of array: all NumPy, all torch, or all exact")
    return arrays


def exact(values: Any, name: str = "values") -> np.ndarray:
    """Return numbers as an array of Fractions.

    Parameters
    ----------
    values : array_like
        Integers, Fractions, or floats. Floats are taken at their exact binary value.
    name : str
        What an error message calls ``values``.

    Returns
    -------
    object array of Fractions
        The same numbers.

    Raises
    ------
    ValueError
        For anything that is no number.

    Examples
    --------
    A float is taken as it is stored: 0.5 is a half, but 0.1 is not a tenth.

    >>> from fractions import Fraction
    >>> from course_lib import arrays
    >>> arrays.exact([1, 0.5, Fraction(1, 10)]).tolist()
    [Fraction(1, 1), Fraction(1, 2), Fraction(1, 10)]
    >>> arrays.exact([0.1]).tolist() == [Fraction(1, 10)]
    False
    """
    array = np.asarray(values, dtype=object)
    return _map(array, lambda v: Fraction(v) if isinstance(v, float) and isfinite(v) else to_fraction(v, name))


def like(values: Any, reference: Array, name: str) -> Array:
    """Return values in the kind of array that a reference is: same library, dtype and device.

    Parameters
    ----------
    values : array_like
        The values.
    reference : array
        The array whose kind is wanted.
    name : str
        What an error message calls ``values``.

    Returns
    -------
    array
        The values as a tensor, an array of floats or an exact array.

    Raises
    ------
    ValueError
        Where ``reference`` is exact and ``values`` holds floats that are not whole numbers: a computation in rationals
        must not be spoilt silently. Where ``values`` is a tensor and ``reference`` is not. For what is no real number.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import arrays
    >>> x = arrays.like([1, 2], np.ones(3, dtype=np.float32), "x")
    >>> x.tolist(), str(x.dtype)
    ([1.0, 2.0], 'float32')
    >>> arrays.like([0.5], arrays.exact([1]), "x")
    Traceback (most recent call last):
    ValueError: x holds ...0.5... exact arithmetic needs an int or a Fraction
    """
    if is_torch(reference):
        import torch

        if is_torch(values):
            as_array(values, name)
        else:
            values = np.require(checking.numeric(values, name), np.float64, "W")  # torch warns of read-only memory
        return torch.as_tensor(values, dtype=reference.dtype, device=reference.device)
    if is_torch(values):
        raise ValueError(
            f"{name} is a torch tensor but what it belongs to is a NumPy array; pass both as the same kind"
        )
    if is_exact(reference):
        return _exact_array(checking.as_numpy(values, name), name)
    return checking.numeric(values, name).astype(reference.dtype)


def as_index(values: Any, reference: Array, name: str) -> Array:
    """Return positions as an index into an array: integers of 64 bits for a tensor, on its device.

    Parameters
    ----------
    values : array_like of int
        The positions.
    reference : array
        The array that will be indexed.
    name : str
        What an error message calls ``values``.

    Returns
    -------
    array of int
        An int64 tensor on the device of ``reference`` if that is a tensor, else a NumPy array of integers.

    Raises
    ------
    ValueError
        For anything but integers: no floats, no booleans.

    Examples
    --------
    >>> import torch
    >>> from course_lib import arrays
    >>> x = torch.tensor([10.0, 20.0, 30.0])
    >>> x[arrays.as_index([2, 0], x, "ids")].tolist()
    [30.0, 10.0]
    >>> arrays.as_index([2.0], x, "ids")
    Traceback (most recent call last):
    ValueError: ids must hold integers, but its dtype is float64
    """
    if is_torch(values):
        import torch

        whole = not (values.dtype.is_floating_point or values.dtype.is_complex or values.dtype == torch.bool)
    else:
        values = checking.as_numpy(values, name)
        whole = values.dtype.kind in "iu"
    if not whole:
        raise ValueError(f"{name} must hold integers, but its dtype is {values.dtype}")
    if is_torch(reference):
        import torch

        values = values if is_torch(values) else np.require(values, np.int64, "W")
        return torch.as_tensor(values, dtype=torch.int64, device=reference.device)
    return np.asarray(values)


def number(value: Any, reference: Array, name: str = "value") -> Any:
    """Return an exact scalar as a factor for an array: a Fraction beside Fractions, else a float.

    Parameters
    ----------
    value : number or array
        The scalar. Tensors and arrays (a whole sweep of values) pass through unless ``reference`` is exact.
    reference : array
        The array that will be multiplied.
    name : str
        What an error message calls ``value``.

    Returns
    -------
    Fraction, float or array
        A Fraction if ``reference`` is exact, else a Python float.

    Raises
    ------
    ValueError
        For anything but an int or a Fraction beside an exact ``reference``.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from course_lib import arrays
    >>> arrays.number(Fraction(1, 4), np.ones(2)), arrays.number(Fraction(1, 4), arrays.exact([1, 2]))
    (0.25, Fraction(1, 4))
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
    """Return a whole or rational number as a Fraction of Python integers.

    NumPy integers inside a Fraction would overflow.

    Parameters
    ----------
    value : number
        An int, a NumPy integer, a Fraction, a bool, or a float that is a whole number.
    name : str
        What an error message calls the value.

    Returns
    -------
    Fraction
        The same number.

    Raises
    ------
    ValueError
        For a float that is not whole and for anything that is no number.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import arrays
    >>> arrays.to_fraction(np.int8(100), "x") ** 2, arrays.to_fraction(3.0, "x")
    (Fraction(10000, 1), Fraction(3, 1))
    """
    if isinstance(value, numbers.Rational):  # Fraction, int, NumPy integers, bool
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, (numbers.Real, np.bool_)) and float(value).is_integer():
        return Fraction(int(float(value)))
    raise ValueError(f"{name} holds {value!r} ({type(value).__name__}); exact arithmetic needs an int or a Fraction")


def diagonal(x: Array) -> Array:
    """Return the diagonal of the last two axes.

    Parameters
    ----------
    x : array, shape (..., s, s)
        NumPy, torch or exact.

    Returns
    -------
    array, shape (..., s)
        The diagonals.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import arrays
    >>> arrays.diagonal(np.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])).tolist()
    [[1, 4], [5, 8]]
    """
    if is_torch(x):
        return x.diagonal(dim1=-2, dim2=-1)
    return np.diagonal(x, axis1=-2, axis2=-1)


def weighted_grid_sum(grid: Array, left: Array, right: Array | None, own: Array | None = None) -> Array:
    """Return a weighted sum over a grid and its diagonal, without forming the weights.

    ``sum_ab left_a grid_ab right_b + sum_a own_a grid_aa``.

    Parameters
    ----------
    grid : array, shape (..., p, q)
        The grid: NumPy, torch or exact.
    left : array, shape (..., p)
        The weights of the rows.
    right : array, shape (..., q), or None
        The weights of the columns; None for ones.
    own : array, shape (..., p), optional
        The additional weights of the diagonal, which needs ``p = q``; None for zeros.

    Returns
    -------
    array, shape (...)
        The sums.

    Notes
    -----
    The axes before the last ones broadcast: many weights (a sweep) may share one grid.

    The weights have rank one plus a diagonal, so this is one pass over the grid and, under autograd, one pass back:
    weighted grids cost what plain sums cost.

    Examples
    --------
    The rows sum to 3 and 7, and their weights are 1 and 10. With the diagonal, 1 and 4, weighted -1:

    >>> import numpy as np
    >>> from course_lib import arrays
    >>> grid, left = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0])
    >>> float(arrays.weighted_grid_sum(grid, left, None))
    73.0
    >>> float(arrays.weighted_grid_sum(grid, left, None, own=np.array([-1.0, -1.0])))
    68.0
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
            ctx.shape, ctx.wide = grid.shape, torch.Size((*output.shape, *grid.shape[-2:]))
            ctx.save_for_backward(left, right, own)
            ctx.save_for_forward(left, right, own)

        @staticmethod
        def backward(ctx: Any, slope: Array) -> tuple[Array, None, None, None]:
            left, right, own = ctx.saved_tensors
            column = (slope[..., None] * left)[..., None]  # (...) -> (..., p, 1)
            gradient = column.expand(ctx.wide).contiguous() if right is None else column * right[..., None, :]
            gradient = gradient.expand(ctx.wide)
            if own is not None:
                gradient.diagonal(dim1=-2, dim2=-1).add_(slope[..., None] * own)
            return gradient.sum_to_size(ctx.shape), None, None, None  # a sweep of weights shares one grid

        @staticmethod
        def jvp(ctx: Any, grid: Array, *_: Any) -> Array:
            return _grid_sum(grid, *ctx.saved_tensors)

    return GridSum.apply


def detached(x: Array) -> Array:
    """Return the same numbers as a constant for autograd.

    Parameters
    ----------
    x : array
        An array or tensor.

    Returns
    -------
    array
        A tensor without its graph; anything else as it is.

    Examples
    --------
    >>> import torch
    >>> from course_lib import arrays
    >>> x = torch.ones(2, requires_grad=True)
    >>> arrays.detached(2 * x).requires_grad
    False
    """
    return x.detach() if is_torch(x) else x


def copied(x: Any) -> Any:
    """Return the same numbers in an array of its own.

    Parameters
    ----------
    x : object
        An array, a tensor, or anything else.

    Returns
    -------
    object
        A copy of an array; a copy of a tensor, without its graph; anything else as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import arrays
    >>> x = np.array([1.0, 2.0])
    >>> kept = arrays.copied(x)
    >>> x[0] = 100.0
    >>> kept.tolist()
    [1.0, 2.0]
    """
    if is_torch(x):
        return x.detach().clone()
    return x.copy() if isinstance(x, np.ndarray) else x


def at_least_single(x: Array) -> Array:
    """Return an array of 16-bit floats in 32 bits, and any other array as it is.

    float16 and bfloat16 become float32: sums and counts do not fit into 16 bits.

    Parameters
    ----------
    x : array
        An array or tensor of floats.

    Returns
    -------
    array
        The same numbers in at least 32 bits.

    Examples
    --------
    In bfloat16 a count stops at 256, since 257 has no place in 8 bits:

    >>> import torch
    >>> from course_lib import arrays
    >>> count = torch.tensor([256.0], dtype=torch.bfloat16)
    >>> float(count + 1), float(arrays.at_least_single(count) + 1)
    (256.0, 257.0)
    """
    if is_torch(x):
        return x.float() if x.dtype.itemsize < 4 else x
    return x.astype(np.float32) if x.dtype == np.float16 else x


def same_precision(*values: Array) -> list[Array]:
    """Return arrays of one kind in their widest dtype, which is float32 at least.

    Parameters
    ----------
    *values : array
        One or more arrays, all NumPy or all torch; or exact ones.

    Returns
    -------
    list of arrays
        The arrays in one dtype. Where one of them is exact, all are as they were.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import arrays
    >>> half, single = np.ones(1, dtype=np.float16), np.ones(1, dtype=np.float32)
    >>> [str(x.dtype) for x in arrays.same_precision(half, half)]
    ['float32', 'float32']
    >>> [str(x.dtype) for x in arrays.same_precision(single, np.ones(1))]
    ['float64', 'float64']
    """
    if any(map(is_exact, values)):
        return list(values)
    if is_torch(values[0]):
        import torch

        dtype = functools.reduce(torch.promote_types, (x.dtype for x in values), torch.float32)
        return [x.to(dtype) for x in values]
    return [x.astype(np.result_type(np.float32, *values), copy=False) for x in values]


def full_precision(x: Array) -> AbstractContextManager[None]:
    """Return a context in which products keep the precision of their factors although autocast is on.

    Parameters
    ----------
    x : array
        An array or tensor; autocast is turned off for its device.

    Returns
    -------
    context manager
        For a ``with`` statement. For NumPy arrays it does nothing.

    Examples
    --------
    >>> import torch
    >>> from course_lib import arrays
    >>> x = torch.ones(2, 2)
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     product = x @ x
    ...     with arrays.full_precision(x):
    ...         full = x @ x
    >>> product.dtype, full.dtype
    (torch.bfloat16, torch.float32)
    """
    if not is_torch(x):
        return nullcontext()
    import torch

    known = torch.amp.is_autocast_available(x.device.type)
    return torch.autocast(x.device.type, enabled=False) if known else nullcontext()


def readable(x: Any) -> bool:
    """Return whether the values of an array can be asked for.

    Parameters
    ----------
    x : object
        An array, a tensor, or anything else.

    Returns
    -------
    bool
        False for a tensor without values: in ``torch.compile``, in ``torch.func.vmap``, on the meta device.

    Examples
    --------
    >>> import torch
    >>> from course_lib import arrays
    >>> arrays.readable(torch.ones(2)), arrays.readable(torch.ones(2, device="meta"))
    (True, False)
    """
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
    """Return whether ``torch.compile`` is reading this code. Only for tensors: the function imports torch.

    Returns
    -------
    bool
        True inside of ``torch.compile``.

    Examples
    --------
    >>> from course_lib import arrays
    >>> arrays.compiling()
    False
    """
    import torch

    return bool(torch.compiler.is_compiling())


def all_finite(x: Array) -> bool:
    """Return whether no entry of an array is NaN or infinite.

    Parameters
    ----------
    x : array
        The array. Exact arrays are finite by construction.

    Returns
    -------
    bool
        True where all entries are finite.

    Notes
    -----
    A sum is finite only if its terms are: the sum is looked at first, as it is faster and needs no memory.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import arrays
    >>> arrays.all_finite(np.array([1.0, 2.0])), arrays.all_finite(np.array([1.0, np.nan]))
    (True, False)
    """
    if is_exact(x):
        return True
    xp, x = namespace(x), detached(x)
    return bool(xp.isfinite(xp.sum(x))) or bool(xp.isfinite(x).all())


def check_finite(x: Array, name: str) -> Array:
    """Return an array, or raise an error that names its first entry that is not finite.

    Parameters
    ----------
    x : array
        The array.
    name : str
        What an error message calls ``x``.

    Returns
    -------
    array
        ``x`` as it is.

    Raises
    ------
    ValueError
        For an entry that is NaN or infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import arrays
    >>> arrays.check_finite(np.array([[1.0, 2.0], [3.0, np.inf]]), "items")
    Traceback (most recent call last):
    ValueError: items[1, 1] = inf: items holds NaN or infinity; every entry must be finite
    """
    if all_finite(x):
        return x
    x = detached(x)
    bad = first_index(~namespace(x).isfinite(x)) or ()
    place = f"{name}[{', '.join(map(str, bad))}]" if bad else name
    raise ValueError(f"{place} = {float(x[bad])}: {name} holds NaN or infinity; every entry must be finite")


def check_value(value: Array, terms: dict[str, Array]) -> Array:
    """Return the value of a loss, or raise an error that says which of its terms is not finite.

    Parameters
    ----------
    value : array
        The value of the loss.
    terms : dict of str to array
        What the loss was computed from, by name.

    Returns
    -------
    array
        ``value`` as it is.

    Raises
    ------
    ValueError
        For a value that is not finite. It names the first term that is not finite, or says that the loss overflowed.

    Notes
    -----
    Only the value is read, so the check costs nothing. Where the value cannot be read (see :func:`readable`), there is
    no check.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import arrays
    >>> scores = np.array([1.0, np.nan])
    >>> arrays.check_value(scores.sum(), {"scores": scores})
    Traceback (most recent call last):
    ValueError: scores[1] = nan: scores holds NaN or infinity; every entry must be finite
    """
    if not readable(value) or all_finite(value):
        return value
    for name, term in terms.items():
        check_finite(term, name)
    raise ValueError(
        f"the loss overflowed to {detached(value)} although every entry is finite; use float64 or smaller scores"
    )


def first_index(condition: Array) -> tuple[int, ...] | None:
    """Return the index of the first True entry, or None.

    Parameters
    ----------
    condition : array of bool
        The conditions, NumPy or torch.

    Returns
    -------
    tuple of int, or None
        One number for each axis; the first entry is the first in row order.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import arrays
    >>> x = np.array([[1.0, 2.0], [-3.0, -4.0]])
    >>> arrays.first_index(x < 0), arrays.first_index(x > 10)
    ((1, 0), None)
    """
    mask = np.asarray(checking.as_numpy(condition), dtype=bool)
    found = np.argwhere(mask)
    return tuple(int(i) for i in found[0]) if len(found) else None


def matrix_shape(x: Any) -> tuple[int, int]:
    """Return the lengths of the last two axes.

    Parameters
    ----------
    x : array, shape (..., n, d)
        An array or tensor.

    Returns
    -------
    tuple of two int
        ``(n, d)``.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import arrays
    >>> arrays.matrix_shape(np.ones((5, 3, 2)))
    (3, 2)
    """
    return int(x.shape[-2]), int(x.shape[-1])


def shape_of(x: Any) -> tuple[int, ...]:
    """Return the shape as a plain tuple, for error messages that read alike for NumPy and torch.

    Parameters
    ----------
    x : array
        An array or tensor.

    Returns
    -------
    tuple of int
        The shape.

    Examples
    --------
    >>> import torch
    >>> from course_lib import arrays
    >>> torch.ones(3, 2).shape, arrays.shape_of(torch.ones(3, 2))
    (torch.Size([3, 2]), (3, 2))
    """
    return tuple(int(n) for n in x.shape)


def _exact_array(array: np.ndarray, name: str) -> np.ndarray:
    return _map(array, lambda v: to_fraction(v, name))


def _map(array: np.ndarray, function: Any) -> np.ndarray:
    result = np.empty(array.shape, dtype=object)
    for index in np.ndindex(array.shape):
        result[index] = function(array[index])
    return result
