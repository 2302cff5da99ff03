"""What the chapter on Gramian estimators says of data, and in which cases it holds."""

from __future__ import annotations

from typing import Any

from course_lib.lessons.shared.findings import Difference, finding

BATCHES = (128, 1024)


# ---- Figure 2 on Wikispeedia: the error over the second half of one run


def _late(f2: Any, estimator: str, batch: int) -> float:
    return float(f2.mean("error late", estimator=estimator, batch=batch))


@finding("SOGram is closer to the Gramian than sampling", case="batch size", rests_on=["P4-F2-laptop"])
def sogram_is_closer(f2: Any) -> dict[str, Difference]:
    """Error of sampling minus that of SOGram (α = 0.01) with the same batches; Wikispeedia."""
    return {str(batch): Difference(_late(f2, "sampling", batch) - _late(f2, "sogram 0.01", batch)) for batch in BATCHES}


@finding(
    "SOGram with batches of 128 is closer to the Gramian than sampling with 1024",
    case="data set",
    rests_on=["P4-F2-laptop"],
)
def sogram_needs_less(f2: Any) -> dict[str, Difference]:
    """Error of sampling with 1024 minus that of SOGram (α = 0.01) with 128."""
    return {"Wikispeedia": Difference(_late(f2, "sampling", 1024) - _late(f2, "sogram 0.01", 128))}


@finding(
    "SAGram with β = 1 is the closest of all to the Gramian",
    case="batch size",
    claimed={"1024"},
    rests_on=["P4-F2-laptop"],
)
def beta_one_is_closest(f2: Any) -> dict[str, Difference]:
    """Least error of the other estimators minus that of SAGram with β = 1, the same batches; Wikispeedia."""
    others = ("sampling", "sogram 0.01", "sagram 1/n")
    return {
        str(batch): Difference(min(_late(f2, other, batch) for other in others) - _late(f2, "sagram 1", batch))
        for batch in BATCHES
    }


# ---- Table 2 on Wikispeedia and Figure 8 on ratings: MAP@10 at the end of one run


def _behind(stored: Any, rate: float) -> Difference:
    """MAP@10 of sampling minus that of SOGram with this rate."""
    return Difference(stored.mean("map@10", method="sampling") - stored.mean("map@10", method=f"sogram {rate:g}"))


@finding(
    "SOGram with a rate below 0.1 ends below sampling",
    case="pair of data set and rate",
    rests_on=["P4-T2-laptop", "P4-F8-laptop"],
)
def slow_sogram_ends_below(table_2: Any, figure_8: Any) -> dict[str, Difference]:
    """MAP@10 of sampling minus that of SOGram; Wikispeedia and the ratings of ML-100K."""
    rates = {"Wikispeedia": (table_2, (0.001, 0.005, 0.01)), "ML-100K": (figure_8, (0.001, 0.01))}
    return {f"{data}, {rate:g}": _behind(stored, rate) for data, (stored, some) in rates.items() for rate in some}


@finding(
    "SOGram with the rate 0.1 ends ahead of sampling by more than a tenth",
    case="data set",
    claimed={"ML-100K, ratings"},
    rests_on=["P4-T2-laptop", "P4-F8-laptop"],
)
def fast_sogram_ends_ahead(table_2: Any, figure_8: Any) -> dict[str, Difference]:
    """MAP@10 of SOGram over that of sampling, minus 1.1."""
    return {
        data: Difference(stored.mean("map@10", method="sogram 0.1") / stored.mean("map@10", method="sampling") - 1.1)
        for data, stored in (("Wikispeedia", table_2), ("ML-100K, ratings", figure_8))
    }
