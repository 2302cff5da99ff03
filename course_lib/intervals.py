"""Intervals of a mean over people: would another set of people say the same?

Seeds answer another question, whether another training would say the same: `scipy.stats` has Student's interval for
these few numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

from course_lib import checking

__all__ = ["bootstrap_interval"]


def bootstrap_interval(
    values: Any, rng: Generator, *, level: float = 0.95, draws: int = 2000
) -> tuple[float, float, float]:
    """Return the mean over people and its percentile interval from the bootstrap, people drawn with replacement.

    For two models, give the differences of each person: the interval is then paired. For several seeds, give each
    person's mean over the seeds: the interval speaks of people alone.

    Parameters
    ----------
    values : array_like, shape (u,)
        One number a person.
    rng : numpy.random.Generator
        Draws the people.
    level : float, optional
        In how many of all samples of people the interval is to hold the mean of everybody, as a share in (0, 1). With
        few people it does so less often.
    draws : int, optional
        How many sets of people are drawn.

    Returns
    -------
    mean, low, high : float
        The mean of the values and the two ends.

    Raises
    ------
    ValueError
        For fewer than two people, values that are not finite, a level outside (0, 1), no draw, and an ``rng`` that is
        no Generator.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.intervals import bootstrap_interval
    >>> mean, low, high = bootstrap_interval([0.0, 1.0] * 50, np.random.default_rng(0))
    >>> mean, low < 0.5 < high
    (0.5, True)
    """
    found = checking.vector(values, "values")
    if len(found) < 2:
        raise ValueError(f"values has {len(found)} person; expected at least two, to draw from")
    level, draws = checking.real(level, "level", above=0, below=1), checking.whole(draws, "draws")
    ends = stats.bootstrap(
        (found,),
        np.mean,
        n_resamples=draws,
        confidence_level=level,
        method="percentile",
        rng=checking.generator(rng),
        batch=100,
    ).confidence_interval
    return float(found.mean()), float(ends.low), float(ends.high)
