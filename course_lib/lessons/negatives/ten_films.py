"""The interactive of the chapter: the ten films of one person, each bar split into "you" and "today"."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from course_lib.lessons.shared.widgets.base import Count, Stored
from course_lib.lessons.shared.widgets.paper import Hero

STORED = Path(__file__).with_name("ten_films.json")  # made by make_ten_films.py
TEMPERATURES = (0.1, 0.2, 0.5, 1.0)
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
DAYS = (0, 3, 6, 9, 12, 15)  # after the cut
START = {"temperature": 2, "weight": 0, "day": 0}


class TenFilms(Hero):
    """One trained model for each temperature, served with hits: `TenFilms(temperature=2, weight=3, day=0)`.

    temperature  which of TEMPERATURES the model was trained and is served with, counted from 0
    weight       which of WEIGHTS the logarithm of the hits has, counted from 0
    day          which of DAYS after the cut the list is for, counted from 0; the model is not trained again
    """

    module_name: ClassVar[str] = "ten_films"
    caption: ClassVar[str] = (
        "The ten films that are recommended to one person. The left part of a bar comes from the person's vector, the "
        "right part from the ratings of the last days. With JavaScript this picture is interactive."
    )

    films = Stored(STORED)
    temperature = Count(START["temperature"], 0, len(TEMPERATURES) - 1)
    weight = Count(START["weight"], 0, len(WEIGHTS) - 1)
    day = Count(START["day"], 0, len(DAYS) - 1)
