"""Rubrics as data: the items of a text, a project or an exam that a person grades; the mark is the sum of those earned.

    - {points: 1, item: what is right, with its condition}

The rubric of a written task is a block of YAML at the end of its reference answer, so that it is released, varied and
changed with it. Ticks are lines of the comment, "- ☑ what is right, with its condition (1)": they belong to the text
that they were given for, as every comment does, and stand in the feedback.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import msgspec
import yaml

BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EARNED, MISSED = "☑", "☐"
_TICK = re.compile(rf"^- ([{EARNED}{MISSED}]) (.+)$", re.MULTILINE)


class BadRubric(ValueError):
    """A rubric of another form; the message says what was expected."""


class Item(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One item of a rubric: earned whole, or not."""

    points: float
    item: str

    @property
    def line(self) -> str:
        """As it stands in a comment, behind its tick."""
        return f"{self.item} ({self.points:g})"


def read_items(text: str) -> list[Item]:
    """The items of a rubric in YAML. BadRubric for another form, for two items of one name, and for no points."""
    try:
        found = msgspec.convert(yaml.safe_load(text), list[Item])
    except (yaml.YAMLError, msgspec.ValidationError, RecursionError) as error:
        raise BadRubric(f"{error}; expected lines such as - {{points: 1, item: what is right}}") from None
    names = {one.item for one in found}
    if not found or len(names) < len(found) or any(not 0 < one.points < math.inf for one in found):
        raise BadRubric("expected at least one item, each of another name and with more than 0 points, a finite number")
    if odd := [one.item for one in found if len(one.item.splitlines()) != 1 or not one.item.strip()]:
        raise BadRubric(f"an item is {odd[0]!r}; expected its text in one line")
    return found


def of_answer(source: str) -> list[Item]:
    """The rubric of a reference answer; none where it has no block of YAML."""
    block = BLOCK.search(source)
    return read_items(block[1]) if block else []


def ticks(comment: str) -> dict[str, bool]:
    """What was ticked in a comment: an item, with its points, and whether it was earned."""
    return {line: sign == EARNED for sign, line in _TICK.findall(comment or "")}


def doubt(items: Sequence[Item], comment: str, score: float | None) -> str | None:
    """Why a mark does not follow from the ticks beside it; None where it does, or where nothing was ticked."""
    found = ticks(comment)
    if not found:
        return None
    if set(found) != {one.line for one in items}:
        return "was ticked by another rubric; tick it once more"
    whole = sum(one.points for one in items if found[one.line])
    if score is None or math.isclose(score, whole, abs_tol=1e-9):  # 0.1 + 0.2 is no 0.3
        return None
    return f"has a mark of {score:g}, and its ticks add up to {whole:g}"
