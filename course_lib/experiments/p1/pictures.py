"""P1's Tables 2, 3 and 5 and Figures 3 and 4 beside our stored results, as pictures.

P1's data cannot be had here, so no printed accuracy stands beside one of ours. What both have is a number relative to
the plain backbone of the same table: the change of the accuracy in percent, and the part of the loss that is left.
"""

from __future__ import annotations

from typing import Any

from course_lib.experiments.core.display import text_of
from course_lib.experiments.core.pictures import (
    HELD_LOOKS,
    Curve,
    Mark,
    Series,
    curves,
    named,
    relative,
    rows,
)
from course_lib.experiments.core.results import Result, load_result
from course_lib.papers import Cell, p1, select, table, value

SETS = {"amazon-book": "Amazon-Book", "yelp": "Yelp", "tmall": "Tmall"}
PRINTED = {data: Series(f"P1 on {name}", look) for (data, name), look in zip(SETS.items(), HELD_LOOKS, strict=True)}
BACKBONE, TMALL = "backbone", "tmall"


def other_data() -> str:
    """How the data differ, as the end of a caption."""
    theirs = min(row["users"] for row in table("P1", "T1"))
    ours = max(load_result("P1-T1", "laptop").values("users"))
    return (
        f"The data differ: each of P1's sets has {int(theirs / ours)} times as many users as ours, or more. "
        "Each of our seeds is compared with its own backbone."
    )


def over_plain(name: str, cell: Cell) -> Mark:
    """A number of Table 2, 3, 4 or 5 as change in percent of the plain backbone's, from the two printed numbers."""
    same = {key: cell[key] for key in ("backbone", "dataset", "metric")}
    return Mark(PRINTED[cell["dataset"]], 100 * (cell["value"] / value("P1", name, method=None, **same) - 1))


def changes(result: Result, metric: str, column: str, plain: Any, **where: Any) -> dict[Any, list[Mark]]:
    """Value of a column -> our changes of a metric in percent of the rows whose column is `plain`, by data set."""
    found: dict[Any, list[Mark]] = {}
    for data, series in ours(result).items():
        at = where | {"data": data}
        for choice in result.distinct(column):
            values = relative(result, metric, at | {column: choice}, at | {column: plain})
            if values and choice != plain:
                found.setdefault(choice, []).append(Mark.of(series, values))
    return found


def ours(result: Result) -> dict[str, Series]:
    """Data set -> its look."""
    return named(result.distinct("data"), "ours on {}")


def gains(result: Result) -> str:
    """Table 2: what DDC changes on five backbones, in percent of the backbone."""
    panels: dict[str, dict[str, list[Mark]]] = {}
    for metric in ("MRR@10", "NDCG@10"):
        panel = panels.setdefault(f"{metric}, change by DDC in %", {})
        for name in dict.fromkeys(cell["backbone"] for cell in table("P1", "T2")):
            printed = select(table("P1", "T2"), backbone=name, method="DDC", metric=metric)
            mine = changes(result, metric, "method", None, backbone=name).get("DDC", [])
            panel[name] = [*mine, *(over_plain("T2", cell) for cell in printed)]
    return rows(panels, f"A change of 0 is the backbone without DDC. {other_data()}", level=0)


def rivals(result: Result, metric: str = "MRR@10") -> str:
    """Table 3: what seven methods and DDC change on MF and LightGCN, in the order of the table."""
    panels = {}
    for backbone in ("MF", "LightGCN"):
        found = changes(result, metric, "method", None, backbone=backbone)
        panels[f"{backbone}: {metric}, change in %"] = {
            method: [*found.get(method, []), *_printed("T3", backbone=backbone, method=method, metric=metric)]
            for method in p1.methods()
        }
    return rows(panels, f"A change of 0 is the plain backbone. {other_data()}", level=0)


def rules(result: Result, metric: str = "MRR@10") -> str:
    """Table 5: nine update rules and two ablations, best printed first; P1 has MF alone."""
    order = sorted((cell for cell in _cells("T5", metric=metric)), key=lambda cell: -cell["value"])
    panels = {}
    for backbone in ("MF", "LightGCN"):
        found = changes(result, metric, "rule", BACKBONE, backbone=backbone)
        panels[f"{backbone}: {metric}, change in %"] = {
            text_of(cell["method"]): [
                *found.get(cell["method"], []),
                *_printed("T5", **{**_place(cell), "backbone": backbone}),
            ]
            for cell in order
        }
    said = (
        "The first word of a rule says which direction is added to the user for the positive item, the second which "
        "one for the negative item. Best printed rule first. "
    )
    return rows(
        panels, f"{said}A change of 0 is the plain backbone. P1 prints no LightGCN here. {other_data()}", level=0
    )


def along_k(result: Result) -> str:
    """Figure 3: accuracy and popularity along k, with P1's best k, and its numbers at k = 0.3, which Table 4 prints."""
    at_once, best = Series("P1 on Tmall, Table 4", "height"), Series("P1's best k on Tmall", "place")
    panels = {}
    for metric in ("MRR@10", "AvgPop@10"):
        for backbone in ("MF", "LightGCN"):
            found = changes(result, metric, "top", 0.0, backbone=backbone)
            drawn = []
            for series in ours(result).values():
                on = {k: mark for k, marks in found.items() for mark in marks if mark.series == series}
                drawn += [Curve(series, list(on), list(on.values()))] if on else []
            [printed] = _printed("T4", backbone=backbone, method="DDC", metric=metric)
            drawn.append(Curve(at_once, [p1.printed("top_share")], [Mark(at_once, printed.value)]))
            if metric == "MRR@10":
                drawn.append(Curve(best, [p1.printed(f"best_top_share_{backbone.lower()}", TMALL)]))
            panels[f"{backbone}: {metric}, change in %"] = drawn
    said = (
        "A change of 0 is the backbone without DDC. P1's Figure 3 prints no numbers, but Table 4 has those of k = 0.3. "
    )
    return curves(panels, said + other_data(), x="k, share of the user's items", level=0)


def losses(result: Result) -> str:
    """Figure 4: the part of the loss that is left after DDC, of the vectors that are served and of the objective."""
    kinds = {"loss ratio": "loss of the served vectors", "objective ratio": "loss that DDC minimises"}
    printed = {"MF": "amazon-book", "LightGCN": "yelp"}
    panel = {}
    for backbone, data in printed.items():
        for metric, name in kinds.items():
            marks = [
                Mark.of(series, values)
                for mine, series in ours(result).items()
                if (values := result.values(metric, data=mine, backbone=backbone))
            ]
            panel[f"{backbone}: {name}"] = [*marks, Mark(PRINTED[data], p1.loss_ratio(backbone, data))]
    said = (
        "A ratio of 1 leaves the loss as it was. P1 prints two losses before and after, and says that both are of the "
        "served vectors; the two lines of a backbone repeat the one printed ratio. "
    )
    return rows({"loss after DDC / loss before": panel}, said + other_data(), level=1, logarithmic=True)


def _cells(name: str, **where: Any) -> list[Cell]:
    """The cells of a table but for those of the plain backbone."""
    return [cell for cell in select(table("P1", name), **where) if cell["method"] is not None]


def _printed(name: str, **where: Any) -> list[Mark]:
    return [over_plain(name, cell) for cell in _cells(name, **where)]


def _place(cell: Cell) -> Cell:
    return {key: cell[key] for key in ("method", "dataset", "metric")}


def axes(result: Result) -> str:
    """P1-X2: the first singular vector under six laws; two of them also after training."""
    metrics = {
        "first axis": "first axis: |r| with popularity",
        "one side": "share of users on one side of it",
        "widest": "widest axis after training: |r|",
        "share": "after training: share of the variance",
    }
    panels = {
        title: {
            law: [
                Mark.of(series, values)
                for data, series in named(result.distinct("data")).items()
                if (values := result.values(metric, data=data, law=law))
            ]
            for law in result.distinct("law")
        }
        for metric, title in metrics.items()
    }
    return rows(panels, "After training: MF after 20 passes of plain SGD, under two of the laws.", side_by_side=True)
