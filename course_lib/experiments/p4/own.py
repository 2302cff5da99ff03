"""P4's Table 2 on data, and with estimators, of one's own.

The towers of the items see ids, words of titles and genres; where a set has no titles or genres, ids alone are left.
Steps are in proportion to the pairs, so that each pair is drawn as often as on Wikispeedia.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from course_lib.experiments.core import own
from course_lib.experiments.core.own_run import Door, open_door
from course_lib.experiments.core.summary import Row
from course_lib.experiments.p4 import training
from course_lib.experiments.p4.data import RECIPES, load_task
from course_lib.experiments.p4.quality import table2_cell
from course_lib.interactions import Interactions

LIKE = {
    "smoke": ("movietweetings-10core", 23_565),
    "laptop": ("wikispeedia", 119_882),
    "full": ("wikispeedia", 119_882),
}


def adapt(cells: list[Any], data: Interactions, scale: str) -> list[Any]:
    """As many draws for each pair as on the pattern's set, from 10 to 2,000 steps between two looks."""
    factor = len(data) / LIKE[scale][1]
    return [{**cell, "every": min(max(round(cell["every"] * factor), 10), 2000)} for cell in cells]


def enter(cells: list[Any], file: own.File) -> list[Any]:
    """A cell for each own estimator, beside P4's."""
    first = [cell for cell in cells if cell["method"] == cells[0]["method"]]
    return [
        *cells,
        *({**cell, "method": one.name, "own": file.sha256} for cell in first for one in file.of("estimator")),
    ]


def own_cell(cell: Any) -> list[Row]:
    """A cell of Table 2, in which own estimators are known."""
    known = {name: one.make for (kind, name), one in own.REGISTERED.items() if kind == "estimator"}
    with patch.dict(training.ESTIMATORS, known):
        return table2_cell(cell)


def parts(data: str, seed: int) -> tuple[Interactions, ...]:
    """Both parts of a task."""
    task = load_task(data, seed)
    return task.train, task.test


open_door(
    Door(
        *("P4-T2", RECIPES, LIKE, parts),
        main={"metric": "map@10"},
        against={"method": "sampling"},
        named="method",
        places=[{"lambda": 10.0}],
        takes=("estimator",),
        enter=enter,
        run_cell=own_cell,
        adapt=adapt,
        wishes={
            "title": "the towers of the items see no words (--items FILE with a column `title`)",
            "genres": "the towers of the items see no genres (--items FILE with a column `genres`)",
        },
    )
)
