"""The plane of the interactives on motion for a page without JavaScript: middle tones, legible on light and on dark."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

import numpy as np

Point = Sequence[float] | np.ndarray
SIDE = 400
COLOURS = {"q": "#7c6bd0", "pull": "#3b82c4", "push": "#d9772b", "line": "#8a94a0"}


def nice_reach(reach: float) -> float:
    """The smallest of 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8 times a power of ten that is not below `reach`."""
    power = 10.0 ** math.floor(math.log10(max(reach, 1e-9)))
    return next(
        step * power for step in (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * power >= reach * (1 - 1e-9)
    )


def sheet(name: str, wide: int, high: int, *parts: str, width: str = "") -> str:
    """The one <svg> of a picture: `name` is its text equivalent, `width` how wide it stands in the page."""
    box = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img"'
    return (
        f'<svg {box} aria-label="{html.escape(name)}" width="{width or wide}" '
        f'style="max-width:100%;height:auto;font-family:sans-serif">{"".join(parts)}</svg>'
    )


def text_at(x: float, y: float, text: str, *, anchor: str = "middle", size: int = 12, places: str = ".0f") -> str:
    """A text at a place, whose numbers are written with the format `places`."""
    at = f'x="{x:{places}}" y="{y:{places}}" font-size="{size}" text-anchor="{anchor}"'
    return f'<text {at} fill="currentColor">{text}</text>'


class Plane:
    """Maps the square [-reach, reach]^2 to an SVG of 400 x 400; every method returns the text of one element."""

    def __init__(self, reach: float) -> None:
        self.unit = SIDE / (2 * reach)

    def at(self, point: Point) -> tuple[float, float]:
        return SIDE / 2 + point[0] * self.unit, SIDE / 2 - point[1] * self.unit

    def axes(self) -> str:
        half = SIDE // 2
        return f'<path d="M0 {half}H{SIDE}M{half} 0V{SIDE}" stroke="{COLOURS["line"]}" stroke-width="0.6" fill="none"/>'

    def circle(self, length: float, colour: str, *, width: float = 1, dash: str = "") -> str:
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        return (
            f'<circle cx="{SIDE // 2}" cy="{SIDE // 2}" r="{length * self.unit:.2f}" fill="none" '
            f'stroke="{COLOURS[colour]}" stroke-width="{width:g}"{dashes}/>'
        )

    def dot(self, point: Point, colour: str, radius: float) -> str:
        x, y = self.at(point)
        return f'<circle cx="{x:.2f}" cy="{y:.2f}" r="{radius:g}" fill="{COLOURS[colour]}"/>'

    def path(self, points: Iterable[Point], colour: str, *, width: float) -> str:
        places = "L".join("{:.2f} {:.2f}".format(*self.at(point)) for point in points)
        return f'<path d="M{places}" fill="none" stroke="{COLOURS[colour]}" stroke-width="{width:g}"/>'

    def arrow(self, start: Point, end: Point, colour: str, *, width: float, bar: bool = False) -> str:
        """A line with a head of fixed size, or with `bar` across its end; a dot where it is too short for a head."""
        (x, y), (ex, ey) = self.at(start), self.at(end)
        length = math.hypot(ex - x, ey - y)
        if length < 3:
            return self.dot(end, colour, 2.5)
        ux, uy = (ex - x) / length, (ey - y) / length
        head, spread = (0.0, 8.0) if bar else (min(11.0, 0.6 * length), 0.45 * min(11.0, 0.6 * length))
        ends = [(ex - head * ux + side * spread * uy, ey - head * uy - side * spread * ux) for side in (-1, 1)]
        tip = "" if bar else f"L{ex:.2f} {ey:.2f}"
        mark = f"M{ends[0][0]:.2f} {ends[0][1]:.2f}{tip}L{ends[1][0]:.2f} {ends[1][1]:.2f}"
        line = f"M{x:.2f} {y:.2f}L{ex:.2f} {ey:.2f}{mark}"
        return (
            f'<path d="{line}" fill="none" stroke="{COLOURS[colour]}" stroke-width="{width:g}" '
            'stroke-linejoin="round"/>'
        )

    def right_angle(self, corner: Point, direction: Point) -> str:
        """The little square between the direction to the origin and `direction`."""
        x, y = self.at(corner)
        nx, ny = _unit(SIDE / 2 - x, SIDE / 2 - y)
        dx, dy = _unit(direction[0], -direction[1])
        corners = [(x + 10 * nx, y + 10 * ny), (x + 10 * (nx + dx), y + 10 * (ny + dy)), (x + 10 * dx, y + 10 * dy)]
        places = "L".join(f"{a:.2f} {b:.2f}" for a, b in corners)
        return f'<path d="M{places}" fill="none" stroke="{COLOURS["line"]}" stroke-width="1.5"/>'

    def label(self, point: Point, text: str) -> str:
        """A letter beyond the tip of the arrow from the origin."""
        x, y = self.at(point)
        ux, uy = _unit(x - SIDE / 2, y - SIDE / 2)
        return (
            f'<text x="{x + 13 * ux:.2f}" y="{y + 13 * uy + 5:.2f}" font-size="15" font-style="italic" '
            f'text-anchor="middle" fill="currentColor">{text}</text>'
        )

    def svg(self, name: str, parts: Iterable[str]) -> str:
        return sheet(name, SIDE, SIDE, *parts)


def _unit(x: float, y: float) -> tuple[float, float]:
    length = math.hypot(x, y) or 1.0
    return x / length, y / length
