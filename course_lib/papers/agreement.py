"""When a printed number counts as reproduced: one rule for all tables.

It was written on 22 November 2026, two days after the first runs at laptop scale. By then Table 6 of P3 had been
compared with them, so the rule is older only than what ran later, such as Table 6 at full scale.

A paper prints one number of one run, mostly without an interval. We have n runs, over seeds or splits, with mean m and
standard deviation s. The number agrees when it lies where one more run of ours could lie, in 95 of 100 cases:

    |printed - m| <= sqrt((t s)^2 (1 + 1/n) + h^2),

with t the 97.5 % point of Student's distribution, and h half of the paper's own 95 % interval where it prints one. s is
pooled over the cells of the table that have a mean of about the same size, because two or three numbers hardly have a
spread of their own. A single run has no s, so it cannot be judged, and a run that had not converged, by the test that
its experiment states, counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from course_lib import checking

Verdict = Literal["agrees", "differs", "one run", "not converged", "not run"]


@dataclass(frozen=True)
class Spread:
    """The standard deviation of a run, and from how many degrees of freedom it is known.

    Parameters
    ----------
    deviation : float
        The standard deviation, at least 0.
    freedom : int
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
    freedom: int

    def __post_init__(self) -> None:
        checking.real(self.deviation, "deviation", least=0)
        checking.whole(self.freedom, "freedom")

    def of_one_more(self, n: int) -> float:
        """Half the width of a 95 % interval for one more run around the mean of n: t s sqrt(1 + 1/n)."""
        return float(stats.t.ppf(0.975, self.freedom) * self.deviation * np.sqrt(1 + 1 / checking.whole(n, "n")))


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
        How far the printed number may be off.
    verdict : {"agrees", "differs", "one run", "not converged", "not run"}
        Whether the number counts as reproduced.

    Examples
    --------
    >>> from course_lib.papers.agreement import Judged
    >>> Judged(printed=10.0, mean=11.0, n=5, allowed=2.0, verdict="agrees").verdict
    'agrees'
    """

    printed: float
    mean: float
    n: int
    allowed: float
    verdict: Verdict


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
    runs = (np.asarray(group, dtype=float) for group in groups)
    centred = [values - values.mean() for values in runs if len(values) > 1]
    freedom = sum(len(values) - 1 for values in centred)
    if not freedom:
        raise ValueError("groups: no group has two runs; expected one with at least two")
    return Spread(float(np.sqrt(sum((values**2).sum() for values in centred) / freedom)), freedom)


def judge(
    values: Sequence[float],
    printed: float,
    *,
    converged: bool = True,
    printed_half: float = 0.0,
    spread: Spread | None = None,
) -> Judged:
    """Return the verdict on one printed number.

    The number agrees where it lies within a 95 % interval for one more of our runs; the docstring of
    ``course_lib.papers.agreement`` has the rule.

    Parameters
    ----------
    values : sequence of float
        Our results, one for each run. An empty sequence means that nothing was run.
    printed : float
        The number that the paper prints.
    converged : bool, optional
        Whether all runs converged.
    printed_half : float, optional
        Half of the paper's 95 % interval, 0 where it prints none.
    spread : Spread, optional
        The spread pooled over the cells of the table. None: of these values alone.

    Returns
    -------
    Judged
        The two numbers, the distance allowed, and the verdict.

    Raises
    ------
    ValueError
        For numbers that are not finite, and a negative ``printed_half``.

    Examples
    --------
    >>> from course_lib.papers import agreement
    >>> agreement.judge([10.0, 10.2, 9.8], 10.5).verdict, agreement.judge([10.0, 10.2, 9.8], 13.0).verdict
    ('agrees', 'differs')
    >>> agreement.judge([10.0], 10.5).verdict
    'one run'
    """
    half = checking.real(printed_half, "printed_half", least=0)
    printed = checking.real(printed, "printed")
    values = [checking.real(value, f"values[{at}]") for at, value in enumerate(values)]
    n = len(values)
    mean = float(np.mean(values)) if n else float("nan")
    if n and converged and (n > 1 or spread is not None):
        allowed = float(np.hypot((spread or pooled([values])).of_one_more(n), half))
        return Judged(printed, mean, n, allowed, "agrees" if abs(printed - mean) <= allowed else "differs")
    verdict: Verdict = "not run" if not n else "one run" if converged else "not converged"
    return Judged(printed, mean, n, float("nan"), verdict)
