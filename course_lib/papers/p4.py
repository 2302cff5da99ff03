"""What P4's printed numbers say about P4's sentences, and what follows from them.

Data sets are `simple`, `fr`, `en` (links between Wikipedia pages) and `movielens`. Improvements are percentages of the
MAP of sampling.
"""

from course_lib.papers import Cell, select, table, value

HALF = 0.00005  # printed MAPs are rounded to four digits
ROUNDING = 0.05  # and percentages to one


def printed(dataset: str, quantity: str) -> float:
    """A number that the text prints for a data set: `k`, `batch_size`, `lambda`, `candidates`, `sampling_hours`, ...

    Raises ValueError for a number that the paper does not print.
    """
    return value("P4", "numbers", dataset=dataset, quantity=quantity)


def improvement(dataset: str, alpha: float) -> float:
    """How much better SOGram's printed MAP is than that of sampling, in percent, computed from the two printed MAPs."""
    return 100 * (_map(dataset, alpha) / _map(dataset, None) - 1)


def improvement_interval(dataset: str, alpha: float) -> tuple[float, float]:
    """The least and the greatest improvement in percent that the two printed, rounded MAPs leave open."""
    sogram, sampling = _map(dataset, alpha), _map(dataset, None)
    return 100 * ((sogram - HALF) / (sampling + HALF) - 1), 100 * ((sogram + HALF) / (sampling - HALF) - 1)


def improvements_off_by_a_rounding() -> list[tuple[str, float]]:
    """Cells of Table 2 whose printed percentage is not that of the printed MAPs, rounded."""
    return [(row["dataset"], row["alpha"]) for row in _sogram() if abs(_recomputed(row) - row["percent"]) > ROUNDING]


def impossible_improvements() -> int:
    """How many printed percentages of Table 2 no pair of MAPs with the printed roundings could give."""
    count = 0
    for cell in _sogram():
        least, greatest = improvement_interval(cell["dataset"], cell["alpha"])
        count += not least - ROUNDING <= cell["percent"] <= greatest + ROUNDING
    return count


def worse_than_sampling() -> list[tuple[str, float]]:
    """(data set, alpha) of the cells of Table 2 in which SOGram ends with a lower validation MAP than sampling."""
    return [(cell["dataset"], cell["alpha"]) for cell in _sogram() if cell["value"] < _map(cell["dataset"], None)]


def count_worse_than_sampling() -> int:
    """How many of the twelve SOGram cells of Table 2 are below sampling."""
    return len(worse_than_sampling())


def best_alpha(dataset: str) -> float:
    """The alpha with the highest printed MAP of a data set."""
    return float(max(select(_sogram(), dataset=dataset), key=lambda cell: cell["value"])["alpha"])


def steps_per_epoch(dataset: str) -> float:
    """Batches in one pass through the links of Table 1, which its caption calls the training set."""
    [row] = select(table("P4", "T1"), dataset=dataset)
    return float(row["links"] / printed(dataset, "batch_size"))


def sagram_gigabytes(dataset: str) -> float:
    """What SAGram would cache for both towers, in GB (1e9 bytes): two float32 embeddings of width k for each link."""
    [row] = select(table("P4", "T1"), dataset=dataset)
    return float(2 * row["links"] * printed(dataset, "k") * 4 / 1e9)


def share_of_candidates(dataset: str) -> float:
    """The share of all pages that MAP@10 ranks: the 50,000 random candidates, as a part of the pages of Table 1."""
    [row] = select(table("P4", "T1"), dataset=dataset)
    return printed(dataset, "candidates") / int(row["pages"])


def _sogram() -> list[Cell]:
    return select(table("P4", "T2"), method="sogram")


def _map(dataset: str, alpha: float | None) -> float:
    return value("P4", "T2", dataset=dataset, alpha=alpha)


def _recomputed(cell: Cell) -> float:
    return improvement(cell["dataset"], cell["alpha"])
