"""What P4's printed numbers say about P4's sentences, and what follows from them.

Data sets are `simple`, `fr`, `en` (links between Wikipedia pages) and `movielens`. Improvements are percentages of the
MAP of sampling.
"""

from course_lib.papers import Cell, select, table, value

HALF = 0.00005  # printed MAPs are rounded to four digits
ROUNDING = 0.05  # and percentages to one


def printed(dataset: str, quantity: str) -> float:
    """Return a number that P4 prints in its text for a data set.

    Parameters
    ----------
    dataset : str
        ``simple``, ``fr``, ``en`` or ``movielens``.
    quantity : str
        ``k``, ``batch_size``, ``lambda``, ``candidates``, ``sampling_hours``, and so on.

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
    >>> from course_lib.papers import p4
    >>> p4.printed("en", "sogram_hours"), p4.printed("en", "sampling_hours")
    (2.0, 50.0)
    """
    return value("P4", "numbers", dataset=dataset, quantity=quantity)


def improvement(dataset: str, alpha: float) -> float:
    """Return how much better SOGram's printed MAP is than that of sampling, in percent.

    It is computed from the two printed MAPs.

    Parameters
    ----------
    dataset : str
        ``simple``, ``fr`` or ``en``.
    alpha : float
        The rate of SOGram.

    Returns
    -------
    float
        The improvement in percent.

    Raises
    ------
    ValueError
        For a cell that Table 2 does not have.

    Examples
    --------
    0.1158 against 0.0886:

    >>> from course_lib.papers import p4
    >>> round(p4.improvement("fr", 0.001), 1)
    30.7
    """
    return 100 * (_map(dataset, alpha) / _map(dataset, None) - 1)


def improvement_interval(dataset: str, alpha: float) -> tuple[float, float]:
    """Return the least and the greatest improvement that the two printed, rounded MAPs leave open.

    Parameters
    ----------
    dataset : str
        ``simple``, ``fr`` or ``en``.
    alpha : float
        The rate of SOGram.

    Returns
    -------
    least, greatest : float
        The improvements in percent.

    Raises
    ------
    ValueError
        For a cell that Table 2 does not have.

    Examples
    --------
    The printed 30.7 % lies in this interval:

    >>> from course_lib.papers import p4
    >>> [round(percent, 2) for percent in p4.improvement_interval("fr", 0.001)]
    [30.57, 30.83]
    """
    sogram, sampling = _map(dataset, alpha), _map(dataset, None)
    return 100 * ((sogram - HALF) / (sampling + HALF) - 1), 100 * ((sogram + HALF) / (sampling - HALF) - 1)


def improvements_off_by_a_rounding() -> list[tuple[str, float]]:
    """Return the cells of Table 2 whose printed percentage is not that of the printed MAPs, rounded.

    Returns
    -------
    list of tuple
        The data set and the alpha of each such cell.

    Examples
    --------
    For alpha = 0.001, the MAPs 0.0306 and 0.0319 give -4.1 %, and -4.0 % is printed:

    >>> from course_lib.papers import p4
    >>> p4.improvements_off_by_a_rounding()
    [('simple', 0.001), ('simple', 0.01), ('simple', 0.1)]
    """
    return [(row["dataset"], row["alpha"]) for row in _sogram() if abs(_recomputed(row) - row["percent"]) > ROUNDING]


def impossible_improvements() -> int:
    """Return how many printed percentages of Table 2 no pair of MAPs with the printed roundings could give.

    Returns
    -------
    int
        The number of cells.

    Examples
    --------
    The MAPs before rounding can explain every printed percentage:

    >>> from course_lib.papers import p4
    >>> p4.impossible_improvements()
    0
    """
    count = 0
    for cell in _sogram():
        least, greatest = improvement_interval(cell["dataset"], cell["alpha"])
        count += not least - ROUNDING <= cell["percent"] <= greatest + ROUNDING
    return count


def worse_than_sampling() -> list[tuple[str, float]]:
    """Return the cells of Table 2 in which SOGram ends with a lower validation MAP than sampling.

    Returns
    -------
    list of tuple
        The data set and the alpha of each such cell.

    Examples
    --------
    >>> from course_lib.papers import p4
    >>> p4.worse_than_sampling()
    [('simple', 0.001), ('simple', 0.005), ('fr', 0.1)]
    """
    return [(cell["dataset"], cell["alpha"]) for cell in _sogram() if cell["value"] < _map(cell["dataset"], None)]


def count_worse_than_sampling() -> int:
    """Return how many of the twelve SOGram cells of Table 2 are below sampling.

    Returns
    -------
    int
        The number of cells.

    Examples
    --------
    >>> from course_lib.papers import p4
    >>> p4.count_worse_than_sampling()
    3
    """
    return len(worse_than_sampling())


def best_alpha(dataset: str) -> float:
    """Return the alpha with the highest printed MAP of a data set.

    Parameters
    ----------
    dataset : str
        ``simple``, ``fr`` or ``en``.

    Returns
    -------
    float
        The rate of SOGram.

    Examples
    --------
    >>> from course_lib.papers import p4
    >>> p4.best_alpha("simple"), p4.best_alpha("en")
    (0.01, 0.001)
    """
    return float(max(select(_sogram(), dataset=dataset), key=lambda cell: cell["value"])["alpha"])


def steps_per_epoch(dataset: str) -> float:
    """Return the number of batches in one pass through the links of Table 1.

    The caption of Table 1 calls the links the training set.

    Parameters
    ----------
    dataset : str
        ``simple``, ``fr`` or ``en``.

    Returns
    -------
    float
        The number of batches, not rounded.

    Examples
    --------
    4.6 million links in batches of 1024:

    >>> from course_lib.papers import p4
    >>> round(p4.steps_per_epoch("simple"), 1)
    4492.2
    """
    [row] = select(table("P4", "T1"), dataset=dataset)
    return float(row["links"] / printed(dataset, "batch_size"))


def sagram_gigabytes(dataset: str) -> float:
    """Return what SAGram would cache for both towers, in GB (1e9 bytes).

    It caches two float32 embeddings of width ``k`` for each link.

    Parameters
    ----------
    dataset : str
        ``simple``, ``fr`` or ``en``.

    Returns
    -------
    float
        The size of the cache.

    Examples
    --------
    >>> from course_lib.papers import p4
    >>> round(p4.sagram_gigabytes("simple"), 1), round(p4.sagram_gigabytes("en"), 1)
    (2.4, 501.8)
    """
    [row] = select(table("P4", "T1"), dataset=dataset)
    return float(2 * row["links"] * printed(dataset, "k") * 4 / 1e9)


def share_of_candidates(dataset: str) -> float:
    """Return the share of all pages that MAP@10 ranks.

    It ranks 50,000 random candidates, out of the pages of Table 1.

    Parameters
    ----------
    dataset : str
        ``simple``, ``fr`` or ``en``.

    Returns
    -------
    float
        The share.

    Examples
    --------
    On ``en`` it ranks less than one page in a hundred:

    >>> from course_lib.papers import p4
    >>> round(p4.share_of_candidates("simple"), 3), round(p4.share_of_candidates("en"), 4)
    (0.588, 0.0094)
    """
    [row] = select(table("P4", "T1"), dataset=dataset)
    return printed(dataset, "candidates") / int(row["pages"])


def _sogram() -> list[Cell]:
    return select(table("P4", "T2"), method="sogram")


def _map(dataset: str, alpha: float | None) -> float:
    return value("P4", "T2", dataset=dataset, alpha=alpha)


def _recomputed(cell: Cell) -> float:
    return improvement(cell["dataset"], cell["alpha"])
