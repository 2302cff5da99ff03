"""P1's results in the shape that the chapters' figures draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from course_lib.experiments.core.results import Result
from course_lib.experiments.core.summary import spread
from course_lib.experiments.p1.tuning import METHODS, TOP


def accuracy_points(result: Result, data: str, *, accuracy: str = "MRR@10") -> dict[str, dict[str, tuple[float, ...]]]:
    """What `plots.accuracy_and_popularity` draws from P1-T3 (or T2, T4).

    backbone -> method -> (change of AvgPop@10, change of accuracy, halves of both intervals). Changes are in percent of
    the same seed's backbone, so that their 95 % intervals are those of pairs; one seed has none.
    """
    found: dict[str, dict[str, tuple[float, ...]]] = {}
    for backbone in result.distinct("backbone", data=data):
        for method in METHODS:
            where = {"data": data, "backbone": backbone, "method": method}
            pair = [result.values(f"{metric} change %", **where) for metric in ("AvgPop@10", accuracy)]
            if pair[0]:
                halves = [spread(values) for values in pair]
                found.setdefault(backbone, {})[method] = (*(float(np.mean(values)) for values in pair), *halves)
    return found


def projection_panels(result: Result, data: str) -> dict[str, tuple[list[float], list[float], str]]:
    """What `plots.projection_panels` draws from P1-F1.

    Some items of the first seed that was run, with the correlations over all items.
    """
    panels = {}
    for backbone in result.distinct("backbone", data=data):
        for state in ("trained", "untrained"):
            where = {"data": data, "backbone": backbone, "state": state}
            first = min(result.select(metric="points", **where), key=lambda row: row["seed"])
            counts, along = first["points"]
            r, crossed = (result.mean(metric, **where) for metric in ("Pearson", "cross-fitted"))
            panels[f"{backbone}, {state}"] = counts, along, f"r = {r:.2f}\ncross-fitted {crossed:.2f}"
    return panels


def sign_groups(
    result: Result, data: str, top: float = TOP
) -> tuple[dict[str, dict[str, list[float]]], tuple[str, ...]]:
    """What `plots.sign_of_alpha` draws from P1-X1, means over seeds, and the groups that are one model moved.

    The groups: models by backbone and law of negatives as they were trained, then those whose items were moved
    together.
    """
    keys = {"centroid": "centroid", "alpha < 0": "negative", "AvgPop@10 change %": "change"}
    settings = ("backbone", "decay", "negatives", "epochs", "shift")
    points: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    for row in result.select(data=data, top=top, metric=tuple(keys)):
        model = points.setdefault(tuple(row[key] for key in settings), {})
        model.setdefault(keys[row["metric"]], []).append(row["value"])
    movers = dict.fromkeys(key[:-1] for key in points if key[-1] != 0)
    groups: dict[str, dict[str, list[float]]] = {}

    def add(name: str, key: tuple[Any, ...]) -> None:
        for what, values in points[key].items():
            groups.setdefault(name, {}).setdefault(what, []).append(float(np.mean(values)))

    for key in points:
        if key[-1] == 0:
            add(f"{key[0]}, negatives {key[2]}" if key[0] == "MF" else key[0], key)
    names = {model: f"one MF model, items moved (decay {model[1]:g})" for model in movers}
    for key in points:
        if key[:-1] in movers:
            add(names[key[:-1]], key)
    return groups, tuple(names.values())
