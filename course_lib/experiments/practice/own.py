"""The scoreboard on data of one's own: the core that the flags ask for, cut at 80 and 90 % of the pairs in time.

Half lives are days, so times must be seconds. The table has lists and intervals of its own, over people. It also judges
what stands outside the hundred hottest items, so there must be twice as many.
"""

from __future__ import annotations

from course_lib.experiments.core.own_run import Door, open_door
from course_lib.experiments.practice.judging import HOTTEST, NOTHING, RECIPES

open_door(
    Door(
        "PRACTICE-1",
        RECIPES,
        dict.fromkeys(("smoke", "laptop", "full"), ("movietweetings-10core", 23_565)),
        needs=("times",),
        least_items=2 * HOTTEST,
        adapt=lambda cells, data, scale: [cell for cell in cells if cell["protocol"] != NOTHING],
    )
)
