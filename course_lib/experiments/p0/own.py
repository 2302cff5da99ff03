"""P0's lengths on data of one's own: experiments 8 and 9. Steps are in proportion to the pairs, as on ML-1M."""

from __future__ import annotations

from typing import Any

from course_lib.experiments.core.own_run import Door, open_door
from course_lib.experiments.p0.popularity import RECIPES, load_split
from course_lib.interactions import Interactions

LIKE = {
    "smoke": ("movietweetings-5core", 44_036),
    "laptop": ("ml-1m", 575_281),
    "full": ("ml-32m", 17_000_000),
}


def adapt(cells: list[Any], data: Interactions, scale: str) -> list[Any]:
    """As many passes as on the pattern's set, and at least 100 steps."""
    factor = len(data) / LIKE[scale][1]
    return [{**cell, "steps": max(round(cell["steps"] * factor), 100)} for cell in cells]


open_door(
    *(
        Door(
            *(name, RECIPES, LIKE, load_split),
            main={"metric": "Pearson"},
            against={"setting": first},
            named="setting",
            adapt=adapt,
        )
        for name, first in (("P0-E8", "high rate"), ("P0-E9", "low rate"))
    )
)
