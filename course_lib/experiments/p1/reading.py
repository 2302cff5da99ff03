"""P1's results in the shape that the chapters' figures draw."""

from __future__ import annotations

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
    model = ["backbone", "decay", "negatives", "epochs"]
    rows = result.frame(data=data, top=top, metric=tuple(keys)).replace({"metric": keys})
    means = rows.pivot_table(index=[*model, "shift"], columns="metric", values="value", sort=False)
    points, moved = means.reset_index(), means.reset_index(level="shift")
    moved = moved.loc[moved.index[moved["shift"] != 0].unique()].reset_index()
    names = moved["decay"].map("one MF model, items moved (decay {:g})".format)
    trained = points[points["shift"] == 0]
    own = trained["backbone"].where(trained["backbone"] != "MF", "MF, negatives " + trained["negatives"])
    return {
        name: group[[*keys.values()]].to_dict("list")
        for part, by in ((trained, own), (moved, names))
        for name, group in part.groupby(by, sort=False)
    }, tuple(names.unique())
