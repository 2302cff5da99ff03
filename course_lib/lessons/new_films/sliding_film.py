"""The interactive of the chapter: a film that nobody has rated slides to films like it, or stays where it was drawn."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import traitlets

from course_lib.lessons.shared.widgets.base import Count, Stored, Word
from course_lib.lessons.shared.widgets.paper import Hero

STORED = Path(__file__).with_name("sliding_film.json")  # made by make_sliding_film.py


class SlidingFilm(Hero):
    """Ten passes over the data, stored: `SlidingFilm(reads="nothing", moment=3, chosen=2)`.

    reads   "features": the film tower reads genres and year; "nothing": each film has a row of its own
    moment  which of the stored moments is shown, counted from 0; the last is the end of the training
    chosen  which new film is followed, counted from 1
    """

    module_name: ClassVar[str] = "sliding_film"
    caption: ClassVar[str] = (
        "The map: 42 films with ratings and one without, each as the direction of its vector, on the two axes on which "
        "the rated films differ most when the training is over. The list: the five rated films closest to the new one. "
        "With JavaScript this picture is interactive."
    )

    film = Stored(STORED)
    reads = Word("features", ("features", "nothing"))
    moment = Count(0, 0, lambda shown: len(shown.film["steps"]) - 1)
    chosen = Count(1, 1, lambda shown: len(shown.film["new"]))

    @traitlets.default("moment")
    def _last_moment(self) -> int:
        return len(self.film["steps"]) - 1
