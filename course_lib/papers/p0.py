"""What P0's printed numbers say about P0's sentences, and what chance alone would give beside them.

Experiments are numbered as in the paper. Shares are shares, not percent.
"""

from math import radians, sin, sqrt

from course_lib import checking
from course_lib.papers import value


def printed(experiment: int, quantity: str) -> float:
    """The number that P0 prints for an experiment.

    `share_dot` and `share_cos` (experiments 8 to 10: share of the top 1 % items in the top 100), `pearson` (8 and 10),
    `share_near_90` (4 and 5), `learning_rate` (9 and 10). Raises ValueError for a number that the paper does not print.
    """
    table = "T2" if quantity in ("share_dot", "share_cos") else "numbers"
    return value("P0", table, experiment=experiment, quantity=quantity)


def ratio_of_shares(experiment: int) -> float:
    """Share of the top 1 % items when ranked by dot product, divided by their share when ranked by cosine."""
    return printed(experiment, "share_dot") / printed(experiment, "share_cos")


def share_against_chance(experiment: int, quantity: str = "share_dot") -> float:
    """A printed share divided by that of the top 1 % items in a list drawn at random from all items, which is 0.01.

    Lists without known items hold less by chance (`popularity.chance_share`); P0 does not say whether its lists do.
    """
    return printed(experiment, quantity) / (printed(8, "top_items_percent") / 100)


def chance_of_right_angle(d: int, *, within: float = 10.0) -> float:
    """The share of directions, uniform on the sphere in d dimensions, within 90 +- `within` degrees of a fixed one.

    P(|cos| < sin(within)): the squared cosine has the Beta(1/2, (d-1)/2) distribution. `within` is in degrees.
    Raises ValueError for d below 2 and for `within` outside (0, 90].
    """
    from scipy.special import betainc

    checking.whole(d, "d", 2, why="where a direction has something to turn in")
    checking.real(within, "within", above=0, most=90)
    return float(betainc(0.5, (d - 1) / 2, sin(radians(within)) ** 2))


def smallest_significant_correlation(n: int, *, level: float = 0.05) -> float:
    """The least |Pearson correlation| of n pairs that a two-sided t test of zero correlation rejects at `level`.

    r = t / sqrt(n - 2 + t^2) with t the quantile of Student's t with n - 2 degrees of freedom. Raises ValueError for n
    below 3 and for a level outside (0, 1).
    """
    from scipy.stats import t as student

    checking.whole(n, "n", 3)
    checking.real(level, "level", above=0, below=1)
    quantile = float(student.ppf(1 - level / 2, n - 2))
    return quantile / sqrt(n - 2 + quantile**2)
