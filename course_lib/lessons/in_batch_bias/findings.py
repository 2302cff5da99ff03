"""What the chapter on in-batch sampling says of data, and in which cases it holds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from course_lib import papers
from course_lib.lessons.shared.findings import Difference, finding
from course_lib.papers import agreement

RATIOS = (1e-5, 1e-3, 1e-1)  # the batch ratios of the page's own runs


# ---- the page's own runs: one result for each seed


def _p5(runs: Sequence[Any], **where: Any) -> np.ndarray:
    """P@5 in percent of each seed."""
    wanted = {"serving": "raw", **where}
    return np.array([run.mean("P@5", selection="test", **wanted) for run in runs])


@finding("In-Batch finds less than Unbiased", case="pair of loss and batch ratio")
def in_batch_finds_less(runs: Sequence[Any]) -> dict[str, Difference]:
    """P@5 of Unbiased minus that of In-Batch, over seeds."""
    return {
        f"{pointwise}, {ratio:g}": Difference.paired(
            _p5(runs, pointwise=pointwise, loss="unbiased", ratio=ratio),
            _p5(runs, pointwise=pointwise, loss="in_batch", ratio=ratio),
        )
        for pointwise in ("square", "logistic")
        for ratio in RATIOS
    }


@finding("In-Batch finds less at the largest batch ratio than at the smallest", case="kind of loss")
def in_batch_falls(runs: Sequence[Any]) -> dict[str, Difference]:
    """P@5 at the smallest ratio minus that at the largest, over seeds."""
    return {
        pointwise: Difference.paired(
            _p5(runs, pointwise=pointwise, loss="in_batch", ratio=RATIOS[0]),
            _p5(runs, pointwise=pointwise, loss="in_batch", ratio=RATIOS[-1]),
        )
        for pointwise in ("square", "logistic")
    }


@finding("Pos-Neg finds more at the largest batch ratio than at the smallest", case="kind of loss")
def pos_neg_climbs(runs: Sequence[Any]) -> dict[str, Difference]:
    """P@5 at the largest ratio minus that at the smallest, over seeds."""
    return {
        pointwise: Difference.paired(
            _p5(runs, pointwise=pointwise, loss="pos_neg", ratio=RATIOS[-1]),
            _p5(runs, pointwise=pointwise, loss="pos_neg", ratio=RATIOS[0]),
        )
        for pointwise in ("square", "logistic")
    }


@finding(
    "With the square loss Unbiased keeps at least three quarters of its P@5 at the largest batches", case="data set"
)
def unbiased_keeps_most(runs: Sequence[Any]) -> dict[str, Difference]:
    """P@5 at the largest ratio minus 3/4 of that at the smallest, over seeds."""
    small, large = (_p5(runs, pointwise="square", loss="unbiased", ratio=ratio) for ratio in (RATIOS[0], RATIOS[-1]))
    return {"MovieTweetings": Difference.paired(large, 0.75 * small)}


@finding("With the logistic loss Unbiased finds less at the largest batch ratio than at the smallest", case="data set")
def logistic_unbiased_falls(runs: Sequence[Any]) -> dict[str, Difference]:
    """P@5 at the smallest ratio minus that at the largest, over seeds."""
    small, large = (_p5(runs, pointwise="logistic", loss="unbiased", ratio=ratio) for ratio in (RATIOS[0], RATIOS[-1]))
    return {"MovieTweetings": Difference.paired(small, large)}


@finding(
    "In-Batch finds more when its scores are multiplied by the popularity of the film",
    case="batch ratio",
    claimed={"1e-05", "0.1"},
)
def serving_times_popularity_helps(runs: Sequence[Any]) -> dict[str, Difference]:
    """P@5 of the scores times popularity minus that of the scores as they are, square loss, over seeds."""
    return {
        f"{ratio:g}": Difference.paired(
            _p5(runs, pointwise="square", loss="in_batch", ratio=ratio, serving="times popularity"),
            _p5(runs, pointwise="square", loss="in_batch", ratio=ratio),
        )
        for ratio in RATIOS
    }


# ---- the stored tables of P3


def _closed_form(t6: Any, loss: str, serving: str, metric: str) -> np.ndarray:
    where = {"data": "ml-1m", "method": "closed form"}
    return np.array(t6.values(metric, loss=loss, serving=serving, **where))


METRICS = ("P@1", "P@5", "P@25", "R@5")  # those that the lab shows


@finding(
    "Multiplied by popularity, the exact optimum of In-Batch finds more than that of all pairs",
    case="metric",
    rests_on=["P3-T6-laptop"],
)
def multiplied_beats_all_pairs(t6: Any) -> dict[str, Difference]:
    """The metric of the Popularity optimum, scores times popularity, minus that of the Unbiased one, over splits."""
    return {
        metric: Difference.paired(
            _closed_form(t6, "popularity", "times popularity", metric), _closed_form(t6, "unbiased", "raw", metric)
        )
        for metric in METRICS
    }


@finding(
    "Multiplied by popularity, the exact optimum of In-Batch is level with the best number that P3 prints",
    case="metric",
    rests_on=["P3-T6-laptop"],
)
def multiplied_is_level_with_print(t6: Any) -> dict[str, Difference]:
    """What another split may change, minus the distance from the best of P3's Tables 5 and 6, square loss, ML-1M."""
    return {
        metric: Difference(_of_one_more(found) - abs(found.mean() - _best_printed(metric)), n=len(found))
        for metric in METRICS
        if len(found := _closed_form(t6, "popularity", "times popularity", metric))
    }


def _best_printed(metric: str) -> float:
    tables = (papers.table("P3", name) for name in ("T5", "T6"))
    where = {"dataset": "ml-1m", "pointwise": "square", "metric": metric}
    return float(max(cell["value"] for table in tables for cell in papers.select(table, **where)))


def _of_one_more(values: np.ndarray) -> float:
    """Half of Student's 95 % interval for the difference of one more value from the mean of these n."""
    return agreement.pooled([values]).of_one_more(len(values))


@finding(
    "P@5 of Table 6 agrees with ours within what another split may change",
    case="objective",
    claimed={"Unbiased", "Pos-Neg-ω, 0.1", "Pos-Neg-ω, 0.01", "Pos-Neg-ω, 0.001"},
    rests_on=["P3-T6-laptop"],
)
def table_6_agrees(t6: Any) -> dict[str, Difference]:
    """What another split may change, minus the distance of our mean from the printed P@5; square loss, ML-1M, L-BFGS.

    The printed number is of one split. A 95 % interval for one more split has the half width t s √(1 + 1/n) around our
    mean of n splits, with the standard deviation s of a split pooled over all cells.
    """
    cells = _table_6_cells(t6)
    return {
        name: Difference(one_more_split(t6, len(ours)) - abs(float(ours.mean()) - printed), n=len(ours))
        for name, (ours, printed) in cells.items()
    }


def _table_6_cells(t6: Any) -> dict[str, tuple[np.ndarray, float]]:
    """Name -> (P@5 of each split, printed P@5) for the converged cells with more than one split."""
    where = {"data": "ml-1m", "method": "L-BFGS", "serving": "raw", "metric": "P@5", "stopped": "gradient norm reached"}
    names = {"unbiased": "Unbiased", "pos_neg_omega": "Pos-Neg-ω"}
    found: dict[str, tuple[np.ndarray, float]] = {}
    for loss, name in names.items():
        for ratio in dict.fromkeys(row["ratio"] for row in t6.select(loss=loss, **where)):  # None without batches
            rows = t6.select(loss=loss, ratio=ratio, **where)
            label = name if ratio is None else f"{name}, {ratio:g}"
            found[label] = np.array([row["value"] for row in rows]), rows[0]["paper"]
    return found


def one_more_split(t6: Any, n: int) -> float:
    """Half width t s √(1 + 1/n), in points of P@5, of a 95 % interval for one more split around a mean of n."""
    return agreement.pooled([ours for ours, _ in _table_6_cells(t6).values()]).of_one_more(n)


@finding("Pos-Neg finds more with every larger batch ratio", case="step", rests_on=["P3-T5-laptop"])
def pos_neg_climbs_on_ml1m(t5: Any) -> dict[str, Difference]:
    """P@5 at each ratio minus that at the next smaller one; square loss, ML-1M, one seed."""
    where = {"data": "ml-1m", "pointwise": "square", "loss": "pos_neg", "selection": "test", "serving": "raw"}
    ratios = sorted(t5.distinct("ratio", **where))
    return {
        f"{small:g} to {large:g}": Difference(
            t5.mean("P@5", ratio=large, **where) - t5.mean("P@5", ratio=small, **where)
        )
        for small, large in pairwise(ratios)
    }


@finding(
    "With the square loss Unbiased finds less at the largest batch ratio than at the smallest",
    case="data set",
    rests_on=["P3-T5-laptop"],
)
def unbiased_falls_on_ml1m(t5: Any) -> dict[str, Difference]:
    """P@5 at the smallest ratio minus that at the largest; square loss, one seed."""
    where = {"data": "ml-1m", "pointwise": "square", "loss": "unbiased", "selection": "test", "serving": "raw"}
    ratios = sorted(t5.distinct("ratio", **where))
    small, large = (t5.mean("P@5", ratio=ratio, **where) for ratio in (ratios[0], ratios[-1]))
    return {"ML-1M": Difference(small - large)}


@finding(
    "Under the logistic loss a smaller ω helps",
    case="batch ratio",
    rests_on=["P3-T5-laptop"],
)
def small_omega_helps_on_ml100k(t5: Any) -> dict[str, Difference]:
    """P@5 of Unbiased-ω minus that of Unbiased; ML-100K, logistic loss, one seed."""
    where = {"data": "ml-100k", "pointwise": "logistic", "selection": "test", "serving": "raw"}
    return {
        f"{ratio:g}": Difference(
            t5.mean("P@5", loss="unbiased_omega", ratio=ratio, **where)
            - t5.mean("P@5", loss="unbiased", ratio=ratio, **where)
        )
        for ratio in sorted(t5.distinct("ratio", **where))
    }


# ---- the lab's own runs of an in-batch softmax: P@5 of each seed


@finding("An in-batch softmax finds more with the logQ correction than without", case="data set")
def logq_finds_more(corrected: Sequence[float], plain: Sequence[float]) -> dict[str, Difference]:
    """P@5 with the correction minus that without, over seeds."""
    return {"MovieTweetings": Difference.paired(corrected, plain)}


@finding(
    "An in-batch softmax without logQ finds more when the log of the popularity is added at serving", case="data set"
)
def log_popularity_at_serving_helps(served: Sequence[float], plain: Sequence[float]) -> dict[str, Difference]:
    """P@5 of the scores plus log popularity minus that of the scores as they are, over seeds."""
    return {"MovieTweetings": Difference.paired(served, plain)}
