"""When a printed number counts as reproduced: one rule for all tables.

A paper prints one number of one run, mostly without an interval. We have n runs, over seeds or splits, with mean m and
standard deviation s. Both are runs of the same law if the paper's protocol is ours. Then printed - m, seen as an
estimate of the difference of the two expectations, has the standard error s sqrt(1 + 1/n), and the 90 % interval

    printed - m +- t s sqrt(1 + 1/n),

with t the 95 % point of Student's distribution. A margin says which difference is too small to matter: a twentieth of
the printed number, or half of the paper's own 95 % interval where it prints one. The number

- agrees where the interval lies within the margin: two one-sided tests at 5 % (an equivalence test),
- differs where it lies wholly beyond the margin, on one side,
- is undecided otherwise: more noise never makes a number agree. So is a single run, which has no s.

A run that was cut off before its own rule ended it counts for nothing ("not converged"). A number beside which we have
no run is "not trained" where we have the data and "not to be had" where we do not.

s is pooled over the cells of the table that have a mean of about the same size. The cells of a split share its luck, so
their deviations are no independent numbers: `shared` gives them the degrees of freedom of Box (1954), as estimated by
Greenhouse and Geisser (1959), which lie between n - 1 and (n - 1)^2 however many cells there are.

On the paper's own data the interval is about these data: given the data, random splits are independent draws. About
other data of the same kind it says nothing; for that the variance of the mean would need the factor of Nadeau and
Bengio (2003), 1/n + n_test/n_train in place of 1/n, because the splits overlap.

History. The first rule is of 22 November 2026, two days after the first runs at laptop scale, when Table 6 of P3 had
been compared with them. By it a number agreed where one more run of ours could lie, in 95 of 100 cases, without a
margin. The margin, the freedom of cells that share splits, and the word "undecided" are of 27 November 2026, when all
runs but those of P3-X3 were known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from course_lib import checking

Verdict = Literal["agrees", "differs", "undecided", "not converged", "not trained", "not to be had"]
MARGIN = 0.05  # of the printed number
LEVEL = 0.95  # of each of the two one-sided tests


@dataclass(frozen=True)
class Spread:
    """The standard deviation of a run, and from how many degrees of freedom it is known.

    Parameters
    ----------
    deviation : float
        The standard deviation, at least 0.
    freedom : float
        The degrees of freedom, at least 1.

    Raises
    ------
    ValueError
        For numbers outside these ranges.

    Examples
    --------
    The interval for one more run around the mean of 4 is wider than 1.96 standard deviations, because the mean
    and the deviation are estimates:

    >>> from course_lib.papers.agreement import Spread
    >>> round(Spread(deviation=1.0, freedom=9).of_one_more(4), 4)
    2.5292
    """

    deviation: float
    freedom: float

    def __post_init__(self) -> None:
        checking.real(self.deviation, "deviation", least=0)
        checking.real(self.freedom, "freedom", least=1)

    def of_one_more(self, n: int) -> float:
        """Half the width of a 95 % interval for one more run around the mean of n: t s sqrt(1 + 1/n)."""
        return float(stats.t.ppf(0.975, self.freedom) * self.error_of_difference(n))

    def of_difference(self, n: int) -> float:
        """Half the width of the 90 % interval for the difference of the expectations of one run and of n."""
        return float(stats.t.ppf(LEVEL, self.freedom) * self.error_of_difference(n))

    def error_of_difference(self, n: int) -> float:
        """The standard error of the difference of one run from the mean of n: s sqrt(1 + 1/n)."""
        return float(self.deviation * np.sqrt(1 + 1 / checking.whole(n, "n")))


@dataclass(frozen=True)
class Judged:
    """A printed number beside ours.

    Parameters
    ----------
    printed : float
        The number that the paper prints.
    mean : float
        The mean of our runs.
    n : int
        The number of our runs.
    allowed : float
        The margin: how far apart the two expectations may be.
    verdict : {"agrees", "differs", "undecided", "not converged", "not trained", "not to be had"}
        Whether the number counts as reproduced.
    half : float, optional
        Half the width of the 90 % interval of the difference. NaN where it is not known.

    Examples
    --------
    >>> from course_lib.papers.agreement import Judged
    >>> Judged(printed=10.0, mean=11.0, n=5, allowed=2.0, verdict="agrees", half=0.5).verdict
    'agrees'
    """

    printed: float
    mean: float
    n: int
    allowed: float
    verdict: Verdict
    half: float = float("nan")


def pooled(groups: Iterable[ArrayLike]) -> Spread:
    """Return the spread of a run, pooled over groups of runs with means of their own.

    Parameters
    ----------
    groups : iterable of array_like
        The results of each group of runs.

    Returns
    -------
    Spread
        The pooled standard deviation and its degrees of freedom.

    Raises
    ------
    ValueError
        Where no group has two runs.

    Examples
    --------
    The means of the two groups are far apart, but within each group a run is 1 from the mean:

    >>> from course_lib.papers import agreement
    >>> spread = agreement.pooled([[1.0, 3.0], [10.0, 12.0]])
    >>> round(spread.deviation, 4), spread.freedom
    (1.4142, 2)
    """
    if not isinstance(groups, Iterable):
        raise checking.refuse(groups, "groups", "several groups of runs, such as a list of lists of numbers")
    runs = [_runs(group, f"groups[{at}]") for at, group in enumerate(groups)]
    centred = [values - values.mean() for values in runs if len(values) > 1]
    freedom = sum(len(values) - 1 for values in centred)
    if not freedom:
        raise ValueError("groups: no group has two runs; expected one with at least two")
    return Spread(float(np.sqrt(sum((values**2).sum() for values in centred) / freedom)), freedom)


def _runs(group: ArrayLike, name: str) -> NDArray[np.float64]:
    """The results of one group of runs, of which there may be none."""
    values = checking.as_numpy(group, name)
    if values.ndim != 1 or (values.size and values.dtype.kind not in "fiu"):
        raise checking.refuse(group, name, "a list of numbers, one for each run")
    return checking.vector(values, name) if values.size else np.zeros(0)


def shared(cells: ArrayLike) -> Spread:
    """Return the spread of a run, pooled over cells that share their splits or seeds.

    With the deviations E (k, n) from the mean of each of k cells over n runs, and S = E E^T / (n - 1), it is
    ``s^2 = tr S / k``, known from ``(n - 1) (tr S)^2 / tr S^2`` degrees of freedom.

    Parameters
    ----------
    cells : array_like, shape (k, n)
        The results of k cells, each on the same n splits in the same order.

    Returns
    -------
    Spread
        The pooled standard deviation, and degrees of freedom between n - 1 and (n - 1)^2.

    Raises
    ------
    ValueError
        For another shape and for fewer than two runs.

    Notes
    -----
    Sources: Box, Annals of Mathematical Statistics 25 (1954); Greenhouse and Geisser, Psychometrika 24 (1959).

    Examples
    --------
    Two cells that rise and fall together know no more of the spread than one; two that do not know twice as much:

    >>> from course_lib.papers import agreement
    >>> round(agreement.shared([[1.0, 2.0, 3.0], [11.0, 12.0, 13.0]]).freedom, 6)
    2
    >>> agreement.shared([[1.0, 2.0, 3.0], [12.0, 10.0, 12.0]]).freedom > 3.9
    True
    """
    runs = checking.table(cells, "cells").astype(np.float64)
    if not len(runs) or runs.shape[1] < 2:
        raise ValueError(f"cells has shape {runs.shape}; expected (k, n) with k >= 1 and n >= 2 runs")
    apart, freedom = runs - runs.mean(axis=1, keepdims=True), runs.shape[1] - 1
    total = float((apart**2).sum())
    among = float(((apart.T @ apart) ** 2).sum())  # tr (E E^T)^2
    deviation = float(np.sqrt(total / (len(runs) * freedom)))
    return Spread(deviation, max(freedom, freedom * total**2 / among) if among else freedom)


def judge(
    values: Sequence[float],
    printed: float,
    *,
    converged: bool = True,
    printed_half: float = 0.0,
    spread: Spread | None = None,
) -> Judged:
    """Return the verdict on one printed number.

    The docstring of ``course_lib.papers.agreement`` has the rule.

    Parameters
    ----------
    values : sequence of float
        Our results, one for each run. An empty sequence means that nothing was trained.
    printed : float
        The number that the paper prints.
    converged : bool, optional
        Whether all runs converged.
    printed_half : float, optional
        Half of the paper's 95 % interval, the margin then. 0 where it prints none: a twentieth of the number.
    spread : Spread, optional
        The spread pooled over the cells of the table. None: of these values alone.

    Returns
    -------
    Judged
        The two numbers, the margin, the interval of their difference, and the verdict.

    Raises
    ------
    ValueError
        For numbers that are not finite, and a negative ``printed_half``.

    Examples
    --------
    The margin is .5. Noisy runs decide nothing:

    >>> from course_lib.papers import agreement
    >>> runs = [10.0, 10.05, 9.95], [13.0, 13.05, 12.95], [9.0, 10.0, 11.0]
    >>> [agreement.judge(values, 10.0).verdict for values in runs]
    ['agrees', 'differs', 'undecided']
    >>> agreement.judge([10.0], 10.0).verdict
    'undecided'
    """
    if not isinstance(values, Iterable):
        raise checking.refuse(values, "values", "a list of numbers, one for each run")
    values = [checking.real(value, f"values[{at}]") for at, value in enumerate(values)]
    converged = checking.choice(converged, "converged", (True, False))
    n = len(values)
    mean = float(np.mean(values)) if n else float("nan")
    if not n or not converged:
        half = checking.real(printed_half, "printed_half", least=0)
        margin = half or MARGIN * abs(checking.real(printed, "printed"))
        return Judged(printed, mean, n, margin, "not trained" if not n else "not converged")
    spread = pooled([values]) if spread is None and n > 1 else spread
    return weigh(mean, n, spread, printed, printed_half=printed_half)


def weigh(mean: float, n: int, spread: Spread | None, printed: float, *, printed_half: float = 0.0) -> Judged:
    """Return the verdict on a printed number beside the mean of n runs that converged.

    Parameters
    ----------
    mean : float
        The mean of our runs.
    n : int
        How many they are.
    spread : Spread or None
        The spread of a run; None where it is not known.
    printed, printed_half : float
        As in ``judge``.

    Returns
    -------
    Judged
        As in ``judge``.

    Raises
    ------
    ValueError
        As in ``judge``.

    Examples
    --------
    >>> from course_lib.papers.agreement import Spread, weigh
    >>> weigh(100.0, 20, Spread(0.5, 19), 101.0).verdict
    'agrees'
    """
    mean, printed = checking.real(mean, "mean"), checking.real(printed, "printed")
    margin = checking.real(printed_half, "printed_half", least=0) or MARGIN * abs(printed)
    if not (spread is None or isinstance(spread, Spread)):
        raise checking.refuse(spread, "spread", "a Spread, or None")
    if spread is None:
        return Judged(printed, mean, n, margin, "undecided")
    off, half = abs(printed - mean), spread.of_difference(n)
    verdict: Verdict = "agrees" if off + half <= margin else "differs" if off - half > margin else "undecided"
    return Judged(printed, mean, n, margin, verdict, half)
