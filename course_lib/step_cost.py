r"""A model of what a step on P processes of one machine costs: amounts of work, times four prices.

    seconds = max(1, P / cores) (start + scores (softmax + 6 d operation) + bytes byte)

A process computes `scores` (rows times columns) at 6 d operations each, and takes a softmax of them. `bytes` are those
of the rows that it gathers, P B d numbers a table, and of the gradients that come back for them: the cores copy them
all, and P - 1 of P parts come from other processes. Where P processes share fewer cores, they take turns. Nobody waits
for a network in this model.

Source: the chapter "One batch on many machines" of this course.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

from course_lib import arrays, checking
from course_lib.processes import OPERATIONS, computed_scores, transfers

PRICES = ("start", "softmax", "operation", "byte")  # seconds of one of each

Float = NDArray[np.float64]


def amounts(gather: str, rows: str, *, processes: int, batch_size: int, width: int) -> Float:
    """Return how much one process has in a step of each thing that has a price.

    Parameters
    ----------
    gather : {"local", "constant", "gradients"}
        What comes from other processes, as in ``course_lib.processes``.
    rows : {"own", "all"}
        Which rows a process computes, as in ``course_lib.processes``.
    processes : int
        The number P of processes, at least 1.
    batch_size : int
        The number B of pairs that each process holds, at least 1.
    width : int
        The width d of the vectors, at least 1.

    Returns
    -------
    NumPy array, shape (4,)
        The amounts, in the order of ``PRICES``: 1 start, scores, operations (6 d for each score), and bytes of the
        32-bit numbers that are gathered and come back.

    Raises
    ------
    ValueError
        For other words, for numbers below 1, and for all rows of "local".

    Examples
    --------
    10 rows of 20 columns are 200 scores, of 6 * 8 operations each. The table of 20 items has 20 * 8 numbers of 4 bytes:

    >>> from course_lib import step_cost
    >>> step_cost.amounts("constant", "own", processes=2, batch_size=10, width=8).tolist()
    [1.0, 200.0, 9600.0, 640.0]
    """
    recipe = {"gather": gather, "rows": rows}
    scores = computed_scores(processes=processes, batch_size=batch_size, **recipe)
    numbers = transfers(**recipe) * processes * batch_size * checking.whole(width, "width")
    return np.array([1, scores, OPERATIONS * width * scores, 4 * numbers], np.float64)


def turns(processes: int, cores: int) -> float:
    """Return how many times as long a step takes where the processes take turns on fewer cores.

    ``max(1, P / cores)``.

    Parameters
    ----------
    processes : int
        The number P of processes, at least 1.
    cores : int
        The number of cores, at least 1.

    Returns
    -------
    float
        The factor, at least 1.

    Raises
    ------
    ValueError
        For numbers that are not whole or below 1.

    Examples
    --------
    >>> from course_lib import step_cost
    >>> step_cost.turns(processes=8, cores=2), step_cost.turns(processes=2, cores=8)
    (4.0, 1.0)
    """
    return max(1.0, checking.whole(processes, "processes") / checking.whole(cores, "cores"))


def seconds(prices: ArrayLike, what: ArrayLike, *, processes: int, cores: int) -> Float:
    """Return the seconds of a step with given amounts at given prices.

    The amounts times the prices, summed, times :func:`turns`.

    Parameters
    ----------
    prices : array_like, shape (4,)
        The seconds of one start, softmax, operation and byte.
    what : array_like, shape (..., 4)
        The amounts, as :func:`amounts` gives them.
    processes : int
        The number P of processes, at least 1.
    cores : int
        The number of cores, at least 1.

    Returns
    -------
    NumPy array or float, shape (...)
        The seconds.

    Raises
    ------
    ValueError
        For other shapes, for NaN or infinite entries, and for numbers below 1.

    Examples
    --------
    Two processes on one core take turns:

    >>> from course_lib import step_cost
    >>> prices, what = [0.5, 0.25, 0.0, 0.0], [1.0, 2.0, 100.0, 100.0]
    >>> float(step_cost.seconds(prices, what, processes=2, cores=2))  # 0.5 + 2 * 0.25
    1.0
    >>> float(step_cost.seconds(prices, what, processes=2, cores=1))
    2.0
    """
    prices = checking.vector(prices, "prices", len(PRICES))
    if (prices < 0).any():
        raise checking.refuse(prices, "prices", "seconds of at least 0")
    found: Float = turns(processes, cores) * (_checked_amounts(what) @ prices)
    return found


def fitted_prices(what: Sequence[ArrayLike], measured: ArrayLike) -> Float:
    """Return the prices, none negative, that fit measured seconds of steps with the least relative errors.

    They minimise the sum over the steps of ``(amounts @ prices / measured - 1)^2``.

    Parameters
    ----------
    what : sequence of array_like, shape (n, 4)
        The amounts of n kinds of steps, ``n >= 4``, as :func:`amounts` gives them.
    measured : array_like, shape (n,)
        Their seconds, times ``min(1, cores / P)`` where processes took turns.

    Returns
    -------
    NumPy array, shape (4,)
        The prices, each at least 0.

    Raises
    ------
    ValueError
        For fewer than four steps, for seconds that are not above 0, and for shapes that do not fit.

    Examples
    --------
    Each of four steps costs one thing only:

    >>> import numpy as np
    >>> from course_lib import step_cost
    >>> step_cost.fitted_prices(np.diag([1.0, 10.0, 100.0, 1000.0]), [0.5, 1.0, 2.0, 3.0]).round(4).tolist()
    [0.5, 0.1, 0.02, 0.003]
    """
    table, took = _checked_amounts(what), checking.vector(measured, "measured", len(what))
    if table.ndim != 2 or len(took) < len(PRICES):
        raise ValueError(f"what has shape {table.shape}; expected (n, {len(PRICES)}) with n of at least {len(PRICES)}")
    if (took <= 0).any():
        raise checking.refuse(took.min(), "measured", "seconds above 0")
    relative = table / took[:, None]
    sizes = np.maximum(relative.max(axis=0), np.finfo(float).tiny)  # operations are counted by billions, starts are not
    prices: Float = nnls(relative / sizes, np.ones(len(took)))[0] / sizes
    return prices


def _checked_amounts(what: ArrayLike | Sequence[ArrayLike]) -> Float:
    """(..., 4) finite amounts of at least 0."""
    amounts: Float = np.asarray(arrays.check_finite(arrays.as_array(what, "what"), "what"), np.float64)
    if amounts.shape[-1:] != (len(PRICES),):
        raise ValueError(f"what has shape {amounts.shape}; expected (..., {len(PRICES)}), an amount for each price")
    if (amounts < 0).any():
        raise checking.refuse(amounts, "what", "amounts of at least 0")
    return amounts
