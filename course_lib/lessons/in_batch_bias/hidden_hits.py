"""The hero of the chapter: wrong answers pile up over the hits, batch by batch, and a person's list loses the hits."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from course_lib.lessons.shared.widgets.base import Count, Stored, Word
from course_lib.lessons.shared.widgets.paper import Hero

STORED = Path(__file__).with_name("hidden_hits.json")  # made by make_hidden_hits.py of the tests
MOMENTS = (0, 1, 5, 20, 82, 328, 1640)  # batches of 256 pairs; 82 are one pass over the data
REPAIRS = ("none", "logq", "serving")


class HiddenHits(Hero):
    """How often each film was a wrong answer, and what one person is shown: `HiddenHits(moment=6, repair="none")`.

    moment  which of MOMENTS the training has reached, counted from 0
    repair  "none"; "logq", which subtracts log(c_j / M) in training; or "serving", which adds log c_j to the scores
            of the uncorrected model when films are recommended
    """

    module_name: ClassVar[str] = "hidden_hits"
    caption: ClassVar[str] = (
        "Films from the most popular on the left to the least popular on the right. The hill is how hard each film was "
        "pushed away as a wrong answer; dashed, the same push for every film. The numbered discs are the five films of "
        "one person's list. With JavaScript this picture moves."
    )

    films = Stored(STORED)
    moment = Count(len(MOMENTS) - 1, 0, len(MOMENTS) - 1)
    repair = Word("none", REPAIRS)
