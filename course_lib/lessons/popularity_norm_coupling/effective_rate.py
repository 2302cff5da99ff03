"""The hero of the chapter: one scrubber of the effective rate moves the lengths of real films and a real top ten."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import traitlets

from course_lib.lessons.shared.widgets.base import Count, Number, Stored, Word
from course_lib.lessons.shared.widgets.paper import Hero

STORED = Path(__file__).with_name("effective_rate.json")  # made by make_effective_rate.py


class EffectiveRate(Hero):
    """The model of the chapter, trained at eight rates for the same rate times steps: `EffectiveRate(10, person=2)`.

    rate        learning rate over squared length at the start: one of the stored rates, 0.2 to 50
    person      whose ten films are shown, 1 to 4
    index       which list of that person is shown: "dot" or "cosine"

    All three are traits: read, set and observe them. Raises ValueError for values that are not stored.
    """

    module_name: ClassVar[str] = "effective_rate"
    caption: ClassVar[str] = (
        "The length of a film's vector, by how many people liked the film; each dot is a film, the line is the quartic "
        "law. Below, where the ten films of one person stand, by dot product and by cosine. With JavaScript this "
        "picture is interactive: other rates, persons and the other list, from the same vectors."
    )

    films = Stored(STORED)
    rate = Number(10.0, 0.2, 50)
    person = Count(1, 1, lambda shown: len(shown.films["people"]))
    index = Word("dot", ("dot", "cosine"))

    @traitlets.validate("rate")
    def _stored_rate(self, proposal: dict[str, Any]) -> float:
        rate, rates = float(proposal["value"]), self.films["rates"]
        if rate not in rates:
            raise ValueError(f"rate is {rate}; expected one of {', '.join(map(str, rates))}")
        return rate
