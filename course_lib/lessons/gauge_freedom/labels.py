"""Where names go beside their marks, so that they cover neither marks nor each other.

labels.js does the same on the page.
"""

from __future__ import annotations

from collections.abc import Sequence

Box = tuple[float, float, float, float]
_PLACES = (
    (12, -6, "start"),
    (-12, -6, "end"),
    (12, 16, "start"),
    (-12, 16, "end"),
    (0, -13, "middle"),
    (0, 24, "middle"),
)
_CHARACTER, _HEIGHT, _MARK, _MARGIN = 8.5, 15, 8, 3


def name_places(marks: Sequence[tuple[float, float]], texts: Sequence[str], side: float) -> list[tuple[int, int, str]]:
    """(dx, dy, anchor) for each mark's name on a square of the given side: the place that covers least, in turn."""
    taken: list[Box] = [(x - _MARK, y - _MARK, x + _MARK, y + _MARK) for x, y in marks]
    chosen = []
    for (x, y), text in zip(marks, texts, strict=True):
        boxes = [_box(x + dx, y + dy, anchor, _CHARACTER * len(text)) for dx, dy, anchor in _PLACES]
        costs = [_cost(box, taken, side) for box in boxes]
        best = min(range(len(costs)), key=lambda place: (round(costs[place], 6), place))
        taken.append(boxes[best])
        chosen.append(_PLACES[best])
    return chosen


def _box(x: float, y: float, anchor: str, width: float) -> Box:
    left = x - {"start": 0, "middle": width / 2, "end": width}[anchor]
    return left, y - _HEIGHT + 3, left + width, y + 3


def _cost(box: Box, taken: Sequence[Box], side: float) -> float:
    outside = (box[2] - box[0]) * _HEIGHT - _overlap(box, (_MARGIN, _MARGIN, side - _MARGIN, side - _MARGIN))
    return 4 * outside + sum(_overlap(box, other) for other in taken)


def _overlap(a: Box, b: Box) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
