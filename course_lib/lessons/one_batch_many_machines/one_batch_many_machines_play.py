"""The interactive of the chapter: move a point and see the sum of squared distances."""

from __future__ import annotations

from typing import ClassVar

from course_lib.lessons.shared.widgets.base import Number
from course_lib.lessons.shared.widgets.paper import WrittenOnce


class OneBatchManyMachines(WrittenOnce):
    """Three numbers, and a point t that the reader moves: `OneBatchManyMachines(t=3)`. FILL IN: the chapter's interactive.

    What it says and draws stands in one_batch_many_machines_play.js alone.
    """

    module_name: ClassVar[str] = "one_batch_many_machines_play"
    caption: ClassVar[str] = "Three numbers and the point t (dotted). With JavaScript this picture is interactive."

    t = Number(1.0, 0.0, 8.0)
