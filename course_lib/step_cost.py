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
    """(4,) what one process has in a step of each of the `PRICES`: 1, scores, operations, bytes of 32-bit numbers.

    gather, rows: as in `course_lib.processes`.
    """
    recipe = {"gather": gather, "rows": rows}
    scores = computed_scores(processes=processes, batch_size=batch_size, **recipe)
    numbers = transfers(**recipe) * processes * batch_size * checking.whole(width, "width")
    return np.array([1, scores, OPERATIONS * width * scores, 4 * numbers], np.float64)


def turns(processes: int, cores: int) -> float:
    """max(1, P / cores): how many times as long a step takes where the processes take turns on fewer cores."""
    return max(1.0, checking.whole(processes, "processes") / checking.whole(cores, "cores"))


def seconds(prices: ArrayLike, what: ArrayLike, *, processes: int, cores: int) -> Float:
    """(...,) seconds of a step with the amounts `what` (..., 4) at these prices (4,)."""
    prices = checking.vector(prices, "prices", len(PRICES))
    found: Float = turns(processes, cores) * (_checked_amounts(what) @ prices)
    return found


def fitted_prices(what: Sequence[ArrayLike], measured: ArrayLike) -> Float:
    """(4,) the prices, none negative, that minimise the sum over the steps of (amounts @ prices / measured - 1)^2.

    what (n, 4): amounts of n kinds of steps; measured (n,): their seconds, times min(1, cores / P) where processes took
    turns. Raises ValueError for fewer than four steps, and for seconds that are not above 0.
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
    """(..., 4) finite amounts."""
    amounts: Float = np.asarray(arrays.check_finite(arrays.as_array(what, "what"), "what"), np.float64)
    if amounts.shape[-1:] != (len(PRICES),):
        raise ValueError(f"what has shape {amounts.shape}; expected (..., {len(PRICES)}), an amount for each price")
    return amounts
