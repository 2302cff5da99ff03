"""Stores what the interactive `Rivals` shows of the stored results P1-T3, P1-X3 and LISTS-X1.

python -m tests.lessons.ddc.make_rivals
"""

from typing import Any

from course_lib import experiments
from course_lib.experiments.core.results import Result
from course_lib.lessons.ddc import rivals, weight
from course_lib.lessons.ddc.findings import SPLITS
from course_lib.lessons.shared.film_models import store
from course_lib.lessons.shared.findings import Difference


def panel(t3: Result, x3: Result, lists: Result, data: str, backbone: str) -> dict[str, Any]:
    """What is shown of one backbone on one data set; the list of hits is that of the same splits."""
    where = {"data": data, "backbone": backbone}
    seeds = sorted({row["seed"] for row in t3.select(metric=weight.CHANGES[0], **where)})
    methods = {name: [t3.values(change, method=name, **where) for change in weight.CHANGES] for name in rivals.METHODS}
    return {
        "name": f"{rivals.SETS[data]}, {backbone}",
        "hits": rivals.hits(t3, lists, data, backbone),
        "curves": [weight.points(x3, seed, **where).round(2).tolist() for seed in seeds],
        "methods": {
            name: {
                "points": [[round(values[seed], 2) for values in both] for seed in seeds],
                "halves": [round(Difference.above(values).resplit(SPLITS).half or 0.0, 2) for values in both],
            }
            for name, both in methods.items()
        },
    }


def data() -> list[dict[str, Any]]:
    """Everything that the interactive shows."""
    t3, x3, lists = (experiments.load_result(name, "laptop") for name in ("P1-T3", "P1-X3", "LISTS-X1"))
    return [panel(t3, x3, lists, name, backbone) for name in rivals.SETS for backbone in ("MF", "LightGCN")]


if __name__ == "__main__":
    store(rivals.STORED, data())
