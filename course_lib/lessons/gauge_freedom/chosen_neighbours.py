"""The hero of the chapter: choose the ten neighbours of a film, and the page builds a model with the same scores."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import traitlets

from course_lib import checking
from course_lib.lessons.shared.widgets.base import Count, Number, Word, read
from course_lib.lessons.shared.widgets.paper import Hero

STORED = Path(__file__).with_name("chosen_neighbours.json")  # made by make_chosen_neighbours.py
THOUSANDTHS = 1000.0
MOST, WIDEST = 10, 16  # films to choose, numbers of a film


class ChosenNeighbours(Hero):
    """A film, films of one's choice, and the gauge in which these are its nearest: the scores stay as they were.

    film        the film whose neighbours are chosen, by its title without the year
    chosen      up to ten films; the film itself does not count
    stretch     of `gauge.gauge_for_neighbours`, 1 to 1000
    width       how many numbers of each film and person the model has, 4 to 16: the model with the least squared error

    All four are traits: read, set and observe them. Raises ValueError for films that the model does not have and for
    values out of range.
    """

    module_name: ClassVar[str] = "chosen_neighbours"
    caption: ClassVar[str] = (
        "Each mark is a film, from left to right by its cosine to the chosen film. Upper line: the model as trained. "
        "Lower line: a model with the same scores, made so that the chosen films (diamonds) are the nearest. With "
        "JavaScript this picture is interactive."
    )

    film = Word("Fast & Furious 6", lambda shown: shown.model["titles"])
    chosen = traitlets.List(traitlets.Unicode()).tag(sync=True, state=True)
    stretch = Number(100.0, 1, 1000)
    width = Count(WIDEST, 4, WIDEST)
    model = traitlets.Dict().tag(sync=True, state=True)

    def __init__(
        self,
        film: str = "Fast & Furious 6",
        chosen: Iterable[str] = ("Psycho", "Monsters, Inc.", "Before Sunrise"),
        **state: Any,
    ) -> None:
        if not isinstance(chosen, Iterable):
            raise checking.refuse(chosen, "chosen", f"up to {MOST} films of the model, such as ['Psycho']")
        model = read(STORED)
        super().__init__(model=model, film=film, chosen=list(chosen), **state)

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        """(people (12, k), films (n, k)) as trained, k the width."""
        people, films = (np.array(self.model[name])[:, : self.width] / THOUSANDTHS for name in ("people", "films"))
        return people, films

    @property
    def rows(self) -> tuple[int, list[int]]:
        """The rows of the film and of the chosen films in the table of the films."""
        place = self.model["titles"].index
        return place(self.film), [place(title) for title in self.chosen if title != self.film]

    @traitlets.validate("chosen")
    def _valid_chosen(self, proposal: dict[str, Any]) -> list[str]:
        chosen = list(proposal["value"])
        if len(set(chosen)) < len(chosen) or len(chosen) > MOST or not set(chosen) <= set(self.model["titles"]):
            raise ValueError(f"chosen is {chosen}; expected up to {MOST} different films of the model")
        return chosen
