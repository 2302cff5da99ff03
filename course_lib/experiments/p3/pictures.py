"""P3-T5, served in two ways, and P3-X1, as pictures."""

from __future__ import annotations

from course_lib.experiments.core.display import text_of
from course_lib.experiments.core.pictures import Curve, Mark, Series, curves, named, rows
from course_lib.experiments.core.results import Result


def reversal(result: Result) -> str:
    """P3-X1: precision of three losses, first the data on which the unbiased loss stands furthest behind in-batch."""
    losses = {
        ("unbiased", None): Series("Unbiased", "circle"),
        ("in_batch", 1e-3): Series("In-Batch", "diamond"),
        ("pos_neg", 1e-3): Series("Pos-Neg", "triangle"),
    }
    models = dict.fromkeys((row["data"], row["k"]) for row in result.rows)

    def behind(model: tuple[str, int]) -> float:
        data, k = model
        at_one = (result.mean("P@1", data=data, k=k, loss=loss, ratio=ratio) for loss, ratio in list(losses)[:2])
        unbiased, in_batch = at_one
        return unbiased - in_batch

    panels = {
        f"{metric}, %": {
            f"{text_of(data)}; width {k}": [
                Mark.of(series, result.values(metric, data=data, k=k, loss=loss, ratio=ratio))
                for (loss, ratio), series in losses.items()
            ]
            for data, k in sorted(models, key=behind)
        }
        for metric in ("P@1", "P@5")
    }
    said = "In-Batch and Pos-Neg at batch ratio 0.001. On top the data on which Unbiased is furthest behind In-Batch."
    return rows(panels, said, side_by_side=True)


def ratios(result: Result, metric: str = "P@5") -> str:
    """P3-T5 along the batch ratio: scores served as they are, and corrected for popularity; cross-fitted."""
    panels: dict[str, list[Curve]] = {}
    losses = named(result.distinct("loss"), column="loss")
    for data in result.distinct("data"):
        for serving in result.distinct("serving", data=data):
            served = "served raw" if serving == "raw" else f"served {serving}"
            panel = panels.setdefault(f"{text_of(data)}: {metric} in %, {served}", [])
            for loss, series in losses.items():
                chosen = result.select(metric=metric, data=data, serving=serving, loss=loss, selection="cross-fitted")
                found = {row["ratio"]: Mark(series, row["value"]) for row in chosen}
                panel += [Curve(series, list(found), list(found.values()))] if found else []
    said = "Square loss on ML-1M, logistic loss on ML-100K; each checkpoint was chosen on other users."
    return curves(panels, said, x="batch ratio", level=0, logarithmic=True)
