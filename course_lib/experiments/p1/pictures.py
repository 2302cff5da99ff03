"""P1's Tables 2, 3 and 5 and Figures 3 and 4 beside our stored results, as pictures.

P1's data cannot be had here, so no printed accuracy stands beside one of ours. What both have is a number relative to
the plain backbone of the same table: the change of the accuracy in percent, and the part of the loss that is left.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from course_lib.experiments.core.display import text_of
from course_lib.experiments.core.pictures import HELD_LOOKS, Series, curves, named, relative, rows
from course_lib.experiments.core.results import Result, load_result
from course_lib.papers import p1, table

SETS = {"amazon-book": "Amazon-Book", "yelp": "Yelp", "tmall": "Tmall"}
PRINTED = {data: Series(f"P1 on {name}", look) for (data, name), look in zip(SETS.items(), HELD_LOOKS, strict=True)}
BACKBONES = ("MF", "LightGCN")


def other_data() -> str:
    """How the data differ, as the end of a caption."""
    theirs = min(row["users"] for row in table("P1", "T1"))
    ours = max(load_result("P1-T1", "laptop").values("users"))
    return (
        f"The data differ: each of P1's sets has {int(theirs / ours)} times as many users as ours, or more. "
        "Each of our seeds is compared with its own backbone."
    )


def printed(name: str, metric: str) -> pd.DataFrame:
    """The numbers of Table 2, 3, 4 or 5 as changes in percent of the plain backbone's, from the two printed numbers."""
    cells = pd.DataFrame(table("P1", name)).query("metric == @metric")
    return _drawn(relative(cells, "method", None, ("backbone", "dataset")), "dataset", PRINTED)


def changed(result: Result, metric: str, column: str = "method", plain: Any = None) -> pd.DataFrame:
    """Our changes of a metric in percent of the rows of the same seed whose column is `plain`."""
    found = relative(result.frame(metric=metric), column, plain, ("backbone", "data", "seed"))
    return _drawn(found, "data", named(result.distinct("data"), "ours on {}"))


def _drawn(found: pd.DataFrame, data: str, series: dict[str, Series]) -> pd.DataFrame:
    title = found["backbone"] + ": " + found["metric"] + ", change in %"
    return found.assign(series=found[data].map(series), panel=title)


def gains(result: Result) -> str:
    """Table 2: what DDC changes on five backbones, in percent of the backbone."""
    found = pd.concat(part for m in ("MRR@10", "NDCG@10") for part in (changed(result, m), printed("T2", m)))
    title = found["metric"] + ", change by DDC in %"
    found = found.assign(panel=title, name=found["backbone"])[found["method"] == "DDC"]
    return rows(found, f"A change of 0 is the backbone without DDC. {other_data()}", level=0)


def rivals(result: Result, metric: str = "MRR@10") -> str:
    """Table 3: what seven methods and DDC change on MF and LightGCN, in the order of the table."""
    found = pd.concat([changed(result, metric), printed("T3", metric)])
    found = _ordered(found.assign(name=found["method"]), p1.methods())
    return rows(found, f"A change of 0 is the plain backbone. {other_data()}", level=0)


def rules(result: Result, metric: str = "MRR@10") -> str:
    """Table 5: nine update rules and two ablations, best printed first; P1 has MF alone."""
    ours, theirs = changed(result, metric, "rule", "backbone"), printed("T5", metric)
    order = [text_of(rule) for rule in theirs.sort_values("value", ascending=False, kind="stable")["method"]]
    found = pd.concat([ours.assign(name=ours["rule"].map(text_of)), theirs.assign(name=theirs["method"].map(text_of))])
    said = (
        "The first word of a rule says which direction is added to the user for the positive item, the second which "
        "one for the negative item. Best printed rule first. A change of 0 is the plain backbone. P1 prints no "
        "LightGCN here."
    )
    return rows(_ordered(found, order), f"{said} {other_data()}", level=0)


def _ordered(found: pd.DataFrame, names: Any) -> pd.DataFrame:
    """The lines with these names, in this order, MF first."""
    kept = found[found["name"].isin(names) & found["backbone"].isin(BACKBONES)]
    place = kept["name"].map(list(names).index) + len(names) * kept["backbone"].map(BACKBONES.index)
    return kept.iloc[place.argsort(kind="stable")]


def along_k(result: Result) -> str:
    """Figure 3: accuracy and popularity along k, with P1's best k, and its numbers at k = 0.3, which Table 4 prints."""
    at_once, best = Series("P1 on Tmall, Table 4", "height"), Series("P1's best k on Tmall", "place")
    drawn = []
    for metric in ("MRR@10", "AvgPop@10"):
        ours, theirs = changed(result, metric, "top", 0.0), printed("T4", metric)
        theirs = theirs.query("method == 'DDC' and backbone in @BACKBONES")
        theirs = theirs.assign(series=at_once, x=p1.printed("top_share"))
        places = [p1.printed(f"best_top_share_{backbone.lower()}", "tmall") for backbone in theirs["backbone"]]
        found = [ours.assign(x=ours["top"]), theirs, theirs.assign(series=best, x=places, value=float("nan"))]
        both = pd.concat(found if metric == "MRR@10" else found[:2])
        drawn += [both[both["backbone"] == backbone] for backbone in BACKBONES]
    said = (
        "A change of 0 is the backbone without DDC. P1's Figure 3 prints no numbers, but Table 4 has those of k = 0.3. "
    )
    return curves(pd.concat(drawn), said + other_data(), x="k, share of the user's items", level=0)


def losses(result: Result) -> str:
    """Figure 4: the part of the loss that is left after DDC, of the vectors that are served and of the objective."""
    kinds = {"loss ratio": "loss of the served vectors", "objective ratio": "loss that DDC minimises"}
    drawn = []
    for backbone, data in {"MF": "amazon-book", "LightGCN": "yelp"}.items():
        for metric, name in kinds.items():
            ours = result.frame(metric=metric, backbone=backbone)
            ours["series"] = ours["data"].map(named(result.distinct("data"), "ours on {}"))
            theirs = pd.DataFrame({"series": [PRINTED[data]], "value": p1.loss_ratio(backbone, data)})
            drawn.append(pd.concat([ours, theirs]).assign(name=f"{backbone}: {name}"))
    said = (
        "A ratio of 1 leaves the loss as it was. P1 prints two losses before and after, and says that both are of the "
        "served vectors; the two lines of a backbone repeat the one printed ratio. "
    )
    found = pd.concat(drawn).assign(panel="loss after DDC / loss before")
    return rows(found, said + other_data(), level=1, logarithmic=True)


def axes(result: Result) -> str:
    """P1-X2: the first singular vector under six laws; two of them also after training."""
    titles = {
        "first axis": "first axis: |r| with popularity",
        "one side": "share of users on one side of it",
        "widest": "widest axis after training: |r|",
        "share": "after training: share of the variance",
    }
    found = pd.concat(result.frame(metric=metric) for metric in titles)
    series = found["data"].map(named(result.distinct("data")))
    found = found.assign(panel=found["metric"].map(titles), name=found["law"], series=series)
    return rows(found, "After training: MF after 20 passes of plain SGD, under two of the laws.", side_by_side=True)
