"""Checks of arguments that many rooms make. Each raises ValueError: "NAME is VALUE; expected WHAT".

    steps = checking.whole(steps, "steps", 0)              a whole number of at least 0 (1 without the 0)
    tau = checking.real(tau, "tau", above=0)               a finite number, here more than 0
    checking.choice(law, "law", NEGATIVE_LAWS)             one of several
    checking.generator(rng)                                a numpy.random.Generator
    checking.instance(train, "train", Interactions)        an object of a class
    table = checking.table(items, "items", rows=n)         a finite NumPy matrix; vector and counts likewise
    array = checking.numeric(times, "times")               real numbers of any shape: no strings, no complex numbers
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
TORCH_GENERATOR = "a torch.Generator such as torch.Generator().manual_seed(0)"  # for `instance`


def refuse(value: Any, name: str, expected: str) -> ValueError:
    """Return the error that says what a value is and what was expected.

    Parameters
    ----------
    value : object
        The value that is refused. A long one is shown by its first 57 characters.
    name : str
        What the message calls the value.
    expected : str
        What was expected, in words.

    Returns
    -------
    ValueError
        The error, for the caller to raise: ``raise refuse(k, "k", "an even number")``.

    Examples
    --------
    >>> from course_lib import checking
    >>> print(checking.refuse(3, "k", "an even number"))
    k is 3; expected an even number
    """
    shown = repr(value.item() if isinstance(value, np.generic) else value)
    return ValueError(f"{name} is {shown if len(shown) <= 60 else shown[:57] + '...'}; expected {expected}")


def whole(value: Any, name: str, least: int = 1, most: int | None = None, *, why: str = "") -> int:
    """Return a value as an int, if it is a whole number within its bounds.

    Parameters
    ----------
    value : int or numpy.integer
        The value. A bool is refused, and so is 2.0.
    name : str
        What an error message calls the value.
    least : int
        The least value allowed.
    most : int, optional
        The greatest value allowed.
    why : str
        A reason for the bounds, which ends the message.

    Returns
    -------
    int
        The value.

    Raises
    ------
    ValueError
        For anything else, and for whole numbers outside the bounds.

    Examples
    --------
    >>> from course_lib import checking
    >>> checking.whole(3, "steps")
    3
    >>> checking.whole(0, "steps")
    Traceback (most recent call last):
    ValueError: steps is 0; expected a whole number of at least 1
    >>> checking.whole(5, "k", 1, 4, why="as there are 4 items")
    Traceback (most recent call last):
    ValueError: k is 5; expected a whole number from 1 to 4, as there are 4 items
    """
    plain = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))
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
    """Return a value as a float, if it is a finite number within its bounds.

    Parameters
    ----------
    value : number
        The value. A bool or a string is refused.
    name : str
        What an error message calls the value.
    least : float, optional
        A lower bound that the value may reach.
    above : float, optional
        A lower bound that the value may not reach.
    most : float, optional
        An upper bound that the value may reach.
    below : float, optional
        An upper bound that the value may not reach.

    Returns
    -------
    float
        The value.

    Raises
    ------
    ValueError
        For anything else, for NaN and infinity, and for numbers outside the bounds.

    Examples
    --------
    >>> from course_lib import checking
    >>> checking.real(1, "tau", above=0)
    1.0
    >>> checking.real(1, "p", least=0, below=1)
    Traceback (most recent call last):
    ValueError: p is 1; expected a finite number in [0, 1)
    """
    try:
        number = math.nan if isinstance(value, (bool, np.bool_, str, bytes, np.timedelta64)) else float(value)
    except (TypeError, ValueError, OverflowError):
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
    """Return a value as a float, if it is in (0, 1].

    Parameters
    ----------
    value : number
        The value.
    name : str
        What an error message calls the value.

    Returns
    -------
    float
        The value.

    Raises
    ------
    ValueError
        For anything else.

    Examples
    --------
    >>> from course_lib import checking
    >>> checking.share(0.3, "top")
    0.3
    >>> checking.share(30, "top")
    Traceback (most recent call last):
    ValueError: top is 30; expected a finite number in (0, 1]
    """
    return real(value, name, above=0, most=1)


def choice(value: Choice, name: str, choices: Collection[Choice]) -> Choice:
    """Return a value, if it is one of several choices.

    Parameters
    ----------
    value : object
        The value. True is not 1 here: a bool is one of bools only.
    name : str
        What an error message calls the value.
    choices : collection
        The values allowed.

    Returns
    -------
    object
        The value.

    Raises
    ------
    ValueError
        For any other value, for a value without a hash, and for tensors.

    Examples
    --------
    >>> from course_lib import checking
    >>> checking.choice("uniform", "law", ("uniform", "popularity"))
    'uniform'
    >>> checking.choice("even", "law", ("uniform", "popularity"))
    Traceback (most recent call last):
    ValueError: law is 'even'; expected one of uniform, popularity
    """
    kinds = bool, np.bool_
    same = (one for one in choices if isinstance(one, kinds) == isinstance(value, kinds))
    array = not isinstance(value, Hashable) or hasattr(value, "detach")  # no hash (a tensor has one), no one truth
    if array or value not in tuple(same):
        raise refuse(value, name, f"one of {', '.join(map(str, choices))}")
    return value


def some(values: Iterable[Member], name: str = "values") -> tuple[Member, ...]:
    """Return values as a tuple of at least one.

    It is for what a check goes through: ``all(...)`` over nothing is true, and a loop over nothing asserts nothing.

    Parameters
    ----------
    values : iterable
        The values.
    name : str
        What an error message calls the values.

    Returns
    -------
    tuple
        The values.

    Raises
    ------
    ValueError
        For no value at all.

    Examples
    --------
    >>> from course_lib import checking
    >>> checking.some(x for x in range(5) if x > 2)
    (3, 4)
    >>> checking.some([], "cases")
    Traceback (most recent call last):
    ValueError: cases is empty; expected at least one: a check that goes through nothing cannot fail
    """
    found = tuple(values)
    if not found:
        raise ValueError(f"{name} is empty; expected at least one: a check that goes through nothing cannot fail")
    return found


def generator(rng: Any, name: str = "rng") -> np.random.Generator:
    """Return a generator of random numbers, if it is a ``numpy.random.Generator``.

    Parameters
    ----------
    rng : numpy.random.Generator
        The generator. A seed is refused, and so is the legacy ``np.random``.
    name : str
        What an error message calls the generator.

    Returns
    -------
    numpy.random.Generator
        The generator.

    Raises
    ------
    ValueError
        For anything else.

    Examples
    --------
    >>> from course_lib import checking
    >>> checking.generator(0)
    Traceback (most recent call last):
    ValueError: rng is 0; expected a numpy.random.Generator such as numpy.random.default_rng(0)
    """
    if not isinstance(rng, np.random.Generator):
        raise refuse(rng, name, "a numpy.random.Generator such as numpy.random.default_rng(0)")
    return rng


def instance(value: Member, name: str, kind: type, expected: str = "") -> Member:
    """Return a value, if it is an object of a class.

    Parameters
    ----------
    value : object
        The value.
    name : str
        What an error message calls the value.
    kind : type
        The class.
    expected : str
        What was expected, in words. The default is the name of the class.

    Returns
    -------
    object
        The value.

    Raises
    ------
    ValueError
        For anything else.

    Examples
    --------
    >>> from course_lib import checking
    >>> checking.instance([0, 1], "train", dict)
    Traceback (most recent call last):
    ValueError: train is [0, 1]; expected dict
    """
    if not isinstance(value, kind):
        raise refuse(value, name, expected or kind.__name__)
    return value


def as_numpy(values: Any, name: str = "values") -> NDArray[Any]:
    """Return values as a NumPy array.

    Parameters
    ----------
    values : array_like
        A tensor is detached, copied from its device, and widened to float32 if it is bfloat16 or float8.
    name : str
        What an error message calls the values.

    Returns
    -------
    array
        The values. Arrays are returned as they are.

    Raises
    ------
    ValueError
        For lists in a list that have several lengths.

    Examples
    --------
    >>> import torch
    >>> from course_lib import checking
    >>> array = checking.as_numpy(torch.ones(2, 3, dtype=torch.bfloat16, requires_grad=True))
    >>> array.shape, str(array.dtype)
    ((2, 3), 'float32')
    """
    if not hasattr(values, "detach"):
        try:
            return np.asarray(values)
        except ValueError:
            raise refuse(values, name, "an array, whose rows are of one length") from None
    tensor = values.detach().cpu()
    return np.asarray(tensor.float() if str(tensor.dtype) in WIDENED else tensor)


def numeric(values: Any, name: str) -> NDArray[Any]:
    """Return values as a NumPy array of real numbers, of any shape.

    Parameters
    ----------
    values : array_like
        Booleans, integers, floats, and objects that have a float, such as Fractions.
    name : str
        What an error message calls the values.

    Returns
    -------
    array
        The values, as :func:`as_numpy` gives them.

    Raises
    ------
    ValueError
        For strings, times, complex numbers and other objects.

    Examples
    --------
    >>> from course_lib import checking
    >>> checking.numeric(["1", "2"], "scores")
    Traceback (most recent call last):
    ValueError: scores is ['1', '2']; expected an array of real numbers
    """
    array = as_numpy(values, name)
    try:
        if array.dtype.kind in "biuf" or (array.dtype.kind == "O" and array.astype(np.float64) is not None):
            return array
    except (TypeError, ValueError, OverflowError):
        pass
    raise refuse(values, name, "an array of real numbers")


def table(values: Any, name: str, *, rows: int | None = None, width: int | None = None) -> NDArray[Any]:
    """Return values as a finite NumPy matrix of floats.

    Parameters
    ----------
    values : array_like, shape (rows, width)
        The values, an array or tensor.
    name : str
        What an error message calls the values.
    rows : int, optional
        The number of rows that is expected.
    width : int, optional
        The number of columns that is expected.

    Returns
    -------
    array, shape (rows, width)
        The matrix. Integers become float64, 16 bits float32.

    Raises
    ------
    ValueError
        For another shape, for NaN or infinity, and for anything but integers and floats.

    Examples
    --------
    >>> from course_lib import checking
    >>> checking.table([[1, 2], [3, 4]], "items").tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    >>> checking.table([[1.0, 2.0], [3.0, 4.0]], "items", rows=5)
    Traceback (most recent call last):
    ValueError: items has shape (2, 2) and dtype float64; expected numbers of shape (5, d)
    """
    array = as_numpy(values, name)
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
    """Return values as a vector of float64.

    Parameters
    ----------
    values : array_like, shape (n,)
        At least one number, all finite.
    name : str
        What an error message calls the values.
    length : int, optional
        The number of values that is expected.

    Returns
    -------
    array, shape (n,)
        The vector.

    Raises
    ------
    ValueError
        For another shape or length, for no number at all, for NaN or infinity, and as in :func:`numeric`.

    Examples
    --------
    >>> from course_lib import checking
    >>> checking.vector([1, 2, 3], "scores").tolist()
    [1.0, 2.0, 3.0]
    >>> checking.vector([0.5, float("nan")], "scores")
    Traceback (most recent call last):
    ValueError: scores[1] is nan; expected finite numbers
    """
    array = numeric(values, name).astype(np.float64, copy=False)
    if array.ndim != 1 or not array.size or length not in (None, len(array)):
        raise ValueError(f"{name} has shape {array.shape}; expected ({'n' if length is None else length},) numbers")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise ValueError(f"{name}[{bad[0]}] is {array[bad[0]]}; expected finite numbers")
    return array


def counts(values: Any, name: str = "counts", length: int | None = None) -> NDArray[np.float64]:
    """Return values as a vector of counts, in float64.

    Parameters
    ----------
    values : array_like, shape (n,)
        One count for each item, finite and never negative.
    name : str
        What an error message calls the values.
    length : int, optional
        The number of values that is expected.

    Returns
    -------
    array, shape (n,)
        The counts.

    Raises
    ------
    ValueError
        For a negative number, and as in :func:`vector`.

    Examples
    --------
    >>> from course_lib import checking
    >>> checking.counts([3, 0, 1]).tolist()
    [3.0, 0.0, 1.0]
    >>> checking.counts([3, -1])
    Traceback (most recent call last):
    ValueError: counts[1] is -1.0; expected a finite count of at least 0
    """
    array = vector(values, name, length)
    bad = np.flatnonzero(array < 0)
    if len(bad):
        raise ValueError(f"{name}[{bad[0]}] is {array[bad[0]]}; expected a finite count of at least 0")
    return array


def same_width(left: Any, right: Any, left_name: str, right_name: str) -> int:
    """Return the length of the last axis, which two arrays share.

    Parameters
    ----------
    left, right : array or tensor, shape (..., d)
        The arrays.
    left_name, right_name : str
        What an error message calls them.

    Returns
    -------
    int
        The width ``d``.

    Raises
    ------
    ValueError
        For two different widths.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import checking
    >>> checking.same_width(np.ones((2, 8)), np.ones((5, 8)), "users", "items")
    8
    """
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
