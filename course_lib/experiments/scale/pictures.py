"""SCALE-X3 and SCALE-X5 as pictures: what a step sends and how long it takes, recipe by recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from course_lib.experiments.core.pictures import HELD_LOOKS, OUR_LOOKS, Series, rows
from course_lib.experiments.core.results import Result

GATHER = {
    "local": "nothing gathered",
    "constant": "gathered as constants",
    "gradients": "gathered with gradients",
    "d x d sums": "two Gramians",
}
ROWS = {"own": "own rows", "all": "all rows"}


def recipe(row: Mapping[str, Any]) -> str:
    """What a process gathers, and whose rows enter its loss, in words; a Gramian has no rows to choose."""
    gather = GATHER[row["gather"]]
    return gather if row["gather"] == "d x d sums" else f"{gather}, {ROWS[row['rows']]}"


def traffic(result: Result) -> str:
    """SCALE-X3 at its largest batch and width: bytes beside the formula's, and milliseconds of a step.

    The recipe that gathers nothing sends nothing but headers; on a logarithmic axis it has no place among the bytes.
    """
    largest: dict[str, Any] = {name: max(result.distinct(name)) for name in ("batch", "width")}
    series = {}
    for count, ours, held in zip(result.distinct("processes"), OUR_LOOKS, HELD_LOOKS, strict=False):
        series["bytes", count] = series["step ms", count] = Series(f"{count} processes", ours)
        series["formula bytes", count] = Series(f"formula for {count}", held)
    found = pd.concat(result.frame(metric=metric, **largest) for metric in ("bytes", "formula bytes", "step ms"))
    is_time = found["metric"] == "step ms"
    found = found.assign(
        panel=np.where(is_time, "milliseconds of a step", "kB that a process sends in a step"),
        name=[recipe(row) for row in found.to_dict("records")],
        series=[series[key] for key in zip(found["metric"], found["processes"], strict=True)],
        value=found["value"] / np.where(is_time, 1, 1000),
    )[is_time | (found["gather"] != "local")]
    said = f"Batches of {largest['batch']} pairs for each process, vectors of {largest['width']} numbers."
    return rows(found, said, logarithmic=True)


def predicted(result: Result, processes: int = 4) -> str:
    """SCALE-X5: the measured time of a step and the prediction, by width, batch and recipe."""
    looks = {"step ms": Series("measured", "circle"), "predicted ms": Series("predicted", "bar")}
    found = result.frame(metric=tuple(looks), processes=processes)
    found = found.assign(
        panel=[f"width {width}: milliseconds of a step" for width in found["width"]],
        name=[f"batch {row['batch']}, {recipe(row)}" for row in found.to_dict("records")],
        series=found["metric"].map(looks),
    )
    return rows(found, f"Steps of {processes} processes, predicted from steps of two.", logarithmic=True)
