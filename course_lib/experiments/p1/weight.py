"""P1-X3: a weight on popularity at serving, the simplest rival of Table 3's methods, on the same trained models.

The served score is ``<e_u, e_i> + w log n_i``, n_i training pairs of item i. A method changes how popular lists are and
how accurate; the weight that makes lists equally popular changes the accuracy, too, and takes no training. The lists of
P1-T3 are not computed again: its stored changes are laid on the curve of the weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from course_lib.arrays import Array
from course_lib.experiments.core.registry import experiment
from course_lib.experiments.core.results import Result, shown
from course_lib.experiments.core.rules import Rules
from course_lib.experiments.core.summary import Row
from course_lib.experiments.p1.cells import TrainedCell, on_backbones, rows_of, scalars_by
from course_lib.experiments.p1.cells import seconds as of_all
from course_lib.experiments.p1.data import describe, load_split
from course_lib.experiments.p1.measures import gains, numbers
from course_lib.experiments.p1.tuning import METHODS, tuned_backbone

HALF = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0)
WEIGHTS = (*(-weight for weight in reversed(HALF)), 0.0, *HALF)
CHANGES = ("AvgPop@10 change %", "MRR@10 change %")

# Committed before the run. P1-T3 was known; of the weight nothing, on these models.
PREDICTIONS = {
    "everywhere": "At the same popularity, no method is more accurate than the weight on both data sets with both "
    "models, on average.",
    "half": "In at most half of the 32 cases a method is more accurate than the weight at the same popularity, on "
    "average.",
    "certain": "Corrected for 32 comparisons, no method is more accurate than the weight.",
    "promise": "A weight below 0 makes lists less popular and more accurate, on average, with MF on Last.fm and "
    "nowhere else.",
}


def plan_seconds(cell: TrainedCell) -> float:
    """The backbone alone."""
    return of_all({**cell, "tries": [cell["tries"][0], 1]})


@experiment(
    "P1-X3",
    "a weight on popularity at serving, beside the methods of Table 3 (ours)",
    plan=on_backbones(),
    estimate=plan_seconds,
    describe=describe,
    finish=scalars_by("data", "backbone", "weight"),
    layout=shown("data", "backbone", "weight", metrics=("MRR@10", "AvgPop@10", *CHANGES), digits=3),
    rules=Rules("stored", lists=True, splits=1 / 8, predictions="cc564097"),
)
def weight_cell(cell: TrainedCell) -> list[Row]:
    """Accuracy and popularity of the lists at each weight, their changes against the weight 0; the training's way."""
    split, base = load_split(cell["data"], cell["seed"]), tuned_backbone(cell, cell["backbone"])
    logs = np.log(np.maximum(split.counts, 1))
    plain = numbers(base.tables, split)
    way = [round(entry["mrr"], 4) for entry in base.history]
    rows: list[Row] = [{**row, "path": way} for row in rows_of(cell, {"validation MRR@10": base.valid}, weight=0.0)]
    for weight in WEIGHTS:
        found = numbers(served(base.users, base.items, logs, weight), split)
        rows += rows_of(cell, {**found, **gains(plain, found)}, weight=weight)
    return rows


def served(users: Array, items: Array, logs: Array, weight: float) -> tuple[Array, Array]:
    """Tables whose inner product is the score of these plus weight * logs: one more coordinate."""
    more = np.full((len(users), 1), weight, users.dtype), logs[:, None].astype(items.dtype)
    return np.hstack([users, more[0]]), np.hstack([items, more[1]])


# ---- beside Table 3 --------------------------------------------------------------------------------------------------


class Curve(NamedTuple):
    """Change of popularity and of accuracy in %, by rising popularity."""

    popularity: Array
    accuracy: Array

    def at(self, popularity: float) -> float:
        """The accuracy at a popularity: linear between the two neighbouring weights; beyond the ends not a number."""
        return float(np.interp(popularity, self.popularity, self.accuracy, left=np.nan, right=np.nan))


def curve(x3: Result, seed: int, **where: str) -> Curve:
    """The curve of one trained model."""
    columns = ([x3.values(name, seed=seed, weight=weight, **where)[0] for weight in WEIGHTS] for name in CHANGES)
    popularity, accuracy = map(np.array, columns)
    order = np.argsort(popularity, kind="stable")
    return Curve(popularity[order], accuracy[order])


def beyond(t3: Result, x3: Result, method: str, **where: str) -> list[float]:
    """For each seed: change of MRR@10 by the method minus that by the weight at the same popularity, points of a %."""
    seeds = t3.distinct("seed", method=method, **where)
    changes = zip(*(t3.values(name, method=method, **where) for name in CHANGES), strict=True)
    return [accuracy - curve(x3, seed, **where).at(pop) for seed, (pop, accuracy) in zip(seeds, changes, strict=True)]


def cases(x3: Result) -> list[tuple[str, str]]:
    """Data set and backbone."""
    return [(data, backbone) for data in x3.distinct("data") for backbone in x3.distinct("backbone", data=data)]


def verdicts(t3: Result, x3: Result, certain: int) -> dict[str, tuple[str, bool]]:
    """Name of a prediction -> its words, and whether it held; certain: in how many cases a method is more accurate.

    Certain cases are counted by the finding of the page, whose intervals are those of the family.
    """
    places = cases(x3)
    mean = {
        (method, place): float(np.mean(beyond(t3, x3, method, data=place[0], backbone=place[1])))
        for method in METHODS
        for place in places
    }
    held = {
        "everywhere": not any(all(mean[method, place] > 0 for place in places) for method in METHODS),
        "half": sum(value > 0 for value in mean.values()) <= len(mean) / 2,
        "certain": certain == 0,
        "promise": [place for place in places if keeps(x3, *place)] == [("lastfm-10core", "MF")],
    }
    return {name: (words, held[name]) for name, words in PREDICTIONS.items()}


def keeps(x3: Result, data: str, backbone: str) -> list[float]:
    """The weights that make lists less popular and more accurate, on average over the trainings."""
    means = {
        weight: [x3.mean(name, data=data, backbone=backbone, weight=weight) for name in CHANGES] for weight in WEIGHTS
    }
    return [weight for weight, (pop, accuracy) in means.items() if pop < 0 < accuracy]
