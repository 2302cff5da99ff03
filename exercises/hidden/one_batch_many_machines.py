"""Hidden checks of the assignment one-batch-many-machines. They run in the judge's process, with a pristine course_lib."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from course_lib.lessons.one_batch_many_machines import checks as public


def nearest(answer: Callable[..., Any]) -> None:
    """Task 1: other numbers, negative ones among them."""
    public.check_nearest(answer, [[-3, 5, 5, 5], [7], [1, 10, 100, 1000]])
