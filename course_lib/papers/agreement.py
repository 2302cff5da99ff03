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
    """The standard deviation of a run, and from how many degrees of freedom it is known."""

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
    """A printed number beside ours: the mean of n runs, how far it may be off, and the verdict."""

    printed: float
    mean: float
    n: int
    allowed: float
    verdict: Verdict


def pooled(groups: Iterable[ArrayLike]) -> Spread:
    """The spread of a run, pooled over groups of runs with means of their own; ValueError where no group has two."""
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
    """The verdict on one printed number; see the head of this module.

    values: ours, one for each run; none means that nothing was run. converged: whether all of them did.
    printed_half: half of the paper's 95 % interval, 0 where it prints none. spread: pooled over the table's cells
    (None: of these values alone).
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
