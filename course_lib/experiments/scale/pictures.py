"""SCALE-X3 and SCALE-X5 as pictures: what a step sends and how long it takes, recipe by recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from course_lib.experiments.core.pictures import HELD_LOOKS, OUR_LOOKS, Mark, Series, rows
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
    metrics = {"bytes": "kB that a process sends in a step", "step ms": "milliseconds of a step"}
    panels: dict[str, dict[str, list[Mark]]] = {title: {} for title in metrics.values()}
    for count, ours, held in zip(result.distinct("processes"), OUR_LOOKS, HELD_LOOKS, strict=False):
        looks = {
            "bytes": ("bytes", Series(f"{count} processes", ours)),
            "formula bytes": ("bytes", Series(f"formula for {count}", held)),
            "step ms": ("step ms", Series(f"{count} processes", ours)),
        }
        for metric, (place, series) in looks.items():
            for row in result.select(metric=metric, processes=count, **largest):
                if place == "step ms" or row["gather"] != "local":
                    amount = row["value"] / (1000 if place == "bytes" else 1)
                    panels[metrics[place]].setdefault(recipe(row), []).append(Mark(series, amount))
    said = f"Batches of {largest['batch']} pairs for each process, vectors of {largest['width']} numbers."
    return rows(panels, said, logarithmic=True)


def predicted(result: Result, processes: int = 4) -> str:
    """SCALE-X5: the measured time of a step and the prediction, by width, batch and recipe."""
    looks = {"step ms": Series("measured", "circle"), "predicted ms": Series("predicted", "bar")}
    panels: dict[str, dict[str, list[Mark]]] = {}
    for metric, series in looks.items():
        for row in result.select(metric=metric, processes=processes):
            panel = panels.setdefault(f"width {row['width']}: milliseconds of a step", {})
            panel.setdefault(f"batch {row['batch']}, {recipe(row)}", []).append(Mark(series, row["value"]))
    return rows(panels, f"Steps of {processes} processes, predicted from steps of two.", logarithmic=True)
