"""The interactive of the chapter: two models learn, and the map of films and somebody's ten films move with them."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import traitlets

from course_lib.lessons.shared.widgets.base import Count, Stored, Word
from course_lib.lessons.shared.widgets.paper import Hero

STORED = Path(__file__).with_name("training_film.json")  # made by make_training_film.py


class TrainingFilm(Hero):
    """Twenty passes over the data, stored: `TrainingFilm(model="corrected", moment=8, person=1)`.

    model   "plain": in-batch softmax as it stands; "corrected": with the log of each film's share subtracted
    moment  which of the stored moments is shown, counted from 0; the last is the end of the training
    person  whose list is shown, counted from 1; the page calls them by their numbers in the data
    """

    module_name: ClassVar[str] = "training_film"
    caption: ClassVar[str] = (
        "The map: 48 films, each as the direction of its vector, on the two axes on which they differ most when the "
        "training is over. The list: the ten films that the model recommends to one person. With JavaScript this "
        "picture is interactive."
    )

    film = Stored(STORED)
    model = Word("plain", ("plain", "corrected"))
    moment = Count(0, 0, lambda shown: len(shown.film["passes"]) - 1)
    person = Count(1, 1, lambda shown: len(shown.film["people"]))

    @traitlets.default("moment")
    def _last_moment(self) -> int:
        return len(self.film["passes"]) - 1

    def static_body(self) -> str:
        """A page without scripts cannot play the film: where it has not begun, its end stands there."""
        if self.moment:
            return super().static_body()
        return type(self)(model=self.model, person=self.person, everything=self.everything).static_body()
