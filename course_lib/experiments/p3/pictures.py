"""P3-T5, served in two ways, and P3-X1, as pictures."""

from __future__ import annotations

from course_lib.experiments.core.display import text_of
from course_lib.experiments.core.pictures import Series, curves, named, rows
from course_lib.experiments.core.results import Result


def reversal(result: Result) -> str:
    """P3-X1: precision of three losses, first the data on which the unbiased loss stands furthest behind in-batch."""
    losses = {
        "unbiased": Series("Unbiased", "circle"),
        "in_batch": Series("In-Batch", "diamond"),
        "pos_neg": Series("Pos-Neg", "triangle"),
    }
    found = result.frame(metric=("P@1", "P@5"), ratio=(None, 1e-3), loss=tuple(losses))
    found["name"] = found["data"].map(text_of) + "; width " + found["k"].astype(str)
    at_one = found[found["metric"] == "P@1"].pivot_table(index="name", columns="loss", values="value")
    behind = found["name"].map(at_one["unbiased"] - at_one["in_batch"])
    found = found.assign(panel=found["metric"] + ", %", series=found["loss"].map(losses), behind=behind)
    said = "In-Batch and Pos-Neg at batch ratio 0.001. On top the data on which Unbiased is furthest behind In-Batch."
    return rows(found.sort_values(["panel", "behind"], kind="stable"), said, side_by_side=True)


def ratios(result: Result, metric: str = "P@5") -> str:
    """P3-T5 along the batch ratio: scores served as they are, and corrected for popularity; cross-fitted."""
    found = result.frame(metric=metric, selection="cross-fitted")
    title = found["data"].map(text_of) + f": {metric} in %, served " + found["serving"]
    series = found["loss"].map(named(result.distinct("loss"), column="loss"))
    said = "Square loss on ML-1M, logistic loss on ML-100K; each checkpoint was chosen on other users."
    found = found.assign(panel=title, series=series, x=found["ratio"])
    return curves(found, said, x="batch ratio", level=0, logarithmic=True)
