"""The interactive of the chapter: a map of films in cells, a person who looks into a few of them, films lost."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from course_lib.lessons.shared.widgets.base import Count, Stored, Word
from course_lib.lessons.shared.widgets.paper import Hero

STORED = Path(__file__).with_name("map_of_cells.json")  # made by make_map_of_cells.py


class MapOfCells(Hero):
    """Films with two of their numbers in sixteen cells, stored: `MapOfCells(power=2, probes=2, space="ip")`.

    power   which of the stored lengths count^alpha, counted from 0: alpha is 0, 1/8, 1/4, 3/8 or 1/2
    probes  how many cells the person looks into, 1 to 6
    space   "ip": cells of directions, by inner product; "more": one more coordinate, by distance
    """

    module_name: ClassVar[str] = "map_of_cells"
    caption: ClassVar[str] = (
        "Each dot is a film with two numbers, popular films dark and large. The line is a person; the ten films "
        "beyond the dashed line have the largest scores. Shaded: the cells that the search looks into. With JavaScript "
        "this picture is interactive."
    )

    map = Stored(STORED)
    power = Count(2, 0, 4)
    probes = Count(2, 1, 6)
    space = Word("ip", ("ip", "more"))
