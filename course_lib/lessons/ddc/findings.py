"""Findings of the chapter on DDC: what its pages say about data, and where it holds.

Stored results: P1-F4 (losses), P1-T2 (five backbones; what each scalar does alone), P1-T3 (the rivals), P1-X3 (a weight
on popularity beside them), P1-T5 (nine rules) and P1-X1 (models whose items are moved together). The page's own run:
what a list's popularity follows, and when MF gains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from course_lib.lessons.ddc import weight
from course_lib.lessons.shared.findings import Difference, finding

PAIR = "pair of backbone and data set"
SETS = {"lastfm-10core": "Last.fm", "ml-1m-10core": "ML-1M", "movietweetings-10core": "MovieTweetings"}
MOVED = {"negatives": "uniform", "epochs": 40, "top": 0.3}  # the cells of P1-X1 whose items were moved
SPLITS = 1 / 8  # test over train: each seed has another split, 8:1:1
EDGE = 2.0  # how far, in standard deviations of the projections on e_pop


def _pairs(stored: Any) -> dict[str, dict[str, str]]:
    """Where to look for each backbone and data set of a stored result, as they were run."""
    places = dict.fromkeys((row["data"], row["backbone"]) for row in stored.rows)
    return {f"{backbone}, {SETS[data]}": {"data": data, "backbone": backbone} for data, backbone in places}


def _methods(t3: Any) -> dict[str, dict[str, str]]:
    """Where to look for each method, on each backbone and data set on which it was run with several seeds."""
    keys = ("method", "backbone", "data")
    places = Counter(tuple(row[key] for key in keys) for row in t3.rows if row["metric"] == "MRR@10 change %")
    chosen = (place for place, seeds in places.items() if seeds > 1)
    return {f"{one[0]} on {one[1]}, {SETS[one[2]]}": dict(zip(keys, one, strict=True)) for one in chosen}


def _moved(x1: Any) -> dict[str, _Moved]:
    models = dict.fromkeys((row["data"], row["decay"]) for row in x1.rows if row.get("shift") == EDGE)
    return {f"MF, {SETS[data]}, decay {decay:g}": _Moved(x1, data, decay) for data, decay in models}


# Findings on stored results, and what one case usually is there
on_p1_f4 = partial(finding, rests_on=["P1-F4-laptop"], case=PAIR, cases=_pairs, splits=SPLITS)
on_p1_t2 = partial(finding, rests_on=["P1-T2-laptop"], case=PAIR, cases=_pairs, splits=SPLITS)
on_p1_t3 = partial(finding, rests_on=["P1-T3-laptop"], case="row of the table", cases=_methods, splits=SPLITS)
on_p1_x1 = partial(finding, rests_on=["P1-X1-laptop"], case="model", cases=_moved, splits=SPLITS)


# ---- losses


def _log_ratio(f4: Any, where: dict[str, str], above: str, below: str) -> Difference:
    """log(one loss / another), over seeds."""
    return Difference.paired(*(np.log(f4.values(f"loss {which}", **where)) for which in (above, below)))


@on_p1_f4(
    "After DDC the loss of the vectors that are served is higher than before",
    claimed={"LightGCN, Last.fm", "LightGCN, ML-1M", "MF, ML-1M"},
    family="served loss",
)
def served_loss_rises(f4: Any, where: dict[str, str]) -> Difference:
    """log(served loss after / before), over seeds."""
    return _log_ratio(f4, where, "after", "before")


@on_p1_f4(
    "DDC's own loss falls to a tenth of what it was, or less",
    claimed={"LightGCN, Last.fm", "LightGCN, ML-1M"},
    family="DDC's own loss",
    bound_after=True,
)
def objective_falls(f4: Any, where: dict[str, str]) -> Difference | None:
    """log(1/10) - log(objective ratio), over seeds; the bound was chosen after the runs."""
    ratios = f4.values("objective ratio", **where)
    return Difference.below(np.log(ratios), np.log(1 / 10)) if ratios else None


@on_p1_f4(
    "One factor on all scores, which changes no list, leaves a lower loss than DDC does", family="loss by one factor"
)
def one_factor_beats_ddc(f4: Any, where: dict[str, str]) -> Difference:
    """log(served loss after DDC / loss after the best factor), over seeds."""
    return _log_ratio(f4, where, "after", "by scaling")


# ---- what one scalar does alone, what both do


def _change(stored: Any, where: dict[str, str], metric: str) -> Difference:
    """Change of a metric, by DDC or the method in `where`, in percent of the same seed's backbone, over seeds."""
    return Difference.above(stored.values(f"{metric} change %", **{"method": "DDC", **where}))


def _alone(t2: Any, where: dict[str, str], scalar: str) -> Difference:
    """log(popularity of the lists with one scalar in what is served / without), over seeds."""
    alone = t2.values(f"AvgPop@10 {scalar} alone", method="DDC", **where)
    return Difference.paired(np.log(alone), np.log(t2.values("AvgPop@10", method=None, **where)))


@on_p1_t2(
    "Served alone, α makes the lists less popular",
    family="popularity with α alone",
    claimed={"LightCCF, Last.fm", "MF, ML-1M", "LightGCN, ML-1M"},
)
def alpha_alone_lowers_popularity(t2: Any, where: dict[str, str]) -> Difference:
    """Log of the popularity of the lists of the backbone over that with α alone, over seeds."""
    return -_alone(t2, where, "alpha")


@on_p1_t2(
    "Served alone, β makes the lists more popular",
    family="popularity with β alone",
    claimed={"MF, Last.fm", "LightGCN, Last.fm", "LightCCF, Last.fm", "MF, ML-1M", "LightGCN, ML-1M"},
)
def beta_alone_raises_popularity(t2: Any, where: dict[str, str]) -> Difference:
    """Log of the popularity of the lists with β alone over that of the backbone, over seeds."""
    return _alone(t2, where, "beta")


@on_p1_t2(
    "DDC makes the lists more popular", claimed={"MF, Last.fm", "LightCCF, Last.fm", "MF, ML-1M"}, family="popularity"
)
def ddc_raises_popularity(t2: Any, where: dict[str, str]) -> Difference:
    """Change of AvgPop@10 in percent of the same seed's backbone, over seeds."""
    return _change(t2, where, "AvgPop@10")


@on_p1_t2(
    "DDC makes the lists less popular",
    claimed={"LightGCN, Last.fm", "NCL, Last.fm", "LightGCN, ML-1M"},
    family="popularity",
)
def ddc_lowers_popularity(t2: Any, where: dict[str, str]) -> Difference:
    """Fall of AvgPop@10 in percent of the same seed's backbone, over seeds."""
    return -_change(t2, where, "AvgPop@10")


@on_p1_t2("DDC raises the MRR@10", family="MRR@10", claimed={"MF, ML-1M"})
def ddc_raises_accuracy(t2: Any, where: dict[str, str]) -> Difference:
    """Change of MRR@10 in percent of the same seed's backbone, over seeds."""
    return _change(t2, where, "MRR@10")


@on_p1_t2("DDC lowers the MRR@10", family="MRR@10", claimed={"LightCCF, Last.fm", "LightGCN, ML-1M"})
def ddc_lowers_accuracy(t2: Any, where: dict[str, str]) -> Difference:
    """Fall of MRR@10 in percent of the same seed's backbone, over seeds."""
    return -_change(t2, where, "MRR@10")


@on_p1_t2(
    "The further on the popular side the centre of the items lies, the less popular DDC makes the lists",
    case="data set",
    cases=None,
    family="order by the centre",
)
def popularity_falls_with_the_centre(t2: Any) -> dict[str, Difference]:
    """Minus Spearman's correlation over the backbones of a seed, three or more, over seeds."""
    found = {}
    for data in t2.distinct("data"):
        of_seeds = []
        for seed in t2.distinct("seed", data=data):
            where = {"data": data, "method": "DDC", "seed": seed}
            centres, changes = (
                [
                    value
                    for backbone in t2.distinct("backbone")
                    for value in t2.values(metric, backbone=backbone, **where)
                ]
                for metric in ("centroid", "AvgPop@10 change %")
            )
            if len(centres) > 2:
                of_seeds.append(-float(stats.spearmanr(centres, changes).statistic))
        if of_seeds:
            found[data] = Difference.above(of_seeds)
    return found


# ---- items moved together, which changes no list of the model


class _Moved:
    """One model of P1-X1 with its items at several places: metrics over its seeds."""

    def __init__(self, x1: Any, data: str, decay: float) -> None:
        self.x1, self.where = x1, {"data": data, "backbone": "MF", "decay": decay, **MOVED}

    def values(self, metric: str, shift: float) -> np.ndarray:
        return np.array(self.x1.values(metric, shift=shift, **self.where))

    def effect(self, scalar: str, shift: float) -> np.ndarray:
        """log(popularity of the lists with one scalar in what is served / without)."""
        alone = self.values(f"AvgPop@10 {scalar} alone", shift)
        return np.asarray(np.log(alone / self.values("AvgPop@10 before", shift)))


@on_p1_x1(
    "Moving all items from one side to the other takes the share of users with a negative α from below 5 to above 95 %"
)
def the_origin_turns_alpha(_: Any, model: _Moved) -> Difference:
    """The smaller of share(+2) - 0.95 and 0.05 - share(-2), over seeds."""
    high, low = (model.values("alpha < 0", shift) for shift in (EDGE, -EDGE))
    return Difference.above(np.minimum(high - 0.95, 0.05 - low))


@on_p1_x1("DDC's lists are more popular where the items were moved to the unpopular side than where to the popular one")
def popularity_follows_the_origin(_: Any, model: _Moved) -> Difference:
    """Change of AvgPop@10 in percent, at -2 minus at +2, over seeds."""
    return Difference.paired(*(model.values("AvgPop@10 change %", shift) for shift in (-EDGE, EDGE)))


@on_p1_x1(
    "On the unpopular side α alone raises popularity and β alone lowers it; on the popular side they exchange roles"
)
def the_scalars_exchange_roles(_: Any, model: _Moved) -> Difference:
    """The smallest of the four effects, each with the sign that the sentence gives it, over seeds."""
    wanted = (("alpha", -EDGE, 1), ("beta", -EDGE, -1), ("alpha", EDGE, -1), ("beta", EDGE, 1))
    return Difference.above(np.min([sign * model.effect(scalar, shift) for scalar, shift, sign in wanted], axis=0))


@finding("Served alone in the interactive, α makes the lists more popular", case="model", cases="MF")
def alpha_alone_raises_in_the_interactive(served: Sequence[float], plain: Sequence[float]) -> Difference:
    """Mean popularity of the lists of a training, with α and without, over trainings."""
    return Difference.paired(served, plain)


# ---- the rivals


@on_p1_t3("A debiasing method raises the MRR@10", claimed=())
def few_methods_gain(t3: Any, where: dict[str, str]) -> Difference:
    """Change of MRR@10 in percent of the same seed's backbone, over seeds."""
    return _change(t3, where, "MRR@10")


@on_p1_t3("A debiasing method lowers the MRR@10", claimed=())
def few_methods_lose(t3: Any, where: dict[str, str]) -> Difference:
    """Fall of MRR@10 in percent of the same seed's backbone, over seeds."""
    return -_change(t3, where, "MRR@10")


on_the_weight = partial(
    finding,
    rests_on=["P1-T3-laptop", "P1-X3-laptop"],
    case="row of the table",
    cases=lambda t3, x3: _methods(t3),
    family="beside the weight",
    splits=SPLITS,
)


@on_the_weight(
    "At the same popularity of the lists, a debiasing method is more accurate than a weight on popularity",
    claimed=(),
)
def few_methods_beat_a_weight(t3: Any, x3: Any, where: dict[str, str]) -> Difference:
    """Change of MRR@10 in percent, by the method minus by the weight with which lists are as popular, over seeds."""
    return Difference.above(weight.beyond(t3, x3, **where))


@on_the_weight(
    "At the same popularity of the lists, a debiasing method is less accurate than a weight on popularity",
    claimed={"MACR on LightGCN, ML-1M"},
)
def few_methods_lose_to_a_weight(t3: Any, x3: Any, where: dict[str, str]) -> Difference:
    """The same, by the weight minus by the method, over seeds."""
    return -Difference.above(weight.beyond(t3, x3, **where))


# The least of the settings in the authors' repositories, and where it was tried: Last.fm has no times, so no stages.
AUTHORS: dict[str, tuple[str, float, dict[str, str]]] = {
    "PAAC": ("contrast", 5.0, {}),
    "TPAB": ("stages", 8.0, {"data": "ml-1m-10core"}),
}


@finding(
    "Validation chooses a smaller weight, or fewer stages, than the method's authors",
    case="method",
    rests_on=["P1-T3-laptop"],
)
def authors_settings_are_not_chosen(t3: Any) -> dict[str, Difference]:
    """The authors' least minus the largest that was chosen, on any backbone, and any data set where it matters."""
    return {
        name: Difference(least - max(t3.values(f"chosen {setting}", method=name, **where)))
        for name, (setting, least, where) in AUTHORS.items()
    }


# ---- the nine rules


@finding(
    "A preference correction of the negatives alone (a_b, a_ab) costs accuracy",
    case=PAIR,
    cases=_pairs,
    rests_on=["P1-T5-laptop"],
    splits=SPLITS,
)
def preference_on_the_negatives_costs(t5: Any, where: dict[str, str]) -> Difference:
    """MRR@10 of the backbone minus that of the better of the two rules, over seeds."""
    plain, *rules = (np.array(t5.values("MRR@10", rule=rule, **where)) for rule in ("backbone", "a_b", "a_ab"))
    return Difference.paired(plain, np.maximum(*rules))


# ---- the page's own run


def correlation(x: ArrayLike, y: ArrayLike) -> np.ndarray:
    """(n,) one number for each user, whose mean is Pearson's r and whose spread is that of r (delta method).

    r + z_x z_y - r (z_x^2 + z_y^2) / 2, with z the standardised values.
    """
    left, right = (np.asarray(values, dtype=float) for values in (x, y))
    left, right = ((values - values.mean()) / values.std() for values in (left, right))
    r = float((left * right).mean())
    return np.asarray(r + left * right - r * (left**2 + right**2) / 2)


@finding(
    "The change of a list's popularity follows the net push more closely than it follows α",
    case="shift",
    claimed={"0", "+1", "+2", "+3"},
)
def lists_follow_the_push(shifts: Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike]]) -> dict[str, Difference]:
    """Correlation with the push minus correlation with α.

    shifts: of each shift the scalars α, the pushes and the changes of the lists, (users,) each.
    """
    return {
        shift: Difference.paired(correlation(push, change), correlation(alpha, change), over="users")
        for shift, (alpha, push, change) in shifts.items()
    }


@finding(
    "Without decay, DDC's gain is larger after sixty passes than where validation stops the training",
    case="model",
    cases="MF without decay",
)
def training_on_makes_the_gain(late: Sequence[float], stopped: Sequence[float]) -> Difference:
    """Gain in MRR@10 in percent, of the same seeds."""
    return Difference.paired(late, stopped)


@finding("MF with the decay that validation chooses finds more than DDC makes of MF without decay", case="model")
def tuning_beats_ddc(tuned: np.ndarray, corrected: Mapping[str, np.ndarray]) -> dict[str, Difference]:
    """MRR@10 of the tuned model minus that of DDC on a model without decay, over users."""
    return {name: Difference.paired(tuned, ranks, over="users") for name, ranks in corrected.items()}
