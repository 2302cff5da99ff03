"""The hero of the chapter: the vectors of films during training, a cloud that becomes a line and then opens again."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from course_lib.lessons.shared.widgets.base import Count, Stored, Word
from course_lib.lessons.shared.widgets.paper import Hero

STORED = Path(__file__).with_name("cloud_to_line.json")  # made by make_cloud_to_line.py
PASSES = (0, 2, 4, 6, 10, 20, 40, 60, 80, 120, 200)
LAWS = ("uniform", "popularity")  # by which the film that is not liked is drawn


class CloudToLine(Hero):
    """The films after so many passes of SGD on BPR, from a very small start: `CloudToLine(moment=5, law="uniform")`.

    moment  which of PASSES is shown, counted from 0
    law     "uniform" or "popularity": how the film is drawn with which a liked film is compared
    """

    module_name: ClassVar[str] = "cloud_to_line"
    caption: ClassVar[str] = (
        "Each circle is a film, larger and darker if more people like it. Across: its place on the axis from the "
        "least to the most popular films. Upwards: its place on the axis on which the films differ most beside that. "
        "Both are in standard deviations of the first. With JavaScript this picture moves."
    )

    films = Stored(STORED)
    moment = Count(5, 0, len(PASSES) - 1)
    law = Word("uniform", LAWS)
