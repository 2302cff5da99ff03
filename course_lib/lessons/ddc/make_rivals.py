"""Stores what the interactive `Rivals` shows of the stored results P1-T3 and LISTS-X1.

python -m course_lib.lessons.ddc.make_rivals
"""

from __future__ import annotations

from typing import Any

import numpy as np

from course_lib import experiments
from course_lib.experiments.core.results import Result
from course_lib.experiments.core.summary import spread
from course_lib.lessons.ddc import rivals
from course_lib.lessons.shared.film_models import store

METHODS = ("IPS", "DICE", "MACR", "PC", "PAAC", "DCCL", "TPAB", "DDC")
SETS = {"lastfm-10core": "Last.fm", "ml-1m-10core": "MovieLens-1M"}
CHANGES = ("AvgPop@10 change %", "MRR@10 change %")


def panel(t3: Result, lists: Result, data: str, backbone: str) -> dict[str, Any]:
    """What is shown of one backbone on one data set; the list of hits is that of the same splits."""
    where = {"data": data, "backbone": backbone}
    seeds = range(rivals.TRAININGS)
    hits = [
        100 * (np.mean(lists.values(of_list, data=data, split="random 8:1:1", list="most popular")) / level - 1)
        for of_list, level in (
            ("mean count@10", t3.mean("AvgPop@10", method=None, **where)),
            ("mrr@10", t3.mean("MRR@10", method=None, **where)),
        )
    ]
    methods = {name: [t3.values(change, method=name, **where) for change in CHANGES] for name in METHODS}
    return {
        "name": f"{SETS[data]}, {backbone}",
        "hits": [round(float(value)) for value in hits],
        "methods": {
            name: {
                "points": [[round(values[seed], 2) for values in both] for seed in seeds],
                "halves": [round(spread(values), 2) for values in both],
            }
            for name, both in methods.items()
        },
    }


def data() -> list[dict[str, Any]]:
    """Everything that the interactive shows."""
    t3, lists = (experiments.load_result(name, "laptop") for name in ("P1-T3", "LISTS-X1"))
    return [panel(t3, lists, name, backbone) for name in SETS for backbone in ("MF", "LightGCN")]


if __name__ == "__main__":
    store(rivals.STORED, data())
