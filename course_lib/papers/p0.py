"""What P0's printed numbers say about P0's sentences, and what chance alone would give beside them.

Experiments are numbered as in the paper. Shares are shares, not percent.
"""

from math import radians, sin, sqrt

from course_lib import checking
from course_lib.papers import value


def printed(experiment: int, quantity: str) -> float:
    """Return the number that P0 prints for an experiment.

    Parameters
    ----------
    experiment : int
        The number of the experiment.
    quantity : str
        ``share_dot`` and ``share_cos`` (experiments 8 to 10: share of the top 1 % items in the top 100), ``pearson`` (8
        and 10), ``share_near_90`` (4 and 5), ``learning_rate`` (9 and 10).

    Returns
    -------
    float
        The number.

    Raises
    ------
    ValueError
        For a number that the paper does not print.

    Examples
    --------
    >>> from course_lib.papers import p0
    >>> p0.printed(8, "share_dot"), p0.printed(8, "share_cos")
    (0.72, 0.29)
    """
    table = "T2" if quantity in ("share_dot", "share_cos") else "numbers"
    return value("P0", table, experiment=experiment, quantity=quantity)


def ratio_of_shares(experiment: int) -> float:
    """Return the share of the top 1 % items when ranked by dot product, relative to their share by cosine.

    Parameters
    ----------
    experiment : int
        The number of the experiment, 8 to 10.

    Returns
    -------
    float
        The ratio of the two printed shares.

    Raises
    ------
    ValueError
        For an experiment without these shares.

    Examples
    --------
    >>> from course_lib.papers import p0
    >>> round(p0.ratio_of_shares(8), 2), p0.ratio_of_shares(9)
    (2.48, 1.0)
    """
    return printed(experiment, "share_dot") / printed(experiment, "share_cos")


def share_against_chance(experiment: int, quantity: str = "share_dot") -> float:
    """Return a printed share divided by the share that chance gives.

    In a list drawn at random from all items, the share of the top 1 % items is 0.01.

    Parameters
    ----------
    experiment : int
        The number of the experiment, 8 to 10.
    quantity : {"share_dot", "share_cos"}, optional
        The share.

    Returns
    -------
    float
        The ratio.

    Raises
    ------
    ValueError
        For a number that the paper does not print.

    Notes
    -----
    Lists without known items hold less by chance (``popularity.chance_share``); P0 does not say whether its lists do.

    Examples
    --------
    The popular items hold 72 of 100 places, and chance would give them one:

    >>> from course_lib.papers import p0
    >>> round(p0.share_against_chance(8), 4)
    72.0
    """
    return printed(experiment, quantity) / (printed(8, "top_items_percent") / 100)


def chance_of_right_angle(d: int, *, within: float = 10.0) -> float:
    """Return the share of random directions that lie near a right angle to a fixed one.

    The directions are uniform on the sphere in ``d`` dimensions, and the angle is within 90 +- ``within`` degrees:
    ``P(|cos| < sin(within))``, where the squared cosine has the Beta(1/2, (d-1)/2) distribution.

    Parameters
    ----------
    d : int
        The dimension, at least 2.
    within : float, optional
        The distance from the right angle, in degrees, in (0, 90].

    Returns
    -------
    float
        The share.

    Raises
    ------
    ValueError
        For numbers outside these ranges.

    Examples
    --------
    In the plane it is 40 of 360 degrees. In 128 dimensions nearly all directions are close to a right angle:

    >>> from course_lib.papers import p0
    >>> round(p0.chance_of_right_angle(2), 4), round(p0.chance_of_right_angle(128), 2)
    (0.1111, 0.95)
    """
    from scipy.special import betainc

    checking.whole(d, "d", 2, why="where a direction has something to turn in")
    checking.real(within, "within", above=0, most=90)
    return float(betainc(0.5, (d - 1) / 2, sin(radians(within)) ** 2))


def smallest_significant_correlation(n: int, *, level: float = 0.05) -> float:
    """Return the least absolute Pearson correlation of ``n`` pairs that a t test tells from zero.

    It is the two-sided test of zero correlation at ``level``: ``r = t / sqrt(n - 2 + t^2)`` with ``t`` the quantile of
    Student's t with ``n - 2`` degrees of freedom.

    Parameters
    ----------
    n : int
        The number of pairs, at least 3.
    level : float, optional
        The level of the test, in (0, 1).

    Returns
    -------
    float
        The correlation.

    Raises
    ------
    ValueError
        For numbers outside these ranges.

    Examples
    --------
    With many pairs, a small correlation is significant:

    >>> from course_lib.papers import p0
    >>> [round(p0.smallest_significant_correlation(n), 3) for n in (10, 100, 10_000)]
    [0.632, 0.197, 0.02]
    """
    from scipy.stats import t as student

    checking.whole(n, "n", 3)
    checking.real(level, "level", above=0, below=1)
    quantile = float(student.ppf(1 - level / 2, n - 2))
    return quantile / sqrt(n - 2 + quantile**2)
