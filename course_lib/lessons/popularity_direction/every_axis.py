"""The hero of the chapter: the axis before training, on every data set of the course that has stored results."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import traitlets

from course_lib.lessons.shared.widgets.base import Count, Word, read
from course_lib.lessons.shared.widgets.paper import WrittenOnce
from course_lib.popularity import LIBRARY_LAWS

STORED = Path(__file__).with_name("every_axis.json")  # made by make_every_axis.py
SHOWS = ("after", "before", "data")
RATIO = 0.05  # of head and tail


class EveryAxis(WrittenOnce):
    """r of the items' places with popularity, on every data set: after training, before, and counted from the data.

    law         by which law a comparison is drawn, one of `popularity.LIBRARY_LAWS`
    show        "after" training; "before": that as well, of random vectors; "data": and the first axis, without a model

    place       which of the data sets is looked at, counted from 1

    All three are traits: read, set and observe them. The numbers are those of the stored results P1-X2 and P1-F1, and
    of the films of the page.
    """

    module_name: ClassVar[str] = "every_axis"
    caption: ClassVar[str] = (
        "Correlation of the items' places on the axis of popularity with their popularity, a row for each data set. "
        "Dots: after training. Rings: before training. Diamonds: counted from the data alone. Dashed: the average for"
        " random vectors, measured on the same items from which the axis was computed; the dots are measured on other"
        " items. With JavaScript this picture is interactive."
    )

    sets = traitlets.List(traitlets.Dict()).tag(sync=True, state=True)
    law = Word("RecBole", LIBRARY_LAWS)
    show = Word("after", SHOWS)
    place = Count(2, 1, lambda shown: len(shown.sets))

    def __init__(self, **state: Any) -> None:
        super().__init__(sets=read(STORED)["sets"], **state)

    def __repr__(self) -> str:
        return f"EveryAxis(law={self.law!r}, show={self.show!r}, place={self.place}; {len(self.sets)} data sets)"
