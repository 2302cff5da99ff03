"""The hero of the chapter: eight ways to make lists less popular, and what each does to accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from course_lib.lessons.shared.widgets.base import Count, Stored
from course_lib.lessons.shared.widgets.paper import Hero

STORED = Path(__file__).with_name("rivals.json")  # made by make_rivals.py of the tests
TRAININGS = 3  # shown alone, and after them the mean of all that there are
METHODS = {  # and what each changes
    "IPS": "weights of the loss",
    "DICE": "loss and draws",
    "MACR": "loss and ranking",
    "PC": "ranking",
    "PAAC": "loss",
    "DCCL": "loss",
    "TPAB": "model",
    "DDC": "user vectors",
}
SETS = {"lastfm-10core": "Last.fm", "ml-1m-10core": "MovieLens-1M"}


def hits(t3: Any, lists: Any, data: str, backbone: str) -> list[float]:
    """Change of popularity and of MRR@10, in per cent of a backbone of P1-T3, of the list of hits in LISTS-X1."""
    where = {"data": data, "backbone": backbone}
    levels = {
        "mean count@10": t3.mean("AvgPop@10", method=None, **where),
        "mrr@10": t3.mean("MRR@10", method=None, **where),
    }
    of_hits = {"data": data, "split": "random 8:1:1", "list": "most popular"}
    return [
        round(float(100 * (np.mean(lists.values(name, **of_hits)) / level - 1)), 1) for name, level in levels.items()
    ]


class Rivals(Hero):
    """Each debiasing method against the same model without it: `Rivals(training=3)`.

    training  which of the first three trainings is shown, counted from 0; 3 is the mean of all, with 95 % intervals
    """

    module_name: ClassVar[str] = "rivals"
    caption: ClassVar[str] = (
        "A row for each method, a box for each data set and model. Across in a box: how much more or less popular the "
        "lists become than those of the model without a method, which stands in the middle. Upwards: how much more or "
        "less accurate. Distances grow with the square root of the change. The shaded quarter is what every method "
        "promises, less popular and more accurate; a box is green where the promise is kept. "
        "The line needs no method: it is the model with a weight on popularity added to its scores. "
        "With JavaScript this picture moves."
    )

    panels = Stored(STORED)
    training = Count(TRAININGS, 0, TRAININGS)
