"""Checks of arguments that many rooms make. Each raises ValueError: "NAME is VALUE; expected WHAT".

    steps = checking.whole(steps, "steps", 0)              a whole number of at least 0 (1 without the 0)
    tau = checking.real(tau, "tau", above=0)               a finite number, here more than 0
    checking.choice(law, "law", NEGATIVE_LAWS)             one of several
    checking.generator(rng)                                a numpy.random.Generator
    table = checking.table(items, "items", rows=n)         a finite NumPy matrix; vector and counts likewise
    checking.same_width(users, items, "users", "items")    arrays or tensors whose last axes agree
    for case in checking.some(cases, "cases"):             at least one, as a tuple: a check of nothing checks nothing

This is the lowest room of the library: it imports NumPy alone, and takes tensors without importing torch.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Choice = TypeVar("Choice")
WIDENED = ("torch.bfloat16", "torch.float8_e4m3fn", "torch.float8_e5m2")  # float32 holds all their values
Member = TypeVar("Member")


def refuse(value: Any, name: str, expected: str) -> ValueError:
    """The error that says what `name` is and what was expected: `raise refuse(k, "k", "an even number")`."""
    shown = repr(value.item() if isinstance(value, np.generic) else value)
    return ValueError(f"{name} is {shown if len(shown) <= 60 else shown[:57] + '...'}; expected {expected}")


def whole(value: Any, name: str, least: int = 1, most: int | None = None, *, why: str = "") -> int:
    """`value` as an int: a Python or NumPy integer (no bool, no 2.0) from `least` to `most`; `why` ends the message."""
    plain = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not plain or not least <= value <= _or(most):
        reach = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise refuse(value, name, f"a whole number {reach}{why and ', ' + why}")
    return int(value)


def real(
    value: Any,
    name: str,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
) -> float:
    """`value` as a float: a finite number, at `least` or `above` a bound, at `most` or `below` one."""
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if (
        not math.isfinite(number)
        or (least is not None and number < least)
        or (above is not None and number <= above)
        or number > _or(most)
        or number >= _or(below)
    ):
        raise refuse(value, name, f"a finite number{_interval(least, above, most, below)}")
    return number


def share(value: Any, name: str) -> float:
    """`value` as a float in (0, 1]."""
    return real(value, name, above=0, most=1)


def choice(value: Choice, name: str, choices: Collection[Choice]) -> Choice:
    """`value`, which is one of `choices`. True is not 1 here: a bool is one of bools only."""
    kinds = bool, np.bool_
    same = (one for one in choices if isinstance(one, kinds) == isinstance(value, kinds))
    array = not isinstance(value, Hashable) or hasattr(value, "detach")  # no hash (a tensor has one), no one truth
    if array or value not in tuple(same):
        raise refuse(value, name, f"one of {', '.join(map(str, choices))}")
    return value


def some(values: Iterable[Member], name: str = "values") -> tuple[Member, ...]:
    """`values` as a tuple of at least one.

    For what a check goes through: `all(...)` over nothing is true, and a loop over nothing asserts nothing.
    """
    found = tuple(values)
    if not found:
        raise ValueError(f"{name} is empty; expected at least one: a check that goes through nothing cannot fail")
    return found


def generator(rng: Any, name: str = "rng") -> np.random.Generator:
    """`rng`, a numpy.random.Generator: no seed, no legacy np.random."""
    if not isinstance(rng, np.random.Generator):
        raise refuse(rng, name, "a numpy.random.Generator such as numpy.random.default_rng(0)")
    return rng


def as_numpy(values: Any) -> NDArray[Any]:
    """`values` as a NumPy array: a tensor is detached, copied from its device, and widened if bfloat16."""
    if not hasattr(values, "detach"):
        return np.asarray(values)
    tensor = values.detach().cpu()
    return np.asarray(tensor.float() if str(tensor.dtype) in WIDENED else tensor)


def table(values: Any, name: str, *, rows: int | None = None, width: int | None = None) -> NDArray[Any]:
    """`values` (an array or tensor) as a finite NumPy matrix (rows, width); integers become float64, 16 bits 32."""
    array = as_numpy(values)
    fits = array.ndim == 2 and rows in (None, array.shape[0]) and width in (None, array.shape[1])
    if not fits or array.dtype.kind not in "fiu":
        expected = f"numbers of shape ({'n' if rows is None else rows}, {'d' if width is None else width})"
        raise ValueError(f"{name} has shape {array.shape} and dtype {array.dtype}; expected {expected}")
    array = array.astype(np.float64 if array.dtype.kind != "f" else max(array.dtype, np.dtype(np.float32)), copy=False)
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        raise ValueError(
            f"{name} holds NaN or infinity in {len(bad)} rows, the first is row {bad[0]}; expected finite numbers"
        )
    return array


def vector(values: Any, name: str, length: int | None = None) -> NDArray[np.float64]:
    """`values` as float64 (length,): at least one number, all finite."""
    array = np.asarray(as_numpy(values), dtype=np.float64)
    if array.ndim != 1 or not array.size or length not in (None, len(array)):
        raise ValueError(f"{name} has shape {array.shape}; expected ({'n' if length is None else length},) numbers")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise ValueError(f"{name}[{bad[0]}] is {array[bad[0]]}; expected finite numbers")
    return array


def counts(values: Any, name: str = "counts", length: int | None = None) -> NDArray[np.float64]:
    """`values` as float64 (length,): finite and never negative, one for each item."""
    array = vector(values, name, length)
    bad = np.flatnonzero(array < 0)
    if len(bad):
        raise ValueError(f"{name}[{bad[0]}] is {array[bad[0]]}; expected a finite count of at least 0")
    return array


def same_width(left: Any, right: Any, left_name: str, right_name: str) -> int:
    """The length of the last axis, which two arrays or tensors share."""
    if left.shape[-1] != right.shape[-1]:
        shapes = f"their shapes are {tuple(left.shape)} and {tuple(right.shape)}"
        raise ValueError(
            f"{left_name} has width {left.shape[-1]} but {right_name} has width {right.shape[-1]}; {shapes}, and the "
            "last axes must agree"
        )
    return int(left.shape[-1])


def _or(bound: float | None) -> float:
    return math.inf if bound is None else bound


def _interval(least: float | None, above: float | None, most: float | None, below: float | None) -> str:
    """The bounds in words: " of at least 0", " in (0, 1]", or nothing."""
    low = above if least is None else least
    high = below if most is None else most
    if low is None and high is None:
        return ""
    if high is None:
        return f" of at least {low:g}" if least is not None else f" above {low:g}"
    if low is None:
        return f" of at most {high:g}" if most is not None else f" below {high:g}"
    return f" in {'[' if least is not None else '('}{low:g}, {high:g}{']' if most is not None else ')'}"
