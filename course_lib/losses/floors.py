"""What a temperature can express: the least loss of cosines over n films, and what a probability needs."""

from __future__ import annotations

import math

from course_lib import checking

MOST = 10**15  # films: far more, and 1/n is lost in rounding


def loss_floor(n: int, tau: float) -> float:
    """The least mean softmax loss of n pairs of unit vectors: ``log(1 + (n - 1) exp(-n / ((n - 1) tau)))``, in nats.

    Parameters
    ----------
    n : int
        The number of films in the softmax, 2 to 10^15.
    tau : float
        The temperature.

    Returns
    -------
    float
        No tables of any width have a lower mean loss. From ``n - 1`` coordinates on it is reached: user i and film i
        both at corner i of the regular simplex.

    Raises
    ------
    ValueError
        For fewer than two films or more than 10^15, and a temperature of 0 or less.

    Examples
    --------
    >>> from course_lib.losses.floors import loss_floor
    >>> round(loss_floor(512, 0.2), 2)
    1.48
    """
    n, tau = checking.whole(n, "n", 2, MOST), checking.real(tau, "tau", above=0)
    return math.log1p((n - 1) * math.exp(-n / ((n - 1) * tau)))


def most_probable(n: int, tau: float) -> float:
    """The largest (geometric) mean probability of the right film: ``exp(-loss_floor(n, tau))``.

    Parameters
    ----------
    n : int
        The number of films, at least 2.
    tau : float
        The temperature.

    Returns
    -------
    float
        Between 1/n and 1.

    Raises
    ------
    ValueError
        As `loss_floor`.

    Examples
    --------
    >>> from course_lib.losses.floors import most_probable
    >>> round(most_probable(512, 1.0), 4)
    0.0053
    """
    return math.exp(-loss_floor(n, tau))


def largest_tau(n: int, probability: float) -> float:
    """The largest temperature at which n films can have this mean probability: the inverse of `most_probable`.

    Parameters
    ----------
    n : int
        The number of films, at least 2.
    probability : float
        What the right film is to have on (geometric) average, above 1/n and below 1.

    Returns
    -------
    float
        ``n / ((n - 1) log((n - 1) p / (1 - p)))``.

    Raises
    ------
    ValueError
        For a probability of 1/n or less, which every temperature reaches, and of 1 or more, which none does.

    Examples
    --------
    >>> from course_lib.losses.floors import largest_tau
    >>> round(largest_tau(682, 0.9), 3)
    0.115
    """
    n = checking.whole(n, "n", 2, MOST)
    probability = checking.real(probability, "probability", below=1)
    odds = (n - 1) * probability / (1 - probability)
    if probability <= 1 / n or odds <= 1:  # no more than 1/n, but for rounding
        raise ValueError(f"probability is {probability}; expected more than 1/n = {1 / n:g}, which every tau reaches")
    return n / ((n - 1) * math.log(odds))
