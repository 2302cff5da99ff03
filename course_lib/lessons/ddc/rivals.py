"""The hero of the chapter: eight ways to make lists less popular, and what each does to accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import traitlets

from course_lib.lessons.shared.widgets.base import Count, read
from course_lib.lessons.shared.widgets.paper import Hero

STORED = Path(__file__).with_name("rivals.json")  # made by make_rivals.py
TRAININGS = 3  # and after them their mean


class Rivals(Hero):
    """Each debiasing method against the same model without it: `Rivals(training=3, panel=0)`.

    training  which of the three trainings is shown, counted from 0; 3 is their mean, with 95 % intervals
    panel     which pair of model and data set is shown, counted from 0
    """

    module_name: ClassVar[str] = "rivals"
    caption: ClassVar[str] = (
        "Across: how much more or less popular the lists become, in per cent. Upwards: how much more or less accurate. "
        "The model without a method stands where the two lines cross. Shaded: the corner that every method promises, "
        "less popular and more accurate. With JavaScript this picture moves."
    )

    panels = traitlets.List(traitlets.Dict()).tag(sync=True, state=True)
    training = Count(TRAININGS, 0, TRAININGS)
    panel = Count(0, 0, lambda shown: len(shown.panels) - 1)

    def __init__(self, **state: Any) -> None:
        super().__init__(panels=read(STORED), **state)
