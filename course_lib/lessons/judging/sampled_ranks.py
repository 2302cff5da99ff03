"""The interactive of the chapter: five rows are ranked by the hit among m sampled films, and the order turns over."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import traitlets

from course_lib.lessons.shared.widgets.base import Count, Stored, Word
from course_lib.lessons.shared.widgets.paper import Hero

STORED = Path(__file__).with_name("sampled_ranks.json")  # made by make_sampled_ranks.py


class SampledRanks(Hero):
    """Who is best, by how many films each hidden film is compared with: `SampledRanks(place=3, hidden="later")`.

    place   which of the stored numbers of sampled films, counted from 0; the last is all films
    hidden  "later": the latest tenth of the pairs is hidden; "random": a tenth drawn at random
    training  which of five trainings, counted from 1; the lists without a model are the same in all
    """

    module_name: ClassVar[str] = "sampled_ranks"
    caption: ClassVar[str] = (
        "How often a hidden film is among the best ten of itself and some sampled films, by the number of sampled "
        "films, for two lists without a model, two models, and chance. With JavaScript this picture is interactive."
    )

    board = Stored(STORED)
    place = Count(0, 0, lambda shown: len(shown.board["samples"]) - 1)
    hidden = Word("later", ("later", "random"))
    training = Count(1, 1, lambda shown: len(shown.board["hits"]["later"]))

    @traitlets.default("place")
    def _place_of_twenty(self) -> int:
        return int(self.board["samples"].index(20))
