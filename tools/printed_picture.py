"""The picture of "What reproduced": one dot for each printed number, at ours divided by the printed one.

A row for each table, P3's Tables 5 and 6 by point-wise loss. The dots stand in HTML, so that words keep their size on a
phone, and one above the other where they would cover each other. `printed_picture.js` adds the filter and the line that
tells what a chosen dot is; without it the picture is whole, and each dot has its line as a title.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from course_lib.experiments.core.display import text_of
from course_lib.experiments.core.printed import Compared
from course_lib.papers.agreement import Verdict

SMALLEST, LARGEST = 1 / 20, 3.0  # of the axis; what lies beyond stands at its end
TICKS = {1 / 20: "1/20 or less", 1 / 4: "1/4", 1 / 2: "1/2", 1.0: "equal", 2.0: "twice"}
COLUMNS = 96  # places along the axis
VERDICTS: tuple[Verdict, ...] = ("agrees", "undecided", "differs", "not converged")
UNSAID = {"k", "selection", "serving", "left", "side", "momentum", "lists", "lr", "norm", "d", "method", "law", "state"}
LEAD = "Each dot is a number that a paper prints. On the line our number is the same; left of it ours is smaller."
SCRIPT = Path(__file__).with_suffix(".js")


def column(cell: Compared) -> int:
    """The place of a number along the axis: the logarithm of ours over the printed one; another sign is at the left."""
    ratio = cell.judged.mean / cell.judged.printed
    inside = min(max(ratio, SMALLEST), LARGEST)
    return round(COLUMNS * math.log(inside / SMALLEST) / math.log(LARGEST / SMALLEST))


def told(cell: Compared, place: str) -> str:
    """ "P3, Table 6: Unbiased, square, P@5 on ML-1M. Printed 17.07, ours 17.22 in 3 runs: undecided." """
    words = [text_of(value) for name, value in cell.cell if name not in UNSAID]
    judged, runs = cell.judged, "1 run" if cell.judged.n == 1 else f"{cell.judged.n} runs"
    what = ", ".join([*words, f"{text_of(cell.metric)} on {text_of(cell.data)}"])
    off = f"± {judged.half:.2g}, " if math.isfinite(judged.half) else ""
    return f"{place}: {what}. Printed {judged.printed:g}, ours {judged.mean:.4g} {off}in {runs}: {judged.verdict}."


def dots(cells: Sequence[Compared], place: str) -> tuple[str, int]:
    """HTML of the dots of a row, and how many stand on one another where most do."""
    heights: Counter[int] = Counter()
    found = []
    for cell in sorted(cells, key=lambda one: VERDICTS.index(one.judged.verdict)):
        at = column(cell)
        found.append(
            f'<i class="{cell.judged.verdict.replace(" ", "-")}" style="--x:{100 * at / COLUMNS:.1f};'
            f'--y:{heights[at]}" title="{escape(told(cell, place))}"></i>'
        )
        heights[at] += 1
    return "".join(found), max(heights.values())


def picture(cells: Sequence[Compared], spoken: Callable[[str], str]) -> str:
    """HTML: all printed numbers that have a counterpart of ours, by table."""
    rows: dict[str, list[Compared]] = {}
    for cell in cells:
        place, kind = spoken(cell.table), dict(cell.cell).get("pointwise")
        rows.setdefault(f"{place}, {kind} loss" if kind else place, []).append(cell)
    drawn = ""
    for place in sorted(rows):
        inside, height = dots(rows[place], place)
        counted = Counter(cell.judged.verdict for cell in rows[place])
        said = ", ".join(f"{counted[name]} {name}" for name in VERDICTS if counted[name])
        drawn += (
            f'<li data-paper="{place[:2]}"><span>{place}</span>'
            f'<div role="img" aria-label="{place}: {said}" style="--most:{height}">{inside}</div></li>'
        )
    whole = Counter(cell.judged.verdict for cell in cells)
    key = "".join(
        f'<label><input type="checkbox" name="verdict" value="{name.replace(" ", "-")}" checked disabled>'
        f'<i class="{name.replace(" ", "-")}"></i>{name} <small>{whole[name]}</small></label>'
        for name in VERDICTS
    )
    papers = "".join(f"<option>{name}</option>" for name in sorted({place[:2] for place in rows}))
    axis = "".join(
        f'<b style="--x:{100 * math.log(at / SMALLEST) / math.log(LARGEST / SMALLEST):.1f}">{text}</b>'
        for at, text in TICKS.items()
    )
    return (
        f'<div class="full-width"><figure class="printed-picture"><p class="printed-lead">{LEAD}</p>'
        f'<form>{key}<label hidden>Paper <select name="paper">'
        f'<option value="">all</option>{papers}</select></label></form><ul>{drawn}</ul>'
        f'<div class="printed-axis" aria-hidden="true">{axis}</div><p>ours ÷ printed</p>'
        f'<output aria-live="polite"></output></figure></div>\n<script>\n{SCRIPT.read_text(encoding="utf-8")}</script>'
    )
