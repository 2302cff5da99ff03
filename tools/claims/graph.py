"""What rests on what: the dependency graph of the claims as one SVG, and the same as a list.

The picture uses the colour of the text around it (light and dark), tells statuses by a letter, and needs no script.
"""

import itertools
from collections.abc import Collection, Iterator, Sequence
from html import escape

import networkx
import numpy as np
from msgspec.structs import replace

from tools.claims.rows import STATUSES, WITH_REASON, Claim, anchor

LETTERS = dict(zip(STATUSES, "PETRNCUDA–", strict=True))
BOX_WIDTH, BOX_HEIGHT, GAP_X, GAP_Y, MARGIN = 176, 24, 54, 8, 8
# where a line from a claim to what it rests on crosses a column: (claim, other, column)
Waypoint = tuple[str, str, int]
Place = str | Waypoint


def direct_foundations(mine: list[Claim], claims: list[Claim]) -> list[Claim]:
    """The claims outside `mine` that one of `mine` rests on directly; their own ground is left out."""
    known = {claim.id for claim in mine}
    wanted = {other for claim in mine for other in claim.depends_on} - known
    return [replace(claim, depends_on=()) for claim in claims if claim.id in wanted]


def edges(claims: list[Claim]) -> list[tuple[str, str]]:
    """Pairs (claim, what it rests on), both among `claims`, in the order of the rows."""
    known = {claim.id for claim in claims}
    return [(claim.id, other) for claim in claims for other in claim.depends_on if other in known]


def layers(claims: list[Claim]) -> list[list[str]]:
    """The claims that have an edge, in columns: what a claim rests on stands left of it, as near as possible."""
    return [[place for place in column if isinstance(place, str)] for column in _columns(claims)]


def _columns(claims: list[Claim]) -> list[list[Place]]:
    """The columns of claims and of the waypoints of lines that cross them, sorted so that few lines cross."""
    pairs = edges(claims)
    column_of = _column_of(networkx.DiGraph((other, name) for name, other in pairs))
    columns: list[list[Place]] = [[] for _ in range(1 + max(column_of.values(), default=-1))]
    lines = networkx.DiGraph()
    for claim in claims:
        if claim.id in column_of:
            columns[column_of[claim.id]].append(claim.id)
    for name, other in pairs:
        route = _route(name, other, column_of)
        networkx.add_path(lines, route)
        for waypoint in route[1:-1]:
            columns[waypoint[2]].append(waypoint)  # type: ignore[index]
    return _untangle(columns, lines)


def _column_of(graph: networkx.DiGraph) -> dict[str, int]:
    """The column of each claim: right of the last that it rests on, then moved right up to the first that uses it."""
    columns = enumerate(networkx.topological_generations(graph))
    column_of = {name: column for column, names in columns for name in names}
    for name in reversed(list(networkx.topological_sort(graph))):
        if users := list(graph.successors(name)):
            column_of[name] = min(column_of[user] for user in users) - 1
    return column_of


def _route(name: str, other: str, column_of: dict[str, int]) -> list[Place]:
    """The claim, a waypoint in each column between, and what it rests on."""
    between = range(column_of[name] - 1, column_of[other], -1)
    return [name, *((name, other, column) for column in between), other]


def _untangle(columns: list[list[Place]], lines: networkx.DiGraph) -> list[list[Place]]:
    """Sort each column by the mean height of its neighbours (the barycentre rule), a few times left and right."""
    for sweep in range(12):
        near = lines.successors if sweep % 2 == 0 else lines.predecessors
        height = {place: (row + 0.5) / len(column) for column in columns for row, place in enumerate(column)}
        for column in columns if sweep % 2 == 0 else reversed(columns):
            mean = {place: np.mean([height[other] for other in near(place)] or [height[place]]) for place in column}
            column.sort(key=lambda place: (mean[place], str(place)))
            height |= {place: (row + 0.5) / len(column) for row, place in enumerate(column)}
    return columns


def graph_svg(claims: list[Claim], *, foreign: Collection[str] = ()) -> str:
    """The graph as an SVG element with a description; an empty string when nothing rests on anything.

    `foreign` are ids of claims that belong to another chapter; their names stand in italics.
    """
    columns = _columns(claims)
    if not columns:
        return ""
    status = {claim.id: claim.status for claim in claims}
    height = 2 * MARGIN + max(_length(column) for column in columns)
    width = 2 * MARGIN + len(columns) * BOX_WIDTH + (len(columns) - 1) * GAP_X
    centre = {place: point for x, column in enumerate(columns) for place, point in _centres(x, column, height)}
    column_of = {place: x for x, column in enumerate(columns) for place in column if isinstance(place, str)}
    lines = [_line([centre[place] for place in _route(*pair, column_of)]) for pair in edges(claims)]
    boxes = [_box(name, status[name], *centre[name], italic=name in foreign) for name in column_of]
    size = f'viewBox="0 0 {width} {height:g}" width="{width}" height="{height:g}"'
    reading = "Each line leads from a claim, on the right, to what it rests on. The list below says the same."
    label = f"Dependency graph of the claims: {len(boxes)} claims, {len(lines)} arrows. {reading}"
    style = 'fill="none" stroke="currentColor" font-family="sans-serif" font-size="12"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(label)}" {style}>'
    return "\n".join([opening, *lines, *boxes, "</svg>"])


def _size(place: Place) -> float:
    return BOX_HEIGHT if isinstance(place, str) else 2


def _length(column: list[Place]) -> float:
    return sum(map(_size, column)) + GAP_Y * (len(column) - 1)


def _centres(column: int, places: list[Place], height: float) -> Iterator[tuple[Place, tuple[float, float]]]:
    """The centre of each box and waypoint of a column, which is centred on the height of the picture."""
    x = MARGIN + column * (BOX_WIDTH + GAP_X) + BOX_WIDTH / 2
    y = (height - _length(places)) / 2
    for place in places:
        yield place, (x, y + _size(place) / 2)
        y += _size(place) + GAP_Y


def _line(points: list[tuple[float, float]]) -> str:
    """A line from the left edge of a claim's box, level through each waypoint, to the right edge of the last box."""
    half, bend = BOX_WIDTH / 2, GAP_X / 2
    path = f"M{points[0][0] - half:g} {points[0][1]:g}"
    for (x1, y1), (x2, y2) in itertools.pairwise(points):
        path += f"C{x1 - half - bend:g} {y1:g} {x2 + half + bend:g} {y2:g} {x2 + half:g} {y2:g}"
        path += f"H{x2 - half:g}" if (x2, y2) != points[-1] else ""
    x, y = points[-1]
    dot = f'<circle cx="{x + half:g}" cy="{y:g}" r="2.5" fill="currentColor"/>'
    return f'<path d="{path}" stroke-opacity="0.5"/>{dot}'


def _box(name: str, status: str, centre_x: float, centre_y: float, *, italic: bool = False) -> str:
    style = ' font-style="italic"' if italic else ""
    x, y = centre_x - BOX_WIDTH / 2, centre_y - BOX_HEIGHT / 2
    dash = ' stroke-dasharray="4 3"' if status in ("disputed", "not reproduced", *WITH_REASON) else ""
    on_line = f'y="{y + BOX_HEIGHT / 2 + 4:g}" fill="currentColor" stroke="none"'
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="4"{dash}/>'
        f'<text x="{x + 8:g}" {on_line} font-weight="bold">{LETTERS[status]}</text>'
        f'<text x="{x + 24:g}" {on_line}{style}>{escape(name)}</text>'
    )


def graph_html(claims: list[Claim], *, rests_on: Sequence[Claim] = (), title: str = "all claims") -> str:
    """The picture in a box that scrolls, also by keyboard, with its legend; a raw HTML block for a MyST page.

    `rests_on` are claims of other chapters that some of `claims` rest on; they are drawn in italics. `title` tells the
    graphs of a page apart for those who hear it.
    """
    svg = graph_svg([*claims, *rests_on], foreign=[claim.id for claim in rests_on])
    if not svg:
        return "No claim rests on another one."
    used = {claim.status for claim in (*claims, *rests_on)}
    legend = ", ".join(f"{LETTERS[status]} {status}" for status in STATUSES if status in used)
    italics = " Italics: of another chapter." if rests_on else ""
    label = f'aria-label="Dependency graph, {escape(title)}"'
    box = f'<div role="region" {label} tabindex="0" style="overflow-x: auto">\n{svg}\n</div>'
    dashed = "A dashed box: contradicted, not converged, or not run."
    return f"Letters: {legend}. {dashed}{italics}\n\n```{{raw}} html\n{box}\n```"


def graph_list(claims: list[Claim]) -> str:
    """The same as the picture, as a list with links: each claim with what it rests on."""
    known = {claim.id for claim in claims}
    lines = []
    for claim in claims:
        others = ", ".join(f"[{other}](#{anchor(other)})" for other in claim.depends_on if other in known)
        if others:
            lines.append(f"- [{claim.id}](#{claim.anchor}) rests on {others}")
    return "\n".join(lines) or "No claim rests on another one."
