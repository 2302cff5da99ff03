"""P1-X3: a weight on popularity at serving, the simplest rival of Table 3's methods, on the same trained models.

The served score is ``<e_u, e_i> + w log n_i``, n_i training pairs of item i. A method changes how popular lists are and
how accurate; the weight that makes lists equally popular changes the accuracy, too, and takes no training. The lists of
P1-T3 are not computed again: its stored changes are laid on the curve of the weight, in the lesson.
"""

from __future__ import annotations

import numpy as np

from course_lib.arrays import Array
from course_lib.experiments.core.registry import experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.rules import Rules
from course_lib.experiments.core.summary import Row
from course_lib.experiments.p1.cells import TrainedCell, on_backbones, rows_of, scalars_by
from course_lib.experiments.p1.cells import seconds as of_all
from course_lib.experiments.p1.data import describe, load_split
from course_lib.experiments.p1.measures import gains, numbers
from course_lib.experiments.p1.tuning import tuned_backbone

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
